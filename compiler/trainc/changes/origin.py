"""Which changes of out/ no change of a source explains: probably somebody edited a file by hand."""

from __future__ import annotations

from collections.abc import Collection

from trainc.changes.cluster import NEW_RUN
from trainc.changes.model import Difference, Effect, Place
from trainc.gitops.companions import FOLDER
from trainc.records import replace

_BY_HAND = (Effect.UPDATED, Effect.REFUSED, Effect.RERUN, Effect.COMMENTS, Effect.UNREADABLE)


def unexplained(difference: Difference, same: Collection[str]) -> tuple[Place, ...]:
    """Return the changed jobs whose sources are all among ``same``, the files of both sides that do not differ.

    A runtime that is built in changes with trainc alone.
    """
    return tuple(
        job.place
        for job in difference.jobs
        if job.effect in _BY_HAND
        and job.place.name != FOLDER
        and job.source
        and all(name in same or name.startswith("built-in ") for name in (job.source, job.runtime) if name)
    )


def without_new_runs(difference: Difference) -> Difference:
    """Return a difference that proposes no new run for files edited by hand: ``render`` undoes such a change."""
    by_hand = {*difference.unexplained} & {*(difference.stale or ())}
    jobs = (
        replace(job, remedy=None, cluster=tuple(each for each in job.cluster if each != NEW_RUN))
        if job.place in by_hand
        else job
        for job in difference.jobs
    )
    return replace(difference, jobs=tuple(jobs)) if by_hand else difference
