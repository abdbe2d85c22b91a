"""How many jobs one change runs again, where names are by content: a change of a runtime renames all its JobSets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from trainc.admission.base_revision import Base
from trainc.basics.jsonvalues import JsonObject, Path, as_object, get
from trainc.findings import Finding, Related, report
from trainc.gitops.content import MODE
from trainc.gitops.environment import Placed
from trainc.inputs.options import Options
from trainc.inputs.source import Document

CODE: Final = "TC611"
_NAMED: Final = 10
"""So many jobs are named in a message."""

_NAME: Path = ("metadata", "name")


def too_many(placed: Iterable[Placed], base: Base, options: Options) -> tuple[Finding, ...]:
    """Return an error if more JobSets are called otherwise than at the base revision than maxReruns allows.

    It stands at the environment's ``naming`` in trainc.yaml. A job that is new, or gone, runs not again.
    """
    naming = options.settings.naming
    if naming.mode != MODE or not base.revision:
        return ()
    again = tuple(_renamed(placed, _jobsets(base, options.environment)))
    if len(again) <= naming.max_reruns:
        return ()
    names = [f"{job.namespace}/{job.name}" for job, _ in again]
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    document, path = _place(options) or (again[0][0].document, _NAME)
    message = f"{len(again)} jobs of environment {options.environment} would run again: {named}"
    related = tuple(Related(f"at {base.revision}", old, _NAME) for _, old in again[:1])
    allowed = f"at most {naming.max_reruns}"
    return (report(CODE, document, path, message, found=str(len(again)), expected=allowed, related=related),)


def _renamed(placed: Iterable[Placed], before: Mapping[tuple[str, str], Document]) -> Iterator[tuple[Placed, Document]]:
    for job in placed:
        old = before.get((job.namespace, job.name))
        if old is not None and job.jobset is not None and get(old.data, *_NAME) != job.jobset:
            yield job, old


def _jobsets(base: Base, environment: str) -> Mapping[tuple[str, str], Document]:
    """Return the JobSets at the base revision by the namespace and name of their directories."""
    prefix = f"{base.revision}:out/{environment}/"
    found: dict[tuple[str, str], Document] = {}
    for document in base.of_kind("JobSet")[0].values():
        steps = document.source.name.removeprefix(prefix).split("/")
        if document.data.get("kind") == "JobSet" and len(steps) > 1:
            found[steps[0], steps[1]] = document
    return found


def _place(options: Options) -> tuple[Document, Path] | None:
    """Return where ``naming`` stands in trainc.yaml; None where its text is not known."""
    document = options.config_document
    own: Path = ("environments", options.environment, "naming")
    for path in (own, ("defaults", "naming")):
        if document is not None and get(document.data, *path) is not None:
            return document, _limit(document.data, path)
    return None


def _limit(data: JsonObject, path: Path) -> Path:
    return (*path, "maxReruns") if "maxReruns" in as_object(get(data, *path)) else path
