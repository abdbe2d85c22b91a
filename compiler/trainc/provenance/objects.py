"""Where the fields of the objects beside the JobSet came from: plugins and fixes once more, one by one, and the passes.

Like trace.py for the JobSet: nothing is computed until an origin is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, get
from trainc.basics.memo import Once
from trainc.gitops.base import JOBSET, History, namespace_origin
from trainc.gitops.naming import name_place
from trainc.plugins import BUILDS
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.plugins.origins import Cause, Step, blame, nearest
from trainc.provenance.jobset import POLICIES, Origins, Trail, joined, shape, trace_jobset
from trainc.upstream import VOLCANO_QUEUE

_NODES: Final[Path] = ("spec", "trainer", "numNodes")
_PROCESSES: Final[Path] = ("spec", "trainer", "numProcPerNode")
_RESOURCES: Final[Path] = ("spec", "trainer", "resourcesPerNode")

COUNTED: Final[Mapping[Path, tuple[Path, ...]]] = {
    ("data", "hostfile"): (_NODES, _PROCESSES),
    ("spec", "minMember"): (_NODES,),
    ("spec", "minResources"): (_RESOURCES, _NODES),
}
"""What plugins count, and the fields of a TrainJob that decide it, the most telling first."""

COPIED: Final[Mapping[Path, Path]] = {
    ("spec", "scheduleTimeoutSeconds"): ("spec", "podGroupPolicy", "coscheduling", "scheduleTimeoutSeconds"),
    ("spec", "networkTopology"): ("spec", "podGroupPolicy", "volcano", "networkTopology"),
}
"""What plugins copy from the runtime, and from where."""


def traced(model: Model, before: Objects, after: Objects, history: History, trail: Trail | None) -> Objects:
    """Return ``after``, which the passes made of ``before``, with the origins of all fields.

    ``history``: what each pass left. ``trail``: that of the JobSet, None where there is none.
    """
    jobset = trace_jobset(model, trail) if trail is not None else Once(dict)
    found = Once(lambda: _histories(model, before, history, jobset))
    return tuple(
        replace(made, origins=jobset if made.kind == JOBSET else Once(partial(_blamed, found, index)))
        for index, made in enumerate(after)
    )


def _blamed(found: Callable[[], list[list[Step]]], index: int) -> Mapping[Path, Origin]:
    return blame(found()[index])


def _histories(model: Model, objects: Objects, history: History, jobset: Origins) -> list[list[Step]]:
    """Return the steps of every object; passes keep the order of objects and append theirs."""
    found = [list(_made(model, one, jobset)) for one in objects]
    for step, after in history:
        for index, one in enumerate(after):
            if index >= len(found):
                found.append([Step(one.data, _by_maker(one))])
            elif one.data != objects[index].data:
                found[index].append(Step(one.data, partial(step.cause, model)))
        objects = after
    return found


def _by_maker(one: Object) -> Cause:
    """Return the cause of an object that a pass makes: it says itself where its fields come from."""
    return lambda path, root: nearest(one.origins(), path) or Origin("plugin", name="trainc")


def _made(model: Model, one: Object, jobset: Origins) -> Iterator[Step]:
    """Yield the steps of an object that a plugin makes: without fixes, then with each that is on.

    ``jobset``: the origins of the job's JobSet, which plugins copy from.
    """
    maker = one.origins().get(())
    if one.kind == JOBSET or maker is None:
        return
    chosen = model.options.chosen()
    for count in range(len(chosen) + 1):
        data = _built(joined(model, chosen[:count]), maker.name, one)
        if data is not None:
            yield Step(data, _by_fix(model, chosen[count - 1]) if count else _by_plugin(model, maker.name, jobset))
    yield Step(one.data, _by_plugin(model, maker.name, jobset))


def _built(model: Model, plugin: str, one: Object) -> JsonObject | None:
    shaped = shape(model)
    objects = (made for each in BUILDS if each.name == plugin for made in each.build(shaped))
    return next((made.data for made in objects if (made.kind, made.name) == (one.kind, one.name)), None)


def _by_plugin(model: Model, plugin: str, jobset: Origins) -> Cause:
    return lambda path, root: _owned(model, plugin, path, jobset)


def _by_fix(model: Model, name: str) -> Cause:
    return lambda path, root: Origin("fix", model.runtime, ("spec",), name)


def _owned(model: Model, plugin: str, path: Path, jobset: Origins) -> Origin:
    """Return the origin of a field that a plugin writes: the input that it was copied or counted from."""
    maker = Origin("plugin", model.runtime, ("spec", *POLICIES[plugin]), plugin)
    if path == ("metadata", "name"):
        return Origin("input", model.job, name_place(model))
    if path == ("metadata", "namespace"):
        return namespace_origin(model)
    if path == ("spec", "queue"):
        return nearest(jobset(), ("metadata", "annotations", VOLCANO_QUEUE)) or maker
    for place, source in COPIED.items():
        if path[: len(place)] == place and get(model.runtime.data, *source) is not None:
            return Origin("input", model.runtime, (*source, *path[len(place) :]))
    for place, fields in COUNTED.items():
        if path[: len(place)] == place:
            given = next((field for field in fields if get(model.job.data, *field) is not None), None)
            if given is not None:
                return Origin("plugin", model.job, given, plugin)
            if fields[0] == _NODES and plugin != "MPI":
                return Origin("plugin", model.runtime, ("spec", "mlPolicy", "numNodes"), plugin)
    return maker
