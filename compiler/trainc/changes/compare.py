"""Compares two trees of out/ by job and object, and adds what the cluster does with each job.

A removed job and a new one that differ only in their names count as a renamed job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from json import dumps
from typing import Final

from msgspec.structs import replace

from trainc.admission.base_revision import as_stored, identify
from trainc.admission.update import kueue_changes, refused_changes
from trainc.basics.differences import Change, changes, key_of, keys_of, same
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, get, mapped
from trainc.basics.regex import lazy
from trainc.changes.applications import Applications
from trainc.changes.cluster import IGNORED, with_sentences
from trainc.changes.model import (
    Difference,
    Directory,
    Effect,
    FieldChange,
    JobChange,
    ObjectChange,
    PropertyChange,
    Refusal,
)
from trainc.changes.trees import (
    Files,
    Tree,
    both_sides,
    by_object,
    bytes_of,
    directories,
    is_jobset,
    kind_of,
    owned,
    read,
    sources,
    unreadable,
)
from trainc.changes.usage import Demand, demand_of, property_changes, replicated_jobs, totals
from trainc.checks.created_pods import created_claims
from trainc.documents.classify import group_and_kind
from trainc.findings import Finding, Severity
from trainc.findings.redaction import LEAST, MASK, masked_at, masking
from trainc.findings.secrets import hidden
from trainc.gitops.argocd import ALWAYS, project_of
from trainc.gitops.base import SYNC_OPTIONS, sync_options
from trainc.gitops.keys import operator_secret
from trainc.gitops.naming import MODE, next_run
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import Settings
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.pipeline.update_rules import jobset_refusals
from trainc.project.files import is_own
from trainc.schema.kinds import BUILT_IN, split_version
from trainc.upstream import RUN

_Directories = Mapping[Directory, Tree]

_TTL: Final = ("spec", "ttlSecondsAfterFinished")
_RUN: Final = re.compile(r"-([1-9][0-9]{0,8})")


def compare(
    before: Tree,
    after: Tree,
    settings: Mapping[str, Settings] | None = None,
    foreign_to: Callable[[Collection[str]], Iterable[Finding]] = lambda ours: (),
    *,
    earlier: Mapping[str, Settings] | None = None,
    shown: Collection[Directory] | None = None,
) -> Difference:
    """Return the difference between two trees of out/, and what the cluster does about it.

    Names in a tree are paths from the project root (``out/prod/team-a/job/jobset-job.yaml``). Its bytes are read
    directory by directory, and not kept. ``settings`` are those of environments by name, with defaults for others;
    ``earlier`` are those before the change, if they differ: an application that is removed is not updated before.
    ``foreign_to`` returns the findings on files besides trainc's. With ``shown``, other directories only decide what
    happens to their applications and namespaces. A file that cannot be read becomes a finding.
    """
    settings, old, new = settings or {}, directories(before), directories(after)
    jobs: list[JobChange] = []
    findings: list[Finding] = []
    demands: list[tuple[Directory, Demand, Demand]] = []
    ours: set[str] = set()
    applications = Applications.of(old, new, settings, settings if earlier is None else earlier)
    settings_of, always = applications.settings_of, {kind for _, kind in ALWAYS}
    projects = {name: project_of(name, each)[0] for name, each in settings.items() if each.target == "argocd"}
    kinds = {(projects.get(each.environment), kind_of(file)) for each, files in new.items() for file in files}
    unshown = {*old, *new} - {*shown} if shown is not None else set()
    for directory in sorted({*old, *new} - unshown):
        was, now = old.get(directory, {}), new.get(directory, {})
        before_files, after_files = both_sides(was, now) if was != now else (owned(now),) * 2
        if not before_files and not after_files:
            continue
        ours.update(f"out/{directory}/{file}" for file, data in after_files.items() if is_own(data))
        before_files, after_files = by_object(before_files, after_files)
        demand = demand_of(after_files)
        both = demand if before_files == after_files else demand_of(before_files), demand
        demands.append((directory, *both))
        if before_files != after_files:
            name, keeps = applications.name(directory), applications.keep_options(directory)
            job, found = _compare_directory(directory, before_files, after_files, name, both, keeps=keeps)
            gone = {each.kind for each in job.objects if each.effect is Effect.DELETED} - always
            project, _ = project_of(directory.environment, settings_of[directory])
            last_kinds = tuple(sorted(kind for kind in gone if (project, kind.lower()) not in kinds))
            jobs.append(replace(job, last=applications.removes(directory), last_kinds=last_kinds))
            findings += found
    beside = {each: applications.name(each) for each in unshown}
    jobs = _with_renamed(_with_held(jobs, beside, old, new), old, new)
    names = {(each.namespace, each.job) for each in (*old, *new)}
    explained = with_sentences(jobs, applications)
    jobs = [replace(job, annotation=_next_run(job, settings_of[job.directory], names)) for job in explained]
    unchanged = len(demands) - len(jobs) - sum(job.renamed_from is not None for job in jobs)
    others = tuple(foreign_to(ours))
    is_read = tuple(finding.file for finding in others if finding.severity is Severity.ERROR)
    return Difference(tuple(jobs), unchanged, totals(demands), (*others, *findings), foreign=is_read)


def _with_held(
    jobs: list[JobChange], beside: Mapping[Directory, str], old: _Directories, new: _Directories
) -> list[JobChange]:
    """Return the jobs, with those held back that a refused change of their application keeps from being applied.

    ``beside`` are the applications of other directories.
    """
    stopped = {job.application for job in jobs if job.effect is Effect.REFUSED}
    synced = {job.application for job in jobs}
    stopped |= {name for each, name in beside.items() if name in synced and _is_refused(each, old, new)}
    return [
        replace(job, effect=Effect.HELD) if job.application in stopped and job.effect is not Effect.REFUSED else job
        for job in jobs
    ]


def _is_refused(directory: Directory, old: _Directories, new: _Directories) -> bool:
    """Return whether a cluster refuses the change of a directory."""
    before, after = old.get(directory, {}), new.get(directory, {})
    if before == after:
        return False
    job, _ = _compare_directory(directory, *by_object(*both_sides(before, after)), "", (Demand(), Demand()), keeps=())
    return job.effect is Effect.REFUSED


def _compare_directory(
    directory: Directory,
    before: Files,
    after: Files,
    application: str,
    demands: tuple[Demand, Demand],
    *,
    keeps: Collection[str],
) -> tuple[JobChange, list[Finding]]:
    """Return the change of a directory, and findings.

    Only files whose bytes differ are parsed, and an unchanged JobSet. ``keeps`` are options with which objects stay.
    """
    objects: list[ObjectChange] = []
    refusals: list[Refusal] = []
    findings: list[Finding] = []
    pruned_later: list[str] = []
    jobsets: tuple[Document | None, Document | None] = None, None
    differing = [file for file in _jobsets_first({*before, *after}) if before.get(file) != after.get(file)]
    for file in differing:
        name = f"out/{directory}/{file}"
        old, of_old = read(name, before[file], old=True) if file in before else (_stored_by_operator(name, before), ())
        new, of_new = read(name, after[file], old=False) if file in after else (None, ())
        findings += (*of_old, *of_new)
        if (file in before and old is None) or (file in after and new is None):
            continue  # a file that cannot be read is not a removed object
        changed, refused, found = _compare_objects(name, old, new, keeps)
        objects += changed
        pruned_later += _pruned_later(old, changed)
        refusals += refused
        findings += found
        jobsets = jobsets[0] or _if_jobset(old), jobsets[1] or _if_jobset(new)
    if not any(map(is_jobset, differing)):
        unchanged = next((read(file, data, old=True)[0] for file, data in after.items() if is_jobset(file)), None)
        jobsets = unchanged, unchanged
    old, new = jobsets
    was_from, now_from = _sources(before), _sources(after)
    properties = property_changes(
        None if old is None else (old.data, masked(old, new)), None if new is None else (new.data, masked(new, old))
    )
    if was_from[1:2] != now_from[1:2]:
        runtimes = ("".join(names[1:2]) or None for names in (was_from, now_from))
        properties = (PropertyChange("runtime", (), *runtimes), *properties)
    job = JobChange(
        directory,
        _effect(objects, before, after),
        application,
        name="" if new is None else _name(new),
        old_name="" if old is None else _name(old),
        source="".join((*now_from, *was_from)[:1]),
        runtime="".join((*now_from[1:2], *was_from[1:2])[:1]),
        queue=demands[bool(after)].queue,
        properties=properties,
        objects=tuple(objects),
        refusals=tuple(refusals),
        before=demands[0].usage,
        after=demands[1].usage,
        replicated_jobs=replicated_jobs(new.data) if new is not None else (),
        had_ttl=old is not None and get(old.data, *_TTL) is not None,
        claims=() if old is None else tuple(_owned_claims(old.data)),
        pruned_later=tuple(pruned_later),
        only_waiting=old is not None and new is not None and any(kueue_changes(new.data, old.data, waits=False)),
    )
    return job, findings


def _owned_claims(jobset: JsonObject) -> Iterator[str]:
    """Yield the names of the claims that are deleted with a JobSet."""
    for claim in created_claims(jobset):
        if get(claim.data, "metadata", "ownerReferences"):
            yield str(get(claim.data, "metadata", "name"))


def _pruned_later(old: Document | None, changed: Iterable[ObjectChange]) -> Iterator[str]:
    """Yield sentences about a removed object that Argo CD does not prune at once."""
    options = sync_options(old.data["metadata"]) if old is not None else ()
    for each in changed:
        what = f"{each.kind} {each.old_name}"
        if each.effect is Effect.DELETED and IGNORED in options:
            yield f"Argo CD prunes {what} only in a sync that another change starts: IgnoreExtraneous."
        elif each.effect is Effect.KEPT and f"{SYNC_OPTIONS} Prune=confirm" in options:
            yield f"Argo CD applies nothing else until somebody confirms that it prunes {what}: Prune=confirm."


def _stored_by_operator(name: str, before: Files) -> Document | None:
    """Return the Secret that the External Secrets Operator has stored with the name of a new one."""
    folder, _, file = name.rpartition("/")
    other = f"external{file}"
    if not file.startswith("secret-") or other not in before:
        return None
    external, _ = read(f"{folder}/{other}", before[other], old=True)
    return None if external is None else replace(external, data=operator_secret(external.data))


def _jobsets_first(files: Iterable[str]) -> list[str]:
    return sorted(files, key=lambda file: (not file.startswith("jobset"), file))


def _if_jobset(document: Document | None) -> Document | None:
    return document if document is not None and document.data["kind"] == "JobSet" else None


def _sources(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the sources of the JobSet of a directory, or of its first file."""
    return sources(files[_jobsets_first(files)[0]]) if files else ()


