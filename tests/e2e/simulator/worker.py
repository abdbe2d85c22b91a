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
from .network import API_ADDRESS, API_PORT, Network, kernel_host_name
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


class Worker:
    """Brings a pod up, runs it and ends it. Its public attributes may be read from any thread."""

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
        self.share_processes = bool(pod["spec"].get("shareProcessNamespace"))
        self.sandbox: Handle
        self._around = around
        self._folder = around.work / "pods" / str(number)
        given = pod["spec"].get("terminationGracePeriodSeconds")
        self._grace = float(_GRACE if given is None else given)
        self._kill_at: float | None = None
        self._refresh_at = 0.0
        active = pod["spec"].get("activeDeadlineSeconds")
        self._active_until = None if active is None else time.monotonic() + active
        self._tokens = around.tokens(pod)
        self._volumes = Volumes(self._folder / "volumes", around.work / "claims", pod["spec"], token=self._automounts())
        self._preparation = Preparation(self._folder, self._volumes)
        self.init_containers = tuple(map(self._init_container, pod["spec"].get("initContainers") or ()))
        policy = pod["spec"].get("restartPolicy") or "Always"
        self.containers = tuple(self._container(spec, policy) for spec in pod["spec"]["containers"])
        self.sidecars = tuple(each for each in self.init_containers if each.policy == "Always")
        self._thread = threading.Thread(target=self._live, name=f"pod {self.name}", daemon=True)
        self._thread.start()

    def delete(self, grace: float | None) -> None:
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
        return self._preparation.run(
            spec, folder, self._around.image(spec["image"]), self._facts(), self._around.lookup
        )

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
        sysctls = (self.pod["spec"].get("securityContext") or {}).get("sysctls") or ()
        self.sandbox = self.runtime.sandbox(
            kernel_host_name(self.pod),
            share_processes=self.share_processes,
            sysctls={each["name"]: str(each["value"]) for each in sysctls},
        )
        address = self._around.network.address()
        self._around.network.attach(self.sandbox.started(), address)
        self._preparation.write_files(self.pod, address)
        self.published_at, self.ip = time.monotonic(), address
        self.changed()
        said = ""
        while not self._must_end():
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
        for position, container in enumerate(self.init_containers):
            sidecars = [each for each in self.init_containers[:position] if each in self.sidecars]
            while not (container.started if container in self.sidecars else container.finished):
                if self._must_end():
                    return False
                self._step((*sidecars, container))
            if container not in self.sidecars and container.exit_code:
                self.phase = "Failed"
                return False
        self.initialised = True
        return True

    def _run(self) -> None:
        while not all(container.finished for container in self.containers):
            if self._must_end():
                return
            self._step((*self.containers, *self.sidecars))
            if self.phase == "Pending" and all(each.has_run for each in self.containers):
                self.phase = "Running"
                self.changed()

    def _end(self) -> None:
        """End what still runs, sidecars last and in reverse, then decide the phase."""
        for container in (*self.init_containers, *self.containers):
            container.retire()
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace
        others = [each for each in self.init_containers if each not in self.sidecars]
        for group in ((*others, *self.containers), *((each,) for each in reversed(self.sidecars))):
            self._stop(group)
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
        if time.monotonic() >= self._refresh_at:
            self._refresh_at = time.monotonic() + _LOOK
            for name in self._volumes.refresh(self._facts(), self._around.lookup, self._tokens):
                self.say(f"volume {name} is written anew (a kubelet: within two minutes of the change)")
        pauses = [pause for container in containers if (pause := container.step()) is not None]
        if self._active_until is not None and not self.reason:
            pauses.append(self._active_until - time.monotonic())
        self._around.changes.after(seen, min((*pauses, _LOOK)))

    def _must_end(self) -> bool:
        """Say whether it is being deleted or has used up its activeDeadlineSeconds."""
        if not self.deleting and self._active_until is not None and time.monotonic() >= self._active_until:
            self.reason = "DeadlineExceeded"
            self.message = "Pod was active on the node longer than the specified deadline"
            return True
        return self.deleting

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

    def _init_container(self, spec: Mapping[str, Any]) -> Container:
        if spec.get("restartPolicy") == "Always":
            return self._container(spec, "Always")
        return self._container(spec, "Never" if self.pod["spec"].get("restartPolicy") == "Never" else "OnFailure")

    def _container(self, spec: Mapping[str, Any], policy: str) -> Container:
        return Container(self, spec, self._folder / "containers" / spec["name"], policy, self._grace)
