"""Makes the tar of a Debian system of exactly the pinned packages and wheels, with mmdebstrap."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import UNSET, UnsetType

from trainc.findings import Finding
from trainc.images.apt import open_archive
from trainc.images.definition import User
from trainc.images.inputs import Inputs
from trainc.images.pins import missing, preferences, wheels_text
from trainc.images.process import run, tool
from trainc.images.wheels import fetch

_PIP: Final = (
    "python3 $(echo /usr/share/python-wheels/pip-*.whl)/pip --quiet --disable-pip-version-check --no-cache-dir"
)
_DPKG: Final = (
    "force-unsafe-io",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)


def make_rootfs(inputs: Inputs, mirror: str | None, cache: Path, scratch: Path) -> Path | tuple[Finding, ...]:
    """Return the tar of the system, below ``scratch``, or a TC708 for each pin that the package source lacks.

    Raises BuildError where a tool is missing or fails.
    """
    definition = inputs.definition
    mmdebstrap = _command()
    archive = open_archive(definition.suite, definition.architecture, mirror, scratch)
    assert inputs.packages_lock is not None, "nothing is built without pins"
    if gone := missing(inputs.packages_lock, inputs.packages, archive.offered):
        return gone
    pins = scratch / "preferences"
    pins.write_text(preferences(inputs.packages), encoding="utf-8")
    wheels = scratch / "wheels"
    fetch(inputs.wheels, definition.suite, definition.architecture, cache, wheels)
    (wheels / "wheels.lock").write_text(wheels_text(inputs.wheels), encoding="utf-8")
    target = scratch / "system.tar"
    options = [
        "--quiet",
        f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
        "--variant=minbase",
        f"--architectures={definition.architecture}",
        f"--include={','.join(definition.packages)}",
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt={option}" for option in _DPKG),
        *_hooks(pins, wheels if inputs.wheels else None, definition.user),
    ]
    surroundings = {"SOURCE_DATE_EPOCH": str(definition.epoch), "TMPDIR": str(scratch)}
    run([*mmdebstrap, *options, definition.suite, target, archive.sources], environment=surroundings)
    return target


def _command() -> Sequence[str]:
    """Return the command of mmdebstrap: as root in mounts of its own.

    It mounts /proc and /dev in the system, and where it fails they may stay: whoever removed the folder then would
    empty the machine's /dev.
    """
    found = tool("mmdebstrap", "mmdebstrap")
    apart = [tool("unshare", "util-linux"), "--mount", "--propagation", "private"]
    return [*apart, found] if os.geteuid() == 0 else [found]


def _hooks(pins: Path, wheels: Path | None, user: User | UnsetType) -> Sequence[str]:
    """Return the options of mmdebstrap by which pins rule apt, and wheels and the user are added.

    useradd's `*` is no password; its default `!` would lock the account, and sshd refuses those.
    """
    place = '"$1"/etc/apt/preferences.d'
    hooks = [f"--setup-hook=mkdir -p {place} && cp {shlex.quote(str(pins))} {place}/pins"]
    if user is not UNSET:
        added = f"useradd --uid {user.id} --user-group --create-home --shell /bin/bash --password '*' {user.name}"
        hooks.append(f'--customize-hook=chroot "$1" {added}')
    if wheels is not None:
        pip = (
            f"{_PIP} install --no-index --find-links /run/wheels --require-hashes --requirement /run/wheels/wheels.lock"
        )
        installed = shlex.quote(f"{pip} --break-system-packages --root-user-action ignore")
        copied = f'mkdir "$1"/run/wheels && cp {shlex.quote(str(wheels))}/* "$1"/run/wheels'
        # Wheels bring shared libraries in /usr/local/lib, which the loader finds by its cache.
        hooks.append(f'--customize-hook={copied} && chroot "$1" sh -c {installed} && chroot "$1" ldconfig')
    return hooks