def _effect(objects: Iterable[ObjectChange], before: Files, after: Files) -> Effect:
    effects = {change.effect for change in objects}
    if not effects:
        return Effect.UNREADABLE
    if not before:
        return Effect.CREATED
    if not after:
        return Effect.KEPT if effects == {Effect.KEPT} else Effect.DELETED
    if Effect.REFUSED in effects:
        return Effect.REFUSED
    if any(change.kind == "JobSet" and change.effect is Effect.RERUN for change in objects):
        return Effect.RERUN
    return Effect.COMMENTS if effects == {Effect.COMMENTS} else Effect.UPDATED


def _next_run(job: JobChange, settings: Settings, names: Collection[tuple[str, str]]) -> str | None:
    """Return the annotation with the next run number, which makes a refused change possible.

    ``names`` are those of all jobs, by namespace.
    """
    _, namespace, title = job.directory
    if job.effect is not Effect.REFUSED or title == FOLDER:
        return None
    name = job.old_name.rpartition("-")[0] if settings.naming.mode == MODE else job.old_name
    number = _RUN.fullmatch(name.removeprefix(title))
    run = next_run(title, int(number[1]) if number else 1, lambda other: (namespace, other) in names)
    return f'{RUN}: "{run}"'


def _compare_objects(
    file: str, old: Document | None, new: Document | None, keeps: Collection[str]
) -> tuple[list[ObjectChange], tuple[Refusal, ...], tuple[Finding, ...]]:
    """Return the changes of the object of a file, what a cluster refuses of them, and findings."""
    options = sync_options(old.data["metadata"]) if old is not None else frozenset()
    is_kept = not options.isdisjoint(keeps)
    if old is None or new is None or group_and_kind(old.data) != group_and_kind(new.data):
        found = []
        if old is not None:
            effect = Effect.KEPT if is_kept else Effect.DELETED
            found.append(ObjectChange(file, str(old.data["kind"]), _name(old), None, effect))
        if new is not None:
            # A new job is described by its properties, and its other objects are made by trainc.
            fields = _fields_of_new(new) if file.split("/")[-2] == FOLDER else ()
            found.append(ObjectChange(file, str(new.data["kind"]), None, _name(new), Effect.CREATED, fields))
        return found, (), ()
    refused: tuple[Refusal, ...] = ()
    findings: tuple[Finding, ...] = ()
    if same(old.data, new.data):
        effect = Effect.COMMENTS
    elif identify(old.data) != identify(new.data):
        effect = Effect.RERUN
    else:
        refused, findings = _refusals(new, old)
        effect = Effect.REFUSED if refused else Effect.UPDATED
    found = [ObjectChange(file, str(new.data["kind"]), _name(old), _name(new), effect, field_changes(old, new))]
    if effect is Effect.RERUN and is_kept:
        found.append(ObjectChange(file, str(old.data["kind"]), _name(old), None, Effect.KEPT))
    return found, refused, findings


