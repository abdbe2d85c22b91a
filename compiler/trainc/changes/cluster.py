"""Sentences about what the cluster does with a changed job. They were tested with Argo CD 3.5."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from trainc.changes.model import Difference, Effect, JobChange, Place, Usage
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import Settings
from trainc.upstream import RUN

FLUX: Final = "flux"
_NO_SYNC: Final = (Effect.REFUSED, Effect.HELD, Effect.COMMENTS, Effect.UNREADABLE)
_CLAIM: Final = "PersistentVolumeClaim"

NEW_RUN: Final = f"To apply the change, set the annotation {RUN} in the TrainJob: a new run starts from the beginning."
"""The advice about a refused change."""


def application(place: Place, settings: Settings) -> str:
    """Return the name of the Application, or of Flux's Kustomization, that a directory of out/ belongs to."""
    per_namespace = settings.target != FLUX and settings.argocd.per == "namespace"
    return ".".join(place[:2] if per_namespace else place)


def sentences(job: JobChange, settings: Settings) -> tuple[str, ...]:
    """Return what the cluster does about a change, the most important first."""
    found = [
        *_OF_EFFECT[job.effect](job, settings),
        *_of_queue(job),
        *_of_keys(job),
        *_of_config_maps(job),
        *_of_claims(job),
    ]
    automatic = settings.target == FLUX or settings.argocd.automated
    gone = job.effect is Effect.DELETED and job.last  # no sync removes an application
    if not automatic and not gone and job.effect not in _NO_SYNC:
        what = "created" if job.effect is Effect.RENAMED else "applied"
        found.append(f"Nothing is {what} until you sync the application.")
    return tuple(found)


def _created(job: JobChange, _: Settings) -> Iterator[str]:
    if not job.name:
        yield "The objects are created."
    else:
        yield f"JobSet {job.name} is created{_start(job)}."


def _start(job: JobChange) -> str:
    if not job.after.pods:
        return ", suspended: no pod starts" if _is_suspended(job) else ""
    amount = amounts(job.after)
    return f" and waits in queue {job.queue} for {amount}" if job.queue else f" and starts {amount}"


def _is_suspended(job: JobChange) -> bool:
    return job.after.jobs > 0 and not job.after.pods and any(each.pods for each in job.graph)


def amounts(usage: Usage) -> str:
    """Return the number of pods and GPUs."""
    pods = f"{usage.pods:,} pod{'s' * (usage.pods != 1)}"
    gpus = usage.gpu_count
    return f"{pods} with {gpus:,} GPU{'s' * (gpus != 1)}" if gpus else pods


def _updated(job: JobChange, settings: Settings) -> Iterator[str]:
    suspended = next((word for word in job.words if word.what == "suspended"), None)
    if not job.name and job.old_name:
        yield f"JobSet {job.old_name} is pruned, which stops it if it is still running."
    elif job.name and not job.old_name:
        yield from _created(job, settings)
    elif suspended is not None and suspended.new == "yes":
        yield f"JobSet {job.name} is suspended; if it is running, its pods are removed."
    elif suspended is not None:
        yield f"JobSet {job.name} is resumed{_start(job)}."
    elif any(change.kind == "JobSet" and change.effect is Effect.UPDATED for change in job.objects):
        fields = sorted({_top(field.path) for each in job.objects if each.kind == "JobSet" for field in each.fields})
        pods = "it is suspended and has no pods" if _is_suspended(job) else "its pods keep running"
        yield f"JobSet {job.name} is updated in place ({', '.join(fields)}); {pods}."
    elif job.place.name == FOLDER:
        yield "Objects shared by the jobs of the namespace change in place."
    else:
        yield "Other objects change; the JobSet does not, and its pods keep running."


def _of_queue(job: JobChange) -> Iterator[str]:
    if job.effect is Effect.UPDATED and any(word.what in ("queue", "priority") and word.old for word in job.words):
        yield "Kueue allows this change only while the JobSet is suspended: if it is running, the sync is refused."


def _top(path: str) -> str:
    """Return the first two steps of a path, without indices."""
    steps = path.split(".")
    return ".".join(steps[:2]).split("[")[0]


def _rerun(job: JobChange, _: Settings) -> Iterator[str]:
    yield f"JobSet {job.old_name} is pruned, which stops it if it is still running. {job.name} is created{_start(job)}."
    yield "The new JobSet is created while the pods of the old one terminate: for a moment both exist."


def _renamed(job: JobChange, settings: Settings) -> Iterator[str]:
    yield f"JobSet {job.name} is created{_start(job)}."
    yield from _gone(job, settings)
    if application(job.place, settings) != (job.other and application(job.other, settings)):
        yield "The two applications sync in no fixed order: both jobs may run, and need resources, at once."


