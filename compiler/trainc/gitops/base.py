"""What a pass of default output is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, existing, get
from trainc.basics.regex import lazy
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.plugins.base import manifest
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.upstream import RBAC_GROUP, RUN

JOBSET = "JobSet"
RUN_NUMBER: Final = lazy(r"[1-9][0-9]{0,8}")


def _unchanged(model: Model, objects: Objects) -> Objects:
    return objects


def _nothing_caused(model: Model, path: Path, root: Json) -> Origin:
    raise AssertionError("a pass that changes a JobSet says why")


def _nothing_found(model: Model) -> Findings:
    return ()


def _nothing_judged(model: Model, objects: Objects) -> Findings:
    return ()


class Pass(Struct, frozen=True):
    """Something that a tree in git needs beyond the controller's objects.

    ``shape`` returns the objects of a job with what the pass adds or changes, or the same tuple if it changes nothing.
    ``cause`` returns the origin of a path that it brought to an object, given the object afterwards. ``check`` looks at
    the joined model before anything is built, ``judge`` at the objects after the last pass.
    """

    name: str
    shape: Callable[[Model, Objects], Objects] = _unchanged
    cause: Callable[[Model, Path, Json], Origin] = _nothing_caused
    check: Callable[[Model], Findings] = _nothing_found
    judge: Callable[[Model, Objects], Findings] = _nothing_judged


def jobset_of(objects: Objects) -> Object | None:
    """Return the JobSet among the objects of a job, or None."""
    for obj in objects:
        if obj.data["kind"] == JOBSET:
            return obj
    return None


def with_jobset(objects: Objects, data: JsonObject) -> Objects:
    """Return the objects with other data of the JobSet."""
    return tuple(replace(obj, data=data) if obj.kind == JOBSET else obj for obj in objects)


def environment_origin(name: str, model: Model, *inside: str | int) -> Origin:
    """Return the origin of a value that an option of trainc.yaml sets in the objects of a job."""
    return option_origin(model.options, name, *inside)


def option_origin(options: Options, name: str, *inside: str | int) -> Origin:
    """Return the origin of a value that an option of trainc.yaml sets; with a position if its text is available."""
    document, path = options.config_document, option_path(options, name)
    if document is None or path is None:
        return Origin("environment", name=name)
    return Origin("environment", document, existing(document.data, (*path, *inside)), name)


def rights(model: Model, name: str, rules: list[Json], account: str | None = None) -> tuple[JsonObject, ...]:
    """Return Role and RoleBinding for a service account, and that account unless there is one already."""
    version = f"{RBAC_GROUP}/v1"
    subject: JsonObject = {"kind": "ServiceAccount", "name": account or name, "namespace": model.namespace}
    reference: JsonObject = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": name}
    return (
        *(() if account else (manifest(model, "v1", "ServiceAccount", name, automountServiceAccountToken=False),)),
        manifest(model, version, "Role", name, rules=rules),
        manifest(model, version, "RoleBinding", name, roleRef=reference, subjects=[subject]),
    )


def name_path(model: Model) -> Path:
    """Return the path in the TrainJob that decides the name of its objects: the run number if there is one."""
    return ("metadata", "name") if model.options.faithful else job_name_path(model.job)


def job_name_path(job: Document) -> Path:
    """Return the path in a TrainJob that decides the name of its objects in default output."""
    return ("metadata", "name") if run_of(job) == 1 else ("metadata", "annotations", RUN)


def run_of(job: Document) -> int:
    """Return the run number of a TrainJob; 1, which stands for the plain name, if it has none or an invalid one."""
    value = get(job.data, "metadata", "annotations", RUN)
    return int(value) if isinstance(value, str) and RUN_NUMBER.fullmatch(value) else 1


def origins_of(model: Model, maker: Origin) -> dict[Path, Origin]:
    """Return the origins of an object that trainc adds to a job: its name and namespace are the job's."""
    return {
        (): maker,
        ("metadata", "name"): Origin("input", model.job, name_path(model)),
        ("metadata", "namespace"): namespace_origin(model),
    }


def namespace_origin(model: Model) -> Origin:
    """Return the origin of the namespace of a job's objects: the TrainJob, or the environment that calls it so."""
    if model.namespace != model.home:
        return environment_origin("namespaces", model, model.home)
    return Origin("input", model.job, ("metadata", "namespace"))


def option_path(options: Options, key: str) -> Path | None:
    """Return the path of an option in trainc.yaml: the environment's own, that of defaults, or that at the top."""
    document = options.config_document
    places: tuple[Path, ...] = (("environments", options.environment, key), ("defaults", key), (key,))
    return next((path for path in places if document is not None and get(document.data, *path) is not None), None)
