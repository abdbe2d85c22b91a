"""Who compiles the jobs of a run, by --jobs and --executor, and how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.compilejob import Job
    from trainc.executors.mpi import Ranks
    from trainc.prepared import Executor, Prepared
    from trainc.source import Document


def ranks_of(executor: str) -> Ranks | None:
    """Return the MPI ranks of this run, None without --executor mpi. UsageError where there is no MPI."""
    if executor != "mpi":
        return None
    import signal

    from trainc.executors.mpi import MISSING, Ranks

    for name in ("SIGTERM", "SIGHUP"):  # mpiexec ends all ranks: one that had a last word would wait for the others
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    try:
        return Ranks()
    except (ImportError, RuntimeError) as error:
        import click

        raise click.UsageError(f"--executor mpi: {MISSING} ({error})") from None


def executor_of(workers: int | None, ranks: Ranks | None = None, *, quiet: bool) -> Executor:
    """Return the executor of a run, which shows how far it is unless quiet."""
    from trainc.executors.forked import forked

    inner = forked(workers) if ranks is None else ranks.executor()

    def execute(prepared: Prepared, documents: Iterable[Document]) -> Iterator[Job]:
        from trainc.cli.progress import progress

        given = tuple(documents)
        with progress(len(given), "compiling", quiet=quiet) as shown:
            for job in inner(prepared, given):
                shown.advance()
                yield job

    return execute
