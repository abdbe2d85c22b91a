"""What the commands that compile share: environments and revisions as the user names them, and executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.echo import echo
from trainc.documents.emit import emit_inert
from trainc.inputs.options import Revision
from trainc.inputs.source import Document
from trainc.pipeline.context import Executor, Prepared
from trainc.pipeline.job import Job
from trainc.project.config import Config
from trainc.project.environments import JOBS, Standard
from trainc.project.planning import Request
from trainc.project.read import CONFIG, Inputs, name_below, read_beside_policies

if TYPE_CHECKING:
    from trainc.parallel.mpi import Ranks


def choose(config: Config, environment: str | None) -> tuple[str, ...]:
    """Return the environments to compile for: the one asked for, or all. BadParameter for one that is not there."""
    if environment is None:
        return config.environments
    if environment in config.environments:
        return (environment,)
    names = ", ".join(config.environments)
    raise click.BadParameter(f"no environment {environment!r} in {CONFIG}, which has {names}", param_hint="'--env'")


def request_of(root: Path, paths: Iterable[str], config: Config, environment: str | None = None) -> Request:
    """Return what PATHs and --env name. BadParameter for what does not exist."""
    names = tuple(_job_path(root, path) for path in paths) or (JOBS,)
    return Request(root, names, config, choose(config, environment), environment is None and JOBS in names)


def _job_path(root: Path, path: str) -> str:
    name = name_below(root, Path.cwd(), path)
    if name is None or name.partition("/")[0] != JOBS:
        raise click.BadParameter(f"{path!r} is not below {JOBS}/ of {root}", param_hint="'PATH'")
    return name


def read_standard(
    root: Path, revision: str | None, base: Revision | None, inputs: Inputs, config: Config
) -> Standard | None:
    """Read the revision of --policies-from, without it that of --base; None without either. BadParameter as read_base.

    ``inputs`` are what is given, with ``config``.
    """
    judge = base if revision is None else read_base(root, revision, root, (), "'--policies-from'")
    if judge is None:
        return None
    from trainc.changes.safeguards import weakened

    now = Revision("", inputs.sources, config.data)
    return Standard(judge, weakened(judge, now, config.document, read_beside_policies(root).sources))


def read_base(
    root: Path, revision: str | None, folder: Path, paths: Iterable[str] = (), option: str = "'--base'"
) -> Revision | None:
    """Read the revision of --base or another option, if there is one. BadParameter for one that cannot be read.

    ``paths`` are the files and folders given, meant from ``folder``; those outside of root no revision holds.
    """
    if revision is None:
        return None
    from trainc.project.revisions import RevisionError, read_revision

    try:
        return read_revision(root, revision, [name for path in paths if (name := name_below(root, folder, path))])
    except RevisionError as error:
        hint = f"\nHint: {error.hint}." if error.hint else ""
        raise click.BadParameter(f"{error.message}.{hint}", param_hint=option) from None


def ranks_of() -> Ranks:
    """Return the MPI ranks of this run. UsageError where there is no MPI."""
    import signal

    from trainc.parallel.mpi import MISSING, Ranks

    for name in ("SIGTERM", "SIGHUP"):  # mpiexec ends all ranks: one that cleans up would wait for the others
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    try:
        return Ranks()
    except (ImportError, RuntimeError) as error:
        raise click.UsageError(f"--executor mpi: {MISSING} ({error})") from None


def executor_of(workers: int | None, ranks: Ranks | None = None, *, quiet: bool) -> Executor:
    """Return the executor of a run by --jobs and --executor, which shows its progress unless quiet."""
    from trainc.parallel.forked import forked

    inner = forked(workers) if ranks is None else ranks.executor()

    def execute(prepared: Prepared, documents: Iterable[Document]) -> Iterator[Job]:
        from trainc.cli.progress import progress

        given = tuple(documents)
        with progress(len(given), "compiling", quiet=quiet) as shown:
            for job in inner(prepared, given):
                shown.advance()
                yield job

    return execute


def print_objects(made: Iterable[JsonObject]) -> None:
    """Print objects as a YAML stream."""
    echo("---\n".join(emit_inert(data) for data in made).encode("utf-8"), nl=False)
