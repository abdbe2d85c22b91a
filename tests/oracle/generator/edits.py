"""Edits documents a little: what people, and controllers, change in an object that is there already."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from oracle.generator.fields import enrich
from oracle.generator.mutations import damage
from oracle.generator.rng import Rng
from oracle.generator.rulebreaks import break_rules
from oracle.generator.values import Map, metadata
from oracle.generator.yamltext import Plain

Edit = Callable[[Rng, Map], None]

POD_FIELDS: dict[str, tuple[Any, ...]] = {
    "nodeSelector": ({"pool": "x"}, {"zone": "a", "pool": ""}, {}),
    "tolerations": ([{"key": "p", "operator": "Exists"}], [{"key": "q", "value": "v", "tolerationSeconds": 7}], []),
    "schedulingGates": ([{"name": "x.io/g"}], [{"name": "x.io/g"}, {"name": "y.io/h"}], []),
    "hostNetwork": (True, False),
    "restartPolicy": ("Never", "OnFailure", "Always"),
    "terminationGracePeriodSeconds": (0, 30),
    "containers": ([{"name": "node", "image": "n"}],),
}
"""Fields of pods; JobSet's webhook lets the first three change while a JobSet is suspended."""

SPEC_FIELDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "JobSet": {
        "suspend": (True, False),
        "managedBy": ("example.com/x", "kueue.x-k8s.io/multikueue"),
        "network": ({"enableDNSHostnames": True}, {"subdomain": "net"}, {}),
        "successPolicy": ({"operator": "All"}, {"operator": "Any", "targetReplicatedJobs": []}),
        "startupPolicy": ({"startupPolicyOrder": "AnyOrder"}, {"startupPolicyOrder": "InOrder"}),
        "failurePolicy": ({"maxRestarts": 1}, {"maxRestarts": 2, "rules": [{"action": "FailJobSet"}]}, {}),
        "coordinator": ({"replicatedJob": "node"}, {"replicatedJob": "node", "podIndex": 1}),
        "ttlSecondsAfterFinished": (0, 60),
        "volumeClaimPolicies": ([], [{"templates": [{"metadata": {"name": "claim"}}]}]),
    },
    "TrainJob": {
        "suspend": (True, False),
        "managedBy": ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"),
        "activeDeadlineSeconds": (1, 3600, 3601),
        "runtimePatches": ([], [{"manager": "a.io/one", "trainingRuntimeSpec": {"template": {}}}]),
        "trainer": ({}, {"numNodes": 1}, {"numNodes": 2, "image": "n"}),
        "initializer": ({}, {"model": {}}, {"dataset": {"storageUri": "s3://b"}}),
        "runtimeRef": ({"name": "rt0"}, {"name": "rt0", "kind": "TrainingRuntime"}, {"name": "rt1"}),
    },
    "TrainingRuntime": {
        "mlPolicy": ({}, {"numNodes": 1}, {"torch": {}}, {"mpi": {}}),
        "podGroupPolicy": ({}, {"coscheduling": {}}, {"volcano": {}}),
    },
}  # fmt: skip
SPEC_FIELDS["ClusterTrainingRuntime"] = SPEC_FIELDS["TrainingRuntime"]


def edit(rng: Rng, document: Map) -> None:
    """Change one thing of a document in place; what identifies it stays."""
    if not isinstance(document.get("spec"), dict):
        return
    meta = document["metadata"]
    kept = {key: meta.get(key) for key in ("name", "namespace")} if isinstance(meta, dict) else {}
    rng.pick(EDITS)(rng, document)
    if not isinstance(document.get("metadata"), dict):
        document["metadata"] = {}
    document["metadata"].update(kept)
    for key in ("generateName", *(key for key, value in kept.items() if value is None)):
        document["metadata"].pop(key, None)


def _spec(rng: Rng, document: Map) -> None:
    fields = SPEC_FIELDS[document["kind"]]
    spec, key = document["spec"], rng.pick(sorted(fields))
    if key in spec and rng.chance(30):
        del spec[key]
    else:
        spec[key] = copy.deepcopy(rng.pick(fields[key]))


def _suspend(rng: Rng, document: Map) -> None:
    holder = document["spec"]
    if document["kind"].endswith("Runtime"):
        holder = _below(holder, "template", "spec")
    if isinstance(holder, dict):
        holder["suspend"] = rng.chance(70)


def _pod(rng: Rng, document: Map) -> None:
    """Change one field of one job's pods, or their labels and annotations."""
    pods = list(_pods(document))
    if not pods:
        return _spec(rng, document)
    pod = rng.pick(pods)
    if rng.chance(30):
        pod["metadata"] = metadata(rng)
        return None
    spec, key = pod["spec"], rng.pick(sorted(POD_FIELDS))
    if key in spec and rng.chance(30):
        del spec[key]
    else:
        spec[key] = copy.deepcopy(rng.pick(POD_FIELDS[key]))
    return None


def _pods(value: Any) -> Iterator[Map]:
    """Yield whatever has a spec with containers in it, or a patch of such a spec."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and ("containers" in spec or "nodeSelector" in spec):
            yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _pods(item)


def _order(rng: Rng, document: Map) -> None:
    lists = [found for found in _lists(document["spec"]) if len(found) > 1]
    if not lists:
        return _tweak(rng, document)
    found = rng.pick(lists)
    if rng.chance(70):
        found[:] = rng.shuffled(found)
    else:
        del found[rng.below(len(found))]
    return None


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _lists(item)


def _tweak(rng: Rng, document: Map) -> None:
    """Make another value of the same type out of one."""
    leaves = list(_leaves(document["spec"]))
    if leaves:
        holder, key = rng.pick(leaves)
        holder[key] = _other(rng, holder[key])


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from _leaves(item)
        elif item is not None:
            yield value, key


def _other(rng: Rng, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.pick((0, 1, 2, 3, value))
    if isinstance(value, str) and not isinstance(value, Plain):
        respelt = {"1": "1000m", "1Gi": "1024Mi", "2": "2000m", "1024Mi": "1Gi"}
        return respelt.get(value) or rng.pick((f"{value}x", "", "1", value))
    return value


def _below(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _rule(rng: Rng, document: Map) -> None:
    if document["kind"] == "JobSet":  # the fields that its rules look at are all in the table
        _spec(rng, document)
    else:
        break_rules(rng, document)


EDITS: tuple[Edit, ...] = (
    _spec, _spec, _spec, _suspend, _pod, _pod, _pod, _order, _tweak, _tweak, _tweak, enrich, enrich, _rule, damage,
)  # fmt: skip
