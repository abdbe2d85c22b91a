"""Traces the origins of the fields of a job's objects by building the job again, with a snapshot after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from trainc.admission.jobset import admit_jobset
from trainc.basics.differences import counterpart, is_key, is_set, key_of, other, place_of, varied_object
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, existing, get, mapped, put
from trainc.gitops import passes
from trainc.gitops.base import JOBSET, name_path, namespace_origin
from trainc.inputs.source import Document
from trainc.kube.gotypes import JOB_SET_SPEC, apply_configuration
from trainc.plugins import PLUGINS, built, enabled, shaped
from trainc.plugins.jobset import build as build_jobset
from trainc.plugins.join import join, patched, propagated
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.plugins.origins import nearest
from trainc.schema import admit, resource
from trainc.upstream import ANCESTOR_LABEL, JOBSET_API, STORAGE_URI, VOLCANO_QUEUE

POLICIES = {plugin.name: plugin.policy for plugin in PLUGINS}
"""The policy in the runtime's spec that enables each plugin."""

TYPES = "JobSet API types"
"""The origin of fields that Go's types add when Trainer decodes and encodes the template."""

TEMPLATE = ("spec", "template")
CONTAINER_STEPS = 8
"""The length of the path of a list of containers: spec.replicatedJobs[i].template.spec.template.spec.containers."""

_NODES: Final[Path] = ("spec", "trainer", "numNodes")
_PROCESSES: Final[Path] = ("spec", "trainer", "numProcPerNode")
_RESOURCES: Final[Path] = ("spec", "trainer", "resourcesPerNode")

COUNTED: Final[Mapping[Path, tuple[Path, ...]]] = {
    ("data", "hostfile"): (_NODES, _PROCESSES),
    ("spec", "minMember"): (_NODES,),
    ("spec", "minResources"): (_RESOURCES, _NODES),
}
"""Fields that plugins count, and the fields of a TrainJob that determine them, the most important first."""

COPIED: Final[Mapping[Path, Path]] = {
    ("spec", "scheduleTimeoutSeconds"): ("spec", "podGroupPolicy", "coscheduling", "scheduleTimeoutSeconds"),
    ("spec", "networkTopology"): ("spec", "podGroupPolicy", "volcano", "networkTopology"),
}
"""Fields that plugins copy from the runtime, and their paths there."""


def trace(model: Model) -> list[Mapping[Path, Origin]]:
    """Build the objects of a job again, and return the origins of the fields of each."""
    chosen = model.options.chosen
    variants = [shaped(_joined(model, chosen[:count])) for count in range(len(chosen) + 1)]
    jobset = cache(lambda: blame(_steps_of_jobset(model, variants)))
    histories: list[list[Step]] = []
    objects: Objects = ()
    for plugin, obj in built(shaped(model)):
        if obj.kind == JOBSET:
            steps = _steps_of_jobset(model, variants)
        else:
            steps = _steps_of_object(variants, plugin, obj, partial(_owned, model, plugin, jobset))
        histories.append(steps)
        objects += (replace(obj, origins=cache(partial(blame, [*steps]))),)
    varied = _varied_objects(objects)
    for step in () if model.options.faithful else passes.PASSES:
        after, others, cause = step.shape(model, objects), step.shape(model, varied), partial(step.cause, model)
        for index, one in enumerate(after):
            if index >= len(histories):
                histories.append([Step(one.data, partial(_by_creator, one))])
            elif one.data != objects[index].data or others[index].data != varied[index].data:
                histories[index].append(Step(one.data, cause, partial(_if_set, others[index].data, cause)))
        if after is not objects:
            objects, varied = after, _varied_objects(after)
    for history, one in zip(histories, objects, strict=True):
        if one.kind == JOBSET:
            history.append(_admission(one.data))
    return [blame(history) for history in histories]


def _varied_objects(objects: Objects) -> Objects:
    return tuple(replace(one, data=varied_object(one.data)) for one in objects)


def _by_creator(one: Object, path: Path, root: Json) -> Origin:
    """Return the origin of a field of an object that a pass created, which has its own origins."""
    return nearest(one.origins(), path) or Origin("plugin", name="trainc")