def _fields_of_new(new: Document) -> tuple[FieldChange, ...]:
    """Return the fields of a new object, with secrets masked, without those that name it."""
    shown = masked(new, None)
    metadata = as_object(shown["metadata"])
    fields = {f"metadata.{key}": value for key, value in metadata.items() if key not in ("name", "namespace")}
    fields |= {key: value for key, value in shown.items() if key not in ("apiVersion", "kind", "metadata")}
    return tuple(FieldChange(path, None, value) for path, value in fields.items())


def _name(document: Document) -> str:
    return str(get(document.data, "metadata", "name"))


_COMPARED: Final = 2000
"""The most pairs of jobs compared; beyond that, renamed jobs are reported as removed and new ones."""

_READ: Final = 16_000_000
"""The most bytes of JobSets read for that: ten seconds."""

_Names = tuple[tuple[str, str], ...]
"""Pairs of old and new names, longest first."""


def _with_renamed(jobs: list[JobChange], before: _Directories, after: _Directories) -> list[JobChange]:
    """Return the jobs, with removed and new jobs joined if they were renamed."""
    removed: dict[tuple[object, ...], list[JobChange]] = {}
    for job in jobs:
        if job.effect is Effect.DELETED and job.old_name:
            removed.setdefault((job.directory.environment, job.queue, job.before), []).append(job)
    origins: dict[Directory, JobChange] = {}
    remaining: dict[Directory, Document | None] = {}  # those read of removed jobs
    compared = size = 0
    for job in jobs:
        if job.effect is not Effect.CREATED or not job.name:
            continue
        candidates = removed.get((job.directory.environment, job.queue, job.after), [])
        if not candidates or size > _READ:
            continue
        new, read_bytes = _jobset(after[job.directory], job)
        size += read_bytes
        for other in candidates[: _COMPARED - compared]:
            if other.directory not in remaining and size <= _READ:
                remaining[other.directory], read_bytes = _jobset(before[other.directory], other)
                size += read_bytes
            old = remaining.get(other.directory)
            compared += 1
            if old and new and _is_same(old.data, new.data, _renames(other, old, job, new)):
                candidates.remove(other)
                del remaining[other.directory]
                origins[job.directory] = other
                break
    taken = {other.directory for other in origins.values()}
    return [
        _renamed(job, origin, before[origin.directory], after[job.directory])
        if (origin := origins.get(job.directory)) is not None
        else job
        for job in jobs
        if job.directory not in taken
    ]


