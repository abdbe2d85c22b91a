"""Writes upstream.json: what kustomize builds from Trainer's own manifests.

Run it with any Python, in the root of the repository, where Go and a module
proxy are at hand: ``python tests/runtimes/regenerate.py``. The version of
Trainer is the one that tests/oracle/go.mod pins.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5@v5.8.2"
OVERLAYS = ("runtimes", "data-cache")
CONTROLLERS = ("../manager", "../../third-party/leaderworkerset")
"""What the data-cache overlay installs beside its runtime; the second is fetched from elsewhere."""


def trainer() -> Path:
    """Return the folder of the pinned Trainer module, downloading it first if need be."""
    command = ["go", "mod", "download", "-json", "github.com/kubeflow/trainer/v2"]
    run = subprocess.run(command, cwd=HERE.parent / "oracle", check=True, capture_output=True)
    return Path(json.loads(run.stdout)["Dir"])


def build(overlay: Path) -> list[object]:
    """Return the objects that kustomize makes of an overlay."""
    run = subprocess.run(["go", "run", KUSTOMIZE, "build", str(overlay)], cwd=overlay, check=True, capture_output=True)
    return list(yaml.safe_load_all(run.stdout))


def main() -> None:
    """Build both overlays from a writable copy of the manifests."""
    with tempfile.TemporaryDirectory() as folder:
        manifests = Path(folder, "manifests")
        # copyfile: module folders are read-only, and their modes would come along.
        shutil.copytree(trainer() / "manifests", manifests, copy_function=shutil.copyfile)
        for path in (manifests, *manifests.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
        cache = manifests / "overlays" / "data-cache" / "kustomization.yaml"
        config = yaml.safe_load(cache.read_text(encoding="utf-8"))
        config["resources"] = [name for name in config["resources"] if name not in CONTROLLERS]
        cache.write_text(yaml.safe_dump(config), encoding="utf-8")
        built = {name: build(manifests / "overlays" / name) for name in OVERLAYS}
    text = json.dumps(built, indent=1, sort_keys=True) + "\n"
    (HERE / "upstream.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
