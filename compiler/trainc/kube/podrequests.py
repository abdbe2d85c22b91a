"""What a pod asks of a node: PodRequests of k8s.io/component-helpers v0.36.2 (resource), without any option."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.basics.jsonvalues import Json, get
from trainc.kube.quantity import Quantity, from_json

_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"

ResourceList = dict[str, Quantity]


def pod_requests(pod_spec: Json) -> ResourceList:
    """Return the requests of a PodSpec by resource, names sorted; limits do not count.

    Containers and sidecars (init containers that restart always) run together
    and add up. An init container runs beside the sidecars started before it,
    and the largest such moment counts. Pod-level requests for cpu, memory and
    huge pages replace the sum; the overhead is added last.

    Raises QuantityError for a request that is no quantity.
    """
    total: ResourceList = {}
    for container in _containers(pod_spec, "containers"):
        _add(total, _resources(get(container, "resources", "requests")))
    _add_init_containers(total, pod_spec)
    on_pod = {
        name: quantity
        for name, quantity in _resources(get(pod_spec, "resources", "requests")).items()
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    total.update(on_pod)
    _add(total, _resources(get(pod_spec, "overhead")))
    return {name: total[name] for name in sorted(total)}


def _add_init_containers(total: ResourceList, pod_spec: Json) -> None:
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in _containers(pod_spec, "initContainers"):
        requests = _resources(get(container, "resources", "requests"))
        if get(container, "restartPolicy") == "Always":
            _add(total, requests)
            _add(sidecars, requests)
            _raise(peak, sidecars)
        else:
            _add(requests, sidecars)
            _raise(peak, requests)
    _raise(total, peak)


def _containers(pod_spec: Json, key: str) -> Iterator[Json]:
    containers = get(pod_spec, key)
    yield from containers if isinstance(containers, list) else ()


def _resources(value: Json) -> ResourceList:
    return {name: from_json(amount) for name, amount in value.items()} if isinstance(value, dict) else {}


def _add(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name].add(quantity) if name in total else quantity


def _raise(peak: ResourceList, other: Mapping[str, Quantity]) -> None:
    """Set each resource of peak to the greater of both."""
    for name, quantity in other.items():
        if name not in peak or quantity.compare(peak[name]) > 0:
            peak[name] = quantity