def _jobset(files: Tree, job: JobChange) -> tuple[Document | None, int]:
    """Return the JobSet of a removed or new job, and its size in bytes."""
    file = next(change.file for change in job.objects if change.kind == "JobSet")
    data = bytes_of(files[file.rpartition("/")[2]])
    return read(file, data, old=True)[0], len(data)


def _renamed(job: JobChange, other: JobChange, before: Tree, after: Tree) -> JobChange:
    """Return a removed and a new job as one.

    All that differs is listed: a name may also be a part of an image or a command, or lead to another program.
    """
    names = ((other.directory.job, job.directory.job),)
    old_files: dict[str, ObjectChange] = {}
    for each in other.objects:
        name = each.file.rpartition("/")[2]
        old_files |= dict.fromkeys((name, _with_new_names(name, names)), each)
    objects: list[ObjectChange] = []
    properties: tuple[PropertyChange, ...] = ()
    for change in job.objects:
        file = change.file.rpartition("/")[2]
        if (was := old_files.get(file)) is not None:
            old, _ = read(was.file, bytes_of(before[was.file.rpartition("/")[2]]), old=True)
            new, _ = read(change.file, bytes_of(after[file]), old=False)
            if old is not None and new is not None:
                if change.kind == "JobSet":
                    properties = property_changes((old.data, masked(old, new)), (new.data, masked(new, old)))
                change = replace(change, fields=field_changes(old, new))  # noqa: PLW2901
        objects.append(change)
    return replace(
        job,
        effect=Effect.RENAMED,
        renamed_from=other.directory,
        old_name=other.old_name,
        properties=properties,
        objects=(*objects, *other.objects),
        before=other.before,
        last=other.last,
        last_kinds=other.last_kinds,
        claims=other.claims,
        pruned_later=other.pruned_later,
    )


