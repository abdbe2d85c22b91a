"""The syntax trees of the compiler, for the tests that walk them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2] / "compiler"
PACKAGE = "trainc"


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree; several tests go over them."""
    return tuple(ast.walk(tree))


@cache
def modules() -> dict[str, ast.Module]:
    """Return the tree of every module below trainc, by its name without the package: ``plugins.mpi.plugin``.

    The scripts in data/scripts/ are not modules: they run in pods.
    """
    return {
        name_of(path): tree(path)
        for path in sorted((ROOT / PACKAGE).rglob("*.py"))
        if not path.is_relative_to(ROOT / PACKAGE / "data" / "scripts")
    }


def name_of(path: Path) -> str:
    """Return the name of a module without the package, the empty string for the package itself."""
    parts = list(path.relative_to(ROOT / PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of every module of the package that a tree imports, inside functions too."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            home = node.module or ""
            inner = [f"{home}.{alias.name}" for alias in node.names]
            # `from trainc.findings import json` names a module, `import Severity` does not.
            names = [name if name.removeprefix(f"{PACKAGE}.") in known else home for name in inner]
        else:
            continue
        for name in names:
            if name == PACKAGE or name.startswith(PACKAGE + "."):
                yield node.lineno, name.removeprefix(PACKAGE).removeprefix(".")
