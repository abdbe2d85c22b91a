"""Root folders of the images that cases run: built or taken from the cache, by what they are made of.

``build/e2e`` below the repository is the cache; it is safe to delete. TRAINC_E2E_CACHE names another.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from runtimes import IMAGES, KUBECTL
from trainc.findings import Finding
from trainc.images.build import Built, build, update
from trainc.images.definition import BuildError, read_image

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = Path(os.environ.get("TRAINC_E2E_CACHE") or ROOT / "build" / "e2e")
LAYERS: Final = ROOT / "build" / "cache"
"""That of `make image`."""

STAND_INS: Final = (
    "horovod/horovod:0.28.1",
    "ghcr.io/kubeflow/trainer/deepspeed-runtime:v2.3.0",
)
"""Images of others for which Open MPI 4's image stands: what these cases ask of them, it has as well."""

_PROGRAMS: Final = ("/bin/sh", "/bin/cp", "/bin/chmod")
_PATIENCE: Final = 600


class NotPossible(Exception):
    """Why there are no root folders, in a sentence."""


def images() -> dict[str, dict[str, Any]]:
    """Return what the node needs to know of each image: root folder and configuration, by reference.

    Raises:
        NotPossible: An image cannot be built here.
    """
    with locked(), ThreadPoolExecutor(2) as together:  # mmdebstrap is busy with one core
        names = [reference.split("/")[-1].split(":")[0] for reference in IMAGES.values()]
        read_image(ROOT / "images" / names[0])  # msgspec may not look at a type in two threads for the first time
        found = dict(zip(IMAGES.values(), together.map(_image, names), strict=True))
        first = found[IMAGES["openmpi4"]]
        found |= dict.fromkeys(STAND_INS, first)
        found[KUBECTL] = {"root": str(_kubectl(Path(first["root"])))}
    return found


@contextmanager
def locked() -> Iterator[None]:
    """Hold the cache, so that two processes do not build the same."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _built(name: str, folder: Path) -> tuple[Built | None, tuple[Finding, ...]]:
    inputs, findings = read_image(folder / name)
    return build(inputs, LAYERS) if inputs is not None else (None, tuple(findings))


def _newer(name: str) -> tuple[Built | None, tuple[Finding, ...]]:
    """Build an image with the packages that there are, where pinned ones are gone from the archive."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "images"
        shutil.copytree(ROOT / "images", copy)
        inputs, findings = read_image(copy / name)
        if inputs is None:
            return None, tuple(findings)
        update(inputs, LAYERS)
        return _built(name, copy)


def _image(name: str) -> dict[str, Any]:
    try:
        built, findings = _built(name, ROOT / "images")
        if built is None:
            gone = "; ".join(each.message for each in findings)
            sys.stderr.write(f"images/{name}: {gone}: trying what there is instead. Run: trainc image update\n")
            built, findings = _newer(name)
    except BuildError as error:
        raise NotPossible(f"image {name} cannot be built: {error}") from None
    if built is None:
        raise NotPossible(f"image {name}: {'; '.join(each.message for each in findings)}")
    config = json.loads(built.documents.config)
    key = hashlib.sha256(json.dumps(config["rootfs"]).encode()).hexdigest()[:16]
    folder = CACHE / "roots" / f"{name}-{key}"
    if not folder.exists():
        _unpack(built.layers, folder)
    own = config.get("config") or {}
    return {
        "root": str(folder),
        "entrypoint": own.get("Entrypoint") or [],
        "cmd": own.get("Cmd") or [],
        "env": dict(each.split("=", 1) for each in own.get("Env") or ()),
        "working_dir": own.get("WorkingDir") or "/",
        "user": own.get("User") or "",
    }


def _unpack(layers: tuple[Path, ...], folder: Path) -> None:
    making = _empty(folder)
    for layer in layers:
        command = ["tar", "--extract", "--numeric-owner", "--preserve-permissions", "--same-owner"]
        _run([*command, "--directory", str(making), "--file", str(layer)])
    making.rename(folder)


def _kubectl(base: Path) -> Path:
    """Return a root folder with kubectl, a shell and cp, as the image that brings kubectl has them."""
    source = Path(__file__).with_name("kubectl")
    digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")))
    digest.update(base.name.encode())
    folder = CACHE / "roots" / f"kubectl-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    if shutil.which("go") is None:
        raise NotPossible("kubectl is built from source, and there is no Go here")
    making = _empty(folder)
    target = making / "usr" / "local" / "bin" / "kubectl"
    flags = ["-trimpath", "-ldflags=-s -w"]
    _run(["go", "build", *flags, "-o", str(target), "."], cwd=source, env={**os.environ, "CGO_ENABLED": "0"})
    listed = _run(["chroot", str(base), "ldd", *_PROGRAMS]).split()
    for name in {*_PROGRAMS, *(word for word in listed if word.startswith("/lib"))}:
        to = making / name.strip("/").rstrip(":")
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists():
            shutil.copy2(base / name.strip("/").rstrip(":"), to)
    for name in ("tmp", "opt", "proc", "sys", "dev", "etc"):
        (making / name).mkdir(exist_ok=True)
    making.rename(folder)
    return folder


def _empty(folder: Path) -> Path:
    making = folder.with_name(f".{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    return making


def _run(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE, **options)
    if done.returncode:
        raise NotPossible(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return str(done.stdout)


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(images(), indent=2) + "\n")
    except NotPossible as error:
        sys.exit(f"error: {error}")
