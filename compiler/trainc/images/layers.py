"""Layers: tars whose bytes depend on content only, and a cache of them by their inputs.

Order, times and names of owners are normalised, and leftovers of a build removed. The cache is safe to delete, and a
damaged entry counts as absent.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Final

import msgspec
from msgspec import Struct, field

from trainc.basics.jsonvalues import JsonObject, as_object
from trainc.images.definition import Definition
from trainc.images.layout import Layer, canonical, file_digest
from trainc.project.files import read_regular
from trainc.project.write import make_folder, replace_file

DROPPED: Final = re.compile(
    r"""
    dev/.* | proc/.* | sys/.* | tmp/.* | var/tmp/.* | run/.*
    | etc/(hostname|resolv\.conf|\.pwd\.lock|(passwd|group|shadow|gshadow|subuid|subgid)-)
    | etc/ssh/ssh_host_.* | etc/machine-id | var/lib/dbus/machine-id
    | etc/(apt/apt\.conf\.d|dpkg/dpkg\.cfg\.d)/99mmdebstrap
    | etc/apt/(sources\.list|sources\.list\.d/.*|preferences\.d/.*|auth\.conf(\.d/.*)?)
    | var/lib/apt/(lists|mirrors|periodic)/.* | var/lib/dpkg/.*-old | var/lib/dpkg/lock.* | var/lib/systemd/.*seed
    | var/cache/(apt|ldconfig|man|fontconfig)/.* | var/cache/debconf/.*-old | var/backups/.*
    | var/log/runit/.* | root/\.(bash_history|cache.*|wget-hsts|python_history)
    """,
    re.X,
)
"""Files of a build that no container needs, that differ between builds, or that must not be shipped."""

_STATUS: Final = "var/lib/dpkg/status"
_COPYRIGHT = re.compile(r"usr/share/doc/([^/]+)/copyright")
_METADATA = re.compile(r"usr/(?:local/)?lib/python3[^/]*/(?:dist|site)-packages/([^/]+)\.dist-info/METADATA")
_SHADOW: Final = "etc/shadow"
_DAY: Final = 86400
_HASHED: Final = b"\3\0\0\0"
"""The flags of a compiled module with a checked hash of its source, which SOURCE_DATE_EPOCH selects."""

_XATTR: Final = "SCHILY.xattr."


class Facts(Struct, frozen=True):
    """The facts about a system layer that upper layers and the SBOM need.

    ``directories`` and ``links`` are names without a leading slash; ``copyrights`` are DEP-5 texts by package,
    ``wheels`` the METADATA of installed wheels by the name of their .dist-info folder.
    """

    status: str
    directories: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)
    copyrights: Mapping[str, str] = field(default_factory=dict)
    wheels: Mapping[str, str] = field(default_factory=dict)


class Entry(Struct, frozen=True):
    """A file of a layer, a symbolic link (with ``link``), or a folder; the name has no leading slash."""

    name: str
    content: bytes = b""
    mode: int = 0o644
    link: str = ""
    folder: bool = False


def system_layer(source: IO[bytes], target: IO[bytes], epoch: int) -> Facts:
    """Rewrite the tar of a root file system, sorted by name and with one time, and return the facts about it.

    What is left over from the build is left out, and an empty /etc/machine-id is added. Compiled Python modules with
    the time of their source are left out too, as one time for all files would make them stale. Raises tarfile.TarError
    if ``source`` is not a tar, KeyError if it is not a Debian system.
    """
    with tarfile.open(fileobj=source) as old, tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as new:
        members = {name: member for member in old if (name := _name(member.name)) and not is_left_over(name, member)}
        members = {name: member for name, member in members.items() if not _timed(old, member)}
        members = {name: _linked(members, member) for name, member in members.items()}
        first = _first_names(members)
        texts = {
            name: _open(old, _content(members, members[name])).read().decode("utf-8", "replace")
            for name in first
            if name == _STATUS or _COPYRIGHT.fullmatch(name) or _METADATA.fullmatch(name)
        }
        machine_id = _header("etc/machine-id", epoch, 0o444)
        for name in sorted({*members, machine_id.name}):
            if name not in members:
                new.addfile(machine_id)
                continue
            member = members[name]
            header = _normal(member, name, epoch)
            if name not in first:
                new.addfile(header)
            elif first[name] != name:
                header.type, header.linkname, header.size = tarfile.LNKTYPE, first[name], 0
                new.addfile(header)
            else:
                content = _content(members, member)
                header.type, header.linkname, header.size = tarfile.REGTYPE, "", content.size
                file: IO[bytes] = _open(old, content)
                if name == _SHADOW:
                    # The day of the last password change is the third field, the same for all accounts (shadow(5)).
                    day = str(epoch // _DAY).encode()
                    shadow = re.sub(rb"(?m)^([^:\n]*:[^:\n]*:)[0-9]*:", rb"\g<1>" + day + b":", file.read())
                    header.size, file = len(shadow), BytesIO(shadow)
                new.addfile(header, file)
    return _facts(members, texts)


def is_left_over(name: str, member: tarfile.TarInfo) -> bool:
    """Return whether DROPPED matches a member of a system, or it is a log.

    The folders of logs stay: programs such as nginx do not start without theirs.
    """
    return DROPPED.fullmatch(name) is not None or (name.startswith("var/log/") and not member.isdir())


def upper_layer(entries: Iterable[Entry], facts: Facts, epoch: int) -> bytes:
    """Return the tar of a layer above a system: the entries, and folders that the system lacks.

    Raises ValueError for an entry below a symbolic link, which the layer would replace, or below another entry that is
    no folder, and for one that would replace another entry, a file that would replace a folder of the system, or a
    folder that would replace a link, such as /bin.
    """
    by_name: dict[str, Entry] = {}
    for each in entries:
        in_the_way: Collection[str] = facts.links if each.folder else () if each.link else facts.directories
        if each.name in by_name or each.name in in_the_way:
            raise ValueError(f"/{each.name} would replace what has this name in the image")
        by_name[each.name] = each
    folders: set[str] = set()
    for name in by_name:
        for folder in reversed([str(parent) for parent in PurePosixPath(name).parents][:-1]):
            if folder in facts.links:
                raise ValueError(f"/{name} is below the symbolic link /{folder}: use /{facts.links[folder]} instead")
            if folder in by_name and not by_name[folder].folder:
                raise ValueError(f"/{name} is below /{folder}, which is not a folder")
            folders |= {folder} - facts.directories
    file = BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(folders | set(by_name)):
            header = _header(name, epoch, 0o755)
            entry = by_name.get(name)
            if entry is None or entry.folder:
                header.type = tarfile.DIRTYPE
                tar.addfile(header)
                continue
            header.mode, header.size = (0o777, 0) if entry.link else (entry.mode, len(entry.content))
            header.type, header.linkname = (tarfile.SYMTYPE if entry.link else tarfile.REGTYPE), entry.link
            tar.addfile(header, BytesIO(entry.content))
    return file.getvalue()


def copied(definition: Definition, contents: Mapping[str, bytes]) -> Iterator[Entry]:
    """Yield the files and links of a definition; ``contents`` are by their path as image.yaml has it."""
    for each in definition.files:
        yield Entry(each.target.lstrip("/"), contents[each.source], 0o755 if each.executable else 0o644)
    for folder in definition.folders:
        yield Entry(folder.lstrip("/"), folder=True)
    for path, target in definition.links.items():
        yield Entry(path.lstrip("/"), link=target)


def _name(name: str) -> str:
    return re.sub(r"^(\./|/)+", "", name).strip("/") if name not in (".", "./") else ""


def _header(name: str, epoch: int, mode: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.mtime, header.mode = epoch, mode
    return header


def _normal(member: tarfile.TarInfo, name: str, epoch: int) -> tarfile.TarInfo:
    header = _header(name, epoch, member.mode & 0o7777)
    header.type, header.linkname, header.size = member.type, member.linkname, member.size
    header.uid, header.gid = member.uid, member.gid
    header.devmajor, header.devminor = member.devmajor, member.devminor
    header.pax_headers = {key: member.pax_headers[key] for key in sorted(member.pax_headers) if key.startswith(_XATTR)}
    return header


def _linked(members: Mapping[str, tarfile.TarInfo], member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a member, or what it is a hard link of if that is no regular file, such as a symbolic link."""
    target = members.get(_name(member.linkname)) if member.islnk() else None
    return member if target is None or target.isreg() else target


