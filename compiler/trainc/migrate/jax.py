"""JAXJob of Training Operator (pkg/controller.v1/jax at v1.9)."""

from __future__ import annotations

from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.migrate.documents import Converted, Old
from trainc.migrate.gang import schedule_together
from trainc.migrate.jobs import RunPolicy, count_nodes, new_job, new_runtime, replicas_of, without_pods
from trainc.migrate.pods import PodSet, host, jobset_name, literal, replicated_job
from trainc.migrate.trees import mapping

_FIELD: Final = "jaxReplicaSpecs"
_PORT, _PORT_NAME = 6666, "jaxjob-port"
_VARIABLES: Final = ("PYTHONUNBUFFERED", "COORDINATOR_PORT", "COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID")


def convert(old: Old) -> Converted | None:
    """Return a TrainJob with a runtime of mlPolicy.jax, which also sets the variables of the operator."""
    sets = replicas_of(old, _FIELD, "jax", "Never", "Worker")
    if not sets:
        without_pods(old, _FIELD)
        return None
    job = new_job(old)
    policy = RunPolicy(old, job)
    worker = count_nodes(old, job, sets)
    port = worker.port(_PORT_NAME, _PORT)

    def environment() -> list[CommentedMap]:
        # Trainer sets the variables without a value in place, so that those after them can use their values.
        return [
            jobset_name(),
            literal("PYTHONUNBUFFERED", 1),
            mapping(name="JAX_NUM_PROCESSES"),
            mapping(name="JAX_PROCESS_ID"),
            literal("NUM_PROCESSES", "$(JAX_NUM_PROCESSES)"),
            literal("PROCESS_ID", "$(JAX_PROCESS_ID)"),
            literal("COORDINATOR_ADDRESS", host("node", 0)),
            literal("COORDINATOR_PORT", port),
        ]

    pod_set = PodSet(job=job, environment=environment, variables=_VARIABLES, everywhere=False)
    pods = replicated_job(worker, policy.backoff_limit, pod_set)
    runtime = new_runtime("jax-env", "jax", mapping(numNodes=1, jax=mapping()), pods)
    schedule_together(old, policy, sets, runtime, [pods])
    return Converted(job, runtime)
