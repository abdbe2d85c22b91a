"""The jobs of an environment, and findings on their names, on names in its options, and on clusters of several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from trainc.admission.base_revision import Identity, identify, no_longer_emitted
from trainc.basics.jsonvalues import JsonObject, Path, as_object, existing, get
from trainc.basics.memo import keeping
from trainc.basics.regex import lazy
from trainc.basics.starts import Starts
from trainc.documents.load import load
from trainc.findings import Finding, Related, Severity, report
from trainc.gitops.argocd import IN_CLUSTER, IN_CLUSTER_NAME, allowed_namespaces, cluster_name, project_of
from trainc.gitops.base import NOT_APPLIED, Pass, job_name_path, not_allowed, sync_obstacles
from trainc.gitops.flux import kustomization_name
from trainc.gitops.images import rewritten
from trainc.gitops.namespaces import names_in
from trainc.gitops.naming import DeployedJob
from trainc.gitops.patches import patch_position
from trainc.gitops.pods import Summary
from trainc.gitops.runtime_resources import FOLDER, Shared
from trainc.inputs.options import Options
from trainc.inputs.settings import Destination, Settings, is_among, read_settings, settings_of_all
from trainc.inputs.source import Document
from trainc.plugins.model import Findings, Model, Objects
from trainc.plugins.origins import report_at

_NAME: Path = ("metadata", "name")
UNKNOWN: Final = "TC613"
_FOLDER: Final = "folder"
_WORD: Final = lazy("[-a-z0-9]+")
"""What may be the name of a namespace."""

_SERVICE: Final = "Service"
_SUBDOMAIN: Final = "remove network.subdomain from the runtime, so that each JobSet has a Service of its own"


def is_included(job: Document, settings: Settings) -> bool:
    """Return whether the environment's patterns, which match the namespace below jobs/, include a TrainJob."""
    home, name = (str(get(job.data, "metadata", key)) for key in ("namespace", "name"))
    return settings.takes(home, name)


def name_collisions(jobs: Iterable[DeployedJob], shared: Iterable[Shared], options: Options) -> tuple[Finding, ...]:
    """Return a finding for each job that has the name of another in the cluster, or an object of that name.

    Any number of jobs may have one Service, so it is reported once. ``shared`` may be in namespaces without jobs.
    """
    first: dict[tuple[str, str, str], Document] = {}
    services: set[tuple[str, str]] = set()
    jobs = sorted(jobs, key=lambda job: (job[0], job[1], job[2].source.name, job[2].index))
    found = list(_same_kustomization(jobs, shared, options)) if options.settings.target == "flux" else []
    for job in jobs:
        document = job.document
        names = (("name", job.name), *((("JobSet", job.jobset),) if job.jobset else ()), *job.created)
        # The first, since jobs with the same name also have the same JobSet, and all that it creates.
        for what, name in names:
            other = first.setdefault((what, job.namespace, name), document)
            if other is document or (what == _SERVICE and (job.namespace, name) in services):
                continue
            path, position = (_NAME if what == "name" else job_name_path(each) for each in (document, other))
            message = f"another job of environment {options.environment} has the same {what} {job.namespace}/{name}"
            mild = what == _SERVICE or (options.faithful and (what, name) in job.created)
            related = (Related("the other job", other, position),)
            finding = report(
                "TC602",
                document,
                path,
                message,
                severity=Severity.WARNING if mild else None,
                found=name,
                hint=_SUBDOMAIN if what == _SERVICE else None,
                related=related,
            )
            found.append(finding)
            if what != _SERVICE:
                break
            services.add((job.namespace, name))
    return tuple(found)


def _same_kustomization(jobs: Iterable[DeployedJob], shared: Iterable[Shared], options: Options) -> Iterator[Finding]:
    """Yield a finding for each folder of out/ whose shortened name is that of another one, of any namespace."""
    first: dict[str, tuple[str, Document]] = {}
    folders = [(one.namespace, FOLDER, one.document) for one in shared]
    folders += [(job.namespace, folder, job.document) for job in jobs for folder in (job.name, FOLDER)]
    for namespace, folder, document in folders:
        place, name = f"{namespace}/{folder}", kustomization_name(options.environment, namespace, folder)
        other, owner = first.setdefault(name, (place, document))
        if other != place:
            message = f"{place} has the same Kustomization {name} in environment {options.environment} as {other}"
            related = (Related("the other one", owner, _NAME),)
            yield report("TC602", document, _NAME, message, found=name, related=related)


