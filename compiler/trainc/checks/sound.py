"""Whether the Jobs of a replicated job have nothing wrong, told for each job of a fleet at the cost of one comparison.

The checks are asked once about every Job that differs in something that they judge. What differs from job to job and
is fine by itself is left out before Jobs are compared (``abridged``): texts that no check reads, names and labels that
are valid. The checks themselves say what is wrong: of an abridged Job that is not sound nothing is told but that.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from trainc.checks.job import job_problems
from trainc.checks.pod import pod_problems, template_problems
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import labels
from trainc.kube.names import (
    TOTAL_ANNOTATION_SIZE_LIMIT,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_relaxed_env_var_name,
    validate_annotations,
    validate_labels,
)
from trainc.source import Json, JsonObject, Path, as_object, get

JOB, METADATA = "TC803", "TC804"
POD: Path = ("spec", "template", "spec")

_PLAIN = 2
"""The version of marshal's format in which equal values have equal bytes, however they are shared."""

_UNREAD = ("command", "args", "workingDir")
"""The fields of a container that may hold any text."""

_NAMED = (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName"))
"""The sources of volumes of which only has to be there what they name."""

_SOME = "x"
"""Stands for a text of which only is asked whether there is one."""


def problems_of(made: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a Job, as ``created_job`` returns it; paths are those of the Job."""
    spec, place = as_object(made["spec"]), Place(JOB, ("spec",), "spec")
    yield from labels(
        Place(METADATA, ("metadata", "labels"), "metadata.labels"), as_object(get(made, "metadata", "labels"))
    )
    yield from job_problems(place, spec)
    yield from template_problems(place.child("template"), as_object(spec.get("template")))
    # A pod's own rules come with the server's names of a pod's fields.
    yield from pod_problems(Place(JOB, POD, "spec"), as_object(get(spec, "template", "spec")))


def is_sound(made: JsonObject) -> bool:
    """Tell whether ``problems_of`` yields nothing. False may also mean that this can only be told by asking it."""
    try:
        key = marshal.dumps(abridged(made), _PLAIN)
    except ValueError:  # it is nested too deeply
        return False
    return _is_sound(key)


@lru_cache(maxsize=4096)
def _is_sound(key: bytes) -> bool:
    return next(problems_of(marshal.loads(key)), None) is None


def abridged(made: JsonObject) -> JsonObject:
    """Return a Job without what is fine by itself: it has problems just where the whole one has."""
    spec = as_object(made["spec"])
    template = as_object(spec.get("template"))
    pod = {**as_object(template.get("spec"))}
    for kind in ("containers", "initContainers"):
        if containers := pod.get(kind):
            pod[kind] = _each(containers, _container)
    if volumes := pod.get("volumes"):
        pod["volumes"] = _each(volumes, _volume)
    for field, is_fine in (("subdomain", _is_label), ("serviceAccountName", _is_subdomain)):
        name = pod.get(field)
        if name.__class__ is str and is_fine(name):
            del pod[field]
    short: JsonObject = {"metadata": _metadata(template.get("metadata")), "spec": pod}
    return {"metadata": _metadata(made.get("metadata")), "spec": {**spec, "template": short}}


def _each(items: Json, shorten: Callable[[JsonObject], JsonObject]) -> Json:
    if not isinstance(items, list):
        return items
    return [shorten(item) if isinstance(item, dict) else item for item in items]


def _container(container: JsonObject) -> JsonObject:
    short = {**container}
    for field in _UNREAD:
        short.pop(field, None)
    image = short.get("image")
    if isinstance(image, str) and image and image == image.strip():
        short["image"] = _SOME
    variables = short.get("env")
    if isinstance(variables, list):
        short["env"] = [variable for variable in variables if not _is_literal(variable)]
    return short


def _is_literal(variable: Json) -> bool:
    """Tell whether a variable has a valid name and a value of its own, which may be any text."""
    if not isinstance(variable, dict) or variable.get("valueFrom") is not None:
        return False
    name = variable.get("name")
    return isinstance(name, str) and _is_variable(name)


def _volume(volume: JsonObject) -> JsonObject:
    for kind, field in _NAMED:
        source = volume.get(kind)
        if isinstance(source, dict) and isinstance(source.get(field), str) and source[field]:
            volume = {**volume, kind: {**source, field: _SOME}}
    return volume


def _metadata(metadata: Json) -> JsonObject:
    """Return the labels and annotations that may be wrong; a Job's own annotations are looked at in vain."""
    if not isinstance(metadata, dict):
        return {}
    short: JsonObject = {}
    values = metadata.get("labels")
    if isinstance(values, dict) and not _are_labels(values):
        short["labels"] = values
    values = metadata.get("annotations")
    if isinstance(values, dict) and not _are_annotations(values):
        short["annotations"] = values
    return short


def _are_labels(labels: Mapping[str, Json]) -> bool:
    return all(isinstance(value, str) and _is_pair(key, value) for key, value in labels.items())


def _are_annotations(annotations: Mapping[str, Json]) -> bool:
    size = 0
    for key, value in annotations.items():
        if not isinstance(value, str) or not _is_annotation(key):
            return False
        size += len(key) + len(value)
    return size * 4 <= TOTAL_ANNOTATION_SIZE_LIMIT  # a character has four bytes at most


@lru_cache(maxsize=4096)
def _is_pair(key: str, value: str) -> bool:
    return not validate_labels({key: value}, "")


@lru_cache(maxsize=1024)
def _is_annotation(key: str) -> bool:
    return not validate_annotations({key: ""}, "")


@lru_cache(maxsize=4096)
def _is_variable(name: str) -> bool:
    return not is_relaxed_env_var_name(name)


@lru_cache(maxsize=4096)
def _is_label(name: str) -> bool:
    return not is_dns1123_label(name)


@lru_cache(maxsize=4096)
def _is_subdomain(name: str) -> bool:
    return not is_dns1123_subdomain(name)
