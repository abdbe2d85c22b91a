"""A pod on the node as others see it."""

from __future__ import annotations

from typing import Any

from .changes import Changes
from .environment import ConfigError
from .worker import TERMINAL, Worker


class RunningPod:
    """What became of a pod that was given to the node. May be used from any thread at any time."""

    def __init__(self, worker: Worker, changes: Changes, host_ip: str) -> None:
        self._worker = worker
        self._changes = changes
        self._host_ip = host_ip

    def __repr__(self) -> str:
        return f"<pod {self.namespace}/{self.name} {self.phase}>"

    @property
    def pod(self) -> dict[str, Any]:
        """The v1 Pod, as it was given."""
        return self._worker.pod

    @property
    def name(self) -> str:
        """Its name."""
        return self._worker.name

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self._worker.namespace

    @property
    def uid(self) -> str:
        """Its uid; one made up where the pod has none."""
        return self._worker.uid

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded or Failed."""
        return self._worker.phase

    @property
    def reason(self) -> str:
        """Why it failed, where the kubelet says so (DeadlineExceeded), else empty."""
        return self._worker.reason

    @property
    def message(self) -> str:
        """The reason in words."""
        return self._worker.message

    @property
    def ip(self) -> str:
        """Its address, empty until it has one."""
        return self._worker.ip

    @property
    def published_at(self) -> float | None:
        """When it got its address, by time.monotonic."""
        return self._worker.published_at

    @property
    def deleting(self) -> bool:
        """Whether it is being deleted, or is."""
        return self._worker.deleting

    @property
    def gone(self) -> bool:
        """Whether it is deleted and nothing of it is left."""
        return self._worker.gone

    @property
    def over(self) -> bool:
        """Whether it has come to a terminal phase or is gone."""
        return self.gone or self.phase in TERMINAL

    @property
    def ready(self) -> bool:
        """Whether it runs and all its containers are ready, sidecars too."""
        everyone = (*self._worker.containers, *self._worker.sidecars)
        return self.phase == "Running" and all(container.ready for container in everyone)

    @property
    def container_statuses(self) -> list[dict[str, Any]]:
        """A v1 ContainerStatus for each container of the spec."""
        return [container.status() for container in self._worker.containers]

    @property
    def init_container_statuses(self) -> list[dict[str, Any]]:
        """A v1 ContainerStatus for each init container of the spec."""
        return [container.status() for container in self._worker.init_containers]

    @property
    def logs(self) -> dict[str, bytes]:
        """What each container has written so far, in all its runs, both streams in the order of writing."""
        everyone = (*self._worker.init_containers, *self._worker.containers)
        return {container.name: bytes(container.log) for container in everyone}

    def status(self) -> dict[str, Any]:
        """Return it as a v1 PodStatus."""
        ready = self.ready
        conditions = {
            "PodScheduled": True,
            "Initialized": self._worker.initialised,
            "ContainersReady": ready,
            "Ready": ready,
        }
        found = {
            "phase": self.phase,
            "conditions": [{"type": name, "status": str(value)} for name, value in conditions.items()],
            "hostIP": self._host_ip,
            "podIP": self.ip,
            "podIPs": [{"ip": self.ip}],
            "startTime": self._worker.began,
            "reason": self.reason,
            "message": self.message,
            "initContainerStatuses": self.init_container_statuses,
            "containerStatuses": self.container_statuses,
        }
        if not self.ip:
            del found["podIPs"]
        return {name: value for name, value in found.items() if value}

    def kill(self, number: int, container: str | None = None) -> None:
        """Send a signal to process 1 of one container, or of each that runs."""
        for each in (*self._worker.init_containers, *self._worker.containers):
            if container in (None, each.name):
                each.kill(number)

    def exec(
        self,
        container: str | None,
        command: list[str],
        stdin: int,
        stdout: int,
        stderr: int,
        *,
        timeout: float | None = None,
    ) -> int:
        """Run a command in a container (None: the first) as `kubectl exec` does, and return its exit code.

        The descriptors stay the caller's. A command that has not ended after ``timeout`` seconds is killed: 137.

        Raises:
            ConfigError: There is no such container, or it does not run.
        """
        everyone = (*self._worker.containers, *self._worker.init_containers)
        found = next((each for each in everyone if container in (None, each.name)), None)
        if found is None:
            raise ConfigError(f"container {container} is not valid for pod {self.name}")
        run = found.run
        if run is None:
            raise ConfigError(f'container not found ("{found.name}")')
        code = run.execute(command, (stdin, stdout, stderr), timeout)
        return 137 if code is None else code

    def delete(self, grace: float | None = None) -> None:
        """Begin to delete it: stop signal, grace period in seconds (None: the pod's own; 0: none), SIGKILL."""
        self._worker.delete(grace)

    def wait(self, timeout: float) -> bool:
        """Wait until it has come to a terminal phase or is gone; False if it has not in so many seconds."""
        return self._changes.until(lambda: self.over, timeout)

    def join(self) -> bool:
        """Wait until nothing of it runs any more; False if that takes too long."""
        return self._worker.join()
