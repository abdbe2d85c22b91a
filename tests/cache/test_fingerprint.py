"""What makes a trainc another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainc.cache.store import fingerprint, own_files

DAY = 86_400


def installed(place: Path, *, when: int = DAY, record: str = "trainc/__init__.py,sha256=abc,3\n") -> Path:
    """Return a package that an installer put into a folder."""
    home, notes = place / "trainc", place / "trainc-1.0.dist-info"
    for folder in (home / "part", notes):
        folder.mkdir(parents=True)
    for path, text in ((home / "__init__.py", "one"), (home / "part" / "two.py", "two"), (notes / "RECORD", record)):
        path.write_text(text, encoding="utf-8")
        os.utime(path, (when, when))
    return home


def test_it_is_the_same_in_one_process() -> None:
    assert fingerprint() == fingerprint()
    assert len(fingerprint()) == 32


def test_names_of_files_depend_on_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    of_this_locale = fingerprint()
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")
    assert fingerprint.__wrapped__() != of_this_locale


def test_another_version_of_a_package_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages may be in a folder of another name than site-packages, as after ``pip install --target``."""
    (tmp_path / "jinja2-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    before = fingerprint.__wrapped__()
    (tmp_path / "jinja2-1.0.dist-info").rename(tmp_path / "jinja2-1.1.dist-info")
    assert fingerprint.__wrapped__() != before


def test_another_day_and_place_of_an_installation(tmp_path: Path) -> None:
    first, second = installed(tmp_path / "a"), installed(tmp_path / "b", when=9 * DAY)
    assert own_files(first) == own_files(second)


def test_another_version(tmp_path: Path) -> None:
    first = installed(tmp_path / "a")
    assert own_files(first) != own_files(installed(tmp_path / "b", record="trainc/__init__.py,sha256=xyz,3\n"))


def test_a_file_that_was_edited_after_the_installation(tmp_path: Path) -> None:
    home = installed(tmp_path)
    before = own_files(home)
    os.utime(home / "part" / "two.py", (2 * DAY, 2 * DAY))
    assert own_files(home) != before


def test_a_file_that_came_after_the_installation(tmp_path: Path) -> None:
    home = installed(tmp_path)
    before = own_files(home)
    path = home / "three.py"
    path.write_text("", encoding="utf-8")
    os.utime(path, (DAY, DAY))
    assert own_files(home) != before


def test_a_broken_link_as_editors_leave_it(tmp_path: Path) -> None:
    home = installed(tmp_path)
    (home / ".#two.py").symlink_to("someone@host.1")
    assert len(own_files(home)) == 4


@pytest.mark.parametrize("record", ["", "other/__init__.py,sha256=abc,3\n"])
def test_a_checkout_counts_by_place_and_time(tmp_path: Path, record: str) -> None:
    first = installed(tmp_path / "a", record=record)
    before = own_files(first)
    assert own_files(first) == before
    assert own_files(installed(tmp_path / "b", record=record)) != before
    os.utime(first / "__init__.py", (2 * DAY, 2 * DAY))
    assert own_files(first) != before
    (first / "__pycache__").mkdir()
    (first / "__pycache__" / "x.pyc").write_bytes(b"x")
    os.utime(first / "__init__.py", (DAY, DAY))
    assert own_files(first) == before