def _joined(model: Model, fixes: tuple[str, ...]) -> Model:
    """Return the model with only these fixes, before plugins shape it."""
    if model.options.chosen == fixes:
        return model
    other = join(model.job, model.runtime, model.cluster, model.options.with_fixes(fixes))
    return replace(other, name=model.name, namespace=model.namespace)


def _steps_of_jobset(model: Model, variants: Sequence[Model]) -> list[Step]:
    """Return the JobSet after each step from the template to the last fix; ``variants`` has a model per step."""
    fixed, model = model, _joined(model, ())
    found = [_template(model), *_patches(model)]
    stages = zip(_stages(model), *map(_stages, _varied(model)), strict=True)
    before: Json = None
    for (name, after), *others in stages:
        *varied, of_template = [other for _, other in others]
        if not name:
            again = partial(_if_varied, varied[0], partial(_resources, model))
            found.append(Step(after, partial(_resources, model), again))
        else:
            cause = partial(_shaped, model, name, varied)
            again = partial(_shaped_again, model, varied, partial(_if_newly_set, before, of_template, cause))
            found.append(Step(after, cause, again))
        before = of_template
    fixes = zip(fixed.options.chosen, variants[1:], strict=True)
    return [*found, *(Step(_jobset(variant), _by_fix(variant, name)) for name, variant in fixes)]


def _stages(model: Model) -> Iterator[tuple[str, Json]]:
    """Yield the JobSet with the resources of the TrainJob, then after each plugin, with the plugin's name."""
    yield "", _bare(model, model.spec)
    yield "JobSet", _jobset(model)
    for plugin in enabled(model):
        model = plugin.shape(model)
        yield plugin.name, _jobset(model)


def _varied(model: Model) -> tuple[Model, Model, Model]:
    """Return the model with other values in the TrainJob, with another numNodes, and with others in the template.

    What then differs in the JobSet comes from there, even if the value is the same as the one that it replaced. What is
    the same with another template, and with other runtime patches, is set later.
    """

    def changed(path: Path, value: Json) -> Json:
        return value if path[0] not in _COPIED or is_key(spec, path) else other(value)

    def replaced(data: Json, path: Path, value: Json) -> Json:
        is_kept = is_key(data, path) or path[-1] == ANCESTOR_LABEL or any(str(step).startswith("$") for step in path)
        return value if is_kept or "template" not in path else other(value)

    def joined(job: Document, runtime: Document) -> Model:
        return replace(join(job, runtime, model.cluster, model.options), name=model.name, namespace=model.namespace)

    job, runtime, spec = model.job, model.runtime, model.job.data["spec"]
    nodes = get(runtime.data, *NUM_NODES)
    counted = put(runtime.data, NUM_NODES, other(nodes)) if isinstance(nodes, int) else runtime.data
    patches = as_list(get(spec, "runtimePatches"))
    other_patches = mapped(patches, partial(replaced, patches))
    return (
        joined(replace(job, data={**job.data, "spec": mapped(spec, changed)}), runtime),
        joined(job, replace(runtime, data=counted)),
        joined(
            replace(job, data=put(job.data, ("spec", "runtimePatches"), other_patches)),
            replace(runtime, data=as_object(mapped(runtime.data, partial(replaced, runtime.data)))),
        ),
    )


_COPIED: Final = ("trainer", "initializer", "suspend")
"""The fields of a TrainJob's spec from which values of the JobSet are copied."""


def _if_set(varied: Json, cause: Cause, path: Path, root: Json) -> Origin | None:
    """Return the origin of a value if the step sets it, whatever it was before, as in the varied object, else None."""
    return cause(path, root) if is_set(varied, root, path) else None


def _if_newly_set(before: Json, after: Json, cause: Cause, path: Path, root: Json) -> Origin | None:
    """Return the origin of a value if the step sets it, and no step before, in the JobSets of another template."""
    if not is_set(after, root, path) or get(before, *counterpart(before, root, path)) == get(root, *path):
        return None
    return cause(path, root)


def _if_varied(varied: Json, cause: Cause, path: Path, root: Json) -> Origin | None:
    """Return the origin of a value if it is another one in the varied object, else None."""
    return cause(path, root) if get(varied, *path) != get(root, *path) else None


