"""Files up to 600 lines, functions up to 60: one idea each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from syntax import PACKAGE, ROOT, nodes, tree

FILE_LINES = 600
FUNCTION_LINES = 60

LONG_FILES: dict[str, str] = {}
"""Exceptions, each with its reason."""

LONG_FUNCTIONS: dict[str, str] = {}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def paths() -> dict[str, Path]:
    found = [path for folder in (PACKAGE, "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path for path in found}


def body_lines(function: Function) -> int:
    """Count the lines of a function from its def, without its docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def functions(name: str, module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in nodes(module):
        if isinstance(node, Function):
            yield f"{name}:{node.name}", body_lines(node)


def test_files() -> None:
    sizes = {name: path.read_bytes().count(b"\n") for name, path in paths().items()}
    long = {name: lines for name, lines in sizes.items() if lines > FILE_LINES}
    assert set(long) - set(LONG_FILES) == set(), long
    assert set(LONG_FILES) <= set(long), "an exception that is not needed any more"


def test_functions() -> None:
    sizes = [size for name, path in paths().items() for size in functions(name, tree(path))]
    assert len(sizes) > 300
    long = {name: lines for name, lines in sizes if lines > FUNCTION_LINES}
    assert set(long) - set(LONG_FUNCTIONS) == set(), long
    assert set(LONG_FUNCTIONS) <= set(long), "an exception that is not needed any more"


def test_the_measure_itself() -> None:
    text = 'def f(\n    a,\n):\n    """One\n    two.\n    """\n    return a\n\n\nasync def g():\n    return 1\n'
    assert dict(functions("m", ast.parse(text))) == {"m:f": 4, "m:g": 2}
