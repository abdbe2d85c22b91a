"""Which pods of a JobSet start together: the gang that a scheduler must place all at once.

A gang is satisfied when as many of its pods exist and fit as minMember says. Pods that are created only when others
are ready, or complete, can therefore never be counted with those others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trainc.basics.jsonvalues import JsonObject, get, objects
from trainc.plugins.model import Model

IN_ORDER = "InOrder"
READY = "Ready"


class Gang(NamedTuple):
    """Names of pod sets. ``counted`` start together with the trainer, or with what the trainer waits to be ready;
    ``outside`` have to run at another time. What is in neither joins the gang once that runs.
    """

    counted: frozenset[str]
    outside: frozenset[str]


def gang(model: Model) -> Gang:
    """Return the gang of a joined model, by the jobs' dependsOn and the startup policy."""
    ready, before = _waits(model)
    trainer = model.trainer_set or (model.pod_sets[-1] if model.pod_sets else None)
    if trainer is None:
        return Gang(frozenset(), frozenset())
    start = trainer.name
    while ready[start]:  # the first one of a chain of readiness is the one that starts
        start = min(ready[start], key=list(ready).index)
    counted = frozenset(name for name in before if before[name] == before[start])
    return Gang(counted, frozenset(name for name in before if name not in counted and not before[name] & counted))


def _waits(model: Model) -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
    """Return for each job the jobs that it waits to be ready, and all jobs that it waits for in any way."""
    ready: dict[str, frozenset[str]] = {}
    before: dict[str, frozenset[str]] = {}
    in_order = get(model.spec, "startupPolicy", "startupPolicyOrder") == IN_ORDER
    for job in model.jobs:
        waits = _dependencies(job, before)
        named = frozenset(waits) | (frozenset(before) if in_order else frozenset())
        name = str(job.get("name"))
        ready[name] = frozenset(other for other in named if waits.get(other, READY) == READY)
        before[name] = named.union(*(before[other] for other in named))
    return ready, before


def _dependencies(job: JsonObject, known: Mapping[str, object]) -> dict[str, str]:
    """Return a job's dependencies with their status; only those on jobs before it are real ones."""
    found = {str(wait.get("name")): str(wait.get("status")) for wait in objects(job.get("dependsOn"))}
    return {name: status for name, status in found.items() if name in known}
