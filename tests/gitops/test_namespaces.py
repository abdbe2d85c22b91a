"""Namespaces that an environment renames, where objects name them outside of their metadata."""

from __future__ import annotations

import json

from builders import role, runtime, trainjob
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Json, JsonObject, get

RENAMES: JsonObject = {"team": "other", "other": "team", "third": "other"}
HERE = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "affinity")
LABEL = "kubernetes.io/metadata.name"
TERM: JsonObject = {
    "topologyKey": "kubernetes.io/hostname",
    "namespaces": ["team", "third", "other", "fourth"],
    "namespaceSelector": {
        "matchLabels": {LABEL: "team", "example.com/name": "team"},
        "matchExpressions": [
            {"key": LABEL, "operator": "NotIn", "values": ["other", "fourth"]},
            {"key": LABEL, "operator": "Exists"},
            {"key": "example.com/name", "operator": "In", "values": ["team"]},
        ],
    },
}
RENAMED: JsonObject = {
    "topologyKey": "kubernetes.io/hostname",
    "namespaces": ["other", "team", "fourth"],
    "namespaceSelector": {
        "matchLabels": {LABEL: "other", "example.com/name": "team"},
        "matchExpressions": [
            {"key": LABEL, "operator": "NotIn", "values": ["team", "fourth"]},
            {"key": LABEL, "operator": "Exists"},
            {"key": "example.com/name", "operator": "In", "values": ["team"]},
        ],
    },
}


def affinity(term: JsonObject) -> JsonObject:
    required, preferred = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))
    terms: JsonObject = {required: [term], preferred: [{"weight": 1, "podAffinityTerm": term}]}
    return {"podAffinity": terms, "podAntiAffinity": terms}


BINDING = """---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: train, namespace: team}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:team"}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccount:team:train"}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts"}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: team}
"""


def made(settings: JsonObject) -> dict[str, JsonObject]:
    node = role(trainer=True, pod=f"affinity: {json.dumps(affinity(TERM))}")
    text = runtime(node, policy="{torch: {}}") + BINDING
    sources = [Source("runtimes/r.yaml", text), Source("jobs/team/j.yaml", trainjob(metadata=", namespace: team"))]
    build = compile(sources, Options(environment="prod", config={"environments": {"prod": settings}}))
    assert build.jobs[0].objects, build.findings
    return {obj.kind: obj.data for obj in build.objects}


def test_pods_look_for_others_in_the_renamed_namespaces() -> None:
    assert get(made({"namespaces": RENAMES})["JobSet"], *HERE) == affinity(RENAMED)
    assert get(made({"namespaces": {"fifth": "sixth"}})["JobSet"], *HERE) == get(made({})["JobSet"], *HERE)
    assert get(made({})["JobSet"], *HERE) == affinity(TERM)


def test_patches_have_the_names_in_the_cluster() -> None:
    pod: JsonObject = {"affinity": affinity(TERM)}
    jobs: list[Json] = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    patch: JsonObject = {"target": {"kind": "JobSet"}, "patch": {"spec": {"replicatedJobs": jobs}}}
    assert get(made({"namespaces": RENAMES, "patches": [patch]})["JobSet"], *HERE) == affinity(TERM)


def test_rights_go_to_the_accounts_of_the_renamed_namespaces() -> None:
    subjects = get(made({"namespaces": RENAMES})["RoleBinding"], "subjects")
    named = [(get(one, "name"), get(one, "namespace")) for one in subjects] if isinstance(subjects, list) else []
    assert named == [
        ("train", "other"),
        ("system:serviceaccounts:other", None),
        ("system:serviceaccount:other:train", None),
        ("system:serviceaccounts", None),
        ("team", None),
    ]
