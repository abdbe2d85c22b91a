"""Compiles jobs in processes of this machine. They begin as copies of this one: only numbers are sent to them."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from trainc.compilejob import Job
from trainc.prepared import Executor, Prepared, in_order
from trainc.records import dataclass
from trainc.source import Document

if TYPE_CHECKING:
    from trainc.jobcodec import Places

FEW: Final = 300
"""Below so many jobs processes are not worth their start, unless their number was asked for."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What the processes begin with."""

    prepared: Prepared
    documents: Sequence[Document]
    places: Places


_work: list[_Work] = []
"""The work of the run that is going on, for the processes that are copied of this one then."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def forked(workers: int | None = None) -> Executor:
    """Return an executor with so many processes; None: one a core, and none for few jobs.

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
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    from trainc.executors.chunks import lost, ranges, unpack
    from trainc.jobcodec import Places

    work = _Work(prepared, documents, Places(prepared))
    _work.append(work)
    gc.freeze()  # what is there now stays where it is, and processes share its memory
    try:
        with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
            parts = ranges(len(documents), count)
            for (begin, end), data in zip(parts, pool.map(_chunk, parts), strict=True):
                yield from unpack(data, documents[begin:end], work.places, prepared)
    except BrokenProcessPool:
        raise lost("a worker process", "out of memory?") from None
    finally:
        gc.unfreeze()
        _work.remove(work)


def _chunk(part: tuple[int, int]) -> bytes:
    """Compile a part of the documents that this process began with."""
    from trainc.executors.chunks import pack

    work = _work[-1]
    return pack(map(work.prepared.compile, work.documents[slice(*part)]), work.places)
