"""Builds the tar of a Debian system of exactly the pinned packages and wheels, with apt, mmdebstrap and pip.

Programs get only the network settings of the environment. apt has a separate state, so the machine's package lists and
packages have no effect.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from msgspec import UNSET, Struct, UnsetType

from trainc.findings import Finding
from trainc.images.debian import mirror_sources, offered, sources, suites_of
from trainc.images.definition import WHEELS, BuildError, Inputs, Pin, User, missing, pins_text, preferences
from trainc.project.files import nested
from trainc.project.links import real_path
from trainc.project.names import is_text

_PIP: Final = (
    "python3 $(echo /usr/share/python-wheels/pip-*.whl)/pip --quiet --disable-pip-version-check --no-cache-dir"
)
_REQUIRED: Final = "required.txt"
"""The wheels of image.yaml: a pin of another version than they allow is an error of pip."""

COMPARED: Final = 'sha256sum "$1"/var/cache/apt/archives/*.deb | grep >&2 -vFf %s; test $? = 1'
"""Fails for a file with another hash: mmdebstrap reads the source again, which may now offer another one.

The status of grep is 1 if it finds none, and 2 if it cannot read the hashes.
"""

_DPKG: Final = (
    "force-unsafe-io",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)


def make_rootfs(inputs: Inputs, mirror: str | None, cache: Path, scratch: Path) -> Path | tuple[Finding, ...]:
    """Return the tar of the system, below ``scratch``, or a TC708 for each pin that the package source lacks.

    Raises BuildError if a tool is missing or fails.
    """
    definition = inputs.definition
    mmdebstrap = [tool("mmdebstrap", "mmdebstrap")]
    if os.geteuid() == 0:
        # It mounts /proc and /dev in the system. If it fails they may stay mounted, and removing the folder would then
        # empty the machine's /dev: for root they are mounted in a separate namespace.
        mmdebstrap = [tool("unshare", "util-linux"), "--mount", "--propagation", "private", *mmdebstrap]
    archive = open_archive(definition.suite, definition.architecture, mirror, scratch)
    assert inputs.packages_lock is not None, "nothing is built without pins"
    if findings := missing(inputs.packages_lock, inputs.packages, archive.offered):
        return findings
    pins = scratch / "preferences"
    pins.write_text(preferences(inputs.packages), encoding="utf-8")
    hashes = scratch / "hashes"
    hashes.write_text("".join(f"{pin.sha256}\n" for pin in inputs.packages), encoding="utf-8")
    wheels = scratch / "wheels"
    fetch(inputs.wheels, definition.suite, definition.architecture, cache, wheels)
    (wheels / "wheels.lock").write_text(pins_text(inputs.wheels, WHEELS), encoding="utf-8")
    (wheels / _REQUIRED).write_text("".join(f"{each}\n" for each in definition.wheels), encoding="utf-8")
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
        "--skip=essential/unlink",  # of the downloaded files, none is removed before they are compared with the pins
        f"--customize-hook={COMPARED % shlex.quote(str(hashes))}",
        *_hooks(pins, wheels if inputs.wheels else None, definition.user),
    ]
    surroundings = {"SOURCE_DATE_EPOCH": str(definition.epoch), "TMPDIR": str(scratch)}
    run([*mmdebstrap, *options, definition.suite, target, archive.sources], environment=surroundings)
    return target


def _hooks(pins: Path, wheels: Path | None, user: User | UnsetType) -> Sequence[str]:
    """Return the options of mmdebstrap that apply the pins, install the wheels and add the user.

    The password `*` matches nothing; useradd's default `!` would lock the account, and sshd refuses locked accounts.
    """
    folder = '"$1"/etc/apt/preferences.d'
    hooks = [f"--setup-hook=mkdir -p {folder} && cp {shlex.quote(str(pins))} {folder}/pins"]
    if user is not UNSET:
        added = f"useradd --uid {user.id} --user-group --create-home --shell /bin/bash --password '*' {user.name}"
        hooks.append(f'--customize-hook=chroot "$1" {added}')
    if wheels is not None:
        pip = (
            f"{_PIP} install --no-index --find-links /run/wheels --require-hashes"
            f" --requirement /run/wheels/wheels.lock --constraint /run/wheels/{_REQUIRED}"
        )
        installed = shlex.quote(f"{pip} --break-system-packages --root-user-action ignore")
        copied = f'mkdir "$1"/run/wheels && cp {shlex.quote(str(wheels))}/* "$1"/run/wheels'
        # Wheels have shared libraries in /usr/local/lib, which the loader finds by its cache.
        hooks.append(f'--customize-hook={copied} && chroot "$1" sh -c {installed} && chroot "$1" ldconfig')
    return hooks


_KEPT: Final = ("PATH", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
"""The environment variables that a build sees: network settings and the path."""

_PIP_SETTINGS: Final = "PIP_"
_LINES: Final = 30


def tool(name: str, package: str) -> str:
    """Return the path of a program. Raises BuildError, with the name of its package, if it is missing."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise BuildError(f"{name} is not installed: it is in Debian's package {package}")
    return found