def _renames(other: JobChange, old: Document, job: JobChange, new: Document) -> _Names:
    pairs = {(other.directory.job, job.directory.job), (other.old_name, job.name)}
    pairs.add((str(get(old.data, "metadata", "namespace")), str(get(new.data, "metadata", "namespace"))))
    return tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair)))


def _is_same(old: Json, new: Json, names: _Names) -> bool:
    """Return whether two values are equal after replacing the old names by the new ones."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(value, new[key], names) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_is_same(a, b, names) for a, b in zip(old, new, strict=True))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or _with_new_names(old, names) == new
    return old == new and type(old) is type(new)


def _with_new_names(text: str, names: _Names) -> str:
    """Return a text with the first of the old names that it has replaced by the new one."""
    renamed = (new.join(re.split(rf"(?<![a-z0-9]){re.escape(old)}(?![a-z0-9])", text)) for old, new in names)
    return next((each for each in renamed if each != text), text)


def _refusals(new: Document, old: Document) -> tuple[tuple[Refusal, ...], tuple[Finding, ...]]:
    """Return the changes that a cluster refuses, and findings about an object that cannot be compared.

    Both objects have the same kind, namespace and name.
    """
    kind = str(new.data["kind"])
    others = ((dotted(change.path), change.message) for change in refused_changes(new.data, old.data))
    found = list(_of_jobset(new, old) if kind == "JobSet" else others)
    findings = tuple(each for each in found if isinstance(each, Finding))
    return tuple(Refusal(kind, _name(new), *each) for each in found if not isinstance(each, Finding)), findings


def _of_jobset(new: Document, old: Document) -> Iterator[tuple[str, str] | Finding]:
    """Yield the fields that the CRD's rules and the webhook refuse to change, with the messages."""
    resource = BUILT_IN.find(*split_version(str(new.data["apiVersion"])), "JobSet")
    if resource is None:
        yield unreadable(new, f"unknown version of JobSet: {new.data['apiVersion']}", old=False)
        return
    after, before = (as_stored(resource, document, created=True) for document in (new, old))
    if isinstance(after, Finding):
        yield unreadable(new, after.message, old=False)
    elif isinstance(before, Finding):
        yield unreadable(old, before.message, old=True)
    else:
        try:
            refusals = jobset_refusals(resource, after, before)
        except GoDecodeError as error:
            yield unreadable(new, error.message, old=False)
            return
        for refusal in refusals:
            yield from ((named(after, before, change), refusal.message) for change in refusal.changes)


_PLAIN = lazy(r"[A-Za-z_][\w-]*\Z")
_INDEX = lazy(r"[0-9]+\Z")
_BARE = lazy(r"[^\s\[\]=]+\Z")


