"""Requests and limits of containers and pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec.structs

from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects
from trainc.checks.fields import NOT_NEGATIVE, Field, dns_label, qualified_name, text
from trainc.findings.fault import Fault
from trainc.kube.names import is_qualified_name
from trainc.kube.pods import pod_requests
from trainc.kube.quantity import MILLI, Quantity, QuantityError, from_json, parse

DEFAULT_PREFIX = "kubernetes.io/"
QUOTA_PREFIX = "requests."
HUGE_PAGES = "hugepages-"
CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
POD_RESOURCES = ("cpu", "memory")
STANDARD = {
    *CONTAINER_RESOURCES,
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in CONTAINER_RESOURCES),
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers"),
}
"""What needs no prefix. Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/helper."""

NameCheck = Callable[[Field, str], Iterable[Fault]]


def is_native(name: str) -> bool:
    """Tell whether a resource is Kubernetes' own."""
    return "/" not in name or DEFAULT_PREFIX in name


def is_extended(name: str) -> bool:
    """Tell whether a resource is a device plugin's, such as a GPU: whole numbers, and requests equal to limits."""
    return not is_native(name) and not name.startswith(QUOTA_PREFIX) and not is_qualified_name(QUOTA_PREFIX + name)


def can_overcommit(name: str) -> bool:
    """Tell whether a request may be lower than its limit."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def container_resource(field: Field, name: str) -> Iterator[Fault]:
    """Check the name of a resource of a container."""
    problems = [*_resource(field, name)]
    yield from problems
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            yield field.invalid(name, "must be a standard resource for containers", typed=True)
    elif not is_native(name) and not is_extended(name):
        yield field.invalid(name, "doesn't follow extended resource name standard", typed=True)


def pod_resource(field: Field, name: str) -> Iterator[Fault]:
    """Check the name of a resource of a whole pod."""
    problems = [*_resource(field, name)]
    if not problems and name not in POD_RESOURCES and not name.startswith(HUGE_PAGES):
        problems = [field.unsupported(name, ("cpu", HUGE_PAGES, "memory"))]
    return iter(problems)


def _resource(field: Field, name: str) -> Iterator[Fault]:
    if problems := [*qualified_name(field, name)]:
        yield from problems
    elif "/" not in name and name not in STANDARD and not name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}")):
        yield field.invalid(name, "must be a standard resource type or fully qualified", typed=True)


def requirement_problems(
    field: Field, resources: JsonObject, *, names: NameCheck = container_resource
) -> Iterator[Fault]:
    """Check requests and limits: names, amounts, and that no request exceeds its limit."""
    limits, requests = (_quantities(resources.get(kind)) for kind in ("limits", "requests"))
    for name, amount in limits.items():
        yield from names(field.child("limits").key(name), name)
        yield from _amount(field.child("limits").key(name), name, amount)
    for name, amount in requests.items():
        at = field.child("requests").key(name)
        yield from names(at, name)
        yield from _amount(at, name, amount)
        yield from _against_limit(field, name, amount, limits.get(name))
    all_names = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in all_names) and not all_names & {"cpu", "memory"}:
        yield field.forbidden("HugePages require cpu or memory")


def pod_level_problems(field: Field, resources: JsonObject, spec: JsonObject) -> Iterator[Fault]:
    """Check the resources of a whole pod: by themselves, and that its containers fit."""
    yield from requirement_problems(field, resources, names=pod_resource)
    requests, limits = (_quantities(resources.get(kind)) for kind in ("requests", "limits"))
    containers: JsonObject = {kind: spec.get(kind) for kind in ("containers", "initContainers")}
    for name, amount in pod_requests(containers).items():
        if name in requests and amount.compare(requests[name]) > 0:
            detail = f"must be greater than or equal to aggregate container requests of {amount.canonical()}"
            yield field.child("requests").key(name).invalid(requests[name].canonical(), detail)
    for index, container in enumerate(objects(spec.get("containers"))):
        for name, amount in _quantities(get(container, "resources", "limits")).items():
            if name in limits and amount.compare(limits[name]) > 0:
                # The server's name for the field is no path of the pod.
                named = field.within("limits", name).named(f"{field.name}.containers[{index}][{name}].limits")
                detail = f"must be less than or equal to pod limits of {limits[name].canonical()}"
                yield named.invalid(amount.canonical(), detail)


def _against_limit(field: Field, name: str, request: Quantity, limit: Quantity | None) -> Iterator[Fault]:
    at = field.within("requests", name).named(f"{field.name}.requests")
    if limit is None:
        if not can_overcommit(name):
            named = at.named(f"{field.name}.limits")
            yield named.required("Limit must be set for non overcommitable resources")
        return
    compared, other = request.compare(limit), (*field.path, "limits", name)
    if compared != 0 and not can_overcommit(name):
        detail = f"must be equal to {name} limit of {limit.canonical()}"
    elif compared > 0:
        detail = f"must be less than or equal to {name} limit of {limit.canonical()}"
    else:
        return
    yield msgspec.structs.replace(at.invalid(request.canonical(), detail), other=other)


def _amount(field: Field, name: str, amount: Quantity) -> Iterator[Fault]:
    if amount.sign() < 0:
        yield field.invalid(amount.canonical(), NOT_NEGATIVE)
    if is_extended(name) and amount.milli_value() % 1000:
        yield field.invalid(amount.canonical(), "must be an integer")
    if name.startswith(HUGE_PAGES) and not _whole_pages(name, amount):
        detail = f"{amount.canonical()} is not positive integer multiple of {name}"
        yield field.invalid(amount.canonical(), detail)


def _whole_pages(name: str, amount: Quantity) -> bool:
    try:
        page = parse(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        return False
    size = page.value()
    return page.sign() > 0 and page.milli_value() % 1000 == 0 and size > 0 and amount.value() % size == 0


def _quantities(value: Json) -> dict[str, Quantity]:
    """Return amounts by name, sorted; finer ones than thousandths are rounded away from zero, as on creation."""
    return {name: _in_thousandths(from_json(amount)) for name, amount in sorted(as_object(value).items())}


def _in_thousandths(amount: Quantity) -> Quantity:
    if amount.scale >= MILLI:
        return msgspec.structs.replace(amount, text="") if amount.wide else amount
    step = 10 ** (MILLI - amount.scale)
    rounded = -(-abs(amount.unscaled) // step)
    return msgspec.structs.replace(amount, unscaled=rounded * amount.sign(), scale=MILLI, text="")


def device_problems(field: Field, resources: JsonObject, claims: Iterable[str]) -> Iterator[Fault]:
    """Check the resource claims that a container uses; ``claims`` are the pod's."""
    known = sorted(claims)
    taken: set[str] = set()
    for index, claim in enumerate(objects(resources.get("claims"))):
        at, name, request = field.index(index), text(claim, "name"), text(claim, "request")
        if not name:
            yield at.required()
            continue
        if name in taken:
            yield at.duplicate(name)
        else:
            yield from dns_label(at.child("request"), request) if request else ()
            key = f"{name}/{request}" if request else name
            if key in taken:
                yield at.duplicate(key)
            elif not request:
                yield from (at.duplicate(name) for other in sorted(taken) if other.startswith(f"{name}/"))
            taken.add(key)
        if name not in known:
            rest = f": {', '.join(known)}" if known else " which is empty"
            yield at.not_found(name, f"must be one of the names in pod.spec.resourceClaims{rest}")
