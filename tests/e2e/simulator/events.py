"""What happens to a cluster while a job runs, as a test wants it: pods killed, names that come late."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Kill:
    """A signal for process 1 of a container, once: as soon as the log of some pod has a line.

    ``pod`` and ``log_of`` are host names of pods. Without a pattern the signal comes as soon as the pod runs.
    """

    pod: str
    signal: int = 9
    log_of: str = ""
    pattern: str = ""

    def due(self, logs: Mapping[str, str]) -> bool:
        """Say whether the line is there; ``logs`` are those of pods by host name."""
        if not self.pattern:
            return self.pod in logs
        return re.search(self.pattern, logs.get(self.log_of, ""), re.MULTILINE) is not None


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens, and how long the cluster runs at most, in seconds.

    ``delays``: how long after its pod has an address a name is unknown to DNS, in seconds, by patterns of whole names;
    from a JobSet's first restart on there is no delay.
    """

    limit: float = 120.0
    kills: tuple[Kill, ...] = ()
    delays: Mapping[str, float] = field(default_factory=dict)
    until: tuple[str, ...] = ()
    """Names of JobSets and Jobs: the cluster ends when these have ended. None: when all have."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Scenario:
        """Return the scenario that JSON describes.

        Raises:
            TypeError: It has a field that there is not.
        """
        kills = tuple(Kill(**each) for each in given.get("kills", ()))
        rest = {key: value for key, value in given.items() if key not in ("kills", "until")}
        return cls(kills=kills, until=tuple(given.get("until", ())), **rest)


class Clock:
    """Seconds since something began, by key."""

    def __init__(self) -> None:
        self._began: dict[object, float] = {}

    def since(self, key: object) -> float:
        """Return the seconds since the first call with a key."""
        return time.monotonic() - self._began.setdefault(key, time.monotonic())
