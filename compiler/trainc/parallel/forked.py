"""Compiles jobs in processes of this machine. They begin as copies of this one: only numbers are sent to them."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from trainc.inputs.source import Document
from trainc.pipeline.content import bytes_of
from trainc.pipeline.context import Executor, Prepared, in_order
from trainc.pipeline.job import Job
from trainc.pipeline.jobresults import Documents, JobResult, UnknownDocument, decode, encode

FEW: Final = 300
"""Below this number of jobs, processes are not worth their start, unless the user gives their number."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def forked(workers: int | None = None) -> Executor:
    """Return an executor with a number of processes; None: one per core, and none for few jobs.

    Where processes cannot be copied (Windows), jobs are compiled in this one. Raises ChildProcessError for a process
    that ended before its work was done.
    """

    def execute(prepared: Prepared, documents: Iterable[Document]) -> Iterable[Job]:
        given = tuple(documents)
        count = cores() if workers is None else workers
        few = FEW if workers is None else 2
        if count < 2 or len(given) < few or not hasattr(os, "fork"):
            return in_order(prepared, given)
        return _shared(prepared, given, min(count, len(given)))

    return execute


def _shared(prepared: Prepared, documents: Sequence[Document], count: int) -> Iterator[Job]:
    from trainc.parallel.crew import Crew, LostError
    from trainc.parallel.forked import lost, pack, ranges, unpack
    from trainc.pipeline.jobresults import Documents

    others, parts = Documents(prepared), ranges(len(documents), count)

    def compiled(number: int) -> bytes:
        return pack(map(prepared.compile, documents[slice(*parts[number])]), others)

    gc.freeze()  # what exists now stays where it is, and processes share its memory
    try:
        with Crew(count, compiled) as crew:
            for number, packed in crew.results(len(parts)):
                given = documents[slice(*parts[number])]
                # What failed there fails here, where it is reported.
                yield from map(prepared.compile, given) if packed is None else unpack(packed, given, others, prepared)
    except LostError:
        raise lost("a worker process", "out of memory?") from None
    finally:
        gc.unfreeze()


CHUNK: Final = 64
"""Most jobs of a chunk: about 50 ms of work, where sending one costs less than 1 ms."""

_ROUNDS: Final = 4
"""So many chunks each worker gets at least, where there are jobs enough: the last ones even out what others took."""


def ranges(count: int, workers: int) -> list[tuple[int, int]]:
    """Return begin and end of each chunk of so many jobs."""
    size = max(1, min(CHUNK, -(-count // (workers * _ROUNDS))))
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def pack(jobs: Iterable[Job], documents: Documents) -> bytes:
    """Return compiled jobs as bytes, in order; None in place of one with a finding that cannot be placed again."""
    return msgspec.msgpack.encode([_packed(job, documents) for job in jobs])


def _packed(job: Job, documents: Documents) -> JobResult | None:
    try:
        return encode(job, documents, bytes_of)
    except UnknownDocument:
        return None


def unpack(data: bytes, jobs: Sequence[Document], documents: Documents, prepared: Prepared) -> Iterator[Job]:
    """Yield the jobs of a chunk; those that could not be sent are compiled here."""
    for result, document in zip(msgspec.msgpack.decode(data, type=list[JobResult | None]), jobs, strict=True):
        yield prepared.compile(document) if result is None else decode(result, document, documents)


def lost(what: str, why: str) -> ChildProcessError:
    """Return the error of a worker that did not come back: the environment's fault, in all likelihood its memory."""
    return ChildProcessError(errno.ECHILD, f"{what} ended before its work was done ({why})")
