"""Wheels of an image: pip finds and downloads them, by their hashes; here they are only kept and counted."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from trainc.images.pins import Pin, wheels_text
from trainc.images.process import BuildError, run

_PYTHON: Final = {"bookworm": "3.11", "trixie": "3.13"}
"""The version of Python in a release of Debian."""

_LIBC: Final = {"bookworm": 36, "trixie": 41}
"""The minor version of its C library, 2.x, up to which platforms of wheels fit (PEP 600)."""

_MACHINE: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_FILE = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl")


def fetch(pins: Sequence[Pin], suite: str, architecture: str, cache: Path, target: Path) -> tuple[Path, ...]:
    """Bring the wheels of pins to a folder, from the cache or by pip, and return them. Raises BuildError."""
    kept = cache / "wheels"
    absent = [pin for pin in pins if _kept(kept, pin) is None]
    if absent:
        downloads, lock = target / "new", target / "wheels.lock"
        target.mkdir(parents=True, exist_ok=True)
        lock.write_text(wheels_text(absent), encoding="utf-8")
        _download(["--require-hashes", "--no-deps", "--requirement", str(lock)], suite, architecture, downloads)
        for file in sorted(downloads.iterdir()):
            place = kept / _sha256(file)
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place / file.name)
        shutil.rmtree(downloads)
    target.mkdir(parents=True, exist_ok=True)
    return tuple(Path(shutil.copy(_found(kept, pin), target)) for pin in pins)


def resolve(asked: Iterable[str], suite: str, architecture: str, scratch: Path) -> tuple[Pin, ...]:
    """Return the newest wheels that fit, with what they depend on. Raises BuildError."""
    folder = scratch / "resolved"
    _download(list(asked), suite, architecture, folder)
    pins = []
    for file in sorted(folder.iterdir()):
        match = _FILE.fullmatch(file.name)
        assert match is not None, "pip was told to take only wheels"
        pins.append(Pin(match["name"].replace("_", "-").lower(), match["version"], _sha256(file)))
    return tuple(pins)


def _download(what: list[str], suite: str, architecture: str, folder: Path) -> None:
    if suite not in _PYTHON:
        raise BuildError(f"the Python of Debian {suite} is not known here, so no wheels can be chosen for it")
    folder.mkdir(parents=True)
    machine = _MACHINE[architecture]
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(_LIBC[suite], 4, -1)]
    older = [f"{name}_{machine}" for name in ("manylinux2014", "manylinux2010", "manylinux1")]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
    options = [
        "--only-binary=:all:",
        f"--python-version={_PYTHON[suite]}",
        "--implementation=cp",
        "--dest",
        str(folder),
    ]
    run([*pip, *options, *(f"--platform={each}" for each in (*platforms, *older)), *what], pip=True)


def _kept(kept: Path, pin: Pin) -> Path | None:
    """Return the wheel of a pin if it is in the cache, and is what it was."""
    found = next(iter(sorted((kept / pin.sha256).glob("*.whl"))), None)
    return found if found is not None and found.is_file() and _sha256(found) == pin.sha256 else None


def _found(kept: Path, pin: Pin) -> Path:
    found = _kept(kept, pin)
    if found is None:
        raise BuildError(f"pip brought no wheel of {pin.name} {pin.version} with the SHA-256 {pin.sha256}")
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
