"""What changes of a job in the words of who wrote it: image, nodes, processes, GPUs, command, variables, queue."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

from trainc.changes.model import Word
from trainc.changes.usage import pods_of
from trainc.gitops.queue import QUEUE_LABEL
from trainc.plugins.base import is_gpu
from trainc.records import NamedTuple
from trainc.source import Json, JsonObject, as_list, as_object, get, objects

PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
_PROCESSES: Final = (
    "PET_NPROC_PER_NODE",
    "OMPI_MCA_orte_set_default_slots",
    "PRTE_MCA_prte_set_default_slots",
    "I_MPI_PERHOST",
)
"""Variables in which a runtime's plugin says how many processes a node runs."""

_DERIVED: Final = frozenset(
    (
        *_PROCESSES,
        *("PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
        *("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"),
        *("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
    )
)
"""Variables that follow from what is told in other words; they are among the fields all the same."""


class _Said(NamedTuple):
    """One thing that a job says, of some of its pods or of itself: as it is, and as it may be shown."""

    value: Json
    shown: Json


_Key = tuple[str, str]
"""What, and where: a replicated job, with a container if it has another name, or nothing."""


def words(old: tuple[JsonObject, JsonObject] | None, new: tuple[JsonObject, JsonObject] | None) -> tuple[Word, ...]:
    """Return what differs between two JobSets, each as it is and as it may be shown; None where there is none."""
    before, after = (_said(*pair) if pair is not None else {} for pair in (old, new))
    found: dict[tuple[str, str | None, str | None, str], list[str]] = {}
    for what, where in dict.fromkeys((*after, *before)):
        one, other = before.get((what, where)), after.get((what, where))
        if one is None or other is None or one.value != other.value:
            texts = _texts(one and one.shown, other and other.shown)
            # Values that look alike once they are masked are not the same for that.
            found.setdefault((what, *texts, "" if where else what), []).append(where)
    return tuple(
        Word(what, tuple(where for where in places if where), one, other)
        for (what, one, other, _), places in found.items()
        if one is not None or other is not None
    )


def _texts(old: Json, new: Json) -> tuple[str | None, str | None]:
    """Return both values as text; of lists only what is not in both."""
    if isinstance(old, list) and isinstance(new, list):
        matcher = SequenceMatcher(None, list(map(str, old)), list(map(str, new)), autojunk=False)
        gone: list[Json] = []
        come: list[Json] = []
        for how, a, b, c, d in matcher.get_opcodes():
            if how != "equal":
                gone += old[a:b]
                come += new[c:d]
        return _text(gone or None), _text(come or None)
    return _text(old), _text(new)


def _text(value: Json) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


def _said(data: JsonObject, masked: JsonObject) -> Mapping[_Key, _Said]:
    values, shown = dict(_of_jobset(data)), dict(_of_jobset(masked))
    return {key: _Said(value, shown.get(key)) for key, value in values.items()}


def _of_jobset(data: JsonObject) -> Iterator[tuple[_Key, Json]]:
    labels = as_object(get(data, "metadata", "labels"))
    for what, label in (("queue", QUEUE_LABEL), ("priority", PRIORITY_LABEL)):
        if label in labels:
            yield (what, ""), labels[label]
    if get(data, "spec", "suspend") is True:
        yield ("suspended", ""), True
    if (restarts := get(data, "spec", "failurePolicy", "maxRestarts")) is not None:
        yield ("restarts at most", ""), restarts
    for job in objects(get(data, "spec", "replicatedJobs")):
        name = str(job.get("name"))
        yield ("nodes", name), pods_of(job)
        pod = as_object(get(job, "template", "spec", "template", "spec"))
        if "serviceAccountName" in pod:
            yield ("service account", name), pod["serviceAccountName"]
        if pod.get("nodeSelector"):
            pairs = as_object(pod["nodeSelector"]).items()
            yield ("node selector", name), ", ".join(f"{key}={value}" for key, value in sorted(pairs))
        yield from _of_containers(name, pod)


def _of_containers(name: str, pod: JsonObject) -> Iterator[tuple[_Key, Json]]:
    for kind in ("initContainers", "containers"):
        for container in objects(pod.get(kind)):
            own = container.get("name")
            alone = kind == "containers" and (own == name or len(as_list(pod.get(kind))) == 1)
            yield from _of_container(name if alone else f"{name}/{own}", container)


def _of_container(where: str, container: JsonObject) -> Iterator[tuple[_Key, Json]]:
    if "image" in container:
        yield ("image", where), container["image"]
    for what in ("command", "args"):
        if container.get(what):
            yield (what, where), container[what]
    variables = {str(each.get("name")): each for each in objects(container.get("env"))}
    for name in _PROCESSES:
        if (count := get(variables.get(name), "value")) is not None:
            yield ("processes per node", where), count
            break
    requests = {
        **as_object(get(container, "resources", "limits")),
        **as_object(get(container, "resources", "requests")),
    }
    for name, amount in requests.items():
        yield ("GPUs per node" if is_gpu(name) else name, where), amount
    for name, variable in variables.items():
        if name not in _DERIVED:
            yield (f"env {name}", where), _of_variable(variable)


def _of_variable(variable: JsonObject) -> Json:
    """Return a variable's value, or where it comes from."""
    source = as_object(variable.get("valueFrom"))
    for kind, reference in source.items():
        named = as_object(reference)
        parts = [str(named[key]) for key in ("name", "key", "fieldPath", "resource") if key in named]
        return f"{kind} {'/'.join(parts)}"
    return variable.get("value", "")
