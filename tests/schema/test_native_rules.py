"""What the API server refuses of Kubernetes' own kinds beside their schemas, in its own words.

Each case is an object of native.yaml with one or three of CHANGES; vectors/native_rules.json has the server's answers.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from native_cases import HERE, bases, resource_of

from effort import share
from oracle import gotools
from oracle.generator.rng import Rng
from trainc.admission.native import faults_of
from trainc.basics.jsonvalues import Path as Steps
from trainc.basics.jsonvalues import dotted
from trainc.schema import admit

ANSWERS = HERE / "vectors" / "native_rules.json"
ORACLE = gotools.ORACLE / "kinds"
SEED, RECORDED, RANDOM = 11, 40, share(400)
RBAC = "rbac.authorization.k8s.io"

SUBJECTS: list[Any] = [
    {},
    {"kind": "ServiceAccount", "name": "a"},
    {"kind": "ServiceAccount", "name": "A_b", "namespace": "b"},
    {"kind": "ServiceAccount", "name": "", "apiGroup": RBAC, "namespace": "b"},
    {"kind": "ServiceAccount", "name": "a", "namespace": "Not a namespace"},
    {"kind": "User", "name": "u"},
    {"kind": "User", "name": "", "apiGroup": "x"},
    {"kind": "User", "name": "u", "apiGroup": ""},
    {"kind": "Group", "name": "system:masters", "apiGroup": "v1"},
    {"kind": "Usr", "name": "u"},
    {"kind": "", "name": "u"},
    None,
]
RULES: list[Any] = [
    {},
    {"verbs": ["get"]},
    {"verbs": [], "resources": ["pods"], "apiGroups": [""]},
    {"verbs": ["get"], "resources": ["pods"]},
    {"verbs": ["get"], "apiGroups": [""]},
    {"verbs": ["get"], "apiGroups": [], "resources": []},
    {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
    {"verbs": ["get"], "nonResourceURLs": ["/metrics"], "resourceNames": ["a"]},
    {"nonResourceURLs": ["/metrics", "/x"], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    None,
]
SELECTORS: list[Any] = [
    {},
    {"matchLabels": {"a b": "c", "d": "e f"}},
    {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "", "operator": "Exists", "values": ["x"]}]},
    {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["x"]}]},
    {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x y"]}]},
]
SOURCES: list[Any] = [
    None,
    {"kind": "PersistentVolumeClaim", "name": "x"},
    {"kind": "PersistentVolumeClaim", "name": ""},
    {"kind": "PersistentVolumeClaim", "name": "x", "apiGroup": ""},
    {"kind": "VolumeSnapshot", "name": "x"},
    {"kind": "VolumeSnapshot", "name": "x", "apiGroup": "snapshot.storage.k8s.io"},
    {"kind": "", "name": "x", "apiGroup": "A_B"},
    {"kind": "Populator", "name": "x", "apiGroup": "example.com"},
]
REFERENCES: list[Any] = [*SOURCES, *({**one, "namespace": name} for one in SOURCES[1:] for name in ("", "b", "B_"))]
MODES: list[Any] = [None, [], ["RWO"], [""], ["ReadWriteOncePod", "ReadOnlyMany"], ["ReadWriteOnce"] * 2]
KEYS = ("a/b", ".", "..", "..a", ".a", "", "a b", "ä", "x" * 253, "x" * 254, "a", "c")
ROLES = ("Role", "ClusterRole", "Rolle", "")


def _changes() -> dict[str, list[tuple[Steps, Any]]]:
    size = 1024 * 1024
    claim: list[tuple[Steps, Any]] = [
        *(
            (("spec", "accessModes"), modes)
            for modes in (None, [], ["RWO"], ["ReadWriteOncePod", "ReadOnlyMany"], [""])
        ),
        *((("spec", "accessModes"), ["ReadWriteOnce", "ReadWriteOnce"]), (("spec",), None), (("spec",), {})),
        *((("spec", "resources"), given) for given in (None, {}, {"requests": {}}, {"limits": {"storage": "1Gi"}})),
        *((("spec", "resources", "requests", "storage"), amount) for amount in ("0", "-1Gi", 5, "1m", None)),
        *((("spec", "storageClassName"), name) for name in ("", "A_B", "a.b", "x" * 254)),
        *((("spec", "volumeAttributesClassName"), name) for name in ("", "A_B", "gold")),
        *((("spec", "volumeMode"), mode) for mode in ("", "Block", "Files")),
        *((("spec", "selector"), selector) for selector in (*SELECTORS, None)),
        *((("spec", "dataSource"), source) for source in SOURCES),
        *((("spec", "dataSourceRef"), source) for source in REFERENCES),
    ]
    binding: list[tuple[Steps, Any]] = [
        *((("roleRef", "apiGroup"), group) for group in (None, "", "v1", RBAC)),
        *((("roleRef", "kind"), kind) for kind in ROLES),
        *((("roleRef", "name"), name) for name in ("", "a:b c", "a/b", "50%", "..", "x" * 300)),
        *((("subjects", 0), subject) for subject in SUBJECTS),
        *((("subjects",), each) for each in ([], None)),
        (("roleRef",), {}),
    ]
    role: list[tuple[Steps, Any]] = [*((("rules", 0), rule) for rule in RULES), (("rules",), None), (("rules",), [])]
    return {
        "ConfigMap": [
            *((("data", key), "x") for key in KEYS),
            *((("binaryData", key), "eA==") for key in KEYS),
            *((("data", "big"), "ä" * count) for count in (size // 2 - 2, size // 2 - 1)),
            (("binaryData", "big"), base64.b64encode(b"z" * (size - 3)).decode()),
            (("binaryData", "big"), base64.b64encode(b"z" * (size - 2)).decode()),
            *((("data",), None), (("binaryData",), None)),
        ],
        "ServiceAccount": [
            (("secrets",), [{"name": ""}, {"name": "A_B"}]),
            (("imagePullSecrets",), [{}, {"name": ""}]),
        ],
        "PersistentVolumeClaim": claim,
        "Role": role,
        "ClusterRole": [
            *role,
            *((("aggregationRule", "clusterRoleSelectors"), [each]) for each in SELECTORS),
            *((("aggregationRule",), each) for each in ({}, None, {"clusterRoleSelectors": []})),
        ],
        "RoleBinding": binding,
        "ClusterRoleBinding": binding,
    }


CHANGES = _changes()


def changed(data: dict[str, Any], path: Steps, value: Any) -> None:
    """Set a value, or remove it (None); a path whose parent is no longer there is left alone."""
    at: Any = data
    for step in path[:-1]:
        if not isinstance(at, dict) or not at.get(step):  # type: ignore[call-overload]
            return
        at = at[step]
    if isinstance(at, list):
        at[path[-1]] = copy.deepcopy(value)  # type: ignore[call-overload]
    elif value is None:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = copy.deepcopy(value)


def cases() -> Iterator[dict[str, Any]]:
    """Yield the objects whose answers are recorded."""
    for kind, changes in CHANGES.items():
        for change in changes:
            data = base(kind)
            changed(data, *change)
            yield data
    yield from mixed(RECORDED, SEED)


def mixed(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield so many objects with three changes each."""
    for index in range(count):
        rng = Rng(seed, index)
        kind = rng.pick(sorted(CHANGES))
        data = base(kind)
        for _ in range(3):
            changed(data, *rng.pick(CHANGES[kind]))
        yield data


