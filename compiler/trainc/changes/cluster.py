"""Sentences about what the cluster does with a changed job. They were tested with Argo CD 3.5."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from trainc.admission.update import IF_SUSPENDED
from trainc.basics.differences import comparable
from trainc.basics.jsonvalues import Json, JsonObject, as_object
from trainc.changes.applications import Applications, application
from trainc.changes.model import Difference, Directory, Effect, FieldChange, JobChange, ObjectChange, Usage
from trainc.changes.trees import Tree, directories
from trainc.findings.display import counted
from trainc.gitops.argocd import Allowed, allowed_namespaces, project_of
from trainc.gitops.base import FLUX_PREFIX, SYNC_OPTIONS, sync_options
from trainc.gitops.environment import cluster_of
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import Settings, is_among
from trainc.upstream import RUN

_NO_SYNC: Final = (Effect.REFUSED, Effect.HELD, Effect.COMMENTS, Effect.UNREADABLE)
_CLAIM: Final = "PersistentVolumeClaim"
IGNORED: Final = "argocd.argoproj.io/compare-options IgnoreExtraneous"
"""The option of an object whose removal alone does not make its application OutOfSync, so that no sync starts (Argo CD
3.5 controller/state.go)."""

_SAFEGUARDS: Final = {
    "argocd": frozenset((f"{SYNC_OPTIONS} Prune=false", f"{SYNC_OPTIONS} Delete=false")),
    "flux": frozenset((f"{FLUX_PREFIX}prune disabled",)),
}
"""The options of an object that protect it from deletion, by the tool that reads them."""

_REPLACING: Final = {
    "argocd": ("argocd.argoproj.io/", "Force=true"),
    "flux": (f"{FLUX_PREFIX}force enabled", "force: enabled"),
}
"""How options begin with which a tool may create an object again, and an example."""

_MERGED: Final = re.compile(r"spec\.replicatedJobs\[[^]]*\]\.template\.spec\.template\.(?:metadata|spec)\.(\w+)")
_MERGED_LISTS: Final = ("schedulingGates", "tolerations")
"""What JobSet merges into the Jobs of a JobSet that it resumes: fields of their pods, and which of them are lists."""

_OF_NEW_JOBS: Final = re.compile(r"spec\.(coordinator|volumeClaimPolicies)\b")
_PLACEMENT: Final = "alpha.jobset.sigs.k8s.io/"
"""What JobSet reads only when it creates Jobs: fields, and how annotations begin."""

NEW_RUN: Final = f"To apply the change, set the annotation {RUN} in the TrainJob: a new run starts from the beginning."
"""The advice about a refused change."""


TAKEN: Final = (
    "The JobSet was that of another job in the application: it is neither created nor pruned. What cannot change in"
    " place is refused."
)


def files_outside(chosen: Collection[Directory], tree: Tree) -> Tree:
    """Return the files of a tree in other directories than those chosen."""
    return {
        f"out/{directory}/{file}": content
        for directory, files in directories(tree).items()
        if directory not in chosen
        for file, content in files.items()
    }


def with_sentences(jobs: Collection[JobChange], applications: Applications) -> Iterator[JobChange]:
    """Yield the jobs with sentences about what the cluster does."""
    settings_of = applications.settings_of
    gone = [job for job in jobs if job.old_name and job.effect in (Effect.DELETED, Effect.RERUN, Effect.RENAMED)]
    given_up, removed = _given_up(gone, applications), _removed_jobsets(gone, settings_of)
    by_argocd = {name: each for name, each in applications.now.items() if each.target == "argocd"}
    allowed = allowed_namespaces(by_argocd)
    for job in jobs:
        (environment, namespace, _), own = job.directory, settings_of[job.directory]
        of_removed = applications.settings_of_removed(job.renamed_from or job.directory)
        found = _sentences(job, own, of_removed, by_argocd.get(environment), allowed)
        if (job.application, namespace, job.name) in given_up:
            untrue = {Effect.CREATED: 1, Effect.RENAMED: 2 if job.name == job.old_name else 1}.get(job.effect, 0)
            found = (TAKEN, *found[untrue:])
        elif job.effect is Effect.CREATED and (origin := removed.get((cluster_of(own), namespace, job.name))):
            found = _taken_over(job, origin, settings_of[origin.directory], found)
        yield replace(job, cluster=found)


def _given_up(gone: Collection[JobChange], applications: Applications) -> set[tuple[str, str, str]]:
    """Return the JobSets that jobs no longer have: application, namespace and name."""
    were = ((job.renamed_from or job.directory, job.old_name) for job in gone)
    return {(applications.name(directory), directory.namespace, name) for directory, name in were}


def _removed_jobsets(
    gone: Collection[JobChange], settings: Mapping[Directory, Settings]
) -> dict[tuple[tuple[str, ...], str, str], JobChange]:
    """Return the jobs that no longer have a JobSet by its cluster, if trainc.yaml says which, namespace and name."""
    found = {}
    for job in gone:
        if cluster := cluster_of(settings[job.directory]):
            found[cluster, (job.renamed_from or job.directory).namespace, job.old_name] = job
    return found


def _taken_over(job: JobChange, origin: JobChange, was: Settings, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sentences about a new job whose JobSet was that of another one, such as of another environment."""
    home = origin.renamed_from or origin.directory
    if was.tool.on_delete != "keep" or not origin.last:  # an application that remains prunes it
        both = f"both mean JobSet {job.name}, so it may be gone afterwards"
        return (*found, f"This application and that of {home} sync in no fixed order: {both}.")
    stays = f"JobSet {job.name} of {home} stays in the cluster (onDelete: keep), and this application takes it over"
    return (f"{stays}: its pods keep running. What cannot change in place is refused.", *found[1:])


