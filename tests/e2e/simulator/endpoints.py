"""Which names stand for which pods: EndpointSlices of headless Services, as CoreDNS' kubernetes plugin reads them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from .dns import PTR, A, Query, address_of
from .environment import Lookup
from .network import API_ADDRESS, CLUSTER
from .pod import RunningPod

_SUFFIX: Final = f".svc.{CLUSTER}"


class Endpoints:
    """Answers questions about the pods of a node. ``delays`` maps patterns of full names to seconds."""

    def __init__(
        self,
        pods: Callable[[], Sequence[RunningPod]],
        lookup: Lookup,
        delays: Mapping[str, float],
        log: Callable[[str], None],
    ) -> None:
        self._pods = pods
        self._lookup = lookup
        self._delays = delays
        self._log = log

    def resolve(self, query: Query) -> Sequence[str] | None:
        """Return the addresses, or the names, of a query; empty for another type of a name; None for no such name."""
        if query.kind == PTR:
            return self._reverse(query.name)
        found = [API_ADDRESS] if query.name == f"kubernetes.default{_SUFFIX}" else self._addresses(query.name)
        if not found:
            return None
        return found if query.kind == A else []

    def _addresses(self, name: str) -> list[str]:
        if not name.endswith(_SUFFIX):
            return []
        labels = name.removesuffix(_SUFFIX).split(".")
        if len(labels) not in (2, 3):
            return []
        *host, service, namespace = labels
        behind = self._behind(service, namespace)
        return [pod.ip for own, pod in behind if host in ([], [own]) and not self._late(name, pod)]

    def _reverse(self, name: str) -> list[str] | None:
        address = address_of(name)
        for pod in self._pods():
            service = pod.pod["spec"].get("subdomain")
            if pod.ip and pod.ip == address and service:
                behind = self._behind(service, pod.namespace)
                return [f"{own}.{service}.{pod.namespace}{_SUFFIX}" for own, each in behind if each is pod] or None
        return None

    def _behind(self, name: str, namespace: str) -> Iterator[tuple[str, RunningPod]]:
        """Yield the endpoints of a headless Service: pods with their names in it.

        That is the host name where the pod's subdomain is the Service (pkg/controller/endpointslice), else the address
        with dashes. A pod that has ended is none, and one that is not ready only with publishNotReadyAddresses.
        """
        service = self._lookup("Service", namespace, name)
        if service is None:
            return
        spec = service.get("spec") or {}
        selector = spec.get("selector") or {}
        if spec.get("clusterIP") != "None" or not selector:
            self._log(f"Service {namespace}/{name}: only headless ones with a selector have names here")
            return
        for pod in self._pods():
            labels = pod.pod["metadata"].get("labels") or {}
            if pod.namespace != namespace or pod.over or not pod.ip or not selector.items() <= labels.items():
                continue
            if spec.get("publishNotReadyAddresses") or (pod.ready and not pod.deleting):
                host = pod.pod["spec"].get("hostname") if pod.pod["spec"].get("subdomain") == name else None
                yield host or pod.ip.replace(".", "-"), pod

    def _late(self, name: str, pod: RunningPod) -> bool:
        seconds = max((delay for pattern, delay in self._delays.items() if fnmatchcase(name, pattern)), default=0.0)
        return time.monotonic() < (pod.published_at or 0.0) + seconds
