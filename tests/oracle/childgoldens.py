"""Asks JobSet's, Kubernetes' own code what becomes of JobSets: ``python tests/oracle/childgoldens.py``.

Writes ``policies/children.jsonl``: lines ``{"jobset", "children"}``, the first Job and pod of every replicated job with
the server's defaults. What admission plugins add to pods (tolerations, the service account) is not there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
GOLDENS = HERE / "policies" / "children.jsonl"
ROOT = HERE.parent.parent
COMMITTED = ("ocean-model-mpi", "llama-1b-alpaca", "roberta-two-managers", "lammps-flux")

Json = Any
ZEROS = "0" * 64
FIELD = {"fieldRef": {"fieldPath": "metadata.labels"}}
CONTAINER: Json = {
    "name": "a",
    "image": "x:latest",
    "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82, "protocol": "UDP"}],
    "resources": {"limits": {"cpu": "1000m", "memory": "1.5Gi"}, "requests": {"cpu": "0.5"}},
    "livenessProbe": {"httpGet": {"port": 80}},
    "readinessProbe": {"grpc": {"port": 1}, "periodSeconds": 3},
    "startupProbe": {"exec": {"command": ["a"]}},
    "lifecycle": {"preStop": {"httpGet": {"port": "x"}}, "postStart": {"exec": {"command": ["x"]}}},
    "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": ""}],
    "volumeMounts": [{"name": "c", "mountPath": "/c"}],
}
VOLUMES: Json = [
    {"name": "e"},
    {"name": "h", "hostPath": {"path": "/"}},
    {"name": "s", "secret": {"secretName": "s"}},
    {"name": "m", "configMap": {"name": "m"}},
    {"name": "d", "downwardAPI": {"items": [{"path": "p", **FIELD}]}},
    {
        "name": "p",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "t"}},
                {"downwardAPI": {"items": [{"path": "p", **FIELD}]}},
                {"configMap": {"name": "m"}},
            ]
        },
    },
    {
        "name": "n",
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
            }
        },
    },
    {"name": "v", "persistentVolumeClaim": {"claimName": "x"}},
]
POD: Json = {
    "hostNetwork": True,
    "priorityClassName": "high",
    "schedulerName": "volcano",
    "serviceAccountName": "trainer",
    "tolerations": [{"operator": "Exists"}],
    "containers": [CONTAINER],
    "initContainers": [
        {"name": "i", "image": f"reg:5000/x@sha256:{ZEROS}", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]},
        {"name": "j", "image": "y:1", "restartPolicy": "Always"},
        {"name": "k", "image": "reg:5000/z"},
    ],
    "volumes": VOLUMES,
}
PLAIN: Json = {"containers": [{"name": "b", "image": "b"}]}
FAILURES: Json = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
CLAIM: Json = {
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
ALONE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
BY_SELECTOR = {**ALONE, "alpha.jobset.sigs.k8s.io/node-selector": "true"}


def _replicated(name: str, pod: Json, job: Json, **rest: Json) -> Json:
    return {"name": name, **rest, "template": {"spec": {**job, "template": {"spec": pod}}}}


def _jobset(name: str, annotations: Json, spec: Json) -> Json:
    metadata = {"name": name, "namespace": "team", "annotations": annotations}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def made_up() -> list[Json]:
    """Return JobSets in which everything occurs that controllers and defaults look at."""
    several = [
        _replicated(
            "a",
            POD,
            {"parallelism": 2, "completions": 2, "backoffLimitPerIndex": 1, "podFailurePolicy": FAILURES},
            replicas=2,
            groupName="g",
        ),
        _replicated("b", {**PLAIN, "restartPolicy": "Never"}, {"completionMode": "NonIndexed"}, replicas=3),
        _replicated("c", PLAIN, {"parallelism": 3, "completions": 3}, groupName="g"),
        _replicated("none", PLAIN, {}, replicas=0),
    ]
    full = {
        "suspend": True,
        "network": {"subdomain": "sub"},
        "coordinator": {"replicatedJob": "c", "podIndex": 1},
        "volumeClaimPolicies": [{"templates": [CLAIM]}],
        "replicatedJobs": several,
    }
    labels = {"metadata": {"labels": {"l": "m"}}, "spec": PLAIN}
    template = {"metadata": {"labels": {"x": "y"}, "annotations": {**ALONE, "k": "v"}}}
    alone = {"name": "workers-of-it", "template": {**template, "spec": {"parallelism": 1, "template": labels}}}
    long = {"network": {"enableDNSHostnames": False}, "replicatedJobs": [alone]}
    return [_jobset("full", BY_SELECTOR, full), _jobset("a-rather-long-name-for-a-job-set-of-this", {}, long)]


def jobsets() -> list[Json]:
    """Return JobSets as a cluster stores them: those above, and some of the repository's own."""
    from trainc import Source
    from trainc.admission.jobset import admit_jobset
    from trainc.documents.load import load

    paths = [path for name in COMMITTED for path in sorted((ROOT / "out").rglob(f"jobset-{name}.yaml"))]
    given = [load(Source(path.name, path.read_text(encoding="utf-8")))[0][0].data for path in paths]
    admitted = [admit_jobset(data, {}) for data in [*made_up(), *given]]
    assert not any(refused for _, refused in admitted), admitted
    return [data for data, _ in admitted]


def ask(folder: Path, program: str, questions: list[Json]) -> list[Json]:
    """Run a program of the oracle. Raises CalledProcessError."""
    text = "".join(json.dumps(question) + "\n" for question in questions)
    command = ["go", "run", f"./{program}"]
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def answers(questions: list[Json]) -> list[list[Json]]:
    """Return the children of JobSets, in order: Job, pod, Job, pod."""
    jobs = ask(HERE, "created", questions)
    made = iter(ask(HERE / "pods", "made", [job for found in jobs for job in found]))
    return [[_plain(child) for _ in found for child in _both(next(made))] for found in jobs]


def _both(answer: Json) -> tuple[Json, Json]:
    return {"apiVersion": "batch/v1", "kind": "Job", **answer["job"]}, {
        "apiVersion": "v1",
        "kind": "Pod",
        **answer["pod"],
    }


def _plain(value: Json) -> Json:
    """Return what the server would send: Go's null is nothing."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def read() -> list[tuple[Json, list[Json]]]:
    """Return JobSets with their children."""
    rows = map(json.loads, GOLDENS.read_text(encoding="ascii").splitlines())
    return [(row["jobset"], row["children"]) for row in rows]


def main() -> int:
    """Write the goldens."""
    questions = jobsets()
    rows = zip(questions, answers(questions), strict=True)
    lines = [json.dumps({"jobset": one, "children": made}, separators=(",", ":")) + "\n" for one, made in rows]
    GOLDENS.write_text("".join(lines), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
