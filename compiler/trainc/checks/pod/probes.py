"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from trainc.checks.pod.ports import port_or_name
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import number, text
from trainc.source import JsonObject, as_object, get, objects

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
SCHEMES = ("HTTP", "HTTPS")
NOT_FOR_INIT = "may not be set for init containers without restartPolicy=Always"
_HEADER = "[-A-Za-z0-9]+"
_HEADER_TEXT = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
    f" validation is '{_HEADER}')"
)


def probe_problems(place: Place, container: JsonObject) -> Iterator[Problem]:
    """Check the three probes of a container."""
    for kind in PROBES:
        if isinstance(probe := container.get(kind), dict):
            yield from _probe(place.child(kind), probe, kind)


def _probe(place: Place, probe: JsonObject, kind: str) -> Iterator[Problem]:
    yield from handler_problems(place, probe, ("exec", "httpGet", "tcpSocket", "grpc"))
    for field in COUNTS:
        yield from place.child(field).not_negative(probe.get(field))
    grace, at = number(probe, "terminationGracePeriodSeconds"), place.child("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield at.invalid(grace, "must be greater than 0")
    if kind == "readinessProbe":
        if grace is not None:
            yield at.invalid(grace, "must not be set for readinessProbes")
    elif (threshold := number(probe, "successThreshold") or 1) != 1:
        yield place.child("successThreshold").invalid(threshold, "must be 1")


def lifecycle_problems(place: Place, container: JsonObject, grace: int | None) -> Iterator[Problem]:
    """Check the hooks of a container; ``grace`` is the pod's terminationGracePeriodSeconds."""
    for hook in ("postStart", "preStop"):
        if isinstance(handler := get(container, "lifecycle", hook), dict):
            at = place.child("lifecycle", hook)
            yield from handler_problems(at, handler, ("exec", "httpGet", "tcpSocket", "sleep"), grace)


def forbidden_in_init(place: Place, container: JsonObject) -> Iterator[Problem]:
    """Report probes and hooks of an init container that runs to its end."""
    for field in ("lifecycle", *PROBES):
        if container.get(field) is not None:
            yield place.child(field).forbidden(NOT_FOR_INIT)


def handler_problems(
    place: Place, handler: JsonObject, kinds: tuple[str, ...], grace: int | None = None
) -> Iterator[Problem]:
    """Check that a probe or hook does one thing, which is whole."""
    given = [kind for kind in kinds if isinstance(handler.get(kind), dict)]
    if not given:
        yield place.required("must specify a handler type")
    for position, kind in enumerate(given):
        at = place.child(kind)
        if position:
            yield at.forbidden("may not specify more than 1 handler type")
        elif kind == "sleep":
            yield from _sleep(at, number(handler, kind, "seconds") or 0, grace)
        else:
            yield from _HANDLERS[kind](at, as_object(handler[kind]))


def _exec(place: Place, action: JsonObject) -> Iterator[Problem]:
    if not action.get("command"):
        yield place.child("command").required()


def _http_get(place: Place, action: JsonObject) -> Iterator[Problem]:
    yield from port_or_name(place.child("port"), action.get("port"))
    scheme = text(action, "scheme") or "HTTP"
    if scheme not in SCHEMES:
        yield place.child("scheme").unsupported(scheme, SCHEMES)
    for index, header in enumerate(objects(action.get("httpHeaders"))):
        if not re.fullmatch(_HEADER, name := text(header, "name")):
            yield place.child("httpHeaders").within(index, "name").invalid(name, _HEADER_TEXT)


def _port(place: Place, action: JsonObject) -> Iterator[Problem]:
    return port_or_name(place.child("port"), action.get("port"))


def _sleep(place: Place, seconds: int, grace: int | None) -> Iterator[Problem]:
    if grace is not None and not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield place.within("seconds").invalid(seconds, detail)


_HANDLERS: dict[str, Callable[[Place, JsonObject], Iterator[Problem]]] = {
    "exec": _exec,
    "httpGet": _http_get,
    "tcpSocket": _port,
    "grpc": _port,
}
