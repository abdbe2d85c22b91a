"""The second, traced run of one job: a snapshot of the JobSet after every step, each with its causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, existing, get
from trainc.basics.memo import Once
from trainc.documents.compare import counterpart
from trainc.gitops.base import History, jobset_of, namespace_origin
from trainc.gitops.naming import name_place
from trainc.kube.gotypes import JOB_SET_SPEC, apply_configuration
from trainc.pipeline.join import join, patched
from trainc.plugins import SHAPES
from trainc.plugins.jobset import JobSet
from trainc.plugins.model import Model, Origin
from trainc.plugins.origins import Cause, Step, blame
from trainc.schema import admit, resource
from trainc.upstream import JOBSET_API

Origins = Callable[[], Mapping[Path, Origin]]

POLICIES = {
    "CoScheduling": ("podGroupPolicy", "coscheduling"),
    "Volcano": ("podGroupPolicy", "volcano"),
    "Flux": ("mlPolicy", "flux"),
    "JAX": ("mlPolicy", "jax"),
    "MPI": ("mlPolicy", "mpi"),
    "Torch": ("mlPolicy", "torch"),
    "XGBoost": ("mlPolicy", "xgboost"),
    "PlainML": ("mlPolicy",),
    "JobSet": ("template",),
}
"""Plugin to what switches it on in the runtime's spec."""

TYPES = "JobSet API types"
"""What writes fields that nobody gave: Trainer reads the template into Go's types, which write them out again."""

TEMPLATE = ("spec", "template")
CONTAINER_STEPS = 8
"""Steps to a container: spec replicatedJobs i template spec template spec containers."""


class Trail(NamedTuple):
    """What a JobSet was while its job was compiled: what the traced run need not make anew.

    ``built`` is the JobSet that the plugins made, ``history`` what each GitOps pass left, and ``stored`` the JobSet as
    a cluster would hold it; None before it is admitted.
    """

    built: JsonObject
    history: History = ()
    stored: JsonObject | None = None


def trace_owned(model: Model, plugin: str) -> Origins:
    """Return the origins of an object that one plugin makes whole: a ConfigMap, a PodGroup."""
    return lambda: {
        (): _plugin_origin(model, plugin),
        ("metadata", "name"): Origin("input", model.job, name_place(model)),
        ("metadata", "namespace"): namespace_origin(model),
    }


def trace_jobset(model: Model, trail: Trail) -> Origins:
    """Return the origins of a job's JobSet; they are computed when first asked for."""
    return Once(lambda: blame(steps(model, trail)))


def steps(model: Model, trail: Trail) -> list[Step]:
    """Build the JobSet once more, from the joined model, and return what every step leaves, those kept included.

    The fixes come after the plugins, one by one: a plugin's step is that of a run without them.
    """
    fixed, model = model, joined(model, ())
    found = [_template(model), *_patches(model)]
    found.append(Step(_bare(model, model.spec), lambda path, root: _resources(model, path)))
    found.append(Step(_built(model), _by_plugin(model, "JobSet")))
    shaped = model
    for plugin in SHAPES:
        before, shaped = shaped, plugin.shape(shaped)
        if shaped is not before:
            found.append(Step(_built(shaped), _by_plugin(model, plugin.name)))
    found += _fixes(fixed)
    left = [(step, jobset) for step, objects in trail.history if (jobset := jobset_of(objects)) is not None]
    found += [Step(jobset.data, partial(step.cause, fixed)) for step, jobset in left]
    if trail.stored is not None:
        found.append(_admitted(left[-1][1].data if left else trail.built, trail.stored))
    return found


def shape(model: Model) -> Model:
    """Return the model after every plugin."""
    for plugin in SHAPES:
        model = plugin.shape(model)
    return model


def joined(model: Model, fixes: tuple[str, ...]) -> Model:
    """Return the model, not yet shaped by plugins, as it is with only these fixes."""
    if model.options.chosen() == fixes:
        return model
    joined = join(model.job, model.runtime, model.cluster, model.options.with_fixes(fixes))
    return replace(joined, name=model.name, namespace=model.namespace)


def _fixes(model: Model) -> list[Step]:
    """Return a step for every fix that is on, each with those before it."""
    names = model.options.chosen()
    steps = []
    for index, name in enumerate(names):
        origin = Origin("fix", model.runtime, ("spec",), name)
        made = _built(shape(joined(model, names[: index + 1])))
        steps.append(Step(made, lambda path, root, origin=origin: origin))  # type: ignore[misc]
    return steps


def _resources(model: Model, path: Path) -> Origin:
    """Return the origin of what resourcesPerNode brought: its own entry, where the path is that of a resource."""
    place = ("spec", "trainer", "resourcesPerNode", *path[CONTAINER_STEPS + 2 :])
    return Origin("input", model.job, existing(model.job.data, place))


