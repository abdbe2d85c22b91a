"""Helpers of the commands that compile: the environments, revisions and executors that the options name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from trainc.cli.command import WrongValue
from trainc.cli.limits import allow
from trainc.findings import Finding, has_errors, sort_key
from trainc.inputs.options import Revision
from trainc.inputs.source import Document, Source
from trainc.pipeline.compile import Watch
from trainc.pipeline.content import Job
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor
from trainc.project.config import Config
from trainc.project.environments import Outcome, has_no_document, nothing, with_empty, with_nothing
from trainc.project.foreign import foreign_files
from trainc.project.names import CONFIG, JOBS, OUT, POLICIES, RUNTIMES
from trainc.project.planning import Request
from trainc.project.read import Inputs, has_config, name_below, read_given, read_tree
from trainc.project.write import look

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


def request_of(root: Path, paths: Iterable[str], config: Config, environment: str | None = None) -> Request:
    """Return the request that PATHs and --env describe. Raises BadParameter for what does not exist."""
    given: dict[str, None] = {}
    for path in paths:
        name = name_below(root, Path.cwd(), path)
        if name is None or name.partition("/")[0] != JOBS:
            raise click.BadParameter(f"{path!r} is not below {JOBS}/ of {root}", param_hint="'PATH'")
        given[name] = None
    # without those that are below another one: the cache counts the jobs of each file that is read
    names = [name for name in given if not any(str(above) in given for above in PurePosixPath(name).parents)] or [JOBS]
    return Request(root, tuple(names), config, choose(config, environment), environment is None and JOBS in names)


@contextmanager
def revision_errors(option: str) -> Iterator[None]:
    """Raise BadParameter of an option for a RevisionError."""
    from trainc.project.git import RevisionError

    try:
        yield
    except RevisionError as error:
        raise WrongValue(f"{error.message}.", f"{error.hint}." if error.hint else None, option) from None


def read_paths(root: Path, paths: Iterable[str]) -> list[Inputs]:
    """Read files and folders anywhere, relative to the working directory; those of the project as render reads them."""
    folder, parts = Path.cwd(), []
    for path in paths:
        name = name_below(root, folder, path)
        is_ours = name is not None and name.partition("/")[0] in (JOBS, RUNTIMES, POLICIES)
        parts.append(read_tree(root, name) if name is not None and is_ours else read_given(root, folder, path))
    return parts


def with_project(
    outcome: Outcome, root: Path, config: Config, of_config: Iterable[Finding], *, paths: Iterable[str], inputs: Inputs
) -> tuple[Finding, ...]:
    """Return the findings of an outcome and those on the project: nothing to compile, foreign files below out/.

    ``paths`` are those on the command line, and ``inputs`` what was read from them.
    """
    findings, paths = outcome.findings, tuple(paths)
    if not paths:
        findings = with_empty(outcome, root, [JOBS])
    elif not has_errors(findings) and has_no_document(inputs):
        findings = with_nothing(findings, (nothing(path, "no document found") for path in paths))
    if (has_config(root) or not paths) and not has_errors(of_config):
        others = outcome.rules.settle(foreign_files(root, look(root, (OUT,)), None, config.data))
        findings = tuple(sorted((*findings, *others), key=sort_key))
    return findings


def revision_of(root: Path, revision: str | None, paths: Iterable[str], option: str) -> Revision | None:
    """Read the revision of an option; None without one. Raises BadParameter for a revision that cannot be read.

    ``paths`` are further files and folders; those outside of root are skipped.
    """
    if revision is None:
        return None
    from trainc.project.revisions import read_revision

    with revision_errors(option):
        given = [name for path in paths if (name := name_below(root, Path.cwd(), path))]
        found = read_revision(root, revision, given)
    allow(len(found.sources) + len(found.output), revisions=1)  # a change may remove most of them
    return found


def reading(*, quiet: bool) -> Watch:
    """Return what shows the progress of reading sources, unless quiet."""

    def watch(sources: Sequence[Source]) -> Iterator[Source]:
        from trainc.cli.progress import progress

        allow(len(sources))
        with progress(len(sources), "reading", quiet=quiet) as shown:
            for source in sources:
                yield source
                shown.advance()

    return watch


def executor_of(workers: int | None, ranks: Ranks | None = None, *, quiet: bool) -> Executor:
    """Return the executor that --jobs and --executor select, which shows its progress unless quiet."""
    from trainc.parallel.forked import forked

    inner = forked(workers) if ranks is None else ranks.executor()

    def execute(context: Context, documents: Iterable[Document]) -> Iterator[Job]:
        from trainc.cli.progress import progress

        waiting = tuple(documents)
        tried = 0 if context.policies is None else context.policies.tried
        allow(len(waiting), len(waiting) * tried)
        with progress(len(waiting), "compiling", quiet=quiet) as shown:
            for job in inner(context, waiting):
                shown.advance()
                yield job

    return execute
