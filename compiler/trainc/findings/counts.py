"""The end of a message that is true of several TrainJobs, and the message without it."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.regex import lazy

SHOWN = 2
"""How many TrainJobs are named where more than one is not."""

_COUNT = lazy(r" \(in \d+ TrainJobs(?: of \d+ environments)?: [^()]*\)\Z")


def with_count(message: str, jobs: Sequence[str], environments: int = 1) -> str:
    """Return the message of a finding that two or more TrainJobs have; each job is ``namespace/name``."""
    named, rest = (jobs[:SHOWN], f"{len(jobs) - SHOWN} more") if len(jobs) > SHOWN + 1 else (jobs[:-1], jobs[-1])
    where = f" of {environments} environments" if environments > 1 else ""
    return f"{message} (in {len(jobs)} TrainJobs{where}: {', '.join(named)} and {rest})"


def without_count(message: str) -> str:
    """Return the message alone: which jobs have it is no part of what is wrong, and changes with every new one."""
    return _COUNT.sub("", message)