def _template(model: Model) -> Step:
    def cause(path: Path, root: Json) -> Origin:
        if path == ("metadata", "name"):
            return Origin("input", model.job, name_place(model))
        if path == ("metadata", "namespace"):
            return namespace_origin(model)
        if path in ((), ("metadata",)):
            return Origin("input", model.job, path)
        if path in (("apiVersion",), ("kind",)):
            return _plugin_origin(model, "JobSet")
        place = (*TEMPLATE, *path)
        if get(model.runtime.data, *place) is None:
            return Origin("default", name=TYPES)
        return Origin("input", model.runtime, place)

    spec = apply_configuration(model.unpatched, JOB_SET_SPEC)
    template = get(model.runtime.data, *TEMPLATE)
    return Step(_bare(model, spec, template), cause)


def _patches(model: Model) -> list[Step]:
    patches = get(model.job.data, "spec", "runtimePatches")
    found = []
    for index, patch in enumerate(patches if isinstance(patches, list) else []):
        upto: JsonObject = {"runtimePatches": patches[: index + 1]} if isinstance(patches, list) else {}
        spec = apply_configuration(patched(model.unpatched, upto), JOB_SET_SPEC)
        found.append(Step(_bare(model, spec), _by_patch(model, index, patch)))
    return found


def _by_patch(model: Model, index: int, patch: Json) -> Cause:
    place = ("spec", "runtimePatches", index, "trainingRuntimeSpec", "template")
    template = get(patch, "trainingRuntimeSpec", "template")
    manager = str(get(patch, "manager"))
    return lambda path, root: Origin("patch", model.job, (*place, *counterpart(template, root, path)), manager)


def _bare(model: Model, spec: Json, template: Json = None) -> JsonObject:
    metadata: JsonObject = {"name": model.name, "namespace": model.namespace}
    for kind, values in (("labels", model.labels), ("annotations", model.annotations)):
        own: Json = get(template, "metadata", kind) if template is not None else {**values}
        if own:
            metadata[kind] = own
    return {"apiVersion": JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}


def _built(model: Model) -> Json:
    made = JobSet().build(model)
    return made[0].data if made else None


NUM_NODES: Path = ("spec", "mlPolicy", "numNodes")
_COUNTS = frozenset(("PET_NNODES", "JAX_NUM_PROCESSES"))
"""Variables whose value is the number of nodes."""


def _by_plugin(model: Model, plugin: str) -> Cause:
    return lambda path, root: _from_job(model, path, root) or _plugin_origin(model, plugin)


def _plugin_origin(model: Model, plugin: str) -> Origin:
    place: Path = ("spec", *POLICIES[plugin])
    return Origin("plugin", model.runtime, place, plugin)


def _from_job(model: Model, path: Path, root: Json) -> Origin | None:
    """Return the field of the TrainJob that a value was copied or counted from, if there is one."""
    place = _job_path(path, root)
    if place is not None and get(model.job.data, *place) is not None:
        return Origin("input", model.job, place)
    if path[-1:] in (("parallelism",), ("completions",)):
        return Origin("input", model.runtime, NUM_NODES)
    if len(path) > CONTAINER_STEPS + 2 and path[CONTAINER_STEPS + 1] == "env":
        return _variable(model, get(root, *path[: CONTAINER_STEPS + 3], "name"), path[CONTAINER_STEPS + 3 :])
    return None


def _job_path(path: Path, root: Json) -> Path | None:
    if path == ("spec", "suspend"):
        return path
    if path[-1:] in (("parallelism",), ("completions",)):
        return ("spec", "trainer", "numNodes")
    field = path[CONTAINER_STEPS + 1] if len(path) > CONTAINER_STEPS + 1 else None
    if field in ("image", "command", "args") and path[CONTAINER_STEPS - 1] == "containers":
        return ("spec", "trainer", field, *path[CONTAINER_STEPS + 2 :])
    if field == "envFrom":
        kind = str(get(root, *path[: CONTAINER_STEPS + 1], "name")).removesuffix("-initializer")
        return ("spec", "initializer", kind, "secretRef")
    return None


def _variable(model: Model, name: Json, inside: Path) -> Origin | None:
    for place in (("spec", "trainer"), ("spec", "initializer", "dataset"), ("spec", "initializer", "model")):
        variables = get(model.job.data, *place, "env")
        for index, variable in enumerate(variables if isinstance(variables, list) else []):
            if get(variable, "name") == name:
                return Origin("input", model.job, existing(model.job.data, (*place, "env", index, *inside)))
        if name == "STORAGE_URI" and get(model.job.data, *place, "storageUri") is not None:
            return Origin("input", model.job, (*place, "storageUri"))
    if name in _COUNTS and inside == ("value",):
        for document, count in ((model.job, ("spec", "trainer", "numNodes")), (model.runtime, NUM_NODES)):
            if get(document.data, *count) is not None:
                return Origin("input", document, count)
    return None


def _admitted(jobset: JsonObject, stored: JsonObject) -> Step:
    """Return the step of CRD and webhook; which of the two has set a field, the object as the CRD leaves it tells."""
    by_crd = Once(lambda: _stored(jobset))

    def cause(path: Path, root: Json) -> Origin:
        return Origin("default", name="JobSet CRD" if existing(by_crd(), path) == path else "JobSet webhook")

    return Step(stored, cause)


def _stored(jobset: JsonObject) -> JsonObject:
    return admit(resource("JobSet"), jobset).data
