"""Expressions written by hand, one for each behaviour that engines disagree about: the ``.jsonl`` files beside this."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oracle.celgen.documents import CONFIGMAP, JOBSET, NAMESPACE, OLD, REQUEST, SCHEMA, SELF, TRAINJOB
from oracle.celgen.suites import narrowed

Question = dict[str, Any]

_VARS: dict[str, Any] = {
    "o": {
        "a": {"b": 1, "s": "x", "n": None, "l": [1, 2], "t": True, "f": 1.5},
        "x-y": 5,
        "e": {},
        "m": {"k": [{"v": 1}]},
    },
    "l": [1, "a", None, 2.0, [1], {"k": "v"}],
    "n": None,
    "i": 7,
    "s": "Grüße, 日本!",
}


def probes() -> Iterator[Question]:
    """Yield the probes of values, of policies and of rules."""
    for probe in _lines("values"):
        expr = probe["expr"]
        yield {"env": "dyn", "expr": expr, "vars": _VARS if any(name in expr for name in _VARS) else {}}
    yield from _policies()
    yield from _rules()


def _policies() -> Iterator[Question]:
    bindings: dict[str, Any] = {"object": JOBSET, "request": REQUEST, "namespaceObject": NAMESPACE}
    for probe in _lines("policies"):
        yield {"env": "vap", "vars": bindings, **probe}
    yield {
        "env": "vap",
        "expr": "object.data == oldObject.data",
        "vars": {"object": CONFIGMAP, "oldObject": CONFIGMAP},
    }
    for expr in (
        "params.spec.trainer.numNodes > 1",
        "params == null",
        "params.?spec.?x.orValue(true)",
        "object == null",
    ):
        yield {"env": "vap", "expr": expr, "vars": {"params": TRAINJOB}, "messageExpression": "'n ' + string(params.n)"}
        yield {"env": "vap", "expr": expr, "vars": {"params": None}}


def _rules() -> Iterator[Question]:
    base = {"env": "crd", "schema": SCHEMA, "vars": {"self": SELF, "oldSelf": OLD}}
    for probe in _lines("fields"):
        yield narrowed({**base, **probe})
    first = {**base, "vars": {"self": SELF}, "optionalOldSelf": True}
    yield narrowed({**first, "expr": "oldSelf.hasValue() || self.count > 0"})
    for probe in _lines("schemas"):
        for expr in probe["exprs"]:
            yield {"env": "crd", "expr": expr, "vars": probe["vars"], "schema": probe["schema"]}


def _lines(name: str) -> Iterator[dict[str, Any]]:
    text = Path(__file__).with_name(f"{name}.jsonl").read_text(encoding="utf-8")
    return map(json.loads, text.strip("\n").split("\n"))
