"""Carries out what the JobSet and Job controllers plan, and keeps pods and the node in step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import jobs, jobsets
from .errors import ApiError
from .events import Clock
from .node import Node, RunningPod
from .objects import Object, Objects, identity, now
from .pods import admit, pod

_ROUNDS: Final = 10

Key = tuple[str, str]


@dataclass
class Held:
    """A pod on the node, and the pod that is remembered after it is gone."""

    object: Object
    running: RunningPod
    leaving: bool = False
    gone: bool = False


class Controllers:
    """One thread calls ``step``; others may ask for running pods."""

    def __init__(self, objects: Objects, node: Node, log: Callable[[str], None]) -> None:
        self._objects = objects
        self._node = node
        self._log = log
        self._clock = Clock()
        self._failures: dict[str, int] = {}
        self._refused: set[str] = set()
        self.held: dict[Key, Held] = {}
        """Every pod that ever was, in the order in which they were made."""

    def step(self) -> None:
        """Bring everything a step further: statuses from the node, then what controllers do about them."""
        self._take_statuses()
        for _ in range(_ROUNDS):
            before = self._objects.version()
            for jobset in self._objects.list("JobSet"):
                self._reconcile_jobset(jobset)
            for job in self._objects.list("Job"):
                self._reconcile_job(job)
            if self._objects.version() == before:
                return

    def running(self, namespace: str, name: str) -> RunningPod | None:
        """Return a pod on the node."""
        held = self.held.get((namespace, name))
        return None if held is None or held.gone else held.running

    def leaving(self) -> bool:
        """Say whether pods are still on their way out."""
        return any(held.leaving and not held.gone for held in self.held.values())

    def logs_by_hostname(self) -> dict[str, str]:
        """Return what pods that run have logged so far, all containers of one together."""
        found: dict[str, str] = {}
        for held in self.held.values():
            name = hostname(held.object)
            if not held.gone and held.running.phase != "Pending":
                found[name] = "".join(log.decode("utf-8", "replace") for log in held.running.logs.values())
        return found

    def kill(self, name: str, signal: int) -> None:
        """Send a signal to the containers of the pod with this host name."""
        for held in self.held.values():
            if hostname(held.object) == name and not held.gone:
                self._log(f"pod {held.object['metadata']['name']}: signal {signal}")
                held.running.kill(signal)

    def _take_statuses(self) -> None:
        for (namespace, name), held in list(self.held.items()):
            if held.gone:
                continue
            status = held.running.status()
            if held.object.get("status") != status:
                held.object = {**held.object, "status": status}
                self._set("Pod", namespace, name, status)
            if held.leaving and held.running.gone:
                held.gone = True
                self._objects.remove("Pod", namespace, name)

    def _set(self, kind: str, namespace: str, name: str, status: Object) -> None:
        if self._objects.get(kind, namespace, name) is not None:
            self._objects.change(kind, namespace, name, lambda found: {**found, "status": status})

    def _reconcile_jobset(self, jobset: Object) -> None:
        namespace, name = jobset["metadata"]["namespace"], jobset["metadata"]["name"]
        owned = [job for job in self._objects.list("Job", namespace) if _owned(job, jobset)]
        plan = jobsets.plan(jobset, [job for job in owned if "deletionTimestamp" not in job["metadata"]])
        for made in plan.create:
            if self._objects.get(*identity(made)) is None:
                self._objects.add(made)
        for job in plan.delete:
            self._objects.change("Job", namespace, job, _marked)
        old = (jobset.get("status") or {}).get("conditions") or []
        if plan.status != jobset.get("status"):
            self._set("JobSet", namespace, name, plan.status)
            for condition in plan.status["conditions"][len(old) :]:
                self._log(f"JobSet {name}: {condition['type']}: {condition['reason']}: {condition['message']}")

    def _reconcile_job(self, job: Object) -> None:
        namespace, name, uid = (job["metadata"][field] for field in ("namespace", "name", "uid"))
        pods = [each for each in self._objects.list("Pod", namespace) if _owned(each, job)]
        if "deletionTimestamp" in job["metadata"]:  # foreground: the pods first
            for each in pods:
                self._delete(each)
            if not pods:
                self._objects.remove("Job", namespace, name)
            return
        failed = sum((each.get("status") or {}).get("phase") == "Failed" for each in pods)
        since = self._clock.since((uid, failed))
        plan = jobs.plan(job, pods, self._clock.since(uid), since)
        for index in plan.create:
            self._create(pod(job, index))
        for each in pods:
            if each["metadata"]["name"] in plan.delete:
                self._delete(each)
        if plan.status != job.get("status"):
            self._set("Job", namespace, name, plan.status)
            over, was = plan.status["conditions"], (job.get("status") or {}).get("conditions") or []
            for condition in over[len(was) :]:
                self._log(f"Job {name}: {condition['type']}: {condition['reason']}: {condition['message']}")

    def _create(self, made: Object) -> None:
        namespace = made["metadata"]["namespace"]
        accounts = {each["metadata"]["name"]: each for each in self._objects.list("ServiceAccount", namespace)}
        try:
            admitted = admit(made, accounts)
        except ApiError as error:
            if error.message.partition("is forbidden")[2] not in self._refused:
                self._refused.add(error.message.partition("is forbidden")[2])
                self._log(error.message)
            return
        stored = self._objects.add(admitted)
        self._log(f"pod {stored['metadata']['name']}: made")
        key = (namespace, stored["metadata"]["name"])
        self.held[key] = Held(stored, self._node.start(stored))

    def _delete(self, found: Object) -> None:
        """Begin to delete a pod; it is gone once its containers have ended."""
        namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
        held = self.held[namespace, name]
        if not held.leaving:
            held.leaving = True
            self._objects.change("Pod", namespace, name, _marked)
            held.running.delete(int(found["spec"].get("terminationGracePeriodSeconds", 30)))


def hostname(found: Object) -> str:
    """Return the host name of a pod."""
    return str(found["spec"].get("hostname") or found["metadata"]["name"])


def _owned(found: Object, owner: Object) -> bool:
    references = found["metadata"].get("ownerReferences") or []
    return any(each.get("controller") and each["uid"] == owner["metadata"]["uid"] for each in references)


def _marked(found: Object) -> Object | None:
    if "deletionTimestamp" in found["metadata"]:
        return None
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": now()}}
