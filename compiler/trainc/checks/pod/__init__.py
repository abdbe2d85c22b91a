"""What the API server refuses in the template of a pod, told before there is one.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/validation, ValidatePodTemplateSpec, with every feature gate at its
default and after the defaults of core/v1. Left out: Windows, annotations of old (seccomp, AppArmor), the contents of
volume sources whose drivers have left Kubernetes. tests/oracle/pods compares.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.checks.pod.containers import Surroundings, container_problems
from trainc.checks.pod.ports import host_network_ports, host_port_conflicts
from trainc.checks.pod.scheduling import scheduling_problems
from trainc.checks.pod.security import pod_security
from trainc.checks.pod.spec import spec_problems
from trainc.checks.pod.volumes import volume_problems
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import labels, number, text
from trainc.kube.names import validate_annotations
from trainc.source import JsonObject, as_object, get, objects

METADATA, CONTAINERS, VOLUMES, SCHEDULING, SECURITY, SPEC = "TC804", "TC805", "TC806", "TC808", "TC809", "TC810"
GRACE = 30
"""terminationGracePeriodSeconds where it is absent."""


def template_problems(place: Place, template: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a pod template: typed as Go has it, quantities canonical."""
    spec, at = as_object(template.get("spec")), place.child("spec")
    metadata = place.coded(METADATA)
    # The server's names for labels and annotations lack the step through metadata.
    for kind in ("labels", "annotations"):
        named = metadata.within("metadata", kind).named(f"{place.field}.{kind}")
        values = as_object(get(template, "metadata", kind))
        yield from labels(named, values) if kind == "labels" else annotation_problems(named, values)
    volumes, problems = volume_problems(at.coded(VOLUMES).child("volumes"), spec.get("volumes"))
    yield from problems
    grace = number(spec, "terminationGracePeriodSeconds")
    around = Surroundings(
        volumes=volumes,
        claims=tuple(text(claim, "name") for claim in objects(spec.get("resourceClaims")) if text(claim, "name")),
        grace=GRACE if grace is None else grace,
        restart_policy=text(spec, "restartPolicy") or "Always",
        host_users=spec.get("hostUsers") is not False,
    )
    yield from container_problems(at, spec, around)
    yield from scheduling_problems(at.coded(SCHEDULING), spec)
    yield from pod_security(at.coded(SECURITY).child("securityContext"), spec)
    yield from spec_problems(at.coded(SPEC), spec)
    if spec.get("hostNetwork") is True:
        yield from host_network_ports(at.coded(CONTAINERS).child("containers"), objects(spec.get("containers")))


def annotation_problems(place: Place, values: JsonObject) -> Iterator[Problem]:
    """Check annotations; their values are never shown."""
    for text_ in validate_annotations({key: str(value) for key, value in values.items()}, place.field):
        kind, _, detail = text_.removeprefix(f"{place.field}: ").partition(": ")
        yield Problem(place.code, place.path, f"{kind}: {detail}", text_)


def pod_problems(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a pod alone: a Job takes such a template, and can then create no pod of it."""
    for kind in ("containers", "initContainers"):
        containers, at = objects(spec.get(kind)), place.coded(CONTAINERS).child(kind)
        for index, container in enumerate(containers):
            image = text(container, "image")
            if image != image.strip():
                yield at.index(index).child("image").invalid(image, "must not have leading or trailing whitespace")
    if spec.get("hostNetwork") is True:
        containers, at = objects(spec.get("containers")), place.coded(CONTAINERS).child("containers")
        told = {problem.path for problem in host_port_conflicts(at, containers, host_network=False)}
        for problem in host_port_conflicts(at, containers, host_network=True):
            if problem.path not in told:
                yield problem
