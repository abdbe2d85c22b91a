"""Trees as JSON, and copies of trees."""

from __future__ import annotations

import json

import pytest

from oracle.celexpressions import expressions
from trainc.cel.ast import Node, copied, postorder
from trainc.cel.astjson import dump, load
from trainc.cel.issues import CompileError
from trainc.cel.macros import RECEIVER_MACROS
from trainc.cel.parser import parse

MACROS = frozenset((*RECEIVER_MACROS, ("has", 1)))


def trees() -> list[Node]:
    made = []
    for text in expressions(17, 400):
        try:
            made.append(parse(text, MACROS))
        except CompileError:
            continue
    return made


TREES = trees()
KINDS = {"literal", "uint", "double", "bytes", "ident", "select", "has", "call", "list", "map", "message", "fold"}


def test_reading_back() -> None:
    seen = set()
    for tree in TREES:
        rows = dump(tree)
        assert isinstance(rows, list)
        text = json.dumps(rows, allow_nan=False)
        assert dump(load(json.loads(text))) == rows
        assert json.dumps(dump(load(json.loads(text)))) == text
        seen |= {row[0] for row in rows if isinstance(row, list)}
    assert len(TREES) > 200
    assert seen == KINDS


def test_deep_trees() -> None:
    tree = parse("[" * 249 + "1" + "]" * 249 + ".b", MACROS)
    assert dump(load(json.loads(json.dumps(dump(tree))))) == dump(tree)


def test_copies_are_new_nodes_in_the_same_places() -> None:
    for tree in TREES:
        copy = copied(tree, 7)
        assert not {id(node) for node in postorder(tree)} & {id(node) for node in postorder(copy)}
        assert [type(node) for node in postorder(copy)] == [type(node) for node in postorder(tree)]
        rows = json.loads(json.dumps(dump(copy)))
        for row, original in zip(rows, json.loads(json.dumps(dump(tree))), strict=True):
            if row[0] in ("map", "message"):
                assert all(entry[0] == 7 for entry in row[-1])
                row[-1] = original[-1] = None
            if row != original:  # the name of a message's field moves with the field
                assert (row[0], row[1]) == ("literal", 7)


@pytest.mark.parametrize("rows", [[], [["ident"]], [["nothing", 0]], [["select", 0, 3, "a"]], [["ident", 0]]])
def test_anything_else_is_an_error(rows: object) -> None:
    with pytest.raises((KeyError, IndexError, TypeError, ValueError)):
        load(rows)
