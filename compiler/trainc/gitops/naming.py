"""Names that change on purpose: a run number in git, and the place of a name for findings.

A JobSet that is there can hardly be changed and runs once. To run a job again, or to change what cannot be changed, its
objects get another name: annotation ``trainc.dev/run: "2"`` makes ``<job>-2`` of ``<job>``, from which all other names
derive. Directory and files keep the job's own name, so that the change is read as one of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, Path, as_object, get
from trainc.basics.regex import lazy
from trainc.findings import Finding, report, suggest
from trainc.gitops.base import Pass
from trainc.inputs.source import Document
from trainc.plugins.model import Findings, Model, Object, Objects
from trainc.upstream import RUN, TRAINC

CODE: Final = "TC609"
_ANNOTATIONS: Path = ("metadata", "annotations")
_NUMBER: Final = lazy(r"[1-9][0-9]{0,8}")
_RESERVED: Final = lazy(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?")
"""Names of devices: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""
_RULE: Final = 'a whole number from 1, such as "2"'


def run_of(job: Document) -> int:
    """Return the run number of a TrainJob; 1, which stands for the plain name, where it has none or a wrong one."""
    value = get(job.data, *_ANNOTATIONS, RUN)
    return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else 1


def numbered(model: Model) -> Model:
    """Return the model under the name of its run. Under faithful the annotation means nothing."""
    run = 1 if model.options.faithful else run_of(model.job)
    return model if run == 1 else replace(model, name=f"{model.title}-{run}")


def name_place(model: Model) -> Path:
    """Return the path in the TrainJob that decides the name of its objects: the run number if there is one."""
    return ("metadata", "name") if model.options.faithful else name_path(model.job)


def name_path(job: Document) -> Path:
    """Return the path in a TrainJob that decides the name of its objects in default output."""
    return ("metadata", "name") if run_of(job) == 1 else (*_ANNOTATIONS, RUN)


def way_forward(job: Document) -> str:
    """Return the hint of a change that cannot be made under the same name: the line that gives another one."""
    line = f'{RUN}: "{run_of(job) + 1}"'
    return f"leave it as it was; or add {line} to metadata.annotations of the TrainJob: the job runs again, renamed"


def titled(model: Model, objects: Objects) -> Objects:
    """Return the objects with their titles: the names that they would have without run number and hash."""
    if model.name == model.title:
        return objects
    return tuple(_titled(model, made) for made in objects)


def _titled(model: Model, made: Object) -> Object:
    name, rest = made.stem or made.name, ""
    if name != model.name:
        if not name.startswith(f"{model.name}-"):
            return made
        rest = name[len(model.name) :]
    return replace(made, title=model.title + rest)


def check(model: Model) -> Findings:
    """Refuse a run number that is none, and annotations that only look like trainc's; warn of reserved names."""
    annotations = as_object(get(model.job.data, *_ANNOTATIONS))
    wrong = tuple(_problem(model.job, key, value) for key, value in annotations.items() if _is_wrong(key, value))
    return (*wrong, *_reserved(model))


def _reserved(model: Model) -> Iterator[Finding]:
    """Yield a warning for each folder of the job's output that git cannot check out under Windows."""
    names = (("namespace", model.namespace), ("name", model.title))
    for key, name in names:
        if _RESERVED.fullmatch(name):
            yield report("TC023", model.job, ("metadata", key), f"Windows has no folder {name!r}", found=name)
    environment, config = model.options.environment, model.options.config_document
    if _RESERVED.fullmatch(environment) and config is not None:
        message = f"Windows has no folder {environment!r}"
        yield report("TC023", config, ("environments", environment), message, found=environment)


def _is_wrong(key: str, value: Json) -> bool:
    if key == RUN:
        return not isinstance(value, str) or _NUMBER.fullmatch(value) is None
    return key.startswith(TRAINC)


def _problem(job: Document, key: str, value: Json) -> Finding:
    path = (*_ANNOTATIONS, key)
    if key == RUN:
        return report(CODE, job, path, f"{RUN} is no run number", found=f'"{value}"', expected=_RULE)
    return report(CODE, job, path, f"trainc has no annotation {key!r}", expected=RUN, hint=suggest(key, (RUN,)))


PASS: Final = Pass("naming", check=check)
