"""`trainc render`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from trainc.cli.caching import cache_option, open_memory, recalled
from trainc.cli.command import CLEAN, ERRORS, STALE, Command, Reporter, finding_options
from trainc.cli.deployment import deployment_files, deployment_folders
from trainc.cli.work import JOBS, Outcome, choose, compile_for, load_config, nothing, read_platform
from trainc.config import Config
from trainc.diagnostics import Diagnostic, has_errors
from trainc.gitops.companions import FOLDER
from trainc.read import find_root, merge, name_below, read_tree
from trainc.settings import read_settings
from trainc.write import OUT, Plan, apply, plan

if TYPE_CHECKING:
    from trainc.cache.memory import Memory

EPILOG = """\b
Examples:
  trainc render                         all jobs, all environments
  trainc render --env prod jobs/team-a  the jobs of one namespace
  trainc render --check                 write nothing, exit 3 if out/ is stale
"""


@click.command("render", cls=Command, epilog=EPILOG)
@click.option("--env", "environment", metavar="ENV", help="Only this environment of trainc.yaml.")
@click.option("--check", is_flag=True, help="Write nothing; name the files that differ and exit 3 if any does.")
@cache_option
@finding_options
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True))
def command(
    *,
    environment: str | None,
    check: bool,
    cache: bool,
    format_: str,
    fail_on: str,
    quiet: bool,
    verbose: bool,
    paths: tuple[str, ...],
) -> int:
    """Compile jobs/ to out/, and remove what trainc once made there and makes no longer.

    With PATHs, files or folders below jobs/, only the output of their jobs is
    touched, and not what jobs of a namespace share. The repository is the nearest folder upward with a trainc.yaml, so
    the result is the same from any folder in it. If anything is an error, or
    what --fail-on names, nothing is written. Without --env and PATHs, what
    argocd.write or flux.write of trainc.yaml asks for is written, too.
    """
    reporter = Reporter(format_, fail_on, quiet, verbose)
    root = find_root(Path.cwd())
    names = [_job_path(root, path) for path in paths] or [JOBS]
    config, findings = load_config(root)
    if has_errors(findings):
        reporter.findings(findings)
        return reporter.status(findings)
    run = Run(root, names, config, choose(config, environment), environment is None and JOBS in names)
    memory = open_memory(root, use=cache, by_bytes=check)
    done = recalled(lambda known: run.planned(reporter, findings, known), lambda done: done.findings, memory)
    status = _carry_out(done, check, reporter)
    if memory is not None and run.whole:
        memory.keep(done.todo, written=not check and status == CLEAN)
    return status


class Done(NamedTuple):
    """What a run found, and what is to be done; nothing where a finding fails the run."""

    findings: tuple[Diagnostic, ...]
    todo: Plan | None


class Run(NamedTuple):
    """What is to be rendered: parts of jobs/, for some environments; ``whole``: all of both."""

    root: Path
    names: Sequence[str]
    config: Config
    environments: Sequence[str]
    whole: bool

    def planned(self, reporter: Reporter, findings: tuple[Diagnostic, ...], memory: Memory | None) -> Done:
        """Read, compile and compare with out/. Raises Changed where memory is wrong."""
        root, names = self.root, self.names
        platform = read_platform(root)
        read = None if memory is None else memory.read
        inputs = merge([*(read_tree(root, name, read) for name in names), platform])
        partly = () if JOBS in names else platform.sources
        outcome = compile_for(inputs, self.config, self.environments, findings, partly=partly, memory=memory)
        found = _with_empty(outcome, names)
        if reporter.fails(found):
            return Done(found, None)
        is_same = None if memory is None else memory.is_same
        if self.whole:
            folders = (OUT, *deployment_folders(self.config, self.environments))
            wanted = {**outcome.files, **deployment_files(self.config, outcome)}
            return Done(found, plan(root, wanted, folders, folders, is_same))
        return Done(found, plan(root, outcome.files, _scopes(root, self.config, outcome, names), is_same=is_same))


def _job_path(root: Path, path: str) -> str:
    name = name_below(root, Path.cwd(), path)
    if name is None or name.partition("/")[0] != JOBS:
        raise click.BadParameter(f"{path!r} is not below {JOBS}/ of {root}", param_hint="'PATH'")
    return name


def _with_empty(outcome: Outcome, names: Iterable[str]) -> tuple[Diagnostic, ...]:
    if outcome.job_count or has_errors(outcome.findings):
        return outcome.findings
    return (*outcome.findings, *(nothing(name, "no TrainJob here") for name in names))


def _scopes(root: Path, config: Config, outcome: Outcome, names: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of out/ that the given parts of jobs/ decide alone: never what jobs of a namespace share."""
    if JOBS in names:
        return tuple(f"{OUT}/{environment}" for environment in outcome.jobs)
    # jobs/<namespace> decides what is in its namespace, unless others lead there; a file no more than its own jobs.
    homes = [name.partition("/")[2] for name in names if name.count("/") == 1]
    scopes: dict[str, None] = {}
    for environment, jobs in outcome.jobs.items():
        namespaces = read_settings(config.data, environment).namespaces
        for home in homes:
            place = namespaces.get(home, home)
            others = (other for other in (*namespaces, place) if other != home and (root / JOBS / other).is_dir())
            if all(namespaces.get(other, other) != place for other in others):
                folder = f"{OUT}/{environment}/{place}"
                there = (root / folder).iterdir() if (root / folder).is_dir() else ()
                scopes |= {f"{folder}/{one.name}": None for one in sorted(there) if one.name != FOLDER}
        scopes |= {f"{OUT}/{environment}/{job.namespace}/{job.name}": None for job in jobs}
    return tuple(scopes)


def _carry_out(done: Done, check: bool, reporter: Reporter) -> int:
    findings, todo = done
    if todo is None:
        reporter.findings(findings)
        return reporter.status(findings)
    findings = (*findings, *todo.blocked)
    if has_errors(findings):
        reporter.findings(findings)
        return ERRORS
    if not check:
        apply(todo)
    reporter.findings(findings)
    for line in todo.differences():
        if check:
            reporter.result(line)
        else:
            reporter.detail(line)
    count = f"{len(todo.create)} created, {len(todo.change)} changed, {len(todo.remove)} removed"
    places = " and ".join(f"{top}/" for top in todo.tops)
    if not check:
        reporter.remark(f"{places}: {count}, {len(todo.unchanged)} unchanged")
    elif todo.stale:
        reporter.remark(f"{places} {'is' if len(todo.tops) == 1 else 'are'} stale; trainc render brings: {count}")
    return STALE if check and todo.stale else CLEAN
