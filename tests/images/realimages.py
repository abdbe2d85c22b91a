"""The images of this repository, built and unpacked; where a pin is gone from the archive, with newer packages."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from imagecase import REPOSITORY

from trainc.images.build import Built, build, update
from trainc.images.definition import BuildError, read_image
from trainc.images.rootfs import sources_of

CACHE = REPOSITORY / "build" / "cache"
"""That of `make image`, so that a second run takes seconds."""


@dataclass(frozen=True)
class Real:
    """An image that was built, its files unpacked to a folder, and whether its pins had to be renewed for that."""

    built: Built
    rootfs: Path
    repinned: bool

    def run(self, script: str, timeout: int = 120) -> subprocess.CompletedProcess[str]:
        """Run a shell script as root in the image, with mounts, network, host name and processes of its own."""
        root = shlex.quote(str(self.rootfs))
        prepare = (
            f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && mount -t sysfs sysfs {root}/sys"
            f" && mount -t tmpfs -o mode=1777 tmpfs {root}/tmp && hostname inside && ip link set lo up"
            f" && exec chroot {root} /bin/sh -eu -c {shlex.quote(script)}"
        )
        apart = [
            "unshare",
            "--mount",
            "--net",
            "--uts",
            "--ipc",
            "--pid",
            "--fork",
            "--kill-child",
            "--propagation",
            "private",
        ]
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
        return subprocess.run(
            [*apart, "sh", "-c", prepare],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )


def why_not() -> str:
    """Return why images cannot be built here; an empty text where they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "builds images: needs Linux and root"
    missing = [name for name in ("mmdebstrap", "apt-get", "unshare", "ip") if shutil.which(name) is None]
    if missing:
        return f"builds images: {', '.join(missing)} not installed"
    if subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, check=False).returncode != 0:
        return "builds images: no namespaces here"
    try:
        sources_of("bookworm")
    except BuildError as error:
        return f"builds images: {error}"
    return ""


def build_or_repin(name: str, scratch: Path) -> tuple[Built, bool]:
    """Build an image of the repository; if pins are gone from the archive say so, and renew them in a copy."""
    inputs, findings = read_image(REPOSITORY / "images" / name)
    assert inputs is not None, findings
    try:
        built, findings = build(inputs, CACHE)
    except BuildError as error:
        if not str(error).startswith("apt-get failed") or os.environ.get("CI"):
            raise
        pytest.skip(f"the package source cannot be reached: {error}")
    if built is not None:
        return built, False
    assert {finding.code for finding in findings} == {"TC708"}, findings
    gone = ", ".join(f"{finding.message} ({finding.expected})" for finding in findings)
    sys.__stderr__.write(f"\nimages/{name}: PINS ARE GONE, newer ones are tried: {gone}. Run: trainc image update\n")
    copy = scratch / "images"
    if not copy.exists():
        shutil.copytree(REPOSITORY / "images", copy)
    inputs, _ = read_image(copy / name)
    assert inputs is not None
    update(inputs, CACHE)
    inputs, _ = read_image(copy / name)
    assert inputs is not None
    built, findings = build(inputs, CACHE)
    assert built is not None, findings
    return built, True


def unpack(built: Built, folder: Path) -> Path:
    folder.mkdir(mode=0o755, parents=True)
    for layer in built.layers:
        subprocess.run(["tar", "-xf", layer, "-C", folder, "--numeric-owner"], check=True)
    return folder
