"""A module imports only from lower layers, and a plugin never a sibling: docs/architecture.md, Rooms."""

from __future__ import annotations

import ast

import pytest
from syntax import imports, modules

LAYERS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (0, ("regex", "memo", "digests")),
    (0, ("source",)),
    (1, ("settings", "data", "imagelock")),
    (1, ("options",)),
    (1, ("kube",)),
    (1, ("findings",)),
    (2, ("ports",)),
    (2, ("schema",)),
    (2, ("model", "documents")),
    (2, ("contents",)),
    (2, ("foreign",)),
    (3, ("cel",)),
    (4, ("plugins",)),
    (4, ("admit", "join", "lookup", "origins")),
    (4, ("base_revision",)),
    (5, ("gitops", "questions")),
    (5, ("checks",)),
    (6, ("runtimes", "policing", "update_rules")),
    (6, ("judges", "provenance")),
    (6, ("controller", "objects")),
    (6, ("compilejob",)),
    (6, ("output",)),
    (6, ("prepared",)),
    (6, ("jobresults",)),
    (6, ("applications",)),
    (6, ("pipeline",)),
    (7, ("safeguards",)),
    (7, ("changes",)),
    (7, ("putfile", "files")),
    (7, ("typedfiles",)),
    (7, ("config", "read", "write")),
    (7, ("policytests", "revisions")),
    (7, ("images",)),
    (7, ("cache", "executors")),
    (8, ("cli",)),
    (8, ("__main__",)),
)
"""The number of a layer and its rooms. Rows of one number are steps of one layer: each imports from rows above it.

A room of several modules is a package; inside, modules import each other freely, plugins excepted.
"""

FACE = ""
"""The package itself shows the public names, so it is above all that they come from."""

SHARED_BY_PLUGINS = ("base", "gang", "podgroup", "templates", "torchtune")
"""Modules of plugins/ that are no plugins."""

OWED: dict[tuple[str, str], str] = {}
"""Imports that break the rule, with the reason why they stand for now; one that is gone must be removed here."""


def room(name: str) -> str:
    return name.partition(".")[0]


def row(name: str) -> int:
    rows = [index for index, (_, rooms) in enumerate(LAYERS) if room(name) in rooms]
    assert len(rows) == 1, f"module {name} is in no layer, or in two: add its room to the table"
    return rows[0]


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


def offences() -> dict[tuple[str, str], int]:
    known = frozenset(modules())
    return {
        (importer, imported): line
        for importer, tree in modules().items()
        for line, imported in imports(tree, known)
        if not allowed(importer, imported)
    }


def test_every_module_has_a_layer() -> None:
    names = [name for name in modules() if name != FACE]
    assert len(names) > 50
    for name in names:
        assert row(name) >= 0


def test_imports_go_down() -> None:
    broken = {edge: line for edge, line in offences().items() if edge not in OWED}
    assert broken == {}, "module, what it must not import, and the line"


def test_nothing_is_owed_that_is_paid() -> None:
    assert set(OWED) <= set(offences())


def test_every_pure_module_is_reached_from_the_public_face() -> None:
    known = frozenset(modules())
    graph = {name: {imported for _, imported in imports(tree, known)} for name, tree in modules().items()}
    reached, waiting = set(), ["pipeline", "cli.root", "config", "read", "write", "__main__", FACE]
    waiting += [name for name in modules() if room(name) == "cli"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
            waiting += [name.rpartition(".")[0]] if "." in name else []
    assert set(modules()) - reached == set(), "no code that nothing uses"


@pytest.mark.parametrize(
    ("importer", "imported", "fine"),
    [
        ("documents.load", "source", True),
        ("source", "documents.load", False),
        ("documents.load", "model", False),
        ("kube.names", "findings", False),
        ("kube.gotypes", "data", True),
        ("data", "kube.gotypes", False),
        ("plugins.jax", "admit.crd", False),
        ("kube.names", "kube.quantity", True),
        ("plugins.mpi.plugin", "plugins.base", True),
        ("plugins.mpi.plugin", "plugins.mpi.ssh", True),
        ("plugins.mpi.plugin", "plugins.jax", False),
        ("plugins.base", "plugins.jax", False),
        ("plugins", "plugins.jax", True),
        ("plugins.base", "join", False),
        ("pipeline", "compilejob", True),
        ("compilejob", "pipeline", False),
        ("write", "cli.render", False),
        ("cli.render", "write", True),
        ("", "cli", False),
        ("", "pipeline", True),
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
        ("if TYPE_CHECKING:\n    import trainc.write as w", ["write"]),
    ],
)
def test_imports_are_seen(text: str, found: list[str]) -> None:
    known = frozenset(("documents.load", "kube.names", "write"))
    assert [name for _, name in imports(ast.parse(text), known)] == found
