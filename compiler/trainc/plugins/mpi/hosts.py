"""The hostfile: which pods run ranks, and how many each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trainc.plugins.model import Model, PodSet
from trainc.plugins.mpi.implementations import Implementation
from trainc.upstream import LAUNCHER, NODE

MAX_HOSTS = 100_000
"""More lines than this are refused, since upstream exhausts its memory on them (M9)."""


class Address(NamedTuple):
    """A host, and the pod that has the name: replicated job, index of its Job, completion index."""

    host: str
    job: str
    job_index: int
    completion_index: int


def host_sets(model: Model) -> tuple[PodSet, ...]:
    """Return the pod sets in the hostfile, in the runtime's order (M2)."""
    policy = model.policy("mpi")
    with_launcher = policy is not None and policy.get("runLauncherAsNode") is True
    return tuple(p for p in model.pod_sets if p.name == NODE or (with_launcher and p.name == LAUNCHER))


def host_count(model: Model) -> int:
    """Return the number of lines of the hostfile, without making them."""
    return sum(max(p.replicas, 0) * max(p.count, 0) for p in host_sets(model))


def addresses(model: Model) -> Iterator[Address]:
    """Yield the hosts by pod set, replica and index."""
    for pod_set in host_sets(model):
        for replica in range(pod_set.replicas):
            for index in range(pod_set.count):
                host = f"{model.name}-{pod_set.name}-{replica}-{index}.{model.subdomain}"
                yield Address(host, pod_set.name, replica, index)


def hostfile(model: Model, implementation: Implementation, slots: int) -> str:
    """Return the hostfile's text."""
    lines = (implementation.line.format(host=address.host, slots=slots) for address in addresses(model))
    return "".join(f"{line}\n" for line in lines)
