"""Helpers of the commands that compile: the environments, revisions and executors that the options name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.echo import echo
from trainc.cli.reporter import Reporter
from trainc.documents.emit import emit_inert
from trainc.findings import Finding
from trainc.inputs.options import Revision
from trainc.inputs.source import Document
from trainc.pipeline.content import Job
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor
from trainc.project.config import Config
from trainc.project.environments import JOBS, Outcome, Standard, compile_for
from trainc.project.planning import Request, settings
from trainc.project.read import CONFIG, Inputs, merge, name_below, read_beside_policies, read_platform, read_tree

if TYPE_CHECKING:
    from trainc.parallel.mpi import Ranks


def choose(config: Config, environment: str | None) -> tuple[str, ...]:
    """Return the environments to compile for: the one that --env names, or all. Raises BadParameter if not found."""
    if environment is None:
        return config.environments
    if environment in config.environments:
        return (environment,)
    names = ", ".join(config.environments)
    raise click.BadParameter(f"environment {environment!r} not found in {CONFIG} ({names})", param_hint="'--env'")


def choose_for(config: Config, environment: str | None, target: str, other: str) -> tuple[str, ...]:
    """Return the chosen environments with a target. Raises UsageError, which names the ``other`` command, for none."""
    chosen = choose(config, environment)
    found = tuple(name for name in chosen if settings(config, name).target == target)
    if not found:
        names = ", ".join(chosen)
        raise click.UsageError(f"no selected environment has target: {target} ({names}); see trainc {other}")
    return found


def print_compiled(
    root: Path,
    config: Config,
    environments: tuple[str, ...],
    findings: tuple[Finding, ...],
    *,
    reporter: Reporter,
    objects_of: Callable[[Outcome], Iterable[JsonObject]],
) -> int:
    """Compile jobs/ unless findings fail the run, print objects of the outcome, and return the exit status."""
    outcome = None
    if not reporter.fails(findings):
        inputs = merge([read_tree(root, JOBS), read_platform(root)])
        outcome = compile_for(inputs, config, environments, findings)
        findings = outcome.findings
    reporter.findings(findings)
    if outcome is not None and not reporter.fails(findings):
        print_objects(objects_of(outcome))
    return reporter.status(findings)


def request_of(root: Path, paths: Iterable[str], config: Config, environment: str | None = None) -> Request:
    """Return the request that PATHs and --env describe. Raises BadParameter for what does not exist."""
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
    """Read the revision of --policies-from, else that of --base; None without both. Raises BadParameter.

    ``inputs`` and ``config`` are the current ones.
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
    """Read the revision of an option; None without one. Raises BadParameter for a revision that cannot be read.

    ``paths`` are further files and folders, relative to ``folder``; those outside of root are skipped.
    """
    if revision is None:
        return None
    from trainc.project.revisions import read_revision

    with revision_errors(option):
        return read_revision(root, revision, [name for path in paths if (name := name_below(root, folder, path))])


@contextmanager
def revision_errors(option: str) -> Iterator[None]:
    """Raise BadParameter of an option for a RevisionError."""
    from trainc.project.revisions import RevisionError

    try:
        yield
    except RevisionError as error:
        hint = f"\nHint: {error.hint}." if error.hint else ""
        raise click.BadParameter(f"{error.message}.{hint}", param_hint=option) from None


def ranks_of() -> Ranks:
    """Return the MPI ranks of this run. Raises UsageError without MPI."""
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
    """Return the executor that --jobs and --executor select, which shows its progress unless quiet."""
    from trainc.parallel.forked import forked

    inner = forked(workers) if ranks is None else ranks.executor()

    def execute(context: Context, documents: Iterable[Document]) -> Iterator[Job]:
        from trainc.cli.progress import progress

        given = tuple(documents)
        with progress(len(given), "compiling", quiet=quiet) as shown:
            for job in inner(context, given):
                shown.advance()
                yield job

    return execute


def print_objects(made: Iterable[JsonObject]) -> None:
    """Print objects as a YAML stream."""
    echo("---\n".join(emit_inert(data) for data in made).encode("utf-8"), nl=False)