def _jobset(model: Model) -> Json:
    objects = build_jobset(model)
    return objects[0].data if objects else None


def _steps_of_object(variants: Sequence[Model], plugin: str, obj: Object, cause: Cause) -> list[Step]:
    """Return the steps of an object that a plugin builds at once, such as a ConfigMap: one per model."""
    steps = []
    for count, variant in enumerate(variants):
        names = variant.options.chosen
        for creator, one in built(variant):
            if (creator, one.kind, one.name) == (plugin, obj.kind, obj.name):
                steps.append(Step(one.data, _by_fix(variant, names[-1]) if count else cause))
    return [*steps, Step(obj.data, cause)]


def _by_fix(model: Model, name: str) -> Cause:
    origin = Origin("fix", model.runtime, ("spec",), name)
    return lambda path, root: origin


def _by_policy(model: Model, plugin: str) -> Origin:
    return Origin("plugin", model.runtime, ("spec", *POLICIES[plugin]), plugin)


def _shaped(model: Model, plugin: str, varied: Sequence[Json], path: Path, root: Json) -> Origin:
    """Return the origin of a value that a plugin set in the JobSet."""
    return _from_inputs(model, varied, path, root) or _variable_at(model, path, root) or _by_policy(model, plugin)


def _shaped_again(
    model: Model, varied: Sequence[Json], by_plugin: Callable[[Path, Json], Origin | None], path: Path, root: Json
) -> Origin | None:
    """Return the origin of a value that was the same before if it comes from an input or from the plugin, else None."""
    return _from_inputs(model, varied, path, root) or by_plugin(path, root)


