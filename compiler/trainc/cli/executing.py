"""Who compiles the jobs of a run, by --jobs and --executor, and how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from trainc.cli.command import F

if TYPE_CHECKING:
    from trainc.compilejob import Job
    from trainc.executors.mpi import Ranks
    from trainc.prepared import Executor, Prepared
    from trainc.source import Document


def jobs_option(function: F) -> F:
    """Add --jobs."""
    return click.option(
        "-j",
        "--jobs",
        "workers",
        metavar="N",
        type=click.IntRange(1),
        help="Compile in N processes.  [default: one a core; one for few jobs]",
    )(function)


def executor_option(function: F) -> F:
    """Add --executor."""
    return click.option(
        "--executor",
        type=click.Choice(("local", "mpi")),
        default="local",
        show_default=True,
        help="Who compiles: processes of this machine, or the ranks of mpiexec -n N trainc render --executor mpi.",
    )(function)


def ranks_of(executor: str) -> Ranks | None:
    """Return the MPI ranks of this run, None without --executor mpi. UsageError where there is no MPI."""
    if executor != "mpi":
        return None
    from trainc.executors.mpi import MISSING, Ranks

    try:
        return Ranks()
    except (ImportError, RuntimeError) as error:
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
