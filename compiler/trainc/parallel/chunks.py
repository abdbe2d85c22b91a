"""Parts of a run's jobs that are worth sending: they pay for the way, and nobody waits long for the last one."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from trainc.inputs.source import Document
from trainc.pipeline.content import bytes_of
from trainc.pipeline.context import Prepared
from trainc.pipeline.job import Job
from trainc.pipeline.jobresults import Documents, JobResult, UnknownDocument, decode, encode

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
