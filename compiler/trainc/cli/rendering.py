"""From jobs/ to what is to be done below out/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trainc.cli.caching import open_memory, recalled
from trainc.cli.carrying import Mode, carry_out
from trainc.cli.command import CLEAN
from trainc.cli.deployment import deployment_files, deployment_folders, settings
from trainc.cli.executing import executor_of
from trainc.cli.reading import read_platform
from trainc.cli.work import JOBS, Outcome, choose, compile_for, load_config, with_empty
from trainc.config import Config
from trainc.findings import Diagnostic, Severity, Silenced, has_errors, sort_key
from trainc.foreign import Kind, unmanaged
from trainc.gitops.companions import FOLDER
from trainc.read import Inputs, merge, name_below, read_tree
from trainc.records import NamedTuple, replace
from trainc.settings import read_settings
from trainc.source import Source
from trainc.write import OUT, Plan, Seen, foreign_files, look, plan

if TYPE_CHECKING:
    from trainc.cache.memory import Memory
    from trainc.cache.whole import Whole


def render(root: Path, paths: Iterable[str], environment: str | None, known: Whole | None, mode: Mode) -> int:
    """Compile, compare, write and tell; return the exit status. ``known`` is what to leave of a whole repository."""
    reporter = mode.reporter
    names = [_job_path(root, path) for path in paths] or [JOBS]
    if known is not None:
        if known.changes is not None:
            from trainc.cli.abridging import render_changes

            if (status := render_changes(root, known, mode)) is not None:
                return status
        known.look()
    config, findings = load_config(root)
    if has_errors(findings):
        reporter.findings(findings)
        return reporter.status(findings)
    run = Run(root, names, config, choose(config, environment), environment is None and JOBS in names)
    memory = open_memory(root, use=mode.cache, by_bytes=mode.check, compares=True)
    done = recalled(lambda memory: run.planned(mode, findings, memory), lambda done: done.findings, memory)
    status = carry_out(done.findings, done.todo, mode, done.silenced)
    if memory is not None and not memory.forgotten and run.whole:
        if not mode.check and status == CLEAN and done.todo is not None:
            memory.wrote(done.todo)
        if known is not None and status == CLEAN and done.todo is not None:
            beside = (config.document, config.lock.document)
            read = (*done.platform, *(document.source for document in beside if document is not None))
            facts = partial(memory.facts, {name: settings(config, name) for name in run.environments})
            memory.confirm(known.keep(memory.seen, read, done.findings, done.todo, facts))
        memory.keep(done.todo)
    return status


class Done(NamedTuple):
    """What a run found, and what is to be done; nothing where a finding fails the run."""

    findings: tuple[Diagnostic, ...]
    todo: Plan | None
    platform: tuple[Source, ...]
    silenced: tuple[Silenced, ...] = ()


class Run(NamedTuple):
    """What is to be rendered: parts of jobs/, for some environments; ``whole``: all of both."""

    root: Path
    names: Sequence[str]
    config: Config
    environments: Sequence[str]
    whole: bool

    def planned(self, mode: Mode, findings: tuple[Diagnostic, ...], memory: Memory | None) -> Done:
        """Read, compile and compare with out/. Raises Changed where memory is wrong."""
        root, names = self.root, self.names
        platform = read_platform(root)
        read = None if memory is None else memory.read
        inputs = merge([*(read_tree(root, name, read) for name in names), platform])
        partly = () if JOBS in names else platform.sources
        execute = executor_of(mode.workers, mode.ranks, quiet=mode.reporter.quiet)
        outcome = compile_for(
            inputs, self.config, self.environments, findings, partly=partly, memory=memory, execute=execute
        )
        found = with_empty(outcome, root, names)
        if mode.reporter.fails(found):
            return self._done(outcome, found, None, look(root, (OUT,)), platform)
        is_same = None if memory is None else memory.is_same
        if self.whole:
            folders = (OUT, *deployment_folders(self.config, self.environments))
            wanted = {**outcome.files, **deployment_files(self.config, outcome)}
            there = look(root, folders)
            todo = plan(root, wanted, folders, folders, is_same, seen=Seen(there, ()))
            return self._done(outcome, found, todo, there, platform)
        scopes = _scopes(root, self.config, outcome, names)
        todo = plan(root, outcome.files, scopes, is_same=is_same)
        return self._done(outcome, found, todo, look(root, (OUT,)), platform)

    def _done(
        self,
        outcome: Outcome,
        found: tuple[Diagnostic, ...],
        todo: Plan | None,
        there: Mapping[str, Kind],
        platform: Inputs,
    ) -> Done:
        """Return the end of a run, with what others have left below out/: errors keep anything from being written."""
        others = foreign_files(self.root, there, todo, unmanaged(self.config.data))
        errors = tuple(finding for finding in others if finding.severity is Severity.ERROR)
        if todo is None:
            return Done(tuple(sorted((*found, *others), key=sort_key)), None, platform.sources, outcome.silenced)
        notes = (finding for finding in others if finding.severity is not Severity.ERROR)
        todo = replace(todo, blocked=tuple(sorted((*todo.blocked, *errors), key=sort_key)))
        return Done(tuple(sorted((*found, *notes), key=sort_key)), todo, platform.sources, outcome.silenced)


def _job_path(root: Path, path: str) -> str:
    name = name_below(root, Path.cwd(), path)
    if name is None or name.partition("/")[0] != JOBS:
        import click

        raise click.BadParameter(f"{path!r} is not below {JOBS}/ of {root}", param_hint="'PATH'")
    return name


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
                inside = (root / folder).iterdir() if (root / folder).is_dir() else ()
                there = (one.name for one in sorted(inside) if one.is_dir() and not one.is_symlink())
                scopes |= {f"{folder}/{name}": None for name in there if name != FOLDER}
        scopes |= {f"{OUT}/{environment}/{job.namespace}/{job.name}": None for job in jobs}
    return tuple(scopes)