def _sentences(
    job: JobChange, settings: Settings, of_removed: Settings, later: Settings | None, allowed: Allowed
) -> tuple[str, ...]:
    """Return sentences about the reaction of the cluster to a change, the most important first.

    ``settings`` are those that decide about the job, ``of_removed`` those about what it was renamed from, and ``later``
    those of its environment after the change, if Argo CD still has it. ``allowed`` is what all AppProjects allow then.
    """
    found = [*_of_effect(job, settings, of_removed), *_of_objects(job, settings)]
    if of_removed.target == "argocd":
        found += _of_argocd(job, of_removed, later, allowed)
    is_removed = job.effect is Effect.DELETED and job.last  # no sync removes an application
    if not settings.tool.automated and not is_removed and job.effect not in _NO_SYNC:
        what = "created" if job.effect is Effect.RENAMED else "applied"
        found.append(f"Nothing is {what} until you sync the application.")
    return tuple(found)


def _of_argocd(job: JobChange, was: Settings, later: Settings | None, allowed: Allowed) -> Iterator[str]:
    """Yield sentences about what only Argo CD has: an order in which it applies its own objects, and its options."""
    old, new = was.argocd.on_delete, (later or was).argocd.on_delete
    if old != new and job.last and _removes_jobset(job):
        effect = "the JobSet stays, and a running job continues" if new == "keep" else "a running job is stopped"
        yield f"onDelete changes from {old} to {new} in the same commit: if Argo CD applies that first, {effect}."
    yield from _of_project(job, was, allowed)
    if not job.last:
        yield from job.pruned_later


def _of_project(job: JobChange, was: Settings, allowed: Allowed) -> Iterator[str]:
    """Yield a sentence if the same commit makes the AppProject forget what is removed.

    Argo CD deletes nothing that the AppProject does not allow. One that is removed remains until its Applications are
    gone.
    """
    home = job.renamed_from or job.directory
    key, cluster = project_of(home.environment, was)
    if key not in allowed:
        return
    _, project = key
    if _is_deleted(job, was) and not is_among(home.namespace, allowed[key].get(cluster, ())):
        left = "the JobSet stays, and a running job continues" if job.old_name else "the objects stay in the cluster"
        effect = f"before it deletes the application, {left}"
        yield f"AppProject {project} no longer allows namespace {home.namespace}: if Argo CD applies it {effect}."
    elif _may_leave_kinds(job, was):
        kinds, effect = ", ".join(job.last_kinds), "before it deletes these objects, they stay in the cluster"
        yield f"AppProject {project} no longer allows {kinds}: if Argo CD applies it {effect}."


def _is_deleted(job: JobChange, was: Settings) -> bool:
    """Return whether Argo CD deletes the JobSet of a job, or the shared objects of a namespace."""
    is_removed = _removes_jobset(job) or (job.directory.job == FOLDER and job.effect is Effect.DELETED)
    return is_removed and was.argocd.on_delete == "stop"


