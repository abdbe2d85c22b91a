"""A small image whose system layer is made up and lies in a cache, so that no root and no network is needed."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from click.testing import Result

from trainc.images import layers as store
from trainc.images.build import SYSTEM, made_of
from trainc.images.definition import Inputs, read_image
from trainc.images.layers import system_layer

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
IMAGES = ("mpi4py", "mpi4py-mpich", "mpi4py-openmpi5")

Run = Callable[..., Result]
Member = bytes | str | None
"""The content of a file, the target of a symbolic link, or None for a folder."""

EPOCH = 1795219200
STATUS = """\
Package: bash
Status: install ok installed
Architecture: amd64
Version: 5.2-1

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: zlib1g
Status: install ok installed
Architecture: amd64
Source: zlib (1:1.2)
Version: 1:1.2+dfsg-1
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
License: GPL-3+ or Expat

Files: a
License: odd

License: odd
 Do as you like.
 .
 But well.
"""
SYSTEM_FILES: Mapping[str, Member] = {
    "bin": "usr/bin",
    "etc/machine-id": b"0123\n",
    "etc/shadow": b"root:*:19000:0:99999:7:::\nuser:*:19001:0:99999:7:::\n",
    "etc/hostname": b"builder\n",
    "etc/apt/sources.list.d/main.sources": b"URIs: https://mirror.example\n",
    "etc/ssh": None,
    "etc/ssh/ssh_host_rsa_key": b"secret",
    "home": None,
    "opt": None,
    "run/lock": None,
    "usr/bin/bash": b"#!",
    "usr/share": None,
    "usr/share/doc/bash/copyright": COPYRIGHT.encode(),
    "usr/share/doc/zlib1g": "../bash",
    "var/lib/dpkg/status": STATUS.encode(),
    "var/log/dpkg.log": b"2026-11-21 installed",
    "usr/lib/python3/dist-packages/numpy-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: numpy\nVersion: 1\n",
}
BASH = "a" * 64
ZLIB = "b" * 64
PACKAGES_LOCK = f"bash 5.2-1 {BASH}\nzlib1g 1:1.2+dfsg-1 {ZLIB}\n"
DEFINITION = """\
image: ghcr.io/team/small:1.2
description: A small one
suite: bookworm
created: "2026-11-21T00:00:00Z"
packages: [bash]
user: {name: user, id: 1000}
files:
- {from: hello.py, to: /opt/hello/hello.py}
- {from: ../shared.sh, to: /usr/bin/shared, executable: true}
folders: [/run/sshd]
links: {/usr/bin/hi: ../../opt/hello/hello.py}
environment: {LANG: C.UTF-8}
entrypoint: [/usr/bin/shared]
command: [hello]
workingDirectory: /opt/hello
licenses: Apache-2.0
labels: {com.example.team: small}
"""


def tar_of(files: Mapping[str, Member], **more: object) -> bytes:
    """Return a tar of files in the order given; ``more`` are attributes of every header, such as mtime and uname."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in files.items():
            header = tarfile.TarInfo(f"./{name}")
            for key, value in more.items():
                setattr(header, key, value)
            if content is None:
                header.type, header.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(header)
            elif isinstance(content, str):
                header.type, header.linkname = tarfile.SYMTYPE, content
                tar.addfile(header)
            else:
                header.size = len(content)
                tar.addfile(header, io.BytesIO(content))
    return out.getvalue()


def members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: member for member in tar}


def read(data: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


def write_image(root: Path, name: str = "small") -> Path:
    """Write trainc.yaml and the folder of an image, and return the folder."""
    folder = root / "images" / name
    folder.mkdir(parents=True, exist_ok=True)
    (root / "trainc.yaml").write_text("environments:\n  prod: {}\n", encoding="utf-8")
    (folder / "image.yaml").write_text(DEFINITION, encoding="utf-8")
    (folder / "packages.lock").write_text(PACKAGES_LOCK, encoding="utf-8")
    (folder / "hello.py").write_text("print('hello')\n", encoding="utf-8")
    (root / "images" / "shared.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    return folder


def inputs_of(folder: Path) -> Inputs:
    inputs, findings = read_image(folder)
    assert findings == ()
    assert inputs is not None
    return inputs


def fill_cache(folder: Path, cache: Path) -> store.Stored:
    """Put a made-up system layer in the cache, as the one that the image in a folder needs."""
    old, tar = io.BytesIO(tar_of(SYSTEM_FILES)), cache / "made.tar"
    cache.mkdir(parents=True, exist_ok=True)
    with tar.open("wb") as new:
        facts = system_layer(old, new, EPOCH)
    return store.keep(cache, store.key_of(made_of(inputs_of(folder))), tar, facts, SYSTEM)


def blob(layout: Path, digest: str) -> bytes:
    return (layout / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()


def manifest_of(layout: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return the manifest and the configuration of a layout of one image."""
    index = json.loads((layout / "index.json").read_bytes())
    manifest = json.loads(blob(layout, index["manifests"][0]["digest"]))
    return manifest, json.loads(blob(layout, manifest["config"]["digest"]))
