"""The files of a small repository, and the surroundings of a process that runs the package's source."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from builders import trainjob

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
    return trainjob(name, runtime=runtime, more=extra)


def surroundings(**environment: str) -> dict[str, str]:
    """Return an environment for a process that runs the package's source."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", **environment}


def on_a_terminal(
    *arguments: str, cwd: Path | None = None, columns: int = 80, status: int = 0, typed: str = "", **environment: str
) -> str:
    """Run Python where output and errors, and input if ``typed``, are a terminal, and return what that got."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    around = {name: value for name, value in surroundings().items() if name not in ("CI", "TERM")}
    command, source = [sys.executable, *arguments], theirs if typed else subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=source, stdout=theirs, stderr=theirs, cwd=cwd, env={**around, **environment}
    ) as child:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    assert child.returncode == status, shown
    return shown.decode()
