"""Renders repositories with trainc and runs what comes out in the simulator, each run a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulator.report import PodReport

HERE: Final = Path(__file__).resolve().parent

_LONGER: Final = 60.0
"""Seconds that a run may take beyond its scenario's limit until it is ended from outside."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run."""

    timed_out: bool
    conditions: dict[str, dict[str, str] | None]
    restarts: dict[str, int]
    pods: list[PodReport]
    requests: list[tuple[str, str, int]]
    events: str

    def ended(self, name: str) -> tuple[str, str] | None:
        """Return type and reason of the condition by which `JobSet/NAME` or `Job/NAME` ended, None if it has not."""
        found = self.conditions.get(name)
        return None if found is None else (found["type"], found["reason"])

    def pods_of(self, hostname: str) -> list[PodReport]:
        """Return the pods that had a host name, in the order in which they were made."""
        return [pod for pod in self.pods if re.fullmatch(hostname, pod.hostname)]

    def pod(self, hostname: str) -> PodReport:
        """Return the only pod that had a host name."""
        (found,) = self.pods_of(hostname)
        return found

    def log(self, hostname: str) -> str:
        """Return what the containers of a pod wrote."""
        return "".join(self.pod(hostname).logs.values())

    def __str__(self) -> str:
        logs = [
            f"{pod.hostname} ({pod.phase}, {pod.exits}):\n{text}" for pod in self.pods for text in pod.logs.values()
        ]
        return f"{self.conditions}\n{self.events}\n{'-' * 40}\n" + "\n".join(logs)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs objects with the images that a file tells of."""

    images: Path

    def __call__(self, *paths: Path, limit: float = 60.0, **scenario: Any) -> Outcome:
        """Run the objects below folders until all have ended, or for as long as the limit says."""
        command = [sys.executable, "-m", "simulator", *map(str, paths), "--json", "--images", str(self.images)]
        command += ["--scenario", json.dumps({"limit": limit, **scenario})]
        done = subprocess.run(
            command, cwd=HERE, capture_output=True, text=True, check=False, timeout=limit + _LONGER, errors="replace"
        )
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)
        pods = [PodReport(**each) for each in found.pop("pods")]
        requests = [(method, path, code) for method, path, code in found.pop("requests")]
        return Outcome(pods=pods, requests=requests, events=done.stderr, **found)


def render(repository: Path, environment: str = "prod") -> Path:
    """Render a repository as its users do, with `trainc render`; return the folder of the environment."""
    command = [sys.executable, "-m", "trainc", "render", "--quiet"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return repository / "out" / environment


def hosts(outcome: Outcome, launcher: str) -> dict[int, str]:
    """Return the host of every rank, as the program of ranks printed it in the launcher's log."""
    for line in outcome.log(launcher).splitlines():
        if line.startswith('{"hosts"'):
            found = json.loads(line)
            ranks = {int(rank): host for rank, host in found["hosts"].items()}
            assert found["total"] == sum(rank + 1 for rank in ranks), "the sum over all ranks is wrong"
            return ranks
    raise AssertionError(f"no ranks have said where they run\n{outcome}")


def assert_spread(found: dict[int, str], expected: Iterable[str], slots: int) -> None:
    """Look whether ranks ran on these hosts, so many on each, and nowhere else: also that no rank is missing."""
    wanted = dict.fromkeys(expected, slots)
    assert sorted(found) == [*range(sum(wanted.values()))], found
    assert Counter(found.values()) == Counter(wanted), f"ranks ran elsewhere: {found}"
