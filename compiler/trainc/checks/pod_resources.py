"""Requests and limits of containers and pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from trainc.admission.fields import NOT_NEGATIVE, Field, dns_label, qualified_name
from trainc.basics.jsonvalues import Json, as_object
from trainc.findings.display import listed
from trainc.kube.names import is_qualified_name
from trainc.kube.pods import of_containers
from trainc.kube.quantity import Quantity, QuantityError, from_json, parse

QUOTA_PREFIX = "requests."
HUGE_PAGES = "hugepages-"
CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
STANDARD = {
    *CONTAINER_RESOURCES,
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in CONTAINER_RESOURCES),
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers"),
}
"""The resources without a prefix. Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/helper."""

NOT_QUALIFIED = "must be a standard resource type or fully qualified"
NOT_FOR_CONTAINERS = "must be a standard resource for containers"


def is_native(name: str) -> bool:
    """Return whether a resource is defined by Kubernetes."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Return whether a resource is a device plugin's, such as a GPU: whole numbers, and requests equal to limits."""
    return not is_native(name) and not name.startswith(QUOTA_PREFIX) and not is_qualified_name(QUOTA_PREFIX + name)


def can_overcommit(name: str) -> bool:
    """Return whether a request may be lower than its limit."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def _container_resource_name(field: Field, name: str) -> None:
    _resource_name(field, name)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            field.invalid(NOT_FOR_CONTAINERS, name, typed=True)
    elif not is_native(name) and not is_extended(name):
        field.invalid("doesn't follow extended resource name standard", name, typed=True)


def _pod_resource_name(field: Field, name: str) -> None:
    if _resource_name(field, name) and name not in ("cpu", "memory") and not name.startswith(HUGE_PAGES):
        field.unsupported(("cpu", HUGE_PAGES, "memory"), name)


def _resource_name(field: Field, name: str) -> bool:
    """Check the name of a resource of any kind; return whether it is valid."""
    if is_qualified_name(name):
        qualified_name(field, name)
    elif "/" not in name and name not in STANDARD and not name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}")):
        field.invalid(NOT_QUALIFIED, name, typed=True)
    else:
        return True
    return False


def validate_resources(
    field: Field, limits: Field, requests: Field, check_name: Callable[[Field, str], None] = _container_resource_name
) -> None:
    """Check requests and limits: names, amounts, and that no request exceeds its limit."""
    most, least = _quantities(limits.value), _quantities(requests.value)
    for name, amount in most.items():
        check_name(limits.key(name), name)
        _amount(limits.key(name), name, amount)
    for name, amount in least.items():
        check_name(requests.key(name), name)
        _amount(requests.key(name), name, amount)
        _against_limit(requests.child(name).named(requests.name), limits, amount, most.get(name))
    names = {*most, *least}
    if any(name.startswith(HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        field.forbidden("HugePages require cpu or memory")


def _against_limit(request: Field, limits: Field, amount: Quantity, limit: Quantity | None) -> None:
    name = str(request.path[-1])
    if limit is None:
        if not can_overcommit(name):
            request.named(limits.name).required("Limit must be set for non overcommitable resources")
        return
    compared, shown, other = amount.compare(limit), amount.canonical(), (*limits.path, name)
    if compared != 0 and not can_overcommit(name):
        request.invalid(f"must be equal to {name} limit of {limit.canonical()}", shown, other=other)
    elif compared > 0:
        request.invalid(f"must be less than or equal to {name} limit of {limit.canonical()}", shown, other=other)


def _amount(field: Field, name: str, amount: Quantity) -> None:
    shown = amount.canonical()
    if amount.sign() < 0:
        field.invalid(NOT_NEGATIVE, shown)
    if is_extended(name) and amount.milli_value() % 1000:
        field.invalid("must be an integer", shown)
    if name.startswith(HUGE_PAGES) and not _whole_pages(name, amount):
        field.invalid(f"{shown} is not positive integer multiple of {name}", shown)


def _whole_pages(name: str, amount: Quantity) -> bool:
    try:
        page = parse(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        return False
    size = page.value()
    return page.sign() > 0 and page.milli_value() % 1000 == 0 and size > 0 and amount.value() % size == 0


def validate_pod_resources(field: Field, spec: Field) -> None:
    """Check the resources of a whole pod: by themselves, and that its containers fit."""
    requests, limits = field.child("requests"), field.child("limits")
    validate_resources(field, limits, requests, _pod_resource_name)
    least, most = _quantities(requests.value), _quantities(limits.value)
    for name, amount in sorted(of_containers(spec.value, "requests").items()):
        if name in least and amount.compare(least[name]) > 0:
            detail = f"must be greater than or equal to aggregate container requests of {amount.canonical()}"
            requests.key(name).invalid(detail, least[name].canonical())
    for name, amount in sorted(of_containers(spec.value, "limits").items()):
        if name.startswith(HUGE_PAGES) and name in most and amount.compare(most[name]) > 0:
            detail = f"must be greater than or equal to aggregate container limits of {amount.canonical()}"
            limits.key(name).invalid(detail, most[name].canonical())
    for index, container in enumerate(spec.items("containers")):
        for name, amount in _quantities(container.child("resources", "limits").value).items():
            if name in most and amount.compare(most[name]) > 0:
                # The server's name for the field is not a path in the pod.
                named = limits.child(name).named(f"{field.name}.containers[{index}][{name}].limits")
                detail = f"must be less than or equal to pod limits of {most[name].canonical()}"
                named.invalid(detail, amount.canonical())


def _quantities(value: Json) -> dict[str, Quantity]:
    """Return amounts by name, sorted; they are rounded to thousandths, away from zero, as on creation."""
    return {name: from_json(amount).in_thousandths() for name, amount in sorted(as_object(value).items())}


def pod_claims_of(spec: Field) -> Collection[str]:
    """Return the names of a pod's resource claims, in order."""
    return dict.fromkeys(sorted(name for claim in spec.items("resourceClaims") if (name := claim.text("name"))))


_NAMED: Final = 20
"""The most claims of the pod that are named in an error; the server names all."""


def validate_resource_claims(container: Field, pod_claims: Collection[str]) -> None:
    """Check the resource claims of a container, each of which must be one of its pod's."""
    taken: set[str] = set()
    requests: Counter[str] = Counter()  # taken of each claim
    for claim in container.items("resources", "claims"):
        name, request = claim.text("name"), claim.text("request")
        if not name:
            claim.required()
            continue
        if name in taken:
            claim.duplicate(name)
        else:
            if request:
                dns_label(claim.child("request"))
            key = f"{name}/{request}" if request else name
            if key in taken:
                claim.duplicate(key)
            elif not request:
                for _ in range(requests[name]):
                    claim.duplicate(name)
            if request and key not in taken:
                requests[name] += 1
            taken.add(key)
        if name not in pod_claims:
            names = f": {listed(pod_claims, _NAMED)}" if pod_claims else " which is empty"
            claim.not_found(name, f"must be one of the names in pod.spec.resourceClaims{names}")