def run(command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, pip: bool = False) -> str:
    """Run a program and return its output. Raises BuildError, with its last lines, if it fails.

    The umask is 022 and the locale C.UTF-8; with ``pip``, the settings of pip are kept.
    """
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT or (pip and name.startswith(_PIP_SETTINGS))
    }
    surroundings = {**kept, "LC_ALL": "C.UTF-8", "HOME": os.environ.get("HOME", "/"), **(environment or {})}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env=surroundings,
            umask=0o022,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        output = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_LINES:])
        raise BuildError(f"{Path(command[0]).name} failed with exit status {done.returncode}\n{output}")
    return done.stdout


MIRROR: Final = "TRAINC_MIRROR"
"""The environment variable for --mirror."""

_ETC: Final = Path("/etc/apt")
_CHOSEN = re.compile(r"^Inst (?P<name>\S+) \((?P<version>\S+) ", re.M)
_MINBASE: Final = ("?essential", "?priority(required)", "apt")
"""The packages of mmdebstrap's variant minbase, as apt-patterns(7)."""


class Archive(Struct, frozen=True):
    """A package source for apt: its list of sources, options, and the SHA-256 of .deb files by package and version."""

    sources: Path
    options: tuple[str, ...]
    offered: Mapping[str, Mapping[str, str]]

    def resolve(self, packages: Iterable[str]) -> tuple[Pin, ...]:
        """Return the current packages of a minimal system with these packages, by name. Raises BuildError."""
        output = run([tool("apt-get", "apt"), *self.options, "--simulate", "install", *_MINBASE, *packages])
        chosen = {match["name"].partition(":")[0]: match["version"] for match in _CHOSEN.finditer(output)}
        pins = []
        for name, version in sorted(chosen.items()):
            digest = self.offered.get(name, {}).get(version, "")
            if not digest:
                raise BuildError(f"the package source has no SHA-256 of {name} {version}")
            pins.append(Pin(name, version, digest))
        return tuple(pins)


def open_archive(suite: str, architecture: str, mirror: str | None, scratch: Path) -> Archive:
    """Fetch the package lists of a release into a folder. Raises BuildError."""
    path = scratch / "debian.sources"
    path.write_text(sources_of(suite, mirror), encoding="utf-8")
    state = scratch / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Acquire::GzipIndexes": "false",
        "Acquire::Languages": "none",
        "Dir::Cache": state / "cache",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::Etc::sourcelist": path,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
    }
    options = ("--quiet", *(f"-o{key}={value}" for key, value in settings.items()))
    apt = tool("apt-get", "apt")
    run([apt, *options, "--error-on=any", "update"])
    listed = run([apt, *options, "indextargets", "--format", "$(FILENAME)", "Created-By: Packages"])
    texts = (Path(line).read_text("utf-8", "replace") for line in listed.splitlines() if Path(line).exists())
    return Archive(path, options, offered(texts))


def sources_of(suite: str, mirror: str | None = None) -> str:
    """Return the package sources of a release, as deb822. Raises BuildError if there are none.

    ``mirror`` is the URI of an archive, or a file as in sources.list(5). The default is the environment variable
    TRAINC_MIRROR, then the machine's sources of the release.
    """
    mirror = mirror or os.environ.get(MIRROR) or None
    if mirror is None:
        paths = [_ETC / "sources.list", *sorted((_ETC / "sources.list.d").glob("*"))]
        kept = [path for path in paths if path.suffix in (".list", ".sources") and path.is_file()]
        found = sources({str(path): path.read_text("utf-8", "replace") for path in kept}, suite)
        where = f"{_ETC} has no source of"
    elif Path(mirror).is_file():
        found = sources({mirror: Path(mirror).read_text("utf-8", "replace")}, suite)
        where = f"{mirror} has no source of"
    elif not is_text(mirror):
        raise BuildError(f"--mirror (or {MIRROR}) is not UTF-8: {mirror}")
    elif "://" in mirror:
        return mirror_sources(mirror, suite)
    else:
        raise BuildError(f"--mirror (or {MIRROR}) is neither a URI nor a file: {mirror}")
    if not found:
        raise BuildError(f"{where} {', '.join(suites_of(suite))}: pass one with --mirror, a URI or a file")
    return found


_RELEASES: Final = {"bookworm": ("3.11", 36), "trixie": ("3.13", 41)}
"""By Debian release the version of Python, and the minor version of its C library, 2.x: the newest platform of wheels
that runs there (PEP 600).
"""

_MACHINE: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_OWN_PIP: Final = (sys.executable, "-P", "-m", "pip", "--quiet", "--disable-pip-version-check")
"""The pip of this Python, which downloads and builds wheels."""


