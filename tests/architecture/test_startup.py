"""What a run loads and makes before its first job is kept small."""

from __future__ import annotations

import ast

from syntax import modules

OWN = {"typing": {"NamedTuple"}, "dataclasses": {"dataclass", "replace"}, "collections": {"namedtuple"}}
"""What records.py has in a cheaper form."""

MAY = {"records"}


def test_records_are_made_by_records() -> None:
    """Those of the library cost half a millisecond each."""
    imported = {
        (name, alias.name)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in OWN.get(node.module or "", ())
    }
    assert {name for name, _ in imported} == MAY, imported
    assert {used for _, used in imported} == {"NamedTuple", "dataclass", "replace", "namedtuple"}
