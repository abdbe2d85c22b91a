"""Whether the Jobs of a replicated job have nothing wrong, told for each job of a fleet at the cost of one comparison.

The checks are asked once about every Job that differs in something that they judge. What differs from job to job and
is fine by itself is left out before Jobs are compared (``abridged``): texts that no check reads, names and labels that
are valid. The checks themselves say what is wrong: of an abridged Job that is not sound nothing is told but that.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from functools import lru_cache

from trainc.checks.job import job_problems
from trainc.checks.pod import pod_problems, template_problems
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import labels
from trainc.kube.names import (
    is_config_map_key,
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
    yield from _own_problems(made)
    yield from _problems_of_pods(as_object(get(made, "spec", "template")))


def _own_problems(made: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a Job beside its template."""
    yield from labels(
        Place(METADATA, ("metadata", "labels"), "metadata.labels"), as_object(get(made, "metadata", "labels"))
    )
    yield from job_problems(Place(JOB, ("spec",), "spec"), as_object(made["spec"]))


def _problems_of_pods(template: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with the template of a Job, whatever the Job."""
    yield from template_problems(Place(JOB, ("spec",), "spec").child("template"), template)
    # A pod's own rules come with the server's names of a pod's fields.
    yield from pod_problems(Place(JOB, POD, "spec"), as_object(template.get("spec")))


def is_sound(made: JsonObject) -> bool:
    """Tell whether ``problems_of`` yields nothing. False may also mean that this can only be told by asking it."""
    try:
        return _is_sound(marshal.dumps(abridged(made), _PLAIN))
    except (TypeError, ValueError):  # something has the wrong type, or is nested too deeply
        return False


@lru_cache(maxsize=4096)
def _is_sound(key: bytes) -> bool:
    made = marshal.loads(key)
    if next(_own_problems(made), None) is not None:
        return False
    return _has_sound_pods(marshal.dumps(made["spec"]["template"], _PLAIN))


@lru_cache(maxsize=4096)
def _has_sound_pods(key: bytes) -> bool:
    """Tell it of a template: Jobs of the same one differ in their numbers of pods."""
    return next(_problems_of_pods(marshal.loads(key)), None) is None


def abridged(made: JsonObject) -> JsonObject:
    """Return a Job without what is fine by itself: it has problems just where the whole one has.

    Raises TypeError for what cannot stand in a Job.
    """
    spec = as_object(made["spec"])
    template = as_object(spec.get("template"))
    pod = {**as_object(template.get("spec"))}
    for kind in ("containers", "initContainers"):
        if isinstance(containers := pod.get(kind), list):
            pod[kind] = [_container(each) if isinstance(each, dict) else each for each in containers]
    if isinstance(volumes := pod.get("volumes"), list):
        pod["volumes"] = [_volume(volume) if isinstance(volume, dict) else volume for volume in volumes]
    for field, is_fine in (("subdomain", _is_label), ("serviceAccountName", _is_subdomain)):
        if isinstance(name := pod.get(field), str) and is_fine(name):
            del pod[field]
    short: JsonObject = {"metadata": _metadata(template.get("metadata")), "spec": pod}
    return {"metadata": _metadata(made["metadata"]), "spec": {**spec, "template": short}}


def _container(container: JsonObject) -> JsonObject:
    short = {**container}
    for field in _UNREAD:
        short.pop(field, None)
    image = short.get("image")
    if isinstance(image, str) and image and image == image.strip():
        short["image"] = _SOME
    variables = short.get("env")
    if isinstance(variables, list):
        short["env"] = [variable for variable in variables if not _is_fine(variable)]
    return short


def _is_fine(variable: Json) -> bool:
    """Tell whether a variable has a valid name, and a value of its own, which may be any text, or one of a key."""
    if not isinstance(variable, dict):
        return False
    name, source = variable.get("name"), variable.get("valueFrom")
    if not isinstance(name, str) or not _is_variable(name):
        return False
    if source is None:
        return True
    if variable.get("value") or not isinstance(source, dict) or len(source) != 1:
        return False
    [(kind, ref)] = source.items()
    if kind not in ("secretKeyRef", "configMapKeyRef") or not isinstance(ref, dict):
        return False
    owner, key = ref.get("name"), ref.get("key")
    return isinstance(owner, str) and _is_subdomain(owner) and isinstance(key, str) and key != "" and _is_key(key)


def _volume(volume: JsonObject) -> JsonObject:
    for kind, field in _NAMED:
        source = volume.get(kind)
        if isinstance(source, dict) and isinstance(source.get(field), str) and source[field]:
            volume = {**volume, kind: {**source, field: _SOME}}
    return volume


def _metadata(metadata: Json) -> JsonObject:
    """Return the labels and annotations that may be wrong; a Job's own annotations are looked at in vain."""
    short: JsonObject = {}
    if isinstance(metadata, dict):
        for field, are_fine in (("labels", _are_labels), ("annotations", _are_annotations)):
            values = metadata.get(field)
            if isinstance(values, dict) and values and not are_fine(tuple(values.items())):
                short[field] = values
    return short


@lru_cache(maxsize=4096)
def _are_labels(labels: tuple[tuple[str, Json], ...]) -> bool:
    values = {key: value for key, value in labels if isinstance(value, str)}
    return len(values) == len(labels) and not validate_labels(values, "")


@lru_cache(maxsize=1024)
def _are_annotations(annotations: tuple[tuple[str, Json], ...]) -> bool:
    values = {key: value for key, value in annotations if isinstance(value, str)}
    return len(values) == len(annotations) and not validate_annotations(values, "")


@lru_cache(maxsize=4096)
def _is_variable(name: str) -> bool:
    return not is_relaxed_env_var_name(name)


@lru_cache(maxsize=1024)
def _is_key(key: str) -> bool:
    return not is_config_map_key(key)


@lru_cache(maxsize=4096)
def _is_label(name: str) -> bool:
    return not is_dns1123_label(name)


@lru_cache(maxsize=4096)
def _is_subdomain(name: str) -> bool:
    return not is_dns1123_subdomain(name)
