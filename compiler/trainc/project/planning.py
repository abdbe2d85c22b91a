"""Plans the changes of out/ and of the folders beside it, for `render` and `diff`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from trainc.basics.jsonvalues import JsonObject
from trainc.findings import Finding, Severity, Silenced, has_errors, report, sort_key
from trainc.gitops.argocd import Tree
from trainc.gitops.flux import kustomization
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import deployment_folders, read_settings, settings_of_all
from trainc.inputs.source import Document, Source
from trainc.pipeline.compile import Watch
from trainc.pipeline.content import Job, bytes_of, compressed
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor
from trainc.pipeline.layout import argocd_files, flux_files
from trainc.project.config import CODE, Config
from trainc.project.environments import Outcome, Uncached, compile_for, read_others, with_empty
from trainc.project.files import Kind
from trainc.project.foreign import foreign_files, kept_applications
from trainc.project.links import has_link, leads_to_folder, top_of
from trainc.project.missing import left_out
from trainc.project.names import CONFIG, JOBS, OUT, all_parents
from trainc.project.read import merge, read_tree
from trainc.project.write import Plan, kind_of, look, plan


class Request(msgspec.Struct, frozen=True, eq=False):
    """The jobs and environments to render: jobs/ or names below it; ``is_whole`` for all jobs and environments."""

    root: Path
    names: tuple[str, ...]
    config: Config
    environments: tuple[str, ...]
    is_whole: bool


class Planned(msgspec.Struct, frozen=True, eq=False):
    """The findings of a run, and its plan unless a finding fails the run.

    ``platform`` are the sources besides jobs/, ``foreign`` the files below out/ that are not trainc's.
    """

    findings: tuple[Finding, ...]
    plan: Plan | None
    platform: tuple[Source, ...]
    silenced: tuple[Silenced, ...] = ()
    foreign: frozenset[str] = frozenset()


class Compressing(Uncached):
    """Compiles without a cache, which would have the bytes of files, and keeps these compressed until the end."""

    def executor(self, environment: str, inner: Executor) -> Executor:
        """Return an executor whose jobs have compressed files."""

        def execute(context: Context, documents: Iterable[Document]) -> Iterator[Job]:
            for job in inner(context, documents):
                files = tuple((name, compressed(bytes_of(content))) for name, content in job.files)
                yield msgspec.structs.replace(job, files=files)

        return execute


def plan_request(
    request: Request,
    findings: tuple[Finding, ...],
    fails: Callable[[Iterable[Finding]], bool],
    cache: Uncached | None,
    execute: Executor,
    *,
    watch: Watch = iter,
) -> Planned:
    """Read, compile and compare with out/; ``findings`` are those of trainc.yaml. Raises Changed."""
    root, config = request.root, request.config
    cache = cache or Compressing(root)
    platform = read_others(root, request.names, config)
    inputs = merge([*(read_tree(root, name, cache.read) for name in request.names), platform])
    partly = None if JOBS in request.names else platform.sources
    written = deployment_folders(settings_of_all(config.data).values()) if request.is_whole else ()
    folders = (OUT, *written)
    if written:
        findings = (*findings, *in_another_folder(root, config))
    outcome = compile_for(
        inputs, config, request.environments, findings, partly=partly, cache=cache, execute=execute, watch=watch
    )
    found = with_empty(outcome, root, request.names)
    if request.is_whole:  # Argo CD applies what git has
        found = (*found, *left_out(root, OUT))
    there = look(root, folders)
    todo = None
    if not fails(found) and request.is_whole:
        of_flux = _flux_files(config, outcome)
        beside_out = {**argocd_files(trees(config, outcome)), **of_flux}
        wanted = {**outcome.files, **beside_out}
        todo = plan(root, wanted, folders, folders, cache.is_same, there=there)
    elif not fails(found):
        todo = plan(root, outcome.files, tuple(dict.fromkeys(_scopes(request, outcome))), is_same=cache.is_same)
    others = outcome.rules.settle(foreign_files(root, there, todo, config.data))
    beside = (document.source for document in (config.document, config.lock.document) if document is not None)
    sources = (*platform.sources, *beside)
    if todo is None:
        return Planned(_sorted((*found, *others)), None, sources, outcome.silenced)
    errors = [finding for finding in others if has_errors((finding,))]  # they keep anything from being written
    notes = [finding for finding in others if not has_errors((finding,))]
    todo = msgspec.structs.replace(todo, blocked=_sorted((*todo.blocked, *errors)))
    return Planned(_sorted((*found, *notes)), todo, sources, outcome.silenced, _foreign(there, todo, config))


def _foreign(there: Mapping[str, Kind], todo: Plan, config: Config) -> frozenset[str]:
    """Return the other files, without those that git's index decides on, so that the cache has no result with one."""
    ours = todo.written | todo.removed
    found = [name for name, kind in there.items() if kind is Kind.FILE and name not in ours]
    folders = {"", *all_parents(todo.written)} if found else set()
    folder_of = kept_applications(config.data)
    return frozenset(name for name in found if folder_of(name) in folders)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=sort_key))