def _timed(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
    """Return whether a member is a compiled module whose validity depends on the time of its source (PEP 552)."""
    is_cached = "/__pycache__/" in member.name and member.name.endswith(".pyc")  # else it has no source
    return member.isreg() and is_cached and _open(tar, member).read(8)[4:] != _HASHED


def _first_names(members: Mapping[str, tarfile.TarInfo]) -> Mapping[str, str]:
    """Return the name that has the content of each regular file: for hard links the first in order."""
    groups: dict[str, list[str]] = {}
    for name, member in members.items():
        if member.isreg() or member.islnk():
            groups.setdefault(_name(member.linkname) if member.islnk() else name, []).append(name)
    return {name: min(group) for group in groups.values() for name in group}


def _content(members: Mapping[str, tarfile.TarInfo], member: tarfile.TarInfo) -> tarfile.TarInfo:
    return members[_name(member.linkname)] if member.islnk() else member


def _open(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member)
    assert file is not None, "a regular file"
    return file


def _facts(members: Mapping[str, tarfile.TarInfo], texts: Mapping[str, str]) -> Facts:
    links = {name: member.linkname for name, member in sorted(members.items()) if member.issym()}
    copyrights = {match[1]: texts[name] for name in sorted(texts) if (match := _COPYRIGHT.fullmatch(name))}
    for name, target in links.items():
        # A package that shares the copyright of its source has a link to the other's folder.
        if match := re.fullmatch(r"usr/share/doc/([^/]+)", name):
            shared = target.rstrip("/").rpartition("/")[2]
            if shared in copyrights:
                copyrights[match[1]] = copyrights[shared]
    return Facts(
        status=texts[_STATUS],
        directories=frozenset(name for name, member in members.items() if member.isdir()),
        links=links,
        copyrights=dict(sorted(copyrights.items())),
        wheels={match[1]: texts[name] for name in sorted(texts) if (match := _METADATA.fullmatch(name))},
    )


FORMAT: Final = 4
"""Part of every key: changes when the same inputs give other bytes."""

_TAR, _FACTS, _SUMS = "layer.tar", "facts.json", "sums.json"


class Stored(Struct, frozen=True):
    """A system layer in the cache: its tar, its descriptor, and the facts about it."""

    tar: Path
    layer: Layer
    facts: Facts


def key_of(inputs: JsonObject) -> str:
    """Return the key of an entry with these inputs."""
    return hashlib.sha256(canonical({"format": FORMAT, **inputs})).hexdigest()


@contextmanager
def scratch(cache: Path) -> Iterator[Path]:
    """Create a temporary folder in the cache, and remove it at the end."""
    make_folder(cache)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=cache, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def find(cache: Path, key: str, made_by: str) -> Stored | None:
    """Return an entry if it is complete and undamaged, else None."""
    folder = cache / key
    try:
        sums = as_object(json.loads(read_regular(folder / _SUMS) or b""))
        found = {name: file_digest(folder / name) for name in (_TAR, _FACTS)}
        if any([digest, size] != sums.get(name) for name, (digest, size) in found.items()):
            return None
        facts = msgspec.json.decode(read_regular(folder / _FACTS) or b"", type=Facts)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return Stored(folder / _TAR, Layer(*found[_TAR], made_by), facts)


def keep(cache: Path, key: str, tar: Path, facts: Facts, made_by: str) -> Stored:
    """Move a tar into the cache, with the facts about it, and return the entry. A damaged entry is replaced."""
    with scratch(cache) as making:
        folder = making / key
        folder.mkdir()
        shutil.move(tar, folder / _TAR)
        (folder / _FACTS).write_bytes(msgspec.json.encode(facts, order="deterministic"))
        sums: JsonObject = {name: list(file_digest(folder / name)) for name in (_TAR, _FACTS)}
        (folder / _SUMS).write_bytes(canonical(sums))
        shutil.rmtree(cache / key, ignore_errors=True)
        with suppress(OSError):  # a concurrent run was faster
            folder.rename(cache / key)
    stored = find(cache, key, made_by)
    assert stored is not None, "just written"
    return stored


def keep_bytes(cache: Path, data: bytes) -> Path:
    """Write a small layer to the cache by its digest, and return its path."""
    path = cache / "layers" / f"{hashlib.sha256(data).hexdigest()}.tar"
    replace_file(str(path), data)
    return path