def fetch(pins: Sequence[Pin], suite: str, architecture: str, cache: Path, target: Path) -> None:
    """Copy the wheels of pins to a folder, from the cache or downloaded by pip. Raises BuildError."""
    kept = cache / "wheels"
    absent = [pin for pin in pins if _kept(kept, pin) is None]
    if absent:
        downloads, lock = target / "new", target / "wheels.lock"
        target.mkdir(parents=True, exist_ok=True)
        lock.write_text(pins_text(absent, WHEELS), encoding="utf-8")
        _download(["--require-hashes", "--no-deps", "--requirement", str(lock)], suite, architecture, downloads)
        for file in sorted(downloads.iterdir()):
            folder = kept / _sha256(file)
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / file.name)
        shutil.rmtree(downloads)
    target.mkdir(parents=True, exist_ok=True)
    for pin in pins:
        if (wheel := _kept(kept, pin)) is None:
            raise BuildError(f"pip found no wheel of {pin.name} {pin.version} with SHA-256 {pin.sha256}")
        shutil.copy(wheel, target)


def _not_copied(project: Path) -> Callable[[str, list[str]], set[str]]:
    """Return what ``shutil.copytree`` leaves out of a project: hidden files, and what builds leave in it.

    Below its top, ``build`` and ``dist`` may be packages. Backends read .gitignore, and leave out what it matches.
    """
    everywhere = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__")

    def ignored(folder: str, names: list[str]) -> set[str]:
        at_top = {"build", "dist"} if Path(folder) == project else set[str]()
        return everywhere(folder, names) - {".gitignore"} | at_top

    return ignored


_EXECUTABLE: Final = stat.S_IFREG | stat.S_IXUSR


def build_wheel(project: Path, epoch: int, cache: Path, scratch: Path) -> tuple[Pin, Path]:
    """Build the wheel of a Python project with the build backend that is installed, and keep it in the cache.

    Return its pin and its file. The bytes depend on the project's files and the backend alone: a copy is built, since
    backends leave files in the project that get into the next wheel, and the archive is written without compression,
    times and modes, except that a file may be executable. Raises BuildError and OSError.
    """
    copy, folder = scratch / "project", scratch / "built"
    with nested(project):
        shutil.copytree(project, copy, ignore=_not_copied(project), copy_function=shutil.copy, symlinks=True)
        links = [path for path in copy.rglob("*") if path.is_symlink()]
    for link in links:
        real = real_path(project / link.relative_to(copy))
        if not link.exists() or not Path(real).is_relative_to(real_path(project)):  # the copy lacks what it leads to
            link.unlink()
            link.symlink_to(real)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder)]
    run([*_OWN_PIP, "wheel", *options, str(copy)], environment={"SOURCE_DATE_EPOCH": str(epoch)})
    (file,) = folder.iterdir()
    if not file.name.endswith("-none-any.whl"):
        raise BuildError(f"{file.name} depends on a platform: only projects of Python alone can be installed")
    normal = scratch / file.name
    with ZipFile(file) as old, ZipFile(normal, "w") as new:
        for member in sorted(old.infolist(), key=lambda one: one.filename):
            plain = ZipInfo(member.filename)
            if (member.external_attr >> 16) & _EXECUTABLE == _EXECUTABLE:  # so pip installs it executable
                plain.external_attr = (_EXECUTABLE | 0o755) << 16
            new.writestr(plain, _content(old, member))
    pin = _pin_of(normal)
    kept = cache / "wheels" / pin.sha256
    kept.mkdir(parents=True, exist_ok=True)
    return pin, Path(shutil.copy(normal, kept))


def _content(wheel: ZipFile, member: ZipInfo) -> bytes:
    """Return the content of a file of a wheel. Raises BuildError if the backend has written none that can be read."""
    try:
        return wheel.read(member)
    except (BadZipFile, RuntimeError, EOFError, OSError, LZMAError, zlib.error) as error:
        name = Path(wheel.filename or "").name
        raise BuildError(f"{name}: {member.filename} cannot be read: {error}") from None


def resolve(requirements: Iterable[str], suite: str, architecture: str, scratch: Path) -> tuple[Pin, ...]:
    """Return the newest wheels that fit, with their dependencies. Raises BuildError."""
    folder = scratch / "resolved"
    _download(list(requirements), suite, architecture, folder)
    return tuple(map(_pin_of, sorted(folder.iterdir())))


def _pin_of(wheel: Path) -> Pin:
    name, version = wheel.name.split("-")[:2]
    return Pin(name.replace("_", "-").lower(), version, _sha256(wheel))


def _download(what: list[str], suite: str, architecture: str, folder: Path) -> None:
    if suite not in _RELEASES:
        raise BuildError(f"trainc does not know the Python version of Debian {suite}, which wheels depend on")
    folder.mkdir(parents=True)
    (python, libc), machine = _RELEASES[suite], _MACHINE[architecture]
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(libc, 4, -1)]
    older = [f"{name}_{machine}" for name in ("manylinux2014", "manylinux2010", "manylinux1")]
    options = [
        "--only-binary=:all:",
        f"--python-version={python}",
        "--implementation=cp",
        "--dest",
        str(folder),
    ]
    run([*_OWN_PIP, "download", *options, *(f"--platform={each}" for each in (*platforms, *older)), *what], pip=True)


def _kept(kept: Path, pin: Pin) -> Path | None:
    """Return the wheel of a pin if the cache has it, undamaged."""
    found = next(iter(sorted((kept / pin.sha256).glob("*.whl"))), None)
    return found if found is not None and found.is_file() and _sha256(found) == pin.sha256 else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