def _deleted(job: JobChange, settings: Settings) -> Iterator[str]:
    if not job.old_name:
        yield "The objects are removed; pods that need them again will fail."
    else:
        yield from _gone(job, settings)


def _gone(job: JobChange, settings: Settings) -> Iterator[str]:
    is_flux = settings.target == FLUX
    keep = (settings.flux.on_delete if is_flux else settings.argocd.on_delete) == "keep"
    if not job.last:
        yield f"JobSet {job.old_name} is pruned, which stops it if it is still running."
    elif keep:
        yield f"With onDelete: keep, JobSet {job.old_name} stays in the cluster; if it is running, it continues."
    else:
        what = "Kustomization" if is_flux else "application"
        yield f"The {what} and JobSet {job.old_name} are deleted, which stops the job if it is still running."


def _refused(job: JobChange, settings: Settings) -> Iterator[str]:
    if settings.target == FLUX:
        yield f"Refused: Kustomization {job.application} fails until the change is reverted or the job is renamed."
    else:
        end = "" if job.place.name == FOLDER else " or the job gets a new run number"
        yield (
            f"Refused: Argo CD shows application {job.application} as Unknown and stops syncing it until the change is"
            f" reverted{end}."
        )
    yield "Running pods are not affected."
    if job.place.name == FOLDER:
        if any(refusal.kind != _CLAIM for refusal in job.refusals):
            yield "Give the object another name, or delete it in the cluster first."
        if any(refusal.kind == _CLAIM for refusal in job.refusals):
            yield "Revert the change to the claim, or rename the claim: deleting it deletes its data."
    else:
        yield NEW_RUN


def _held(job: JobChange, _: Settings) -> Iterator[str]:
    yield f"Held back: Argo CD stops syncing application {job.application} because of another job in it."


def _comments(job: JobChange, settings: Settings) -> Iterator[str]:
    yield "No object changes, only comments in files."
    if job.place.name != FOLDER and settings.target != FLUX and settings.argocd.automated:
        yield "If the JobSet was deleted from the cluster, the sync creates it again, and the job runs again."


def _kept(job: JobChange, _: Settings) -> Iterator[str]:
    yield "The objects stay in the cluster because of their annotation Prune=false."


def _unreadable(job: JobChange, _: Settings) -> Iterator[str]:
    yield "The files cannot be compared: the findings say why. 'trainc render' writes them again."


def _of_keys(job: JobChange) -> Iterator[str]:
    """Yield a sentence for each Job whose name changes while the JobSet's does not."""
    for change in job.objects:
        if change.kind == "Job" and change.effect is Effect.RERUN and job.effect is Effect.UPDATED:
            yield f"Job {change.old_name} is pruned, and {change.name} runs; it keeps existing keys."


def _of_config_maps(job: JobChange) -> Iterator[str]:
    for change in job.objects:
        told = any(field.path.startswith(("data", "binaryData")) for field in change.fields)
        if change.kind == "ConfigMap" and told and Effect.UPDATED is change.effect is job.effect:
            yield f"ConfigMap {change.name} changes in the pods that mount it, within about a minute."


def _of_claims(job: JobChange) -> Iterator[str]:
    for change in job.objects:
        if change.effect is Effect.KEPT and job.effect is not Effect.KEPT:
            yield f"{change.kind} {change.old_name} stays in the cluster because of its annotation Prune=false."


_OF_EFFECT: Final = {
    Effect.CREATED: _created,
    Effect.UPDATED: _updated,
    Effect.RERUN: _rerun,
    Effect.RENAMED: _renamed,
    Effect.REFUSED: _refused,
    Effect.HELD: _held,
    Effect.DELETED: _deleted,
    Effect.KEPT: _kept,
    Effect.COMMENTS: _comments,
    Effect.UNREADABLE: _unreadable,
}


_BY_HAND = (Effect.UPDATED, Effect.REFUSED, Effect.RERUN, Effect.COMMENTS, Effect.UNREADABLE)


def unexplained(difference: Difference, same: Collection[str]) -> tuple[Place, ...]:
    """Return the changed jobs whose sources are all among ``same``, the files that are equal on both sides.

    A built-in runtime counts as equal: it changes only with trainc.
    """
    return tuple(
        job.place
        for job in difference.jobs
        if job.effect in _BY_HAND
        and job.place.name != FOLDER
        and job.source
        and all(name in same or name.startswith("built-in ") for name in (job.source, job.runtime) if name)
    )


def without_new_runs(difference: Difference) -> Difference:
    """Return a difference without advice to start a new run for files edited by hand, which ``render`` restores."""
    by_hand = {*difference.unexplained} & {*(difference.stale or ())}
    jobs = (
        replace(job, remedy=None, cluster=tuple(each for each in job.cluster if each != NEW_RUN))
        if job.place in by_hand
        else job
        for job in difference.jobs
    )
    return replace(difference, jobs=tuple(jobs)) if by_hand else difference
