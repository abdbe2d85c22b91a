"""Copies of trees."""

from __future__ import annotations

import json
from functools import cache

from oracle.celexpressions import expressions
from oracle.celrows import dump
from trainc.cel.ast import Node, copied, postorder
from trainc.cel.issues import CompileError
from trainc.cel.macros import RECEIVER_MACROS
from trainc.cel.parser import parse

MACROS = frozenset((*RECEIVER_MACROS, ("has", 1)))


@cache
def trees() -> list[Node]:
    made = []
    for text in expressions(17, 400):
        try:
            made.append(parse(text, MACROS))
        except CompileError:
            continue
    return made


def test_copies_are_new_nodes_in_the_same_places() -> None:
    for tree in trees():
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
