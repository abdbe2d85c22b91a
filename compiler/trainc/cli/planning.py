"""From jobs/ to what is to be done below out/: what `render` does, and `diff` asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from trainc.cli.compiling import JOBS, Outcome, choose, compile_for, with_empty
from trainc.cli.deployment import deployment_files, deployment_folders
from trainc.findings import Finding, Silenced, has_errors, sort_key
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Source
from trainc.pipeline.context import Executor
from trainc.project.config import Config
from trainc.project.files import Kind, unmanaged
from trainc.project.read import merge, name_below, read_platform, read_tree
from trainc.project.write import OUT, Plan, foreign_files, look, plan

if TYPE_CHECKING:
    from trainc.cache.run import RunCache


class Request(msgspec.Struct, frozen=True, eq=False):
    """What is to be rendered: jobs/ or names below it, for some environments; ``is_whole``: all of both."""

    root: Path
    names: tuple[str, ...]
    config: Config
    environments: tuple[str, ...]
    is_whole: bool

    @classmethod
    def of(cls, root: Path, paths: Iterable[str], config: Config, environment: str | None = None) -> Request:
        """Return what PATHs and --env ask for. BadParameter for what does not exist."""
        names = tuple(_job_path(root, path) for path in paths) or (JOBS,)
        return cls(root, names, config, choose(config, environment), environment is None and JOBS in names)


class Planned(msgspec.Struct, frozen=True, eq=False):
    """What a run found, and what is to be done; no plan where a finding fails the run.

    ``platform`` are the sources that it read besides jobs/, ``foreign`` the files below out/ that are not trainc's.
    """

    findings: tuple[Finding, ...]
    plan: Plan | None
    platform: tuple[Source, ...]
    silenced: tuple[Silenced, ...] = ()
    foreign: frozenset[str] = frozenset()


def plan_request(
    request: Request,
    findings: tuple[Finding, ...],
    fails: Callable[[Iterable[Finding]], bool],
    cache: RunCache | None,
    execute: Executor,
) -> Planned:
    """Read, compile and compare with out/; ``findings`` are those of trainc.yaml. Raises Changed."""
    root, config = request.root, request.config
    platform = read_platform(root)
    read = None if cache is None else cache.read
    inputs = merge([*(read_tree(root, name, read) for name in request.names), platform])
    partly = () if JOBS in request.names else platform.sources
    outcome = compile_for(inputs, config, request.environments, findings, partly=partly, cache=cache, execute=execute)
    found = with_empty(outcome, root, request.names)
    folders = (OUT, *deployment_folders(config, request.environments)) if request.is_whole else (OUT,)
    there = look(root, folders)
    todo = None if fails(found) else _plan(request, outcome, folders, there, cache)
    others = foreign_files(root, there, todo, unmanaged(config.data))
    beside = (document.source for document in (config.document, config.lock.document) if document is not None)
    sources = (*platform.sources, *beside)
    if todo is None:
        return Planned(_sorted((*found, *others)), None, sources, outcome.silenced)
    errors = [finding for finding in others if has_errors((finding,))]  # they keep anything from being written
    notes = [finding for finding in others if not has_errors((finding,))]
    todo = msgspec.structs.replace(todo, blocked=_sorted((*todo.blocked, *errors)))
    ours = {*todo.unchanged, *todo.remove, *todo.leftovers, *(file.name for file in (*todo.create, *todo.change))}
    foreign = frozenset(name for name, kind in there.items() if kind is Kind.FILE and name not in ours)
    return Planned(_sorted((*found, *notes)), todo, sources, outcome.silenced, foreign)


def plan_changed(root: Path, config: Config, names: Iterable[str], cache: RunCache) -> Plan | None:
    """Return what is to be done after a change of a few files below jobs/; None where more than bytes changes."""
    platform = read_platform(root)
    inputs = merge([*(read_tree(root, name, cache.read) for name in names), platform])
    outcome = compile_for(inputs, config, config.environments, (), partly=platform.sources, cache=cache)
    if has_errors(outcome.findings) or not cache.is_contained(outcome.jobs):
        return None
    scopes = [f"{OUT}/{name}/{job.namespace}/{job.name}" for name, jobs in outcome.jobs.items() for job in jobs]
    todo = plan(root, outcome.files, scopes, is_same=cache.is_same)
    return None if todo.create or todo.remove or todo.blocked or todo.leftovers else todo


def _plan(
    request: Request, outcome: Outcome, folders: tuple[str, ...], there: Mapping[str, Kind], cache: RunCache | None
) -> Plan:
    is_same = None if cache is None else cache.is_same
    if request.is_whole:
        wanted = {**outcome.files, **deployment_files(request.config, outcome)}
        return plan(request.root, wanted, folders, folders, is_same, there=there)
    return plan(request.root, outcome.files, tuple(dict.fromkeys(_scopes(request, outcome))), is_same=is_same)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=sort_key))


def _job_path(root: Path, path: str) -> str:
    name = name_below(root, Path.cwd(), path)
    if name is None or name.partition("/")[0] != JOBS:
        raise click.BadParameter(f"{path!r} is not below {JOBS}/ of {root}", param_hint="'PATH'")
    return name


def _scopes(request: Request, outcome: Outcome) -> Iterator[str]:
    """Yield the folders of out/ that the given parts of jobs/ decide alone: never what jobs of a namespace share."""
    if JOBS in request.names:
        yield from (f"{OUT}/{environment}" for environment in outcome.jobs)
        return
    # jobs/<namespace> decides what is in its namespace, unless others lead there; a file no more than its own jobs.
    homes = [name.partition("/")[2] for name in request.names if name.count("/") == 1]
    for environment, jobs in outcome.jobs.items():
        namespaces = read_settings(request.config.data, environment).namespaces
        for home in homes:
            if _decides(request.root, home, namespaces):
                yield from _job_folders(request.root, f"{OUT}/{environment}/{namespaces.get(home, home)}")
        yield from (f"{OUT}/{environment}/{job.namespace}/{job.name}" for job in jobs)


def _decides(root: Path, home: str, namespaces: Mapping[str, str]) -> bool:
    """Return whether no other folder of jobs/ has jobs for the namespace of this one."""
    namespace = namespaces.get(home, home)
    others = (other for other in (*namespaces, namespace) if other != home and (root / JOBS / other).is_dir())
    return all(namespaces.get(other, other) != namespace for other in others)


def _job_folders(root: Path, folder: str) -> Iterator[str]:
    """Yield the folders of jobs in a folder of out/."""
    inside = (root / folder).iterdir() if (root / folder).is_dir() else ()
    names = (one.name for one in sorted(inside) if one.is_dir() and not one.is_symlink())
    return (f"{folder}/{name}" for name in names if name != FOLDER)
