"""Compiles jobs in forked processes, in chunks. The processes read the numbers of chunks from a common pipe.

Each sends its results through its own pipe, so a process that is killed while sending blocks no one. When this process
ends, in any way, the others end too, as no one reads their pipes.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

import msgspec

from trainc.inputs.source import Document
from trainc.pipeline.content import Job, bytes_of
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor, compile_job, in_order
from trainc.pipeline.jobresults import Documents, JobResult, UnknownDocument, decode, encode

FEW: Final = 300
"""Below this number of jobs, starting processes does not pay, unless the user sets their number."""

CHUNK: Final = 64
"""The most jobs of a chunk: about 50 ms of work, where sending one takes less than 1 ms."""

_ROUNDS: Final = 4
"""The least number of chunks per worker, given enough jobs, so that all workers finish at about the same time."""

_NUMBER: Final = 4
"""The bytes of the number of a chunk."""

_MOST: Final = 1024
"""The most chunks: their numbers fit into a page, the least that a pipe holds."""


def forked(workers: int | None = None) -> Executor:
    """Return an executor with a number of processes; by default one per core, and none for few jobs.

    Without fork (Windows), jobs are compiled in this process. Raises ChildProcessError if a process ends unexpectedly.
    """

    def execute(context: Context, documents: Iterable[Document]) -> Iterable[Job]:
        jobs = tuple(documents)
        count = _cores() if workers is None else workers
        few = FEW if workers is None else 2
        if count < 2 or len(jobs) < few or not hasattr(os, "fork"):
            return in_order(context, jobs)
        return _shared(context, jobs, min(count, len(jobs)))

    return execute


def _cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shared(context: Context, documents: Sequence[Document], count: int) -> Iterator[Job]:
    from multiprocessing.connection import Pipe, wait

    others, parts = Documents(context), ranges(len(documents), count)

    def compiled(number: int) -> bytes:
        return pack(in_order(context, documents[slice(*parts[number])]), others)

    tasks, numbers = os.pipe()
    os.write(numbers, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(parts))))
    workers: dict[Any, int] = {}
    gc.freeze()  # keeps existing objects in memory that the processes share
    try:
        for _ in range(count):
            ours, theirs = Pipe(duplex=False)
            if (pid := os.fork()) == 0:
                os.close(numbers)
                _serve(tasks, compiled, theirs, (ours, *workers))
            theirs.close()
            workers[ours] = pid
        missing = len(parts)
        while missing:
            worker: Any
            for worker in wait(workers):
                try:
                    result = worker.recv_bytes()
                except (EOFError, OSError):
                    status = os.waitstatus_to_exitcode(os.waitpid(workers.pop(worker), 0)[1])
                    if status > 1:  # it has said why, such as the time limit
                        raise SystemExit(status) from None
                    raise lost("a worker process", "out of time or memory?") from None
                missing -= 1
                jobs = documents[slice(*parts[int.from_bytes(result[:_NUMBER], "big")])]
                packed = result[_NUMBER:]
                # A failure there is repeated here, where it is reported.
                yield from unpack(packed, jobs, others, context) if packed else in_order(context, jobs)
    finally:
        for worker, pid in workers.items():
            worker.close()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(tasks)
        os.close(numbers)
        gc.unfreeze()


def _serve(tasks: int, compiled: Callable[[int], bytes], results: Any, others: Iterable[Any]) -> NoReturn:
    """Compile chunks until the run ends, in a forked process; an empty result means a failure."""
    try:
        for other in others:
            other.close()
        # The parent ends this process; a signal to both would look like a crash of this one.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while task := os.read(tasks, _NUMBER):
            try:
                packed = compiled(int.from_bytes(task, "big"))
            except Exception:  # noqa: BLE001 - repeated in the parent, which reports it
                packed = b""
            results.send_bytes(task + packed)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    finally:
        os._exit(1)


def ranges(count: int, workers: int) -> list[tuple[int, int]]:
    """Return start and end of each chunk of ``count`` jobs."""
    size = max(1, min(CHUNK, -(-count // (workers * _ROUNDS))), -(-count // _MOST))
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def pack(jobs: Iterable[Job], documents: Documents) -> bytes:
    """Return compiled jobs as bytes, in order; a job with a finding that cannot be restored becomes None."""
    return msgspec.msgpack.encode([_packed(job, documents) for job in jobs])


def _packed(job: Job, documents: Documents) -> JobResult | None:
    try:
        return encode(job, documents, bytes_of)
    except UnknownDocument:
        return None


def unpack(data: bytes, jobs: Sequence[Document], documents: Documents, context: Context) -> Iterator[Job]:
    """Yield the jobs of a chunk; those that could not be sent are compiled here."""
    for result, document in zip(msgspec.msgpack.decode(data, type=list[JobResult | None]), jobs, strict=True):
        yield compile_job(context, document) if result is None else decode(result, document, documents)


def lost(what: str, why: str) -> ChildProcessError:
    """Return the error of a worker that ended unexpectedly, probably out of memory: an environment error."""
    return ChildProcessError(errno.ECHILD, f"{what} ended unexpectedly ({why})")
