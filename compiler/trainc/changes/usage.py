"""Counts the pods and GPUs of JobSets, and describes changes of a job in the user's terms.

Totals need all JobSets of a tree, possibly thousands. To be fast, fields that do not matter are cut out of a file by
their indentation, and the rest, which many jobs have in common, is parsed as YAML once.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from trainc.basics.differences import common_start
from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get, objects
from trainc.changes.model import Dependency, Directory, PropertyChange, ReplicatedJob, Total, Totals, Usage
from trainc.changes.trees import is_jobset
from trainc.documents.load import load
from trainc.inputs.source import Source
from trainc.kube.pods import pod_requests
from trainc.kube.quantity import QuantityError
from trainc.plugins import jax, torch, xgboost
from trainc.plugins.base import is_gpu
from trainc.upstream import PRIORITY_LABEL, QUEUE_LABEL

_LINE: Final = re.compile(rb"( *)([A-Za-z]+):(?: .*)?")
_IRRELEVANT: Final = frozenset(
    (
        *(b"args", b"command", b"env", b"envFrom", b"volumeMounts", b"volumes", b"ports", b"annotations", b"name"),
        *(b"livenessProbe", b"readinessProbe", b"startupProbe", b"lifecycle", b"securityContext", b"workingDir"),
        *(b"affinity", b"tolerations", b"nodeSelector", b"dependsOn", b"network", b"failurePolicy", b"successPolicy"),
        *(b"image", b"topologySpreadConstraints", b"podFailurePolicy", b"imagePullSecrets", b"namespace"),
    )
)
_UNUSUAL: Final = re.compile(rb"\n---|\n\.\.\.|\r")
_ALIASES: Final = re.compile(rb"[&*]\w|<<|\t")
"""Text that the emitter never writes: such a file is parsed in full."""


class Demand(NamedTuple):
    """The usage of a JobSet, and its queue, which may be empty."""

    usage: Usage = Usage()
    queue: str = ""


def demand_of_file(data: bytes) -> Demand:
    """Return the demand of the JobSet in a file; nothing if it cannot be read."""
    if _UNUSUAL.search(data) is None:
        outline = _outline(data)
        if _ALIASES.search(outline) is None and (found := _read(outline)) is not None:
            return found
    return _read(data) or Demand()


def demand_of(files: Mapping[str, bytes]) -> Demand:
    """Return the demand of all JobSets of a directory, with the queue of the first one."""
    found = [demand_of_file(data) for name, data in files.items() if is_jobset(name)]
    return Demand(Usage.of([each.usage for each in found]), next((each.queue for each in found if each.queue), ""))


def totals(demands: Iterable[tuple[Directory, Demand, Demand]]) -> Totals:
    """Return the usage of directories of which we know the demand before and after."""
    namespaces: dict[tuple[str, ...], list[Total]] = defaultdict(list)
    queues: dict[tuple[str, ...], list[Total]] = defaultdict(list)
    for directory, old, new in demands:
        change = Total(old.usage, new.usage)
        namespace = (directory.environment, directory.namespace)
        namespaces[namespace].append(change)
        for queue, part in ((old.queue, Total(before=old.usage)), (new.queue, Total(after=new.usage))):
            if queue:
                queues[*namespace, queue].append(part)
    known = ({key: Total.of(parts) for key, parts in rows.items()} for rows in (namespaces, queues))
    used = ({key: total for key, total in rows.items() if total != Total()} for rows in known)
    return Totals(Total.of([part for parts in namespaces.values() for part in parts]), *used)


def usage_of(jobset: JsonObject) -> Usage:
    """Return the usage of a JobSet while all its pods run."""
    if get(jobset, "spec", "suspend") is True:
        return Usage(jobs=1)
    parts = [Usage(jobs=1)]
    for replicated in objects(get(jobset, "spec", "replicatedJobs")):
        count = pods_of(replicated)
        gpus = gpus_of(get(replicated, "template", "spec", "template", "spec"))
        parts.append(Usage(0, count, tuple((name, count * amount) for name, amount in gpus)))
    return Usage.of(parts)


def pods_of(replicated: JsonObject) -> int:
    """Return how many pods a replicated job has at a time: replicas times parallelism, completions at most."""
    spec = as_object(get(replicated, "template", "spec"))
    parallel, completions = _number(spec.get("parallelism"), 1), spec.get("completions")
    if completions is not None:
        parallel = min(parallel, _number(completions, parallel))
    return _number(replicated.get("replicas"), 1) * parallel


def replicated_jobs(jobset: JsonObject) -> tuple[ReplicatedJob, ...]:
    """Return the replicated jobs of a JobSet with their dependencies."""
    return tuple(
        ReplicatedJob(
            str(job.get("name")),
            pods_of(job),
            tuple(Dependency(str(each.get("name")), str(each.get("status"))) for each in objects(job.get("dependsOn"))),
        )
        for job in objects(get(jobset, "spec", "replicatedJobs"))
    )


def _number(value: Json, default: int) -> int:
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else default


def gpus_of(pod: Json) -> Iterator[tuple[str, int]]:
    """Yield the GPUs that a pod requests."""
    spec = as_object(pod)
    gpus_only: JsonObject = {}
    for key in ("initContainers", "containers"):
        gpus_only[key] = [
            {**container, "resources": {"requests": {k: v for k, v in _requests(container).items() if is_gpu(k)}}}
            for container in objects(spec.get(key))
        ]
    try:
        requests = pod_requests({**spec, **gpus_only})
    except QuantityError:
        return
    yield from ((name, quantity.value()) for name, quantity in requests.items() if is_gpu(name))


def _requests(container: JsonObject) -> JsonObject:
    """Return the requests of a container; a limit without a request is the request, as in the API server."""
    resources = as_object(container.get("resources"))
    return {**as_object(resources.get("limits")), **as_object(resources.get("requests"))}


@lru_cache(maxsize=16384)
def _read(text: bytes) -> Demand | None:
    """Return the demand of the JobSet in a text; None if it is not a JobSet."""
    documents, _ = load(Source("jobset", text))
    if len(documents) != 1 or documents[0].data.get("kind") != "JobSet":
        return None
    data = documents[0].data
    queue = get(data, "metadata", "labels", QUEUE_LABEL)
    return Demand(usage_of(data), queue if isinstance(queue, str) else "")


def _outline(data: bytes) -> bytes:
    """Return the lines of a JobSet in block style that its usage depends on."""
    kept: list[bytes] = []
    deep = -1
    for line in data.split(b"\n"):
        indent = len(line) - len(line.lstrip(b" "))
        if deep >= 0:
            if indent > deep or not line or (indent == deep and line[indent : indent + 1] == b"-"):
                continue
            deep = -1
        if line.startswith(b"#"):
            continue
        match = _LINE.fullmatch(line)
        if match is not None and match[2] in _IRRELEVANT:
            deep = indent
            if line.startswith(b"  name:") and kept[-1:] == [b"metadata:"]:
                kept.append(b"  name: x")  # an object has one
            continue
        kept.append(line)
    return b"\n".join(kept)


PROCESSES: Final = (
    "PET_NPROC_PER_NODE",
    "OMPI_MCA_orte_set_default_slots",
    "PRTE_MCA_prte_set_default_slots",
    "I_MPI_PERHOST",
)
"""Variables with which plugins set the number of processes per node."""

COUNTS: Final = ("PET_NNODES", "JAX_NUM_PROCESSES", "DMLC_NUM_WORKER")
"""Variables with which plugins set a number that follows from that of the nodes."""

_DERIVED: Final = frozenset((*PROCESSES, *torch.VARIABLES, *jax.VARIABLES, *xgboost.VARIABLES))
"""Variables that follow from other changes; they are only listed among the fields."""


_MOST_PAIRS: Final = 40_000
"""The most pairs of items of two lists that are compared one by one, which takes at least as many steps."""

_Key = tuple[str, str]
"""The name of a property, and the replicated job, with the container if it has another name; or nothing."""


def property_changes(
    old: tuple[JsonObject, JsonObject] | None, new: tuple[JsonObject, JsonObject] | None
) -> tuple[PropertyChange, ...]:
    """Return the differences of two JobSets, each as a pair of the object and its masked copy; None if missing."""
    before, after = (dict(_of_jobset(pair[0])) if pair else {} for pair in (old, new))
    shown_before, shown_after = (dict(_of_jobset(pair[1])) if pair else {} for pair in (old, new))
    found: dict[tuple[str, str | None, str | None, str], list[str]] = {}
    for key in dict.fromkeys((*after, *before)):
        # Masked values that look alike may differ.
        if key not in before or key not in after or before[key] != after[key]:
            what, where = key
            texts = _texts(before.get(key), after.get(key), shown_before.get(key), shown_after.get(key))
            found.setdefault((what, *texts, "" if where else what), []).append(where)
    return tuple(
        PropertyChange(what, tuple(filter(None, where)), one, other)
        for (what, one, other, _), where in found.items()
        if one is not None or other is not None
    )


def _texts(old: Json, new: Json, shown_old: Json, shown_new: Json) -> tuple[str | None, str | None]:
    """Return both values, as they are shown, as text; of lists only the items that are not in both.

    The amounts of resources get their names if there are several on both sides together.
    """
    if not (isinstance(old, list) and isinstance(new, list)):
        is_named = len({*as_object(shown_old), *as_object(shown_new)}) > 1
        return _text(shown_old, is_named=is_named), _text(shown_new, is_named=is_named)
    removed: list[Json] = []
    added: list[Json] = []
    for before, after in _differing(list(map(str, old)), list(map(str, new))):
        removed += as_list(shown_old)[before]
        added += as_list(shown_new)[after]
    return _text(removed or None), _text(added or None)


def _differing(old: list[str], new: list[str]) -> Iterator[tuple[slice, slice]]:
    """Yield the parts of two lists that differ; of long lists all from the first to the last difference."""
    if len(old) * len(new) <= _MOST_PAIRS:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
            if tag != "equal":
                yield slice(old_start, old_end), slice(new_start, new_end)
    else:
        start = common_start(old, new)
        end = common_start(old[start:][::-1], new[start:][::-1])
        yield slice(start, len(old) - end), slice(start, len(new) - end)


def _text(value: Json, *, is_named: bool = False) -> str | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return ", ".join(f"{name} {amount}" if is_named else str(amount) for name, amount in sorted(value.items()))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


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
        if account := pod.get("serviceAccountName") or pod.get("serviceAccount"):  # the second is its old name
            yield ("service account", name), account
        if "priorityClassName" in pod:
            yield ("priority class", name), pod["priorityClassName"]
        if found := list(_privileges(pod)):
            yield ("privileges", name), ", ".join(found)
        if pod.get("nodeSelector"):
            pairs = as_object(pod["nodeSelector"]).items()
            yield ("node selector", name), ", ".join(f"{key}={value}" for key, value in sorted(pairs))
        images = ((volume.get("name"), get(volume, "image", "reference")) for volume in objects(pod.get("volumes")))
        yield from ((("image", f"{name}/volume {volume}"), image) for volume, image in images if image)
        for container in objects(pod.get("initContainers")):
            yield from _of_container(f"{name}/{container.get('name')}", container)
        for container in objects(pod.get("containers")):
            is_main = container.get("name") == name or len(as_list(pod["containers"])) == 1
            yield from _of_container(name if is_main else f"{name}/{container.get('name')}", container)


_RISKS: Final = (
    *((("privileged",), True), (("allowPrivilegeEscalation",), True), (("runAsUser",), 0), (("runAsGroup",), 0)),
    *((("seccompProfile", "type"), "Unconfined"), (("appArmorProfile", "type"), "Unconfined")),
    *((("procMount",), "Unmasked"), (("windowsOptions", "hostProcess"), True)),
)
"""Fields of a securityContext, and the values with which a container can do more on its node than without."""


def _privileges(pod: JsonObject) -> Iterator[str]:
    """Yield what gives a pod access to its node: host namespaces, root, capabilities and the like, and paths.

    A long list is cut where it is shown, so what gives most comes first, and paths, which may be long, last.
    """
    yield from (key for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key) is True)
    owners = (pod, *objects(pod.get("initContainers")), *objects(pod.get("containers")))
    contexts = [
        ("" if each is pod else f"{each.get('name')}: ", as_object(each.get("securityContext"))) for each in owners
    ]
    for path, value in _RISKS:
        for name, context in contexts:
            if (found := get(context, *path)) == value and type(found) is type(value):
                yield f"{name}{path[0]}" if value is True else f"{name}{path[0]}={value}"
    for name, context in contexts:
        yield from (f"{name}{each}" for each in as_list(get(context, "capabilities", "add")))
    for volume in objects(pod.get("volumes")):
        if "hostPath" in volume:
            yield f"hostPath={get(volume, 'hostPath', 'path')}"


def _of_container(where: str, container: JsonObject) -> Iterator[tuple[_Key, Json]]:
    if "image" in container:
        yield ("image", where), container["image"]
    for what in ("command", "args"):
        if container.get(what):
            yield (what, where), container[what]
    variables = {str(each.get("name")): each for each in objects(container.get("env"))}
    for name in PROCESSES:
        if (count := get(variables.get(name), "value")) is not None:
            yield ("processes per node", where), count
            break
    requests = _requests(container)
    if gpus := {name: amount for name, amount in requests.items() if is_gpu(name)}:
        yield ("GPUs per node", where), gpus
    yield from (((name, where), amount) for name, amount in requests.items() if name not in gpus)
    for name, variable in variables.items():
        if name not in _DERIVED:
            yield (f"env {name}", where), _of_variable(variable)


SOURCE_FIELDS: Final = ("name", "key", "fieldPath", "resource")
"""Fields of the source of a variable that its property shows."""


def _of_variable(variable: JsonObject) -> Json:
    """Return a variable's value, or its source."""
    source = as_object(variable.get("valueFrom"))
    for kind, reference in source.items():
        fields = as_object(reference)
        parts = [str(fields[key]) for key in SOURCE_FIELDS if key in fields]
        return f"{kind} {'/'.join(parts)}"
    return variable.get("value", "")
