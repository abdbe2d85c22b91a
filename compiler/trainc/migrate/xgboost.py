"""XGBoostJob of Training Operator (pkg/controller.v1/xgboost at v1.9), also used for LightGBM."""

from __future__ import annotations

from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.migrate.documents import Converted, Old
from trainc.migrate.gang import schedule_together
from trainc.migrate.jobs import (
    RunPolicy,
    count_nodes,
    merged,
    new_job,
    new_runtime,
    replicas_of,
    with_pods,
    without_pods,
)
from trainc.migrate.pods import (
    PodSet,
    add_env_of_all,
    can_list_hosts,
    completion_index,
    global_index,
    host,
    jobset_name,
    literal,
    replicated_job,
    separate,
)
from trainc.migrate.trees import mapping

_FIELD: Final = "xgbReplicaSpecs"
_CONTAINER: Final = "xgboost"
_PORT, _PORT_NAME = 9999, "xgboostjob-port"
_VARIABLES: Final = ("MASTER_PORT", "MASTER_ADDR", "WORLD_SIZE", "RANK", "PYTHONUNBUFFERED")
_OF_WORKERS: Final = ("WORKER_PORT", "WORKER_ADDRS")


def convert(old: Old) -> Converted | None:
    """Return a TrainJob whose pods get the variables of the operator; Trainer's own are those of another tracker."""
    sets = with_pods(old, replicas_of(old, _FIELD, _CONTAINER, "Never", "Master", "Worker"))
    if not sets:
        without_pods(old, _FIELD)
        return None
    job = new_job(old)
    policy = RunPolicy(old, job)
    total = sum(one.count for one in sets.values())
    variables = (*_VARIABLES, *_OF_WORKERS) if total > 1 else _VARIABLES
    first = next(iter(sets.values()))
    port = first.port(_PORT_NAME, _PORT)
    in_one = merged(sets)
    master = host("node" if in_one else "master", 0)
    lists = total > 1 and can_list_hosts(old, ("spec", _FIELD), total * (1 if in_one else len(sets)))
    indexes = range(1, total if lists else 1)
    hosts = [host("node", index) if in_one else host("worker", 0, index - 1) for index in indexes]

    def cluster() -> list[CommentedMap]:
        """Return the variables that depend on the number of pods."""
        workers = [literal("WORLD_SIZE", total)]
        if total > 1:
            worker_port = sets["Worker"].port(_PORT_NAME, _PORT) if "Worker" in sets else port
            workers += [literal("WORKER_PORT", worker_port), literal("WORKER_ADDRS", ",".join(hosts))]
        return workers

    def environment() -> list[CommentedMap]:
        rank = completion_index("RANK") if in_one else global_index("RANK")
        shared = [
            jobset_name(),
            literal("MASTER_PORT", port),
            literal("MASTER_ADDR", master),
            rank,
            literal("PYTHONUNBUFFERED", 1),
        ]
        return shared if in_one else shared + cluster()

    if in_one:
        pods = PodSet(job=job, environment=environment, variables=variables)
        add_env_of_all(old, job, *cluster())
        jobs = [replicated_job(count_nodes(old, job, sets), policy.backoff_limit, pods)]
        runtime = new_runtime("xgboost-env", "xgboost", mapping(numNodes=1), *jobs)
    else:
        pods = PodSet(container=_CONTAINER, environment=environment, variables=variables)
        runtime, jobs = separate(old, job, policy, sets, pods)
    schedule_together(old, policy, sets, runtime, jobs)
    return Converted(job, runtime)
