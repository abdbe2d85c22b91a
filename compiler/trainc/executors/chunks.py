"""Parts of a run's jobs that are worth sending: they pay for the way, and nobody waits long for the last one."""

from __future__ import annotations

import errno
import marshal
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainc.compilejob import Job
from trainc.jobcodec import Places, Record, Unplaced, decode, encode
from trainc.prepared import Prepared
from trainc.source import Document

CHUNK: Final = 64
"""Most jobs of a chunk: about 50 ms of work, where sending one costs less than 1 ms."""

_ROUNDS: Final = 4
"""So many chunks each worker gets at least, where there are jobs enough: the last ones even out what others took."""


def ranges(count: int, workers: int) -> list[tuple[int, int]]:
    """Return begin and end of each chunk of so many jobs."""
    size = max(1, min(CHUNK, -(-count // (workers * _ROUNDS))))
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def pack(jobs: Iterable[Job], places: Places) -> bytes:
    """Return compiled jobs as bytes, in order; nothing for one with a finding that cannot travel."""
    return marshal.dumps([_encoded(job, places) for job in jobs])


def _encoded(job: Job, places: Places) -> list[object] | None:
    try:
        return list(encode(job, places))
    except Unplaced:
        return None


def unpack(data: bytes, documents: Sequence[Document], places: Places, prepared: Prepared) -> Iterator[Job]:
    """Yield the jobs of a chunk's documents; those that could not travel are compiled here."""
    for plain, document in zip(marshal.loads(data), documents, strict=True):
        yield prepared.compile(document) if plain is None else decode(Record(*plain), document, places)


def lost(what: str, why: str) -> ChildProcessError:
    """Return the error of a worker that did not come back: the environment's fault, in all likelihood its memory."""
    return ChildProcessError(errno.ECHILD, f"{what} ended before its work was done ({why})")
