"""Generates policies and bindings of which an API server refuses something: the same for the same seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = Any
Edit = tuple[tuple[str | int, ...], Any]

API = "admissionregistration.k8s.io/v1"
ABSENT = object()
RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
_POOLS: Json = json.loads((Path(__file__).with_name("policies") / "policies.json").read_text(encoding="utf-8"))
POLICY: Json = _POOLS["policy"]
BINDING: Json = _POOLS["binding"]
EXPRESSIONS: Json = _POOLS["expressions"]
TEXTS: Json = _POOLS["texts"]
RESOURCES: Json = _POOLS["resources"]
SELECTORS: Json = _POOLS["selectors"]
LISTS: Json = _POOLS["lists"]
ACTIONS: Json = _POOLS["actions"]
NAMES: Json = _POOLS["names"]
VERSIONS: Json = _POOLS["versions"]
LONG = "'" + "x" * 6000 + "'"


def questions(seed: int, count: int) -> Iterator[Json]:
    """Yield policies and bindings, each with up to three changes to a good one."""
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        base, edits = (POLICY, _policy(rng)) if rng.random() < 0.75 else (BINDING, _binding(rng))
        document = copy.deepcopy(base)
        for path, value in rng.sample(edits, rng.choice([1, 1, 2, 3])):
            _put(document, path, value)
        yield document


def _policy(rng: random.Random) -> list[Edit]:
    expression = rng.choice(EXPRESSIONS)
    spec: tuple[str | int, ...] = ("spec",)
    rows = [
        (("matchConditions", 1, "expression"), expression),
        (("matchConditions", 0, "name"), rng.choice([*TEXTS, "two"])),
        (("matchConditions",), [{"name": f"c{i}", "expression": "true"} for i in range(65)]),
        (("variables", 0, "expression"), expression),
        (("variables", 1, "expression"), rng.choice(EXPRESSIONS)),
        (("variables", 1, "name"), rng.choice(NAMES)),
        (("variables",), ABSENT),
        (("validations", 0, "expression"), rng.choice(EXPRESSIONS)),
        (("validations", 1, "expression"), rng.choice(EXPRESSIONS)),
        (("validations", 0, "messageExpression"), rng.choice(EXPRESSIONS)),
        (("validations", 0, "message"), rng.choice(TEXTS)),
        (("validations", 0, "reason"), rng.choice(["Unauthorized", "Forbidden", "", "x"])),
        (("validations",), rng.choice([ABSENT, []])),
        (
            ("auditAnnotations",),
            rng.choice([ABSENT, [], [{"key": f"k{i}", "valueExpression": "'v'"} for i in range(21)]]),
        ),
        (("auditAnnotations", 0, "key"), rng.choice([*TEXTS, "l"])),
        (("auditAnnotations", 1, "valueExpression"), rng.choice([*EXPRESSIONS, LONG])),
        (("failurePolicy",), rng.choice(["fail", "Ignore", ""])),
        (("paramKind",), ABSENT),
        (("paramKind", "apiVersion"), rng.choice(VERSIONS)),
        (("paramKind", "kind"), rng.choice(TEXTS)),
        (("matchConstraints",), rng.choice([ABSENT, {}])),
    ]
    return [
        *((spec + path, value) for path, value in rows),
        *_matching(rng, ("spec", "matchConstraints")),
        *_named(rng),
    ]


def _binding(rng: random.Random) -> list[Edit]:
    reference: tuple[str | int, ...] = ("spec", "paramRef")
    return [
        (("spec", "policyName"), rng.choice(TEXTS)),
        (("spec", "validationActions"), rng.choice(ACTIONS)),
        (("spec", "validationActions"), rng.choice(ACTIONS)),
        ((*reference, "name"), rng.choice([*TEXTS, ABSENT])),
        ((*reference, "selector"), rng.choice(SELECTORS)),
        ((*reference, "parameterNotFoundAction"), rng.choice([ABSENT, "", "Ignore", "Allow"])),
        *_matching(rng, ("spec", "matchResources")),
        *_named(rng),
    ]


def _named(rng: random.Random) -> list[Edit]:
    return [(("metadata", "name"), rng.choice([text for text in TEXTS if "\n" not in text]))]


def _matching(rng: random.Random, at: tuple[str | int, ...]) -> list[Edit]:
    return [
        ((*at, "matchPolicy"), rng.choice(["exact", "Exact", ""])),
        ((*at, "namespaceSelector"), rng.choice(SELECTORS)),
        ((*at, "objectSelector"), rng.choice(SELECTORS)),
        ((*at, "resourceRules", 0, "apiGroups"), rng.choice(LISTS)),
        ((*at, "resourceRules", 0, "apiVersions"), rng.choice(LISTS)),
        ((*at, "resourceRules", 0, "operations"), rng.choice([*LISTS, ["create"], ["*", "CREATE"], ["CONNECT"]])),
        ((*at, "resourceRules", 0, "resources"), rng.choice(RESOURCES)),
        ((*at, "resourceRules", 0, "scope"), rng.choice(["*", "Cluster", "x", ""])),
        ((*at, "resourceRules", 0, "resourceNames"), rng.choice([["a", "a"], [".."], ["a/b%"], [""], [".", "a%"]])),
        ((*at, "resourceRules"), rng.choice([ABSENT, [], [{}]])),
        ((*at, "excludeResourceRules"), [{**RULE, "resources": rng.choice(RESOURCES)}]),
    ]


def _put(document: Json, path: tuple[str | int, ...], value: Any) -> None:
    """Set or remove a value, unless another change has removed what it is in."""
    *steps, last = path
    for step in steps:
        if isinstance(document, list) and not (isinstance(step, int) and step < len(document)):
            return
        if isinstance(document, dict) and step not in document:
            return
        document = document[step]
    if value is ABSENT:
        document.pop(last, None)
    else:
        document[last] = copy.deepcopy(value)