def _may_leave_kinds(job: JobChange, was: Settings) -> bool:
    """Return whether the same commit makes the AppProject forget kinds of removed objects."""
    is_removed = job.effect in (Effect.DELETED, Effect.RENAMED) and job.last
    is_kept = job.effect in _NO_SYNC or (is_removed and was.argocd.on_delete == "keep")
    return not is_kept and bool(job.last_kinds)


def _removes_jobset(job: JobChange) -> bool:
    """Return whether a job is removed, and with it a JobSet that no annotation keeps."""
    return job.effect in (Effect.DELETED, Effect.RENAMED) and bool(job.old_name) and not _keeps_jobset(job)


def _of_effect(job: JobChange, settings: Settings, of_removed: Settings) -> Iterator[str]:
    match job.effect:
        case Effect.CREATED:
            yield f"JobSet {job.name} is created{_start(job)}." if job.name else "The objects are created."
        case Effect.UPDATED | Effect.COMMENTS:
            yield from _of_update(job, settings, of_removed)
        case Effect.RERUN:
            yield f"{_removed(job, of_removed)} {job.name} is created{_start(job)}."
            if not _keeps_jobset(job) and not (job.last and of_removed.tool.on_delete == "keep"):
                yield "The new JobSet is created while the pods of the old one terminate: for a moment both exist."
        case Effect.RENAMED:
            yield f"JobSet {job.name} is created{_start(job)}."
            yield _removed(job, of_removed)
            origin = job.renamed_from or job.directory
            if job.application != application(origin, of_removed):
                is_one = job.name == job.old_name and origin.namespace == job.directory.namespace
                both = "both jobs may run, and need resources, at once"
                both = f"both mean JobSet {job.name}, so it may be gone afterwards" if is_one else both
                yield f"The two applications sync in no fixed order: {both}."
        case Effect.DELETED:
            yield _removed(job, of_removed)
        case Effect.REFUSED:
            yield from _refused(job, settings)
        case Effect.HELD:
            yield f"Held back: Argo CD stops syncing application {job.application} because of another job in it."
        case Effect.KEPT:
            yield "The objects stay in the cluster because of their annotations."
        case Effect.UNREADABLE:
            yield "The files cannot be compared: the findings say why. 'trainc render' writes them again."


def _of_update(job: JobChange, settings: Settings, of_removed: Settings) -> Iterator[str]:
    is_kept = of_removed.tool.on_delete == "keep" or (of_removed.target == "flux" and not of_removed.flux.write)
    if job.last and job.name and job.old_name and not is_kept:  # its application is replaced by another one
        yield f"{_removed(job, of_removed)} {job.name} is created{_start(job)}."
    elif job.effect is Effect.COMMENTS:
        yield "No object changes, only comments in files."
        if job.directory.job != FOLDER and settings.target == "argocd" and settings.argocd.automated:
            yield "If the JobSet was deleted from the cluster, it is created again, and the job runs again."
    else:
        may_run = job.had_ttl and job.name and not _is_suspended(job)
        again = " If its TTL has deleted it, it is created again, and the job runs again."
        yield _updated(job, settings) + (again if may_run else "")
        yield from _of_existing_jobs(job)


def _start(job: JobChange) -> str:
    if not job.after.pods:
        return ", suspended: no pod starts" if _is_suspended(job) else ""
    amount = amounts(job.after)
    return f" and waits in queue {job.queue} for {amount}" if job.queue else f" and starts {amount}"


def _is_suspended(job: JobChange) -> bool:
    return job.after.jobs > 0 and not job.after.pods and any(each.pods for each in job.replicated_jobs)


def amounts(usage: Usage) -> str:
    """Return the number of pods and GPUs."""
    pods, gpus = counted(usage.pods, "pod"), usage.gpu_count
    return f"{pods} with {counted(gpus, 'GPU')}" if gpus else pods


