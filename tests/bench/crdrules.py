"""Measures CEL in one process, warm: the rules of the CRDs, whole objects, and questions of ``trainc cel --jsonl``.

Every distinct rule of the four CRDs has one input here, of the size that the jobs of this
repository have. A measurement begins at plain JSON: reading the value by its schema is part of it, and so is reading
the old value where the rule compares. What runs once in a process (compiling) is left out.
"""

from __future__ import annotations

import copy
import json
import statistics
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from trainc.admission.rules import failures
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.cel.questions import answer, read_question
from trainc.cel.rules import OLD_SELF, SELF, compile_rule
from trainc.cel.schemas import reader
from trainc.schema import Structural, parse, resource

KINDS = ("TrainJob", "ClusterTrainingRuntime", "TrainingRuntime", "JobSet")
REPEATS = 15
SECONDS = 0.02
"""How long one repetition is to take."""

_CONTAINERS: Json = [
    {
        "name": "node",
        "env": [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "HF_HOME", "value": "/workspace/cache"}],
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
        "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True},
    },
    {"name": "metrics", "env": [{"name": "PORT", "value": "9090"}]},
]
_POD: JsonObject = {
    "restartPolicy": "OnFailure",
    "containers": [
        {
            "name": "node",
            "image": "docker.io/library/trainer:1.4.2",
            "command": ["torchrun", "--nnodes=4", "/workspace/train.py"],
            "env": [{"name": "PET_NNODES", "value": "4"}, {"name": "PET_NPROC_PER_NODE", "value": "8"}],
            "ports": [{"containerPort": 29500, "protocol": "TCP"}],
            "resources": {"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": "16", "memory": "128Gi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
    ],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
}


def _replicated(name: str, after: str | None) -> JsonObject:
    job: JsonObject = {"name": name, "replicas": 1, "template": {"spec": {"template": {"spec": _POD}}}}
    return job if after is None else {**job, "dependsOn": [{"name": after, "status": "Complete"}]}


_CLAIMS: JsonObject = {
    "templates": [
        {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"]}} for name in ("checkpoints", "scratch")
    ]
}
JOBSET: JsonObject = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "resnet50", "namespace": "team-vision"},
    "spec": {
        "failurePolicy": {"maxRestarts": 3, "restartStrategy": "Recreate"},
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "replicatedJobs": [
            _replicated("dataset-initializer", None),
            _replicated("model-initializer", None),
            _replicated("node", "dataset-initializer"),
        ],
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "successPolicy": {"operator": "All"},
        "volumeClaimPolicies": [_CLAIMS],
    },
}
TRAINJOB: JsonObject = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "resnet50", "namespace": "team-vision"},
    "spec": {
        "initializer": {"dataset": {"storageUri": "hf://datasets/imagenet-1k"}},
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "torch"},
        "trainer": {"image": "docker.io/library/trainer:1.4.2", "numNodes": 4, "numProcPerNode": 8},
    },
}
_PATCHED = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0)
_TORCH_TARGET = ("spec", "mlPolicy", "torch", "envInjection", "targets", 0)


class Case(NamedTuple):
    """Where a rule stands, and what it is evaluated with."""

    kind: str
    path: tuple[str | int, ...]
    value: Json


CASES: Mapping[str, Case] = {
    "[has(self.torch), ": Case("ClusterTrainingRuntime", ("spec", "mlPolicy"), {"numNodes": 4, "torch": {}}),
    "self >= 1": Case("ClusterTrainingRuntime", ("spec", "mlPolicy", "flux", "numProcPerNode"), 8),
    "!self.exists(c, ": Case(
        "ClusterTrainingRuntime", (*_TORCH_TARGET, "containerNames"), ["dataset-initializer", "sidecar"]
    ),
    "!(has(self.startupPolicy)": Case("JobSet", ("spec",), JOBSET["spec"]),
    "self == oldSelf": Case("TrainJob", (*_PATCHED, "template", "spec", "template", "spec", "containers"), _CONTAINERS),
    "self.templates.all(": Case("JobSet", ("spec", "volumeClaimPolicies", 0), _CLAIMS),
    "self.metadata.name.matches(": Case("TrainJob", (), TRAINJOB),
    "size(self.metadata.name)": Case("TrainJob", (), TRAINJOB),
    "self == '' || self.matches(": Case(
        "TrainJob", ("spec", "initializer", "dataset", "storageUri"), "hf://datasets/imagenet-1k"
    ),
    "self in [": Case("TrainJob", ("spec", "managedBy"), "kueue.x-k8s.io/multikueue"),
    "has(self.lastUpdatedTime)": Case(
        "TrainJob",
        ("status", "trainerStatus"),
        {"progressPercentage": 40, "estimatedRemainingSeconds": 795, "lastUpdatedTime": "2026-01-02T03:04:05Z"},
    ),
}
"""By what a rule begins with."""

