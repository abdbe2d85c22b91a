"""Breaks rules of the CRDs, x-kubernetes-validations, or nearly: names, policies, places of data, claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oracle.generator.rng import Rng
from oracle.generator.values import Map

NAMES = (
    "n" * 63, "n" * 64, "n" * 65, "n" * 253, "n" * 254, "a.b", "a.b.c", "A", "aB", "9a", "a-", "-a", "a_b", "a b", "é",
    "\uff41", "1", ".", "a.", "n" * 63 + ".b", "N" * 64, "9" * 70,
)  # fmt: skip
MANAGERS = (
    "trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/Multikueue", "", " ",
    "other", "kueue.x-k8s.io/multikueue ", "é",
)  # fmt: skip
URIS = (
    "", "s3://", "s3://b", "://b", "s3:/b", "S3://b", "3s://b", "s3+x.y-z://b", "s_3://b", " s3://b", "s3://b\n",
    "s3://\n", "s3://b\nc", "s3:// ", "s3://é😀", "é://b", "hf//b", "http://a b", "\n", "s3://\u2028", "s3://\u0085b",
)  # fmt: skip
POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")
PROCESSES = (-2147483648, -1, 0, 1, 2147483647)
CONTAINERS = ("node", "Node", "node ", "", "side", "model-initializer")


def break_rules(rng: Rng, document: Map) -> None:
    """Change one thing of a document that a rule looks at, in place; often so that the rule fails."""
    if not isinstance(document.get("spec"), dict):
        return
    options = JOB if document["kind"] == "TrainJob" else RUNTIME
    rng.pick(options)(rng, document)


def _name(rng: Rng, document: Map) -> None:
    document["metadata"]["name"] = rng.pick(NAMES)


def _manager(rng: Rng, document: Map) -> None:
    document["spec"]["managedBy"] = rng.pick(MANAGERS)


def _uri(rng: Rng, document: Map) -> None:
    for key in rng.some(("dataset", "model"), 2) or ["model"]:
        _part(document, "spec", "initializer", key)["storageUri"] = rng.pick(URIS)


def _policies(rng: Rng, document: Map) -> None:
    policy = _part(document, "spec", "mlPolicy")
    for name in rng.some(POLICIES):
        policy[name] = {}


def _processes(rng: Rng, document: Map) -> None:
    _part(document, "spec", "mlPolicy", "flux")["numProcPerNode"] = rng.pick(PROCESSES)


def _injection(rng: Rng, document: Map) -> None:
    targets = []
    for index in range(1 + rng.below(3)):
        names = rng.some(CONTAINERS, 3) or ["node"]
        targets.append({"jobName": f"job{index if rng.chance(90) else 0}", "containerNames": names})
    _part(document, "spec", "mlPolicy", "torch")["envInjection"] = {"targets": targets}


def _order(rng: Rng, document: Map) -> None:
    jobset = _part(document, "spec", "template", "spec")
    jobset["startupPolicy"] = {"startupPolicyOrder": "InOrder" if rng.chance(80) else "AnyOrder"}
    jobs = [job for job in jobset.get("replicatedJobs") or () if isinstance(job, dict)]
    if len(jobs) > 1 and rng.chance(80):
        needed: Any = [{"name": jobs[0].get("name"), "status": "Ready"}]
        jobs[1 + rng.below(len(jobs) - 1)]["dependsOn"] = needed if rng.chance(85) else []


def _claims(rng: Rng, document: Map) -> None:
    policies = []
    for number in range(1 + rng.below(3)):
        templates = []
        for index in range(rng.below(3)):
            meta: Map = {"name": f"c{number}{index}"}
            if rng.chance(50):
                meta["namespace"] = rng.pick(("other", "default", "", "é"))
            templates.append({"metadata": meta} if rng.chance(90) else {})
        policies.append({"templates": templates})
    _part(document, "spec", "template", "spec")["volumeClaimPolicies"] = policies


def _part(document: Map, *path: str) -> Map:
    """Return the map at a path, made where there is none."""
    part = document
    for key in path:
        if not isinstance(part.get(key), dict):
            part[key] = {}
        part = part[key]
    return part


JOB: tuple[Callable[[Rng, Map], None], ...] = (_name, _name, _manager, _uri, _uri)
RUNTIME: tuple[Callable[[Rng, Map], None], ...] = (_policies, _policies, _processes, _injection, _order, _claims)
