"""What has changed is told by bytes where looks do not tell, and a look is trusted only once it has settled."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trainc.cache.changes import compare
from trainc.cache.looks import Looks
from trainc.cache.stamps import stamp_of_folder, state
from trainc.contents import digest_of


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A folder with two inputs and a file in out/, which ends in a slash."""
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    return f"{tmp_path}/"


NAMES = ("jobs/a/one.yaml", "jobs/a/two.yaml", "out/prod/one.yaml")
FOLDERS = ("jobs", "jobs/a", "out", "out/prod")


def looks(base: str) -> tuple[Looks, Looks]:
    """Return how files and folders look."""
    files = {name: (state(base + name), digest_of(Path(base + name).read_bytes())) for name in NAMES}
    return Looks.of(files), Looks.of({name: (stamp_of_folder(base + name), None) for name in FOLDERS})


@pytest.mark.parametrize("settled", [False, True])
def test_an_edit(base: str, settled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    known = looks(base)
    Path(base + NAMES[0]).write_text("other", encoding="utf-8")
    Path(base + NAMES[1]).touch()
    if settled:
        monkeypatch.setattr("trainc.cache.stamps.FINE", 0)
        time.sleep(0.001)
    found = compare(base, *known, 2)
    assert found
    assert (found.edited, found.gone, found.folders) == ([NAMES[0]], [], {})
    seen = [state(base + name) if settled else None for name in NAMES[:2]]
    assert found.files == {NAMES[0]: (seen[0], None), NAMES[1]: (seen[1], digest_of(NAMES[1].encode()))}


def test_nothing(base: str) -> None:
    known = looks(base)
    found = compare(base, *known, 2)
    assert found is not None
    assert not found
    assert (found.files, found.folders) == ({}, {})


def test_files_that_come_and_go(base: str) -> None:
    known = looks(base)
    Path(base + NAMES[0]).unlink()
    Path(base + "jobs/b").mkdir()
    for name in ("jobs/a/three.yaml", "jobs/b/four.json", "jobs/b/.hidden.yaml", "jobs/b/README.md"):
        Path(base + name).write_text("", encoding="utf-8")
    found = compare(base, *known, 2)
    assert found is not None
    assert (sorted(found.edited), found.gone) == (["jobs/a/three.yaml", "jobs/b/four.json"], [NAMES[0]])
    assert set(found.folders) == {"jobs", "jobs/a", "jobs/b"}


@pytest.mark.parametrize(
    "edit",
    [
        lambda root: (root / "out/prod/one.yaml").write_text("x"),
        lambda root: (root / "out/prod/one.yaml").unlink(),
        lambda root: (root / "out/prod/two.yaml").write_text("x"),
        lambda root: (root / "out/more").mkdir(),
        lambda root: (root / "jobs/a/deep").mkdir(),
        lambda root: (root / "jobs/deep.yaml").write_text("x"),
        lambda root: (root / "jobs/a/link.yaml").symlink_to("one.yaml"),
        lambda root: (root / "jobs/a/pipe.yaml").mkdir(),
    ],
)
def test_what_takes_a_look_at_everything(base: str, edit: object) -> None:
    known = looks(base)
    assert callable(edit)
    edit(Path(base))
    assert compare(base, *known, 2) is None


def test_where_most_folders_are_others_nothing_is_compared(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        Path(f"{base}jobs/n{number:02}").mkdir()
    names = ("jobs", *(f"jobs/n{number:02}" for number in range(40)))
    folders = Looks.of({name: (stamp_of_folder(base + name), None) for name in names})
    for number in range(12):
        Path(f"{base}jobs/n{number:02}/x.yaml").write_text("", encoding="utf-8")
    monkeypatch.setattr(Looks, "moved", None)
    assert compare(base, Looks.of({}), folders, len(names)) is None
