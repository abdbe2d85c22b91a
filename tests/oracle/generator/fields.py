"""Sets any field that the CRDs' schemas know, however rare, to some value of its type."""

from __future__ import annotations

from typing import Any

from oracle.generator import values
from oracle.generator.rng import Rng
from oracle.generator.values import Map
from trainc.data import load_json

WORDS = ("a", "b", "x.io/y", "node", "/p", "TCP", "v1", "Always", "ConfigMap")
CHOSEN = {"torch", "mpi", "jax", "xgboost", "flux", "activeDeadlineSeconds", "apiGroup", "kind", "manager"}
"""What the other modules choose better: a second policy, say, would only break the rule of one policy."""
NUMBERS = (0, 1, 2, 5, 80, 420)


def enrich(rng: Rng, document: Map) -> None:
    """Set one field somewhere in a document's spec, in place; parts that are there already are entered."""
    root = load_json(f"schemas/{document['kind'].lower()}.json")["root"]
    node = _node(_node(root)["properties"]["spec"])
    part: Any = document.get("spec")
    while isinstance(part, dict | list) and part:
        if isinstance(part, list):
            node, part = _node(node["items"]), rng.pick(part)
            continue
        known = node.get("properties", {})
        inner = [key for key in part if key in known and isinstance(part[key], dict | list) and part[key]]
        if inner and rng.chance(80):
            key = rng.pick(inner)
            node, part = _node(known[key]), part[key]
            continue
        if rest := sorted(set(known) - set(part) - CHOSEN):
            key = rng.pick(rest)
            part[key] = value(rng, _node(known[key]), 3)
        return


def _node(number: int) -> Map:
    node: Map = load_json("schemas/nodes.json")[number]
    return node


def value(rng: Rng, node: Map, depth: int, index: int = 0) -> Any:
    """Return a value of a schema; ``index`` makes items of one list differ."""
    if node.get("x-kubernetes-int-or-string"):
        return values.quantity(rng) if "pattern" in node else rng.pick((80, "http", "50%"))
    if "enum" in node:
        return rng.pick(node["enum"]) if rng.chance(95) else "Nonsense"
    kind = node.get("type")
    if kind == "object":
        return _object(rng, node, depth, index)
    if kind == "array":
        count = rng.below(3) if depth > 0 else 0
        return [value(rng, _node(node["items"]), depth - 1, at) for at in range(count)]
    if kind == "boolean":
        return rng.chance(50)
    if kind == "integer":
        return rng.pick(NUMBERS) + index
    if kind == "number":
        return rng.pick((0.5, 1, 2.25))
    if node.get("format") == "date-time":
        return "2025-01-01T00:00:00Z"
    return f"{rng.pick(WORDS)}{index or ''}"


def _object(rng: Rng, node: Map, depth: int, index: int) -> Map:
    properties = node.get("properties", {})
    required = node.get("required", [])
    result: Map = {}
    for key in sorted(properties):
        if key in required or (depth > 0 and rng.chance(300 / (3 + len(properties)))):
            result[key] = value(rng, _node(properties[key]), depth - 1, index)
    more = node.get("additionalProperties")
    if isinstance(more, int) and not isinstance(more, bool) and rng.chance(70):
        result[rng.pick(("cpu", "k", "x.io/k"))] = value(rng, _node(more), depth - 1)
    return result
