"""Looks in columns are what a dictionary of them would be, and know what has moved as stamps do."""

from __future__ import annotations

import marshal
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trainc.cache.looks import UNKNOWN, Look, Looks
from trainc.cache.stamps import stamp_of_folder, state

NUMBERS = st.integers(min_value=-(2**62), max_value=2**62)
STAMPS = st.tuples(st.integers(min_value=-2, max_value=2**62), NUMBERS, NUMBERS, st.integers(0, 2**64 - 1))
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=()), min_size=1, max_size=4)
DIGESTS = st.binary(min_size=16, max_size=16).filter(any)
LOOKS = st.dictionaries(NAMES, st.tuples(st.none() | STAMPS, st.none() | DIGESTS))


@given(LOOKS)
def test_plain_data_is_enough(looks: dict[str, Look]) -> None:
    again = Looks.of_plain(marshal.loads(marshal.dumps(Looks.of(looks).plain())))
    assert list(again.items()) == list(looks.items())
    assert all(name in again and again.look(name) == look for name, look in looks.items())
    assert again.look("\0") == (None, None)


@given(LOOKS, LOOKS, st.data())
def test_changes_are_those_of_a_dictionary(looks: dict[str, Look], other: dict[str, Look], data: st.DataObject) -> None:
    gone = data.draw(st.sets(NAMES | st.sampled_from(sorted({"-", *looks}))))
    new = {name: look for name, look in other.items() if name not in gone}
    first = Looks.of(looks)
    changed = first.changed(new, gone)
    wanted = {name: look for name, look in {**looks, **new}.items() if name not in gone}
    assert list(changed.items()) == list(wanted.items())
    assert list(first.items()) == list(looks.items()), "what was there stays"
    assert {name: changed.look(name) for name in wanted} == wanted
    assert changed.without(gone, [*looks][:3]) == wanted.keys() - {*looks}.intersection([*looks][:3])
    more = {f"\N{MIDDLE DOT}{name}": look for name, look in other.items()}
    assert list(first.followed(Looks.of(more)).items()) == [*looks.items(), *more.items()] or set(more) & set(looks)


def test_what_has_moved(tmp_path: Path) -> None:
    base = f"{tmp_path}/"
    for name in ("same", "touched", "longer", "replaced", "link", "gone", "fresh"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "to").symlink_to("same")
    for name in ("folder", "filled", "lost", "unsure"):
        (tmp_path / name).mkdir()
    names = ("same", "touched", "longer", "replaced", "link", "gone", "to", "folder", "absent", "late")
    files = Looks.of({name: (state(base + name), None) for name in names} | {"fresh": (None, bytes(range(16)))})
    folders = Looks.of(
        {name: (stamp_of_folder(base + name), None) for name in ("folder", "filled", "lost")}
        | {"unsure": (UNKNOWN, None)}
    )
    assert files.moved(base) == ["fresh"]
    assert folders.moved_folders(base, 0, 4) == ["unsure"]
    os.utime(tmp_path / "touched", ns=(1, 1))
    with (tmp_path / "longer").open("a") as file:
        file.write("more")
    (tmp_path / "new").write_text("replaced", encoding="utf-8")
    (tmp_path / "new").replace(tmp_path / "replaced")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("same")
    (tmp_path / "gone").unlink()
    (tmp_path / "late").write_bytes(b"")
    (tmp_path / "filled/one").write_bytes(b"")
    (tmp_path / "lost").rmdir()
    (tmp_path / "lost").symlink_to("folder")
    assert files.moved(base) == ["touched", "longer", "replaced", "link", "gone", "late", "fresh"]
    assert folders.moved_folders(base, 0, 4) == ["filled", "lost", "unsure"]
    assert folders.moved_folders(base, 1, 2) == ["filled"]