def _updated(job: JobChange, settings: Settings) -> str:
    suspended = next((change for change in job.properties if change.what == "suspended"), None)
    if not job.name and job.old_name:
        return _removed(job, settings)
    if job.name and not job.old_name:
        return f"JobSet {job.name} is created{_start(job)}."
    if suspended is not None and suspended.new == "yes":
        return f"JobSet {job.name} is suspended; if it is running, its pods are removed."
    if suspended is not None:
        return f"JobSet {job.name} is resumed{_start(job)}."
    jobsets = [change for change in job.objects if change.kind == "JobSet"]
    if any(change.effect is Effect.UPDATED for change in jobsets):
        # The first two steps of each path, without indexes.
        fields = {".".join(field.path.split(".")[:2]).split("[")[0] for change in jobsets for field in change.fields}
        pods = "it is suspended and has no pods" if _is_suspended(job) else "its pods keep running"
        added = frozenset[str]().union(*(_changed_options(change)[1] for change in jobsets))
        start, example = _REPLACING[settings.target]
        if any(option.startswith(start) for option in added - _SAFEGUARDS[settings.target]):
            of_tool = f"annotations for {settings.tool.title}, such as {example}"
            pods = f"its new {of_tool}, may delete it and create it again"
        return f"JobSet {job.name} is updated in place ({', '.join(sorted(fields))}); {pods}."
    if job.directory.job == FOLDER:
        in_place = any(change.effect is Effect.UPDATED for change in job.objects)
        return f"Objects shared by the jobs of the namespace change{' in place' * in_place}."
    return "Other objects change; the JobSet does not, and its pods keep running."


def _of_existing_jobs(job: JobChange) -> Iterator[str]:
    """Yield sentences about changes of a JobSet that do not reach the Jobs that it has.

    Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go: resumeJob merges maps by key and lists whole, and
    constructJob alone reads what is in _OF_NEW_JOBS.
    """
    jobsets = [change for change in job.objects if change.kind == "JobSet" and change.effect is Effect.UPDATED]
    fields = [field for change in jobsets for field in change.fields]
    merged = [(kept[1], field) for field in fields if (kept := _MERGED.match(field.path))]
    if removed := {name for name, field in merged if field.new is None or _loses_item(name, field)}:
        yield (
            f"The Jobs of JobSet {job.name} keep what is removed from their pods ({', '.join(sorted(removed))}): when"
            " it resumes, it only adds to them. A new run creates new ones."
        )
    options = {option[1] for field in fields if (option := _OF_NEW_JOBS.match(field.path))}
    sides = (side["annotations"] for change in jobsets for side in _changed_metadata(change))
    if options := options.union(key for side in sides for key in as_object(side) if key.startswith(_PLACEMENT)):
        yield f"The Jobs that JobSet {job.name} has are not changed by: {', '.join(sorted(options))}."


def _loses_item(name: str, field: FieldChange) -> bool:
    """Return whether a list that JobSet merges loses an item, or has one that changed."""
    if isinstance(field.old, list) and isinstance(field.new, list):
        return name in _MERGED_LISTS and not {*map(comparable, field.old)} <= {*map(comparable, field.new)}
    return name in _MERGED_LISTS and not field.path.endswith((name, "]"))


def _changed_metadata(change: ObjectChange) -> tuple[JsonObject, JsonObject]:
    """Return the labels and annotations of an object that differ, before and after."""
    found: list[dict[str, dict[str, Json]]] = [{"annotations": {}, "labels": {}} for _ in range(2)]
    for field in change.fields:
        for side, value in zip(found, (field.old, field.new), strict=True):
            for kind, values in side.items():
                start = f'metadata.{kind}["'
                if field.path == start[:-2]:
                    values.update(as_object(value))
                elif field.path.startswith(start) and value is not None:
                    values[field.path[len(start) : -2]] = value
    before, after = found
    return {**before}, {**after}


def _changed_options(change: ObjectChange) -> tuple[frozenset[str], frozenset[str]]:
    """Return the options of an object that were removed, and those that were added."""
    before, after = map(sync_options, _changed_metadata(change))
    return before - after, after - before


def _removed(job: JobChange, settings: Settings) -> str:
    is_flux = settings.target == "flux"
    keep = job.last and settings.tool.on_delete == "keep"
    if is_flux and job.last and not keep and not settings.flux.write:  # render removes no Kustomization
        what = f"JobSet {job.old_name} stays, and a running job continues," if job.old_name else "The objects stay"
        name = application(job.renamed_from or job.directory, settings)
        return f"Without flux.write, nothing deletes Kustomization {name}. {what} until you do."
    if not job.old_name:
        stay, gone = "With onDelete: keep, the objects stay in the cluster.", "The objects are removed"
        return stay if keep else f"{gone}; pods that still need them will fail."
    if keep or _keeps_jobset(job):
        start = "With onDelete: keep, " if keep else ""
        return f"{start}JobSet {job.old_name} stays in the cluster; if it is running, it continues."
    claims = f" Its claims are deleted with their data: {', '.join(job.claims)}." if job.claims else ""
    if not job.last:
        return f"JobSet {job.old_name} is pruned, which stops it if it is still running.{claims}"
    what = "Kustomization" if is_flux else "application"
    return f"The {what} and JobSet {job.old_name} are deleted, which stops the job if it is still running.{claims}"