QUESTIONS: tuple[JsonObject, ...] = (
    {"env": "vap", "expr": "object.spec.replicas <= 5", "vars": {"object": {"spec": {"replicas": 3}}}},
    {
        "env": "vap",
        "expr": "object.spec.containers.all(c, c.image.startsWith('docker.io/'))",
        "vars": {"object": {"spec": {"containers": [{"image": "docker.io/a"}, {"image": "docker.io/b"}]}}},
    },
    {"env": "crd", "expr": "self.startsWith('a')", "schema": {"type": "string", "maxLength": 9}, "vars": {"self": "a"}},
    {"env": "dyn", "expr": "[1, 2, 3].map(x, x * 2)"},
)


def microseconds(call: Callable[[], object]) -> float:
    """Return how long a call takes on a processor: the least of repetitions, as others slow down the rest."""
    timer = timeit.Timer(call, timer=time.process_time)
    once = timer.timeit(50) / 50  # what is compiled on first use is compiled here
    number = max(1, int(SECONDS / max(once, 1e-9)))
    return min(timer.repeat(REPEATS, number)) / number * 1e6


def distinct_rules() -> Iterator[str]:
    """Yield the texts of the rules of the CRDs that trainc compiles, each once."""
    seen: set[str] = set()
    stack = [resource(kind).schema for kind in KINDS]
    while stack:
        node = stack.pop()
        below = (*node.properties.values(), node.items, node.additional, *node.alternatives("allOf"))
        stack += [sub for sub in below if sub is not None]
        for rule in node.rules:
            text = str(rule["rule"])
            if text not in seen:
                seen.add(text)
                yield text


def rules() -> dict[str, float]:
    """Return the microseconds that each distinct rule of the CRDs takes. LookupError for one without an input."""
    return {text: _rule(text, _case(text)) for text in sorted(distinct_rules())}


def _case(text: str) -> Case:
    found = [case for start, case in CASES.items() if text.startswith(start)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} inputs for the rule {text}")
    return found[0]


def _rule(text: str, case: Case) -> float:
    schema = resource(case.kind).schema.at(case.path)
    assert schema is not None
    evaluate = evaluator(schema, next(rule for rule in schema.rules if rule["rule"] == text), root=not case.path)
    old = copy.deepcopy(case.value)
    if evaluate(case.value, old) is not True:
        raise ValueError(f"its input does not meet the rule {text}")
    return microseconds(lambda: evaluate(case.value, old))


def evaluator(schema: Structural, spec: JsonObject, *, root: bool) -> Callable[[Json, Json], object]:
    """Return what evaluates a rule at its place with JSON and, if it compares, older JSON."""
    compiled = compile_rule(spec, schema, root)
    assert compiled.rule is not None
    read, run = reader(schema, root), compiled.rule.program.evaluate
    if compiled.compares:
        return lambda value, old: run({SELF: read(value), OLD_SELF: read(old)}).value
    return lambda value, _: run({SELF: read(value)}).value


JOBSET_CREATED = "JobSet, create"


def objects() -> dict[str, float]:
    """Return the microseconds that all rules of an object take, found at their places."""
    found = {}
    for data in (TRAINJOB, JOBSET):
        schema, old = resource(str(data["kind"])).schema, copy.deepcopy(data)
        if failures(schema, data, old):
            raise ValueError(f"the {data['kind']} does not meet its rules")
        found[f"{data['kind']}, create"] = microseconds(lambda: failures(schema, data))  # noqa: B023
        found[f"{data['kind']}, update"] = microseconds(lambda: failures(schema, data, old))  # noqa: B023
    return found


def questions() -> float:
    """Return the microseconds that a line of ``trainc cel --jsonl`` takes, parsed, compiled and answered; the mean."""
    lines = [json.dumps({"id": str(number), **question}) for number, question in enumerate(QUESTIONS)]
    return statistics.fmean(microseconds(lambda: _answer(line)) for line in lines)  # noqa: B023


def _answer(line: str) -> str:
    return json.dumps(answer(read_question(json.loads(line)), parse).written())


class Findings(NamedTuple):
    """Microseconds: of each rule of the CRDs by its text, of all rules of an object, of a line of ``--jsonl``."""

    rules: Mapping[str, float]
    objects: Mapping[str, float]
    question: float

    @property
    def mean(self) -> float:
        """The arithmetic mean of the rules."""
        return statistics.fmean(self.rules.values())

    def joined(self, other: Findings) -> Findings:
        """Return the least of both for each rule, object and question."""
        parts = ({key: min(one[key], two[key]) for key in one} for one, two in zip(self[:2], other[:2], strict=True))
        return Findings(*parts, min(self.question, other.question))


def measure() -> Findings:
    """Measure all."""
    return Findings(rules(), objects(), questions())
