"""TFJob of Training Operator (pkg/controller.v1/tensorflow at v1.9)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

from trainc.migrate.documents import Converted, Old
from trainc.migrate.gang import schedule_together
from trainc.migrate.jobs import (
    Replicas,
    RunPolicy,
    count_nodes,
    new_job,
    new_runtime,
    own_name,
    replicas_of,
    succeed_with,
    with_pods,
    without_pods,
)
from trainc.migrate.pods import (
    PodSet,
    add_env_of_all,
    can_list_hosts,
    completion_index,
    host,
    jobset_name,
    replicated_job,
)
from trainc.migrate.trees import mapping, sequence
from trainc.upstream import NODE

_FIELD: Final = "tfReplicaSpecs"
_CONTAINER: Final = "tensorflow"
_PORT, _PORT_NAME = 2222, "tfjob-port"
_TYPES: Final = ("Chief", "Master", "PS", "Worker", "Evaluator")
_CONFIG, _INDEX = "TF_CONFIG", "TF_INDEX"


def convert(old: Old) -> Converted | None:
    """Return a TrainJob whose pods get TF_CONFIG from the runtime, as Trainer has nothing for TensorFlow."""
    sets = replicas_of(old, _FIELD, _CONTAINER, "Never", *_TYPES)
    alone = len(sets) == 1
    started = sets if alone else with_pods(old, sets)
    if not started:
        without_pods(old, _FIELD)
        return None
    job = new_job(old)
    policy = RunPolicy(old, job)
    total = sum(one.count for one in sets.values())
    dynamic = old.read("spec", "enableDynamicWorker") is True
    names = {kind: "node" if alone else kind.lower() for kind in sets}
    listed = sum(one.count for kind, one in sets.items() if kind == "PS" or not dynamic)
    lists = total != 1 and can_list_hosts(old, ("spec", _FIELD), listed * len(sets))
    cluster = {
        kind.lower(): [f"{host(names[kind], index)}:{one.port(_PORT_NAME, _PORT)}" for index in range(one.count)]
        for kind, one in sorted(sets.items() if lists else ())
    }
    jobs = []
    for kind, replicas in started.items():
        pods = _pods(kind, replicas, cluster, job if alone else None, dynamic=dynamic)
        if alone:
            count_nodes(old, job, sets)
        jobs.append(replicated_job(replicas, policy.backoff_limit, pods))
        if not alone and replicas.count != 1:
            spec = jobs[-1]["template"]["spec"]
            spec.insert(0, "completions", replicas.count)
            spec.insert(0, "parallelism", replicas.count)
            old.moved(spec, "parallelism", *replicas.path, "replicas")
    runtime = _runtime(old, job, sets, jobs, is_distributed=total != 1)
    _success(old, started, runtime, jobs)
    schedule_together(old, policy, sets, runtime, jobs)
    return Converted(job, runtime)


def _runtime(
    old: Old, job: CommentedMap, sets: Mapping[str, Replicas], jobs: list[CommentedMap], *, is_distributed: bool
) -> CommentedMap:
    if len(sets) > 1:
        del job["spec"]["trainer"]
        return new_runtime(own_name("tensorflow", old), "tensorflow", None, *jobs)
    return new_runtime("tensorflow-env" if is_distributed else "tensorflow", "tensorflow", mapping(numNodes=1), *jobs)


def _pods(
    kind: str, replicas: Replicas, cluster: Mapping[str, list[str]], job: CommentedMap | None, *, dynamic: bool
) -> PodSet:
    """Return the pods of one type; those of a job with only one pod get no TF_CONFIG."""
    name = NODE if job is not None else kind.lower()
    own = replicas.names[replicas.main]
    container = NODE if job is not None else own
    if not cluster or own != _CONTAINER:
        return PodSet(name=name, job=job, container=container, everywhere=False)

    def config() -> CommentedMap:
        return mapping(name=_CONFIG, value=SingleQuotedScalarString(_config(kind.lower(), cluster, dynamic)))

    def environment() -> list[CommentedMap]:
        shared = [jobset_name(), completion_index(_INDEX)]
        return shared if job is not None else [*shared, config()]

    if job is not None:
        add_env_of_all(replicas.old, job, config())
    return PodSet(
        name=name, job=job, container=container, environment=environment, variables=(_CONFIG,), everywhere=False
    )


def _config(kind: str, cluster: Mapping[str, list[str]], dynamic: bool) -> str:
    """Return TF_CONFIG as the operator writes it, with variables for what differs between pods."""
    index = f"$({_INDEX})"
    task = f'"task":{{"type":"{kind}","index":{index}}}'
    if not dynamic:
        return f'{{"cluster":{_compact(cluster)},{task},"environment":"cloud"}}'
    own = next(iter(cluster[kind]), "").replace("-0.", f"-{index}.", 1)
    workers = {index: own} if kind == "worker" else {}
    servers = [own] if kind == "ps" else cluster.get("ps", []) if kind == "worker" else []
    return f'{{"cluster":{_compact({"worker": workers, "ps": servers})},{task}}}'


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _success(old: Old, sets: Mapping[str, Replicas], runtime: CommentedMap, jobs: list[CommentedMap]) -> None:
    """Let the job succeed with its chief or master, else with the first worker, else with all workers."""
    every = old.read("spec", "successPolicy") == "AllWorkers"
    by_name = dict(zip(sets, jobs, strict=True))
    chief = next((by_name[kind] for kind in ("Chief", "Master") if kind in sets), None)
    if chief is None and "Worker" not in sets:
        return
    if len(sets) > 1:
        succeed_with(runtime, str((chief or by_name["Worker"])["name"]))
    if chief is None and not every and sets["Worker"].count > 1:
        rules = sequence(mapping(succeededIndexes=DoubleQuotedScalarString("0")))
        spec = by_name["Worker"]["template"]["spec"]
        spec.insert(list(spec).index("template"), "successPolicy", mapping(rules=rules))
