"""A cluster in one process: objects, controllers, API server and one node."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from . import certificates
from .authorizer import Tokens, User
from .controllers import Controllers
from .errors import ApiError
from .events import Scenario
from .images import Image
from .jobsets import ended, job_ended
from .node import Node
from .objects import Object, Objects
from .report import Report, report
from .server import ApiServer

_PORT: Final = 443
_TICK: Final = 0.02

Log = Callable[[str], None]


class Cluster:
    """The cluster, from its construction to ``close``. It takes all that is in its network namespace."""

    def __init__(self, images: Mapping[str, Path | Image], log: Log, delays: Mapping[str, float] | None = None) -> None:
        """Start node and API server.

        Args:
            images: Root folders or images by reference.
            log: Takes a line for people about what happens.
            delays: How long after its pod has an address a name is unknown to DNS, in seconds, by patterns of names.
        """
        self.objects = Objects()
        self._tokens = Tokens()
        self._log = log
        self._folder = tempfile.TemporaryDirectory(prefix="simulator-")
        self._authority = b""
        self.node = Node(images, self.objects, log, dns_delay=delays)
        self.node.service_account = self._credentials
        try:
            tls, self._authority = certificates.make(Path(self._folder.name), self.node.api_address)
            address = (self.node.api_address, _PORT)
            self.server = ApiServer(self.objects, self._tokens, self._exec, address, tls)
        except BaseException:
            self.node.close()
            raise
        self.controllers = Controllers(self.objects, self.node, log)

    def add(self, manifests: Iterable[Object]) -> None:
        """Give the cluster objects: accounts, data and rights first, then what runs."""
        every = list(manifests)
        for namespace in sorted({str(each["metadata"].get("namespace") or "default") for each in every}):
            if self.objects.get("ServiceAccount", namespace, "default") is None:
                metadata = {"name": "default", "namespace": namespace}
                self.objects.add({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        for each in sorted(every, key=lambda each: each["kind"] in ("Job", "JobSet")):
            self.objects.add(each)

    def run(self, scenario: Scenario) -> Report:
        """Run until everything has ended, or for as long as the scenario says, and tell what became of it."""
        end = time.monotonic() + scenario.limit
        kills = list(scenario.kills)
        version = -1
        while time.monotonic() < end:
            self.controllers.step()
            if kills:
                logs = self.controllers.logs_by_hostname()
                for kill in [each for each in kills if each.due(logs)]:
                    kills.remove(kill)
                    self.controllers.kill(kill.pod, kill.signal)
            if any((each.get("status") or {}).get("restarts") for each in self.objects.list("JobSet")):
                for name in scenario.delays:
                    self.node.delay_name(name, 0)
            if self._over(scenario):
                return report(self.objects, self.controllers, self.server.requests, timed_out=False)
            version = self.objects.wait(version, _TICK)
        return report(self.objects, self.controllers, self.server.requests, timed_out=True)

    def close(self) -> None:
        """Stop everything."""
        self.server.close()
        self.node.close()
        self._folder.cleanup()

    def _over(self, scenario: Scenario) -> bool:
        every = [*self.objects.list("JobSet"), *self.objects.list("Job")]
        own = [each for each in every if not each["metadata"].get("ownerReferences")]
        if scenario.until:
            own = [each for each in own if each["metadata"]["name"] in scenario.until]
        over = [(ended if each["kind"] == "JobSet" else job_ended)(each) is not None for each in own]
        if scenario.until and len(own) < len(scenario.until):
            return False
        return all(over) and not self.controllers.leaving()

    def _credentials(self, pod: Mapping[str, Any]) -> Mapping[str, bytes]:
        """Return the files of a pod's service account."""
        namespace, name = pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default"
        token = self._tokens.issue(User(namespace, name))
        return {"token": token.encode(), "ca.crt": self._authority, "namespace": namespace.encode()}

    def _exec(self, pod: Object, container: str, command: list[str], ends: tuple[int, int, int]) -> int:
        running = self.controllers.running(pod["metadata"]["namespace"], pod["metadata"]["name"])
        if running is None:
            raise ApiError(400, "BadRequest", f"pod {pod['metadata']['name']} does not have a host assigned")
        return running.exec(container, command, *ends)