def _resources(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of a value from resourcesPerNode: the entry of the resource, if the path has one."""
    source = (*_RESOURCES, *path[CONTAINER_STEPS + 2 :])
    return Origin("input", model.job, existing(model.job.data, source))


def _template(model: Model) -> Step:
    def cause(path: Path, root: Json) -> Origin:
        if path == ("metadata", "name"):
            return Origin("input", model.job, name_path(model))
        if path == ("metadata", "namespace"):
            return namespace_origin(model)
        if path in ((), ("metadata",)):
            return Origin("input", model.job, path)
        if path in (("apiVersion",), ("kind",)):
            return _by_policy(model, "JobSet")
        source = (*TEMPLATE, *path)
        if get(model.runtime.data, *source) is None:
            return Origin("default", name=TYPES)
        return Origin("input", model.runtime, source)

    spec = apply_configuration(model.unpatched, JOB_SET_SPEC)
    template = get(model.runtime.data, *TEMPLATE)
    return Step(_bare(model, spec, template), cause)


def _patches(model: Model) -> list[Step]:
    patches = as_list(get(model.job.data, "spec", "runtimePatches"))
    template = as_object(get(model.runtime.data, *TEMPLATE))
    found = []
    for index, patch in enumerate(patches):
        part: JsonObject = {"runtimePatches": patches[: index + 1]}
        merged = patched(model.unpatched, part, replacing=model.fixed("volume-source-replaced"))
        spec = apply_configuration(merged, JOB_SET_SPEC)
        labels, annotations = (propagated(template, part, kind) for kind in ("labels", "annotations"))
        so_far = replace(model, labels=labels, annotations=annotations)
        again = partial(_patched_again, model, index, patch)
        found.append(Step(_bare(so_far, spec), partial(_patch_origin, model, index, patch), again))
    return found


def _patch_origin(model: Model, index: int, patch: Json, path: Path, root: Json) -> Origin:
    template = ("trainingRuntimeSpec", "template")
    inside = counterpart(get(patch, *template), root, path)
    return Origin("patch", model.job, ("spec", "runtimePatches", index, *template, *inside), str(get(patch, "manager")))


def _patched_again(model: Model, index: int, patch: Json, path: Path, root: Json) -> Origin | None:
    """Return the origin of a value that was the same before if the patch has it, too, else None."""
    inside = counterpart(get(patch, "trainingRuntimeSpec", "template"), root, path)
    is_there = len(inside) == len(path) and not is_key(root, path)
    return _patch_origin(model, index, patch, path, root) if is_there else None


def _bare(model: Model, spec: Json, template: Json = None) -> JsonObject:
    metadata: JsonObject = {"name": model.name, "namespace": model.namespace}
    for kind, values in (("labels", model.labels), ("annotations", model.annotations)):
        found: Json = get(template, "metadata", kind) if template is not None else {**values}
        if found:
            metadata[kind] = found
    return {"apiVersion": JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}


NUM_NODES: Path = ("spec", "mlPolicy", "numNodes")
_COUNTS = frozenset(("PET_NNODES", "JAX_NUM_PROCESSES"))
"""Variables whose value is the number of nodes."""

_PET_PROCESSES: Final = "PET_NPROC_PER_NODE"


def _from_inputs(model: Model, varied: Sequence[Json], path: Path, root: Json) -> Origin | None:
    """Return the origin of a value of the JobSet that is copied or counted from a field, or None."""
    by_job, by_runtime = (get(other, *path) != get(root, *path) for other in varied)
    source = _job_path(path, root)
    if by_job and source is not None and get(model.job.data, *source) is not None:
        return Origin("input", model.job, source)
    if by_runtime and path[-1:] in (("parallelism",), ("completions",)):
        return Origin("input", model.runtime, NUM_NODES)
    return _variable_at(model, path, root) if by_job or by_runtime else None


def _variable_at(model: Model, path: Path, root: Json) -> Origin | None:
    if len(path) > CONTAINER_STEPS + 2 and path[CONTAINER_STEPS + 1] == "env":
        name = get(root, *path[: CONTAINER_STEPS + 3], "name")
        return _variable(model, _section(path, root), name, path[CONTAINER_STEPS + 3 :])
    return None


def _section(path: Path, root: Json) -> Path:
    """Return the path of the part of a TrainJob that sets the fields of the container at a path in the JobSet."""
    name = str(get(root, *path[: CONTAINER_STEPS + 1], "name"))
    kind = name.removesuffix("-initializer")
    return ("spec", "trainer") if kind == name else ("spec", "initializer", kind)


def _job_path(path: Path, root: Json) -> Path | None:
    if path == ("spec", "suspend"):
        return path
    if path[-1:] in (("parallelism",), ("completions",)):
        return _NODES
    field = path[CONTAINER_STEPS + 1] if len(path) > CONTAINER_STEPS + 1 else None
    if field in ("image", "command", "args") and path[CONTAINER_STEPS - 1] == "containers":
        return ("spec", "trainer", field, *path[CONTAINER_STEPS + 2 :])
    return (*_section(path, root), "secretRef", *path[CONTAINER_STEPS + 4 :]) if field == "envFrom" else None


def _variable(model: Model, section: Path, name: Json, inside: Path) -> Origin | None:
    for index, variable in enumerate(as_list(get(model.job.data, *section, "env"))):
        if get(variable, "name") == name:
            return Origin("input", model.job, existing(model.job.data, (*section, "env", index, *inside)))
    if name == STORAGE_URI and get(model.job.data, *section, "storageUri") is not None:
        return Origin("input", model.job, (*section, "storageUri"))
    if name == _PET_PROCESSES and inside == ("value",) and get(model.job.data, *_PROCESSES) is not None:
        return Origin("input", model.job, _PROCESSES)
    if name in _COUNTS and inside == ("value",):
        for document, count in ((model.job, _NODES), (model.runtime, NUM_NODES)):
            if get(document.data, *count) is not None:
                return Origin("input", document, count)
    return None


def _admission(jobset: JsonObject) -> Step:
    """Return the step that admits the JobSet. Its defaults come from the CRD or else from the webhook."""
    by_crd = cache(lambda: admit(resource("JobSet"), jobset).data)

    def cause(path: Path, root: Json) -> Origin:
        return Origin("default", name="JobSet CRD" if existing(by_crd(), path) == path else "JobSet webhook")

    return Step(admit_jobset(jobset, {})[0], cause)


def _owned(model: Model, plugin: str, jobset: Callable[[], Mapping[Path, Origin]], path: Path, root: Json) -> Origin:
    """Return the origin of a field of an object that a plugin builds: the input from which it is copied or counted."""
    policy = _by_policy(model, plugin)
    if path == ("metadata", "name"):
        return Origin("input", model.job, name_path(model))
    if path == ("metadata", "namespace"):
        return namespace_origin(model)
    if path == ("spec", "queue"):
        return nearest(jobset(), ("metadata", "annotations", VOLCANO_QUEUE)) or policy
    for prefix, source in COPIED.items():
        if path[: len(prefix)] == prefix and get(model.runtime.data, *source) is not None:
            return Origin("input", model.runtime, (*source, *path[len(prefix) :]))
    for prefix, fields in COUNTED.items():
        if path[: len(prefix)] == prefix:
            cause = next((field for field in fields if get(model.job.data, *field) is not None), None)
            if cause is not None:
                return Origin("plugin", model.job, cause, plugin)
            if fields[0] == _NODES and plugin != "MPI":
                return Origin("plugin", model.runtime, NUM_NODES, plugin)
    return policy


# The step that set each field, found by comparing snapshots, as git blame compares commits.

Cause = Callable[[Path, Json], Origin]
"""Returns the origin of a value that a step set, from its path in the snapshot and the snapshot."""


class Step(NamedTuple):
    """The snapshot of an object after a step, and the cause of changes.

    ``again`` returns the origin of a value that the step has set to what it was before, None if it has not set it.
    """

    snapshot: Json
    cause: Cause
    again: Callable[[Path, Json], Origin | None] | None = None


class _Node(NamedTuple):
    """The origin of a value, and the nodes of its fields or items."""

    origin: Origin
    children: Mapping[str | int, _Node]


def blame(steps: Iterable[Step]) -> Mapping[Path, Origin]:
    """Return the origin of each path of the last snapshot."""
    before: Json = None
    node: _Node | None = None
    for step in steps:
        node = _compared(step, before, node, step.snapshot, ())
        before = step.snapshot
    return {} if node is None else dict(_flat(node, ()))


def _flat(node: _Node, path: Path) -> Iterator[tuple[Path, Origin]]:
    yield path, node.origin
    for key, child in node.children.items():
        yield from _flat(child, (*path, key))


def _compared(step: Step, before: Json, old: _Node | None, after: Json, path: Path) -> _Node:
    """Return the node of a value after a step: unchanged parts keep their origin, new parts have that of the step.

    ``before`` is the value that it replaced, and ``old`` the node of that; None if there was none.
    """
    if old is not None and before == after and type(before) is type(after):
        if step.again is None or after in ([], {}):
            return old
        if not isinstance(after, dict | list):
            origin = step.again(path, step.snapshot)
            return old if origin is None else _Node(replace(origin, earlier=old.origin), {})
    if not isinstance(after, dict | list):
        origin = step.cause(path, step.snapshot)
        if old is not None and before is not None and not isinstance(before, dict | list):
            # A default only writes the same value in another form.
            origin = old.origin if origin.kind == "default" else replace(origin, earlier=old.origin)
        return _Node(origin, {})
    is_kept = old is not None and type(before) is type(after) and after != []  # an emptied list is not kept
    children = {}
    for key, old_key in _pairs(before, after):
        child = None if old is None or old_key is None else old.children.get(old_key)
        was = None if child is None else before[old_key]  # type: ignore[index]
        children[key] = _compared(step, was, child, after[key], (*path, key))  # type: ignore[index]
    return _Node(old.origin if old is not None and is_kept else step.cause(path, step.snapshot), children)


def _pairs(before: Json, after: Json) -> Iterator[tuple[str | int, str | int | None]]:
    """Yield each key of after with that of the same value in before: list items by key, by equality or by position."""
    if before == after:
        yield from ((key, key) for key in (after if isinstance(after, dict) else range(len(as_list(after)))))
        return
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {}
        yield from ((key, key if key in old else None) for key in after)
        return
    items, new = as_list(before), as_list(after)
    for index, item in enumerate(new):
        at = place_of(items, item, index)
        # Without a key, it is the old one, changed, if the number of items is the same.
        yield index, index if at is None and key_of(item) is None and len(items) == len(new) else at