def _scopes(request: Request, outcome: Outcome) -> Iterator[str]:
    """Yield the folders of out/ that depend on the selected jobs alone, never those that jobs share."""
    if JOBS in request.names:
        yield from (f"{OUT}/{environment}" for environment in outcome.jobs)
        return
    # jobs/<namespace> covers its whole namespace, unless other folders map to it; a file covers its own jobs.
    homes = [name.partition("/")[2] for name in request.names if name.count("/") == 1]
    below = tuple(f"{name}/" for name in request.names)
    for environment, jobs in outcome.jobs.items():
        settings = read_settings(request.config.data, environment)
        for home in homes:
            namespace = settings.namespaces.get(home, home)
            others = (f"{JOBS}/{other}" for other in settings.sharing(home))
            if any(has_link(request.root, other) or leads_to_folder(request.root / other) for other in others):
                continue
            folder = f"{OUT}/{environment}/{namespace}"
            is_there = not has_link(request.root, folder) and kind_of(f"{request.root}/{folder}") is Kind.FOLDER
            for job in sorted(os.listdir(request.root / folder)) if is_there else ():
                if job != FOLDER and kind_of(f"{request.root}/{folder}/{job}") is Kind.FOLDER:
                    yield f"{folder}/{job}"
        chosen = (job for job in jobs if f"{job.document.source.name}/".startswith(below))
        yield from (f"{OUT}/{environment}/{job.namespace}/{job.name}" for job in chosen)


def trees(config: Config, outcome: Outcome) -> tuple[Tree, ...]:
    """Return the tree of each environment that Argo CD syncs."""
    found = (
        Tree.of(name, read_settings(config.data, name), made, _folders(outcome.jobs.get(name, ())))
        for name, made in outcome.made.items()
    )
    return tuple(tree for tree in found if tree.settings.target == "argocd")


def _folders(jobs: Iterable[Job]) -> Iterator[str]:
    """Yield the folder of jobs/ of each job."""
    for job in jobs:
        top, _, name = job.document.source.name.partition("/")
        if top == JOBS:
            yield name.partition("/")[0]


def kustomizations(config: Config, outcome: Outcome) -> tuple[tuple[str | None, JsonObject], ...]:
    """Return the Kustomization of every job that Flux applies, with the folder to write it to, if any."""
    found: list[tuple[str | None, JsonObject]] = []
    for name in outcome.jobs:
        options = read_settings(config.data, name)
        folders = sorted({path.rpartition("/")[0] for path in outcome.files if path.startswith(f"{OUT}/{name}/")})
        if options.target == "flux":
            found += ((options.flux.write or None, kustomization(folder, options)) for folder in folders)
    return tuple(found)


def _flux_files(config: Config, outcome: Outcome) -> dict[str, bytes]:
    folders = {each.flux.write for each in settings_of_all(config.data).values() if each.flux.write}
    settings = read_settings(config.data, config.environments[0])
    return flux_files(kustomizations(config, outcome), settings, sorted(folders))


def in_another_folder(root: Path, config: Config) -> tuple[Finding, ...]:
    """Return a warning if trainc.yaml is not in the folder of the git repository that it names."""
    root, named = root.resolve(), config.data.get("folder", "")
    top = top_of(root)
    actual = "/".join(root.relative_to(top).parts) if top is not None else named
    if actual == named:
        return ()
    document = config.document or Document(Source(CONFIG, b""), {})
    path, place = ("folder",) if named else (), f"folder {actual}" if actual else "the top folder"
    message = f"trainc.yaml is in {place} of the git repository, so Argo CD and Flux would look for out/ elsewhere"
    expected = f"folder: {actual}" if actual else "no folder"
    return (report(CODE, document, path, message, severity=Severity.WARNING, expected=expected),)