def base(kind: str) -> dict[str, Any]:
    return copy.deepcopy(next(one for one in bases() if one["kind"] == kind))


def ask(objects: list[dict[str, Any]]) -> list[list[str]]:
    """Return the errors of the server's validation, sorted."""
    return [sorted({*answer.get("errors", ())}) for answer in gotools.ask(".", objects, ORACLE)]


def record() -> str:
    return json.dumps(ask(list(cases())), indent=0, ensure_ascii=False) + "\n"


def agree(data: dict[str, Any], answer: list[str]) -> None:
    of = resource_of(data)
    result = admit(of, data)
    violations, faults = result.violations, list(faults_of(of, result))
    assert not any(violation.decode for violation in violations)
    texts = [text for text in answer if not text.endswith("invalid label selector.")]  # follows the selector's errors
    assert {fault.upstream for fault in faults} <= {*texts}, data
    missing = {_field(dotted((*wrong.path, str(wrong.expected)))) for wrong in violations}
    found = {_field(str(fault.upstream)) for fault in faults}
    assert found | missing == {*map(_field, texts)}, data
    assert not missing & found, data
    assert all(fault.message and fault.code for fault in faults)


def _field(text: str) -> str:
    """Return the field of an error. The create strategy copies a claim's data source to its other field."""
    return text.partition(": ")[0].replace("dataSourceRef", "dataSource")


def test_objects_are_refused_as_by_the_server() -> None:
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    for data, answer in zip(cases(), answers, strict=True):
        agree(data, answer)


@pytest.fixture(scope="session")
def oracle() -> None:
    if (reason := gotools.missing(ORACLE)) is not None:
        pytest.skip(reason)


@pytest.mark.go
@pytest.mark.usefixtures("oracle")
def test_recorded_answers_are_those_of_today(update: bool) -> None:
    text = record()
    if update:
        ANSWERS.write_text(text, encoding="utf-8")
    assert ANSWERS.read_text(encoding="utf-8") == text


@pytest.mark.go
@pytest.mark.usefixtures("oracle")
def test_random_objects_agree() -> None:
    objects = list(mixed(RANDOM, 4711))
    for data, answer in zip(objects, ask(objects), strict=True):
        agree(data, answer)