def _keeps_jobset(job: JobChange) -> bool:
    return any(change.kind == "JobSet" and change.effect is Effect.KEPT for change in job.objects)


def _refused(job: JobChange, settings: Settings) -> Iterator[str]:
    is_shared = job.directory.job == FOLDER
    start = (
        f"Kustomization {job.application} fails"
        if settings.target == "flux"
        else f"Argo CD shows application {job.application} as Unknown and stops syncing it"
    )
    end = "" if is_shared else " or the job gets a new run number"
    yield f"Refused: {start} until the change is reverted{end}."
    yield "Running pods are not affected."
    if not is_shared:
        yield NEW_RUN
    if is_shared and any(refusal.kind != _CLAIM for refusal in job.refusals):
        yield "Give the object another name, or delete it in the cluster first."
    if is_shared and any(refusal.kind == _CLAIM for refusal in job.refusals):
        yield "Revert the change to the claim, or rename the claim: deleting it deletes its data."


_PROTECTION: Final = ("is no longer protected from deletion: it loses", "is now protected from deletion: it gets")
"""What happens to an object that loses an option that protects it, or gets one."""


def _of_objects(job: JobChange, settings: Settings) -> Iterator[str]:
    """Yield sentences about the queue, Jobs that get another name, and ConfigMaps and claims."""
    is_updated = job.effect is Effect.UPDATED
    if is_updated and job.only_waiting:
        yield f"{IF_SUSPENDED}: if it is running, the sync is refused."
        if not job.queue:
            yield "If it is waiting, it stays suspended: Kueue does not start a JobSet without a queue."
    for change in job.objects:
        for options, text in zip(_changed_options(change), _PROTECTION, strict=True):
            found = sorted(option.rpartition("/")[2] for option in options & _SAFEGUARDS[settings.target])
            if shown := [option.removeprefix("sync-options ").replace(" ", ": ") for option in found]:
                yield f"{change.kind} {change.name} {text} {', '.join(shown)}."
        if is_updated and change.kind != "JobSet" and change.effect is Effect.CREATED:
            yield f"{change.kind} {change.name} is created."
        elif is_updated and change.kind != "JobSet" and change.effect is Effect.DELETED:
            yield f"{change.kind} {change.old_name} is deleted; pods that still need it will fail."
        elif is_updated and change.kind == "Job" and change.effect is Effect.RERUN:
            yield f"Job {change.old_name} is pruned, and {change.name} runs; it keeps existing keys."
        elif is_updated and change.kind == "ConfigMap" and change.effect is Effect.UPDATED:
            if any(field.path.startswith(("data", "binaryData")) for field in change.fields):
                yield f"ConfigMap {change.name} changes in the pods that mount it, within about a minute."
        elif change.effect is Effect.KEPT and job.effect is not Effect.KEPT:
            yield f"{change.kind} {change.old_name} stays in the cluster because of its annotations."


_BY_HAND = (Effect.UPDATED, Effect.REFUSED, Effect.RERUN, Effect.COMMENTS, Effect.UNREADABLE)


def unexplained(difference: Difference, same: Collection[str]) -> tuple[Directory, ...]:
    """Return the changed jobs whose sources are all among ``same``, the files that are equal on both sides.

    A built-in runtime counts as equal: it changes only with trainc. Another runtime explains a change.
    """
    return tuple(
        job.directory
        for job in difference.jobs
        if job.effect in _BY_HAND
        and job.directory.job != FOLDER
        and job.source
        and not any(change.what == "runtime" for change in job.properties)
        and all(name in same or name.startswith("built-in ") for name in (job.source, job.runtime) if name)
    )


def without_new_runs(difference: Difference) -> Difference:
    """Return a difference without advice to start a new run for files edited by hand, which ``render`` restores."""
    by_hand = {*difference.unexplained} & {*(difference.stale or ())}
    jobs = (
        replace(job, annotation=None, cluster=tuple(each for each in job.cluster if each != NEW_RUN))
        if job.directory in by_hand
        else job
        for job in difference.jobs
    )
    return replace(difference, jobs=tuple(jobs)) if by_hand else difference
