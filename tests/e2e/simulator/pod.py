"""The life of a pod on the node, in a thread of its own: what the kubelet's pod workers do, in their order."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from .changes import Changes
from .container import Container
from .downward import Facts
from .environment import ConfigError, Lookup, service_variables
from .images import Image
from .network import API_ADDRESS, API_PORT, Network, host_name
from .payload import Tokens
from .prepare import Preparation, Prepared
from .runtime import Handle, Output, Runtime
from .volumes import Volumes

NODE_NAME: Final = "simulator"
TERMINAL: Final = ("Succeeded", "Failed")
_GRACE: Final = 30
_RETRY: Final = 0.1
_LOOK: Final = 1.0
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the node gives each of its pods. ``image`` resolves a reference; ``tokens`` gives what a service account
    has, nothing where there are none; ``back_off`` is the first pause before a restart, in seconds.
    """

    work: Path
    runtime: Runtime
    output: Output
    network: Network
    changes: Changes
    lookup: Lookup
    image: Callable[[str], Image]
    tokens: Callable[[dict[str, Any]], Tokens]
    log: Callable[[str], None]
    back_off: float


class RunningPod:
    """A pod that was given to the node. Its public attributes and methods may be used from any thread at any time."""

    def __init__(self, pod: dict[str, Any], number: int, around: Surroundings) -> None:
        self.pod = pod
        self.name: str = pod["metadata"]["name"]
        self.namespace: str = pod["metadata"].get("namespace") or "default"
        self.uid: str = pod["metadata"].get("uid") or f"{self.namespace}-{self.name}-{number}"
        self.phase, self.reason, self.message = "Pending", "", ""
        self.ip = ""
        self.published_at: float | None = None
        """When it got its address, by time.monotonic."""
        self.began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.initialised = False
        self.gone = self.deleting = self._removed = False
        self.runtime, self.output, self.back_off = around.runtime, around.output, around.back_off
        self.sandbox: Handle
        self._around = around
        self._folder = around.work / "pods" / str(number)
        given = pod["spec"].get("terminationGracePeriodSeconds")
        self._grace = float(_GRACE if given is None else given)
        self._kill_at: float | None = None
        self._tokens = around.tokens(pod)
        self._volumes = Volumes(self._folder / "volumes", around.work / "claims", pod["spec"], token=self._automounts())
        self._preparation = Preparation(self._folder, self._volumes)
        policy = pod["spec"].get("restartPolicy") or "Always"
        of_init = "Never" if policy == "Never" else "OnFailure"
        self.init_containers = tuple(self._container(each, of_init) for each in pod["spec"].get("initContainers") or ())
        self.containers = tuple(self._container(spec, policy) for spec in pod["spec"]["containers"])
        self._thread = threading.Thread(target=self._live, name=f"pod {self.name}", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<pod {self.namespace}/{self.name} {self.phase}>"

    @property
    def over(self) -> bool:
        """Whether it has come to a terminal phase or is gone."""
        return self.gone or self.phase in TERMINAL

    @property
    def ready(self) -> bool:
        """Whether it runs and all its containers are ready."""
        return self.phase == "Running" and all(container.ready for container in self.containers)

    @property
    def container_statuses(self) -> list[dict[str, Any]]:
        """A v1 ContainerStatus for each container of the spec."""
        return [container.status() for container in self.containers]

    @property
    def init_container_statuses(self) -> list[dict[str, Any]]:
        """A v1 ContainerStatus for each init container of the spec."""
        return [container.status() for container in self.init_containers]

    @property
    def logs(self) -> dict[str, bytes]:
        """What each container has written so far, in all its runs, both streams in the order of writing."""
        everyone = (*self.init_containers, *self.containers)
        return {container.name: bytes(container.log) for container in everyone}

    def status(self) -> dict[str, Any]:
        """Return it as a v1 PodStatus."""
        ready = self.ready
        conditions = {
            "PodScheduled": True,
            "Initialized": self.initialised,
            "ContainersReady": ready,
            "Ready": ready,
        }
        found = {
            "phase": self.phase,
            "conditions": [{"type": name, "status": str(value)} for name, value in conditions.items()],
            "hostIP": self._around.network.host_ip,
            "podIP": self.ip,
            "podIPs": [{"ip": self.ip}],
            "startTime": self.began,
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
        for each in (*self.init_containers, *self.containers):
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
        everyone = (*self.containers, *self.init_containers)
        found = next((each for each in everyone if container in (None, each.name)), None)
        if found is None:
            raise ConfigError(f"container {container} is not valid for pod {self.name}")
        run = found.run
        if run is None:
            raise ConfigError(f'container not found ("{found.name}")')
        code = run.execute(command, (stdin, stdout, stderr), timeout)
        return 137 if code is None else code

    def wait(self, timeout: float) -> bool:
        """Wait until it has come to a terminal phase or is gone; False if it has not in so many seconds."""
        return self._around.changes.until(lambda: self.over, timeout)

    def delete(self, grace: float | None = None) -> None:
        """Begin to end and remove it; the period is the pod's own for None, and a second call can only shorten it."""
        end = time.monotonic() + (self._grace if grace is None else grace)
        self._kill_at = end if self._kill_at is None else min(end, self._kill_at)
        self.deleting = True
        if self._removed:  # looked at after `deleting` is set, as _remove does it the other way round
            self.gone = True
        self.changed()

    def join(self) -> bool:
        """Wait until nothing of it runs; False if that takes too long."""
        threads = [thread for each in (*self.init_containers, *self.containers) for thread in each.threads]
        for thread in (self._thread, *threads):
            thread.join(_PATIENCE)
        return not any(thread.is_alive() for thread in (self._thread, *threads))

    # What its containers ask of it (container.Owner).

    def say(self, text: str) -> None:
        """Log a line about it."""
        self._around.log(f"pod {self.name}: {text}")

    def changed(self) -> None:
        """Tell everybody that something about it changed."""
        self._around.changes.tell()

    def prepare(self, spec: Mapping[str, Any], folder: Path) -> Prepared:
        """Return what a new run of a container needs.

        Raises:
            ConfigError: Something that it names is not there (yet).
        """
        return self._preparation.run(spec, folder, self._around.image(spec["image"]), self._facts())

    # Its life.

    def _live(self) -> None:
        try:
            if self._set_up() and self._initialise():
                self._run()
            self._end()
        except Exception as error:  # noqa: BLE001 - whatever it is, the pod must come to an end and say why
            self._fail("SimulatorError", f"{type(error).__name__}: {error}")
        finally:
            self._remove()

    def _set_up(self) -> bool:
        """Make sandbox, network and volumes, these as often as it takes; False if it must end before that."""
        self._folder.mkdir(parents=True)
        self.sandbox = self.runtime.sandbox(host_name(self.pod)[0])
        address = self._around.network.address()
        self._around.network.attach(self.sandbox.started(), address)
        self._preparation.write_files(self.pod, address)
        self.published_at, self.ip = time.monotonic(), address
        self.changed()
        said = ""
        while not self.deleting:
            try:
                self._volumes.set_up(self._facts(), self._around.lookup, self._tokens)
            except ConfigError as error:
                if str(error) != said:
                    said = str(error)
                    self.say(f"MountVolume.SetUp failed: {said}")
                self._around.changes.after(self._around.changes.version, _RETRY)
            else:
                return True
        return False

    def _initialise(self) -> bool:
        """Run the init containers in order; False if one fails for good or the pod must end."""
        for container in self.init_containers:
            while not container.finished:
                if self.deleting:
                    return False
                self._step((container,))
            if container.exit_code:
                self.phase = "Failed"
                return False
        self.initialised = True
        return True

    def _run(self) -> None:
        while not all(container.finished for container in self.containers):
            if self.deleting:
                return
            self._step(self.containers)
            if self.phase == "Pending" and all(each.has_run for each in self.containers):
                self.phase = "Running"
                self.changed()

    def _end(self) -> None:
        """End what still runs, then decide the phase."""
        for container in (*self.init_containers, *self.containers):
            container.retire()
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace
        self._stop((*self.init_containers, *self.containers))
        if self.phase not in TERMINAL:
            good = self.reason == "" and all(container.exit_code == 0 for container in self.containers)
            self.phase = "Succeeded" if good else "Failed"
        self.changed()

    def _stop(self, group: Sequence[Container]) -> None:
        while any(container.running for container in group):
            left = (self._kill_at or 0) - time.monotonic()
            if left < -_PATIENCE:
                raise TimeoutError(f"containers outlive SIGKILL by {_PATIENCE:.0f} s")
            for container in group:
                container.stop(max(left, 0))
            self._step(group)

    def _step(self, containers: Sequence[Container]) -> None:
        """Let containers do what is due, then wait until something changes or is due again."""
        seen = self._around.changes.version
        pauses = [pause for container in containers if (pause := container.step()) is not None]
        self._around.changes.after(seen, min((*pauses, _LOOK)))

    def _fail(self, reason: str, message: str) -> None:
        self.phase, self.reason, self.message = "Failed", reason, message
        self.say(f"{reason}: {message}")

    def _remove(self) -> None:
        """Leave nothing behind: neither process nor mount nor folder. A container runs here only after a failure."""
        for container in (*self.init_containers, *self.containers):
            container.kill(signal.SIGKILL)
        with suppress(AttributeError):  # it may have failed before it had a sandbox
            self.runtime.signal(self.sandbox, signal.SIGKILL)
            self.sandbox.wait(_PATIENCE)
        self._preparation.remove()
        self._volumes.tear_down()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._removed = True
        self.gone = self.deleting
        self.changed()

    def _facts(self) -> Facts:
        node = self.pod["spec"].get("nodeName") or NODE_NAME
        services = service_variables(API_ADDRESS, API_PORT)
        return Facts(self.pod, self.namespace, node, self._around.network.host_ip, self.ip, services)

    def _automounts(self) -> bool:
        """Say whether it gets its account's token: as it says, else as the account says, else yes."""
        if not self._tokens:
            return False
        own = self.pod["spec"].get("automountServiceAccountToken")
        account = self._around.lookup(
            "ServiceAccount", self.namespace, self.pod["spec"].get("serviceAccountName") or "default"
        )
        of_account = (account or {}).get("automountServiceAccountToken")
        return bool(own if own is not None else of_account if of_account is not None else True)

    def _container(self, spec: Mapping[str, Any], policy: str) -> Container:
        return Container(self, spec, self._folder / "containers" / spec["name"], policy)
