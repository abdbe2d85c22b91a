"""Writes what a release has beside wheel and sdist: requirements.txt with hashes, and the bill of materials.

Arguments: the folder of wheel and sdist, and the folder to write to. The environment must have the versions of
runtime.lock, as after `make setup`, because licences are read from the installed packages.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from email.message import Message
from importlib.metadata import metadata
from pathlib import Path
from typing import cast

from trainc import __version__
from trainc.images.layout import canonical
from trainc.images.sbom import Software, sbom_of_wheel, wheel_license

LOCK = Path(__file__).parents[2] / "runtime.lock"
BACKEND = "# The following packages are considered to be unsafe in a requirements file:"
"""Begins the part of the lock that only a build from source needs."""

LICENSES = {"cel-python": "Apache-2.0", "pendulum": "MIT"}
"""By the texts of LICENSE, where the metadata has no licence, or one that is no identifier of SPDX."""


def requirements(files: list[Path], lock: str) -> str:
    """Return what pip installs for this version: trainc with the hashes of its files, and its dependencies."""
    hashes = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    own = "".join(f" \\\n    --hash=sha256:{digest}" for digest in hashes)
    pins = [line for line in lock.partition(BACKEND)[0].splitlines() if not line.startswith("#")]
    use = f"# trainc {__version__}: pip install --require-hashes --requirement requirements.txt\n"
    return f"{use}trainc=={__version__}{own}\n" + "".join(f"{line}\n" for line in pins if line)


def bill(wheel: Path, lock: str) -> bytes:
    """Return the bill of materials of a wheel, in SPDX: the same bytes for the same wheel and lock."""
    parts = [software(name, version) for name, version in pins(lock.partition(BACKEND)[0])]
    with zipfile.ZipFile(wheel) as archive:
        year, month, day, hour, minute, second = max(each.date_time for each in archive.infolist())
    created = f"{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = Software("trainc", __version__, f"pkg:pypi/trainc@{__version__}", digest, "Apache-2.0")
    return canonical(sbom_of_wheel(own, parts, created)) + b"\n"


def pins(lock: str) -> list[tuple[str, str]]:
    """Return the names and versions in a lock."""
    return re.findall(r"(?m)^([a-z0-9-]+)==([^ ;\\]+)", lock)


def software(name: str, version: str) -> Software:
    """Return an installed package. Exits if another version is installed."""
    found = metadata(name)
    if found["Version"] != version:
        raise SystemExit(f"{name} {found['Version']} is installed, but {LOCK.name} has {version}: run make setup")
    expression, texts = (LICENSES[name], {}) if name in LICENSES else wheel_license(cast(Message, found))
    return Software(name, version, f"pkg:pypi/{name}@{version}", "", expression, "", texts)


def main() -> None:
    """Write the files."""
    dist, target = map(Path, sys.argv[1:])
    (wheel,), (sdist,) = dist.glob("trainc-*.whl"), dist.glob("trainc-*.tar.gz")
    lock = LOCK.read_text(encoding="utf-8")
    target.mkdir(parents=True, exist_ok=True)
    (target / "requirements.txt").write_text(requirements([wheel, sdist], lock), encoding="utf-8", newline="\n")
    (target / f"trainc-{__version__}.spdx.json").write_bytes(bill(wheel, lock))


if __name__ == "__main__":
    main()
