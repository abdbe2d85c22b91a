"""A struct with an ``==`` of its own has its own ``!=``: that of msgspec does not use ``__eq__``, unlike Python's."""

from __future__ import annotations

import ast

from syntax import modules, nodes


def test_structs_define_both() -> None:
    found = {
        f"{name}.{each.name}": methods
        for name, tree in modules().items()
        for each in nodes(tree)
        if isinstance(each, ast.ClassDef)
        and each.bases
        and "__eq__" in (methods := {part.name for part in each.body if isinstance(part, ast.FunctionDef)})
    }
    assert found, "there are some"
    assert [name for name, methods in found.items() if "__ne__" not in methods] == []
