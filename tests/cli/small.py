"""The files of a small repository, and the surroundings of a process that runs the package's source."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

PACKAGE = Path(__file__).parents[2] / "compiler"

Run = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[bytes]]

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: plain
spec:
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: example.com/img:1
"""


def job(name: str = "job", *, runtime: str = "plain", extra: str = "") -> str:
    """Return the text of a TrainJob."""
    return (
        "apiVersion: trainer.kubeflow.org/v1alpha1\n"
        "kind: TrainJob\n"
        f"metadata: {{name: {name}}}\n"
        f"spec:\n  runtimeRef: {{name: {runtime}}}\n  trainer: {{}}\n{extra}"
    )


def put(root: Path, name: str, text: str) -> Path:
    """Write a file below root."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def tree(root: Path) -> dict[str, bytes]:
    """Return the files below root, by name."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def surroundings(**environment: str) -> dict[str, str]:
    """Return an environment for a process that runs the package's source."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", **environment}
