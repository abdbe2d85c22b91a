"""The Python project of an image: which of its files a build backend sees."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias
from zipfile import ZipFile

import pytest

from folders import put
from trainc.images import rootfs
from trainc.images.definition import BuildError, Pin
from trainc.images.rootfs import build_wheel

FILES = frozenset((".gitignore", "pyproject.toml", "small/__init__.py", "small/build/a.py", "small/dist/b.py"))
"""Packages may be called ``build`` and ``dist``, and backends leave out of a wheel what .gitignore matches."""

LEFT = ("build/lib/old.py", "dist/small-0.whl", "small.egg-info/PKG-INFO", "small/__pycache__/b.pyc", ".venv/a.py")
"""What builds leave in a project, and hidden files."""


Built: TypeAlias = Callable[[], tuple[Pin, Path, dict[str, str]]]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    """A function that builds a project with a backend that packs all files; it returns pin, wheel, and their texts."""
    seen: dict[str, str] = {}

    def wheel(command: Sequence[str], **_: object) -> str:
        project, folder = Path(command[-1]), Path(command[command.index("--wheel-dir") + 1])
        folder.mkdir()
        with ZipFile(folder / "small-1.0-py3-none-any.whl", "w") as archive:
            for above, _folders, names in os.walk(project, followlinks=True):
                for file in (Path(above, name) for name in names):
                    seen[str(file.relative_to(project))] = file.read_text(encoding="utf-8")
                    archive.write(file, file.relative_to(project))
        return ""

    monkeypatch.setattr(rootfs, "run", wheel)
    (tmp_path / "scratch").mkdir()
    return lambda: (*build_wheel(tmp_path / "project", 0, tmp_path / "cache", tmp_path / "scratch"), seen)


def test_a_backend_sees_the_project_without_what_builds_left(tmp_path: Path, built: Built) -> None:
    for name in (*FILES, *LEFT):
        put(tmp_path / "project", name, "")
    pin, _, seen = built()
    assert (pin.name, pin.version, seen.keys()) == ("small", "1.0", FILES)


def test_a_backend_follows_links_to_what_it_does_not_see(tmp_path: Path, built: Built) -> None:
    """It would leave out a link that leads nowhere, without a word."""
    for name in ("shared/a.json", "shared/more/b.json", "project/.data/h.json", "project/small/own.json"):
        put(tmp_path, name, name)
    links = {
        "a.json": "../../shared/a.json",
        "more": "../../shared/more",
        "h.json": "../.data/h.json",
        "b": "own.json",
    }
    for link, target in links.items():
        (tmp_path / "project/small" / link).symlink_to(target)
    *_, seen = built()
    assert seen == {
        "small/a.json": "shared/a.json",
        "small/more/b.json": "shared/more/b.json",
        "small/h.json": "project/.data/h.json",
        "small/b": "project/small/own.json",
        "small/own.json": "project/small/own.json",
    }


@pytest.mark.usefixtures("usual_recursion")
def test_folders_of_a_project_that_are_too_deep_to_copy(tmp_path: Path, built: Built) -> None:
    """Any number that git stores; here, they are more than Python copies."""
    put(tmp_path / "project", "a/" * 600 + "b.py", "")
    with pytest.raises(OSError, match=r"too many folders in each other: .*project"):
        built()


@pytest.mark.parametrize("damage", ["other content", "encrypted", "unknown compression"])
def test_a_wheel_that_cannot_be_read(
    tmp_path: Path, built: Built, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """As from a backend in the project itself; of a wheel, pip reads only METADATA and WHEEL."""
    put(tmp_path / "project", "a.py", "content")
    build = rootfs.run

    def wheel(command: Sequence[str], **more: object) -> str:
        build(command, **more)  # type: ignore[arg-type]
        (file,) = Path(command[command.index("--wheel-dir") + 1]).iterdir()
        data = bytearray(file.read_bytes())
        entry = data.index(b"PK\1\2")
        if damage == "other content":
            data[data.index(b"content")] ^= 1
        elif damage == "encrypted":
            data[6] = data[entry + 8] = 1
        else:
            data[8] = data[entry + 10] = 99
        file.write_bytes(data)
        return ""

    monkeypatch.setattr(rootfs, "run", wheel)
    with pytest.raises(BuildError, match=r"small-1\.0-py3-none-any\.whl: a\.py cannot be read: "):
        built()


def test_an_executable_file_of_a_project_stays_executable(tmp_path: Path, built: Built) -> None:
    """Of other modes, which depend on the umask, nothing is left."""
    put(tmp_path / "project", "small/run.sh", "")
    (tmp_path / "project/small/run.sh").chmod(0o700)
    put(tmp_path / "project", "small/data.json", "")
    _, file, _ = built()
    modes = {one.filename: oct(one.external_attr >> 16) for one in ZipFile(file).infolist()}
    assert modes == {"small/data.json": "0o600", "small/run.sh": "0o100755"}
