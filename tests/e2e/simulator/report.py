"""What became of everything in a cluster, as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .controllers import Controllers, Held, hostname
from .objects import Object, Objects


@dataclass
class PodReport:
    """A pod that was: exit codes and logs by container, init containers among them."""

    name: str
    hostname: str
    job: str
    phase: str
    reason: str
    exits: dict[str, int | None]
    restarts: dict[str, int]
    logs: dict[str, str]
    deleted: bool


@dataclass
class Report:
    """How a run ended. ``conditions``: type, reason and message by `JobSet/NAME` and `Job/NAME`."""

    timed_out: bool
    conditions: dict[str, dict[str, str] | None] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    pods: list[PodReport] = field(default_factory=list)
    requests: list[tuple[str, str, int]] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)


def report(objects: Objects, controllers: Controllers, requests: list[Any], timed_out: bool) -> Report:
    """Gather what there is to say."""
    found = Report(timed_out, requests=[(method, path, code) for method, path, code in requests])
    for each in (*objects.list("JobSet"), *objects.list("Job")):
        status = each.get("status") or {}
        over = [made for made in status.get("conditions") or [] if made["status"] == "True"]
        key = f"{each['kind']}/{each['metadata']['name']}"
        shown = ("type", "reason", "message")
        found.conditions[key] = {name: over[-1][name] for name in shown} if over else None
        if each["kind"] == "JobSet":
            found.restarts[key] = int(status.get("restarts", 0))
    found.pods = [_pod(held) for held in controllers.held.values()]
    return found


def _pod(held: Held) -> PodReport:
    status: Object = held.object.get("status") or {}
    containers = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    metadata = held.object["metadata"]
    return PodReport(
        name=metadata["name"],
        hostname=hostname(held.object),
        job=metadata["labels"].get("job-name", ""),
        phase=str(status.get("phase", "Pending")),
        reason=str(status.get("reason", "")),
        exits={each["name"]: _exit(each) for each in containers},
        restarts={each["name"]: int(each.get("restartCount", 0)) for each in containers},
        logs={name: log.decode("utf-8", "replace") for name, log in held.running.logs.items()},
        deleted=held.leaving,
    )


def _exit(status: Object) -> int | None:
    for field_ in ("state", "lastState"):
        ended = (status.get(field_) or {}).get("terminated")
        if ended:
            return int(ended["exitCode"])
    return None
