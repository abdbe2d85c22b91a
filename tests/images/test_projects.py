"""The Python project of an image: which of its files a build backend sees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from folders import put, tree
from trainc.images import rootfs
from trainc.images.rootfs import build_wheel

FILES = frozenset((".gitignore", "pyproject.toml", "small/__init__.py", "small/build/a.py", "small/dist/b.py"))
"""Packages may be called ``build`` and ``dist``, and backends leave out of a wheel what .gitignore matches."""

LEFT = ("build/lib/old.py", "dist/small-0.whl", "small.egg-info/PKG-INFO", "small/__pycache__/b.pyc", ".venv/a.py")
"""What builds leave in a project, and hidden files."""


def test_a_backend_sees_the_project_without_what_builds_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*FILES, *LEFT):
        put(tmp_path / "project", name, "")
    seen: set[str] = set()

    def wheel(command: Sequence[str], **_: object) -> str:
        seen.update(tree(Path(command[-1])))
        folder = Path(command[command.index("--wheel-dir") + 1])
        folder.mkdir()
        with ZipFile(folder / "small-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr("small/__init__.py", "")
        return ""

    monkeypatch.setattr(rootfs, "run", wheel)
    (tmp_path / "scratch").mkdir()
    pin, _ = build_wheel(tmp_path / "project", 0, tmp_path / "cache", tmp_path / "scratch")
    assert (pin.name, pin.version, seen) == ("small", "1.0", FILES)


LINKS = {
    "a.json": ("../../shared/a.json", "shared/a.json"),
    "more": ("../../shared/more", "shared/more"),
    "hidden.json": ("../.data/h.json", "project/.data/h.json"),
    "inside.json": ("own.json", "project/small/own.json"),
}
"""Links of a project: where they lead to, and what is there."""


def test_a_backend_follows_links_to_what_it_does_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would leave out a link that leads nowhere, without a word."""
    for link, (target, name) in LINKS.items():
        put(tmp_path, name if link != "more" else f"{name}/b.json", name)
        (tmp_path / "project/small").mkdir(parents=True, exist_ok=True)
        (tmp_path / "project/small" / link).symlink_to(target)
    seen: dict[str, str] = {}

    def wheel(command: Sequence[str], **_: object) -> str:
        for link in LINKS:
            file = Path(command[-1]) / "small" / link
            seen[link] = (file / "b.json" if link == "more" else file).read_text(encoding="utf-8")
        folder = Path(command[command.index("--wheel-dir") + 1])
        folder.mkdir()
        with ZipFile(folder / "small-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr("small/__init__.py", "")
        return ""

    monkeypatch.setattr(rootfs, "run", wheel)
    (tmp_path / "scratch").mkdir()
    build_wheel(tmp_path / "project", 0, tmp_path / "cache", tmp_path / "scratch")
    assert seen == {link: name for link, (_, name) in LINKS.items()}


def test_an_executable_file_of_a_project_stays_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other modes, which depend on the umask, nothing is left."""
    put(tmp_path / "project", "small/run.sh", "")
    (tmp_path / "project/small/run.sh").chmod(0o700)
    put(tmp_path / "project", "small/data.json", "")

    def wheel(command: Sequence[str], **_: object) -> str:
        folder = Path(command[command.index("--wheel-dir") + 1])
        folder.mkdir()
        with ZipFile(folder / "small-1.0-py3-none-any.whl", "w") as archive:
            for name in ("small/run.sh", "small/data.json"):
                archive.write(Path(command[-1]) / name, name)
        return ""

    monkeypatch.setattr(rootfs, "run", wheel)
    (tmp_path / "scratch").mkdir()
    _, file = build_wheel(tmp_path / "project", 0, tmp_path / "cache", tmp_path / "scratch")
    modes = {one.filename: oct(one.external_attr >> 16) for one in ZipFile(file).infolist()}
    assert modes == {"small/data.json": "0o600", "small/run.sh": "0o100755"}