def patches_without_target(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> tuple[Finding, ...]:
    """Return a warning for each patch that matches no object in any environment that has it.

    ``by_environment`` has every environment with its objects. Environments without objects are ignored.
    """
    unused: dict[Path, Finding] = {}
    used: set[Path] = set()
    for options, summaries in by_environment:
        objs = tuple(summaries)
        for number, patch in enumerate(options.settings.patches if objs else ()):
            if (where := patch_position(options, number, "target")) is None:
                continue
            if any(patch.matches(one.kind, one.namespace, one.plain) for one in objs):
                used.add(where[1])
            else:
                own = where[1][0] == "environments"
                place = f"environment {options.environment}" if own else "any environment that has it"
                message = f"patch matches no {patch.target.kind} in {place}"
                unused[where[1]] = report("TC606", *where, message)
    return tuple(finding for path, finding in unused.items() if path not in used)


def unknown_names(
    jobs: Iterable[Document], runtimes_in_use: Iterable[Document], options: Options
) -> tuple[Finding, ...]:
    """Return a warning for each name in the options that no TrainJob has; none if there are no jobs.

    The names are patterns of ``jobs``, and the keys of ``namespaces`` and ``runtimes``. Documents in the files of jobs
    and runtimes may name further namespaces: companions, affinities, and subjects of RoleBindings.
    """
    jobs = tuple(jobs)
    settings, document = options.settings, options.config_document
    if not jobs or document is None:
        return ()
    homes = {str(get(job.data, "metadata", "namespace")) for job in jobs}
    runtimes = {str(get(job.data, "spec", "runtimeRef", "name")) for job in jobs}
    wrong: list[tuple[Path, str, str]] = []
    names = ((str(get(job.data, "metadata", key)) for key in ("namespace", "name")) for job in jobs)
    matching = {pattern for home, name in names for pattern in settings.patterns_of(home, name)}
    for index, pattern in enumerate(settings.jobs):
        if pattern not in matching:
            wrong.append((("jobs", index), pattern, f"pattern {pattern!r} matches no TrainJob"))
    elsewhere = dict.fromkeys(name for name in settings.namespaces if name not in homes)
    sources = {document.source for document in (*jobs, *runtimes_in_use)} if elsewhere else ()
    having = (source for source in sources if not elsewhere.keys().isdisjoint(_WORD.findall(source.decoded())))
    named = {name for source in having for each in load(source)[0] for name in names_in(each.data)}
    unknown = [name for name in elsewhere if name not in named]
    wrong += [(("namespaces", name), name, f"no TrainJob is in namespace {name}") for name in unknown]
    replaced = [name for name in settings.runtimes if name not in runtimes]
    wrong += [(("runtimes", name), name, f"no TrainJob uses runtime {name}") for name in replaced]
    return tuple(
        report(UNKNOWN, document, (*where, *path[1:]), message, found=name)
        for path, name, message in wrong
        if (where := options.path_of(str(path[0]))) is not None
    )


def unused_registries(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> tuple[Finding, ...]:
    """Return a warning for each key of ``registries`` that no image starts with, in any environment that has it.

    ``by_environment`` has every environment with its objects, whose images have been rewritten. Environments without
    images are ignored.
    """
    unused: dict[Path, Finding] = {}
    used: set[Path] = set()
    for options, summaries in by_environment:
        settings, where = options.settings, options.path_of("registries")
        images = {image for one in summaries for image in one.images} if settings.registries else set()
        if where is None or options.config_document is None or not images:
            continue
        keys = Starts((replacement, key) for key, replacement in settings.registries.items())
        found: set[str] = set()
        for image in images:
            left = (key for key in keys.of(image, by_step=False) if key not in found)
            for key in left:  # an image that starts with the replacement may come from another entry, or from none
                if rewritten(key + image.removeprefix(settings.registries[key]), settings.registries) == image:
                    found.add(key)
        for key in settings.registries:
            path = (*where, key)
            if key in found:
                used.add(path)
            else:
                unused[path] = report(UNKNOWN, options.config_document, path, f"no image starts with {key}", found=key)
    return tuple(finding for path, finding in unused.items() if path not in used)


def written_twice(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> tuple[Finding, ...]:
    """Return a finding for each environment that has the objects of another one in the same cluster.

    These are objects that it writes, and those that JobSet's controller creates for it. It is a warning if the cluster
    follows only from the folder to which the objects of Argo CD or Flux are written, or if only Services are shared.
    """
    clusters: dict[tuple[str, ...], list[tuple[Options, Iterable[Summary]]]] = {}
    for options, summaries in by_environment:
        if cluster := cluster_of(options.settings):
            clusters.setdefault(cluster, []).append((options, summaries))
    found = []
    for cluster, environments in clusters.items():
        first: dict[Identity, Options] = {}
        for options, summaries in environments if len(environments) > 1 else ():
            shared: dict[str, list[Summary]] = {}
            for each in summaries:
                for one in (each, *each.of_created()):
                    other = first.setdefault(one.identity, options)
                    if other is not options:
                        shared.setdefault(other.environment, []).append(one)
                        if one is each:  # JobSets of one name create the same
                            break
            found += [_shared(options, other, objs, cluster) for other, objs in shared.items()]
    return tuple(found)


def made_together(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> Mapping[str, Set[Identity]]:
    """Return for each environment the objects of all that are in its cluster, as far as trainc.yaml says so."""
    clusters: dict[tuple[str, ...], set[Identity]] = {}
    found = {}
    for options, made in by_environment:
        cluster = cluster_of(options.settings) or (options.environment,)
        found[options.environment] = clusters.setdefault(cluster, set())
        found[options.environment].update(each.identity for each in made)
    return found


def left_running(
    by_environment: Sequence[tuple[Options, Collection[Summary]]], together: Mapping[str, Set[Identity]]
) -> Iterator[Finding]:
    """Yield a warning for each namespace in which something is removed and that argocd.namespaces no longer lists.

    ``together`` comes from ``made_together``. Argo CD deletes nothing there once it has applied the AppProject, which
    was first in each case that was tried.
    """
    allowed = allowed_namespaces({options.environment: options.settings for options, _ in by_environment})
    for options, made in by_environment:
        revision, environment = options.base, options.environment
        was = _settings_of_all(revision.config).get(environment) if revision is not None else None
        if revision is None or was is None or was.target != "argocd" or was.argocd.on_delete != "stop":
            continue
        project, cluster = project_of(environment, was)
        if project not in allowed:
            continue
        still, single = allowed[project].get(cluster, ()), not options.settings.argocd.per_namespace
        remaining = {(each.namespace, single and each.plain) for each in made if each.kind == "JobSet"}
        lost: dict[str, Document] = {}
        kinds = ("JobSet", "RoleBinding")  # what runs on, and who keeps rights
        emitted = (each.identity for each in made)
        gone = no_longer_emitted(revision, environment, kinds, emitted, together[environment])
        for old in sorted(gone, key=lambda old: old.data["kind"] != "JobSet"):
            *_, folder, _ = old.source.name.split("/")
            namespace = identify(old.data)[2]
            if (namespace, single and folder) not in remaining and not is_among(namespace, still):
                lost.setdefault(namespace, old)
        for namespace, old in sorted(lost.items()):
            document, path = options.config_document, ("environments", environment)
            assert document is not None, "Argo CD's settings come from trainc.yaml"
            left = "jobs running" if old.data["kind"] == "JobSet" else "RoleBindings"
            effect = f"Argo CD may leave its removed {left}"
            message = f"AppProject {project[1]} no longer allows namespace {namespace}: {effect}"
            hint = "remove them in a commit that is applied before"
            related = (Related(f"at {revision.name}", old, ("metadata", "name")),)
            yield report("TC616", document, existing(document.data, path), message, hint=hint, related=related)


def kept_by_removed(options: Options) -> Iterator[str]:
    """Yield the removed environments whose objects stay in the cluster of this one.

    The Applications of this environment take them over (onDelete: keep), as after it was renamed.
    """
    cluster = cluster_of(options.settings)
    if cluster and options.base is not None:
        found = _kept(options.base.config).get(cluster, ())
        now = as_object(options.config.get("environments"))
        yield from (name for name in found if name not in now and name != options.environment)


def left_by(job: Document, options: Options) -> Iterator[str]:
    """Yield the environments that a job has left, and whose objects of it stay in the cluster of this one."""
    cluster = cluster_of(options.settings)
    if cluster and options.base is not None:
        before, now = (_settings_of_all(config) for config in (options.base.config, options.config))
        for name in _kept(options.base.config).get(cluster, ()):
            is_pruned = before[name].tool.per_namespace  # by an Application that may remain
            if name in now and not is_pruned and not is_included(job, now[name]):
                yield name


def in_cluster(options: Options) -> Iterator[str]:
    """Yield the environments of the base whose objects are in the cluster of this one: not itself if that is another.

    Without a destination, the cluster is known only if the Applications are trainc's.
    """
    base = options.settings if options.base is None else read_settings(options.base.config, options.environment)
    now, was = destination_of(options.settings), destination_of(base)
    unknown = base.destination == Destination() and not base.argocd.repo_url
    if now == was or unknown or "" in (now, was):
        yield options.environment
    yield from kept_by_removed(options)


def destination_of(settings: Settings) -> str:
    """Return the name or address of the cluster of an environment. With Flux, trainc.yaml does not say."""
    return "" if settings.target == "flux" else cluster_name(settings)


_settings_of_all: Final = keeping(settings_of_all)


@keeping  # settings are read once for all environments
def _kept(config: JsonObject) -> Mapping[tuple[str, ...], list[str]]:
    """Return the environments with onDelete: keep by their cluster."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, was in _settings_of_all(config).items():
        if was.tool.on_delete == "keep":
            found.setdefault(cluster_of(was), []).append(name)
    return found


def cluster_of(settings: Settings) -> tuple[str, ...]:
    """Return what identifies the cluster of an environment; nothing if trainc.yaml does not say."""
    to, tool, by_argocd = settings.destination, settings.tool, settings.target == "argocd"
    if by_argocd and to.server.rstrip("/") not in ("", IN_CLUSTER):
        return "server", to.server.rstrip("/")
    if by_argocd and to.name not in ("", IN_CLUSTER_NAME):  # another Argo CD may know another cluster by this name
        return "name", tool.namespace, to.name
    return (_FOLDER, tool.write) if tool.write else ()


def _shared(options: Options, other: str, objs: list[Summary], cluster: tuple[str, ...]) -> Finding:
    """Return the finding for objects that another environment has in the same cluster."""
    document, path = options.config_document, ("environments", options.environment)
    assert document is not None, "several environments come from trainc.yaml"
    kind, *_, name = cluster
    objs = sorted(objs, key=lambda obj: obj.kind == _SERVICE)
    mild = kind == _FOLDER or objs[0].kind == _SERVICE
    more = f" and {len(objs) - 1} more" if len(objs) > 1 else ""
    where = f", and what applies {name} applies both" if kind == _FOLDER else f" in cluster {name}"
    shown = f"{objs[0].kind} {objs[0].namespace}/{objs[0].name}{more}"
    return report(
        "TC614",
        document,
        (*path, "destination") if get(document.data, *path, "destination") is not None else path,
        f"environments {other} and {options.environment} both have {shown}{where}",
        severity=Severity.WARNING if mild else None,
        found=name,
        related=(Related("the other environment", document, ("environments", other)),),
    )


def jobs_without_environment(excluded: Iterable[Iterable[Document]]) -> tuple[Finding, ...]:
    """Return a note for each TrainJob that all environments exclude."""
    sets = [{(job.source.name, job.index): job for job in jobs} for jobs in excluded]
    everywhere = set.intersection(*(set(jobs) for jobs in sets)) if sets else set()
    return tuple(
        report("TC603", sets[0][key], _NAME, "no environment includes this job, so it is not compiled")
        for key in sorted(everywhere)
    )


def check(model: Model) -> Findings:
    """Refuse a job in a namespace that argocd.namespaces does not name."""
    return not_allowed(model.job, _NAME, model.namespace, model.options)


def check_objects(model: Model, objects: Objects) -> Iterator[Finding]:
    """Refuse objects that Argo CD or Flux would not apply, or create again."""
    names = (model.job.source.name, model.runtime.source.name)
    for obj in objects:
        for path, message in sync_obstacles(obj.data, model.options.settings, names):
            yield report_at(NOT_APPLIED, model, obj, path, f"{obj.kind} {obj.name}: {message}")


SYNC: Final = Pass("sync", check=check, check_objects=check_objects)
