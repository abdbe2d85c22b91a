"""A module imports only from lower layers, and a plugin never a sibling: docs/architecture.md, Rooms."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from syntax import imports, modules

ROOMS = (
    "upstream",
    "basics",
    "data",
    "kube",
    "inputs",
    "findings",
    "schema",
    "documents",
    "cel",
    "plugins",
    "admission",
    "gitops",
    "checks",
    "provenance",
    "pipeline",
    "migrate",
    "project",
    "policytests",
    "changes",
    "report",
    "images",
    "cache",
    "parallel",
    "sdk",
    "cli",
    "__main__",
)
"""Each room imports only from rooms before it. Inside a room, modules import each other freely, plugins excepted."""

FACE = ""
"""The package itself shows the public names, so it is above all that they come from."""

SHARED_BY_PLUGINS = ("base", "join", "model", "origins", "podgroup", "ports", "templates", "torchtune")
"""Modules of plugins/ that are not plugins."""


def room(name: str) -> str:
    return name.partition(".")[0]


def row(name: str) -> int:
    assert room(name) in ROOMS, f"module {name} is in no room: add its package to the table"
    return ROOMS.index(room(name))


def plugin(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == "plugins" and len(parts) > 1 and parts[1] not in SHARED_BY_PLUGINS else None


def allowed(importer: str, imported: str) -> bool:
    if importer == FACE:
        return row(imported) <= row("pipeline")
    if imported == FACE:
        return row(importer) >= row("cli")  # for __version__
    if room(importer) == room(imported):
        return importer == "plugins" or plugin(imported) in (None, plugin(importer))
    return row(imported) < row(importer)


@cache
def edges() -> dict[str, dict[str, int]]:
    """Return for each module the modules that it imports, with the line."""
    known = frozenset(modules())
    return {name: {imported: line for line, imported in imports(tree, known)} for name, tree in modules().items()}


def test_every_module_has_a_layer() -> None:
    names = [name for name in modules() if name != FACE]
    assert len(names) > 50
    for name in names:
        assert row(name) >= 0


def test_imports_go_down() -> None:
    broken = {
        (importer, imported): line
        for importer, found in edges().items()
        for imported, line in found.items()
        if not allowed(importer, imported)
    }
    assert broken == {}, "module, what it must not import, and the line"


def test_cel_needs_little() -> None:
    needed = {room(imported) for name, found in edges().items() if room(name) == "cel" for imported in found}
    assert needed == {"basics", "cel", "data", "kube"}


def test_every_pure_module_is_reached_from_the_public_face() -> None:
    reached, waiting = set(), ["cli.root", "__main__", "sdk", FACE]
    waiting += [name for name in modules() if room(name) == "cli"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges()[name]
            waiting += [name.rpartition(".")[0]] if "." in name else []
    assert set(modules()) - reached == set(), "no code that nothing uses"


@pytest.mark.parametrize(
    ("importer", "imported", "fine"),
    [
        ("documents.load", "inputs.source", True),
        ("inputs.source", "documents.load", False),
        ("documents.load", "plugins.model", False),
        ("kube.names", "findings", False),
        ("kube.gotypes", "data", True),
        ("data", "kube.gotypes", False),
        ("plugins.jax", "admission.crd", False),
        ("kube.names", "kube.quantity", True),
        ("plugins.mpi.plugin", "plugins.base", True),
        ("plugins.mpi.plugin", "plugins.mpi.transport", True),
        ("plugins.mpi.plugin", "plugins.jax", False),
        ("plugins.base", "plugins.jax", False),
        ("plugins", "plugins.jax", True),
        ("plugins.base", "pipeline.job", False),
        ("pipeline.compile", "cache.store", False),
        ("project.write", "cli.render", False),
        ("cli.render", "project.write", True),
        ("", "cli", False),
        ("", "pipeline.compile", True),
    ],
)
def test_the_rule_itself(importer: str, imported: str, fine: bool) -> None:
    assert allowed(importer, imported) is fine


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import trainc.documents.load", ["documents.load"]),
        ("from trainc.documents.load import load", ["documents.load"]),
        ("from trainc.documents import load", ["documents.load"]),
        ("from trainc import compile", [""]),
        ("def f():\n    from trainc.kube import names", ["kube.names"]),
        ("import os\nfrom json import loads", []),
        ("if TYPE_CHECKING:\n    import trainc.project.write as w", ["project.write"]),
    ],
)
def test_imports_are_seen(text: str, found: list[str]) -> None:
    known = frozenset(("documents.load", "kube.names", "project.write"))
    assert [name for _, name in imports(ast.parse(text), known)] == found