def field_changes(old: Document, new: Document) -> tuple[FieldChange, ...]:
    """Return the changed fields of an object, in the order of the new version, with secrets masked.

    A field in which a secret changes and something else, too, is followed by the same field with MASK as both values:
    otherwise a secret, which may be any part of a command, could change without a trace.
    """
    # To a cluster, null is no value.
    found = [one for one in changes(new.data, old.data) if one.new is not None or one.old is not None]
    shown, before = (masked(new, old), masked(old, new)) if found else ({}, {})
    hidden_before = _secrets_below(old, (change.old_path for change in found))
    hidden_now = _secrets_below(new, (change.path for change in found))
    fields: list[FieldChange] = []
    for change in found:
        path = named(new.data, old.data, change)
        was = None if change.old is None else get(before, *change.old_path)
        now = None if change.new is None else get(shown, *change.path)
        fields.append(FieldChange(path, was, now))
        if was != now and None not in (was, now):
            secrets = hidden_before[change.old_path], hidden_now[change.path]
            if all(secrets) and secrets[0] != secrets[1]:
                fields.append(FieldChange(path, MASK, MASK))
    return tuple(fields)


def _secrets_below(document: Document, paths: Iterable[Path]) -> Mapping[Path, list[str]]:
    """Return the texts of the secrets at and below each of some paths, in order."""
    texts: dict[Path, list[str]] = {path: [] for path in paths}
    for at, found in hidden(document).items() if texts else ():
        for path in (at[:end] for end in range(len(at) + 1)):
            if path in texts:
                texts[path] += [one.text for one in found]
    return texts


def named(new: Json, old: Json, change: Change) -> str:
    """Spell the path of a change: ``spec.replicatedJobs[node].template``, items of lists by what names them.

    A key other than name is part of it: ``volumeMounts[mountPath=/data]``. An item is named by its index if it has no
    key, or one that does not tell which item it is: several have it, or the item had another one.
    """
    text, now, was = "", new, old
    for depth, step in enumerate(change.name):
        here = step if depth < len(change.path) else None
        before = change.old_path[depth] if depth < len(change.old_path) else None
        if isinstance(step, int):
            text += _item(now, here, was, before)
        elif _PLAIN.match(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
        now = None if here is None else get(now, here)
        was = None if before is None else get(was, before)
    return text


def _item(new: Json, step: str | int | None, old: Json, old_step: str | int | None) -> str:
    """Spell an item of the new list, or a removed one of the old list."""
    keys = {key_of(get(items, at)) for items, at in ((new, step), (old, old_step)) if at is not None}
    key = keys.pop()
    is_known = not keys and all(keys_of(items)[key] < 2 for items in (new, old) if isinstance(items, list))
    if key is None or not is_known or not _BARE.match(str(key[1])):
        return f"[{old_step if step is None else step}]"
    field, name = key
    return f"[{name}]" if field == "name" and not _INDEX.match(str(name)) else f"[{field}={name}]"


_NAMES: Final = frozenset(
    (
        *("name", "image", "serviceAccountName", "serviceAccount", "priorityClassName", "secretName"),
        *("securityContext", "hostPath", "roleRef", "rules", "subjects"),
    )
)
"""Fields that name what runs, its rights and its Secrets, which readers have to see even if a password is the same.

Properties are found by the names of replicated jobs and containers, too.
"""


def masked(document: Document, other: Document | None) -> JsonObject:
    """Return the object of a document with its secrets, and those of the other, masked at any position but in names."""
    texts: set[str] = set()
    for each in (document, other):
        if each is not None:
            texts.update(secret.text for found in hidden(each).values() for secret in found)
    spellings = {form for text in texts for form in (text, dumps(text)[1:-1]) if len(form) >= LEAST}
    without = masking(frozenset(spellings))
    here = hidden(document)

    def mask(path: Path, value: Json) -> Json:
        if path in here:
            value = masked_at(here[path], value) if isinstance(value, str) else MASK
        return without(value) if isinstance(value, str) and _NAMES.isdisjoint(path) else value

    return as_object(mapped(document.data, mask)) if texts else document.data
