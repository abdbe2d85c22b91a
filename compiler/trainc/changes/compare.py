"""Compares two trees of out/ by job and object, and adds what the cluster does with each job.

A removed job and a new one that differ only in their names count as a renamed job.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from json import dumps
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from trainc.admission.base_revision import as_stored
from trainc.admission.rules import failures
from trainc.admission.update import FROZEN, IMMUTABLE, config_map_changes, jobset_changes
from trainc.basics.differences import Change, changes, counterpart, key_of, same
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, existing, get, mapped
from trainc.basics.regex import lazy
from trainc.changes.cluster import application, sentences
from trainc.changes.model import Difference, Effect, FieldChange, JobChange, ObjectChange, Place, Refusal, Word
from trainc.changes.trees import Files, folders, is_jobset, others, read, sources, unreadable
from trainc.changes.usage import graph, of_folder, totals, words
from trainc.findings import Finding, Severity
from trainc.findings.redaction import LEAST, MASK
from trainc.findings.secrets import hidden
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import Settings
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.kube.quantity import from_json
from trainc.project.files import Kind
from trainc.schema import Resource
from trainc.schema.kinds import BUILT_IN, split_version
from trainc.upstream import RUN

_RUN: Final = re.compile(r"-([1-9][0-9]{0,8})")


class _Sides(msgspec.Struct, frozen=True):
    """One directory of both trees, and the changes of its objects."""

    place: Place
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    found: Found

    @property
    def jobsets(self) -> Pair:
        """The JobSet before and after, the same where it does not differ."""
        pairs = self.found.pairs
        if not any(map(self._differs, {*self.before, *self.after})):
            same = next((read(file, data, old=True)[0] for file, data in self.after.items() if is_jobset(file)), None)
            return Pair(same, same)
        return Pair(jobset_of(pair.old for pair in pairs), jobset_of(pair.new for pair in pairs))

    def _differs(self, file: str) -> bool:
        return is_jobset(file) and self.before.get(file) != self.after.get(file)


def compare(
    before: Files,
    after: Files,
    settings: Mapping[str, Settings] | None = None,
    there: Mapping[str, Kind] | None = None,
    exceptions: Collection[str] = (),
) -> Difference:
    """Return the difference between two trees of out/, and what the cluster does about it.

    A tree is the bytes of its files by name from the project root (``out/prod/team-a/job/jobset-job.yaml``).
    ``settings`` are those of environments by name, with defaults for others. ``there`` has the kind of every entry of
    the later tree; ``exceptions`` are paths that others may write to. A file that cannot be read becomes a finding.
    """
    settings = settings or {}
    old, new = folders(before), folders(after)
    places = sorted({*old, *new})
    changed: list[_Sides] = []
    jobs: list[JobChange] = []
    for place in places:
        if (was := old.get(place, {})) != (now := new.get(place, {})):
            changed.append(_Sides(place, was, now, object_changes(place, was, now)))
            jobs.append(_job(changed[-1], settings.get(place.environment, Settings())))
    left = {application(place, settings.get(place.environment, Settings())) for place in new}
    jobs = [replace(job, last=job.application not in left) for job in jobs]
    jobs = _held(renamed(jobs, {sides.place: sides.jobsets for sides in changed}))
    jobs = [
        replace(job, cluster=sentences(job, settings.get(job.place.environment, Settings())), remedy=_remedy(job))
        for job in jobs
    ]
    not_ours = tuple(others(after, there, exceptions))
    findings = (*not_ours, *(finding for sides in changed for finding in sides.found.findings))
    read = tuple(finding.file for finding in not_ours if finding.severity is Severity.ERROR)
    return Difference(tuple(jobs), len(places) - len(jobs), totals(old, new), findings, foreign=read)


def _job(sides: _Sides, settings: Settings) -> JobChange:
    old, new = sides.jobsets
    return JobChange(
        sides.place,
        _effect(sides),
        application(sides.place, settings),
        name=_jobset_name(new),
        old_name=_jobset_name(old),
        source=_source(sides),
        runtime=next(iter((*_sources(sides.after)[1:2], *_sources(sides.before)[1:2])), ""),
        queue=of_folder(sides.after or sides.before).queue,
        words=(*_runtime(sides), *_words(old, new)),
        objects=sides.found.objects,
        refusals=tuple(sides.found.refusals),
        before=of_folder(sides.before).usage,
        after=of_folder(sides.after).usage,
        graph=graph(new.data) if new is not None else (),
    )


def _jobset_name(jobset: Document | None) -> str:
    return str(get(jobset.data, "metadata", "name")) if jobset is not None else ""


def _effect(sides: _Sides) -> Effect:
    effects = {change.effect for change in sides.found.objects}
    jobsets = {change.effect for change in sides.found.objects if change.kind == "JobSet"}
    if not effects:
        return Effect.UNREADABLE
    if not sides.before:
        return Effect.CREATED
    if not sides.after:
        return Effect.KEPT if effects == {Effect.KEPT} else Effect.DELETED
    if Effect.REFUSED in effects:
        return Effect.REFUSED
    if Effect.RERUN in jobsets:
        return Effect.RERUN
    return Effect.COMMENTS if effects == {Effect.COMMENTS} else Effect.UPDATED


def _words(old: Document | None, new: Document | None) -> tuple[Word, ...]:
    before = None if old is None else (old.data, masked(old, new))
    after = None if new is None else (new.data, masked(new, old))
    return words(before, after)


def _runtime(sides: _Sides) -> tuple[Word, ...]:
    """Return a word for a changed runtime, by the headers of the files."""
    old, new = (_sources(files)[1:2] for files in (sides.before, sides.after))
    if old == new:
        return ()
    return (Word("runtime", (), *(names[0] if names else None for names in (old, new))),)


def _sources(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the sources of the JobSet of a directory, or of its first file."""
    names = sorted(files, key=lambda name: (not name.startswith("jobset"), name))
    return sources(files[names[0]]) if names else ()


def _source(sides: _Sides) -> str:
    return next(iter((*_sources(sides.after), *_sources(sides.before))), "")


def _held(jobs: Collection[JobChange]) -> list[JobChange]:
    """Mark the other jobs of an application with a refused change as held, as none of them is applied."""
    frozen = {job.application for job in jobs if job.effect is Effect.REFUSED}
    return [
        replace(job, effect=Effect.HELD) if job.application in frozen and job.effect is not Effect.REFUSED else job
        for job in jobs
    ]


def _remedy(job: JobChange) -> str | None:
    """Return the annotation that makes a refused change possible: the next run number."""
    if job.effect is not Effect.REFUSED or job.place.name == FOLDER:
        return None
    end = _RUN.fullmatch(job.old_name[len(job.place.name) :]) if job.old_name.startswith(job.place.name) else None
    return f'{RUN}: "{int(end[1]) + 1 if end else 2}"'


_KEEP: Final = (
    ("argocd.argoproj.io/sync-options", "Prune=false"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
)
"""Annotations, and the value that keeps an object in the cluster after its file is removed."""


class Pair(NamedTuple):
    """The object of a file before and after; None without one."""

    old: Document | None
    new: Document | None


class Found(NamedTuple):
    """The changes of objects, the pairs that they come from, refusals, and findings."""

    objects: tuple[ObjectChange, ...]
    pairs: tuple[Pair, ...]
    refusals: tuple[Refusal, ...]
    findings: tuple[Finding, ...]


def object_changes(place: Place, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Found:
    """Compare the files of a directory. Only those whose bytes differ are read."""
    changed: list[ObjectChange] = []
    pairs: list[Pair] = []
    refused: list[Refusal] = []
    findings: list[Finding] = []
    for file in sorted({*before, *after}, key=lambda file: (not file.startswith("jobset"), file)):
        if before.get(file) == after.get(file):
            continue
        name = f"out/{place}/{file}"
        sides = []
        for tree, old in ((before, True), (after, False)):
            document, found = read(name, tree[file], old=old) if file in tree else (None, ())
            sides.append(document)
            findings += found
        if any(file in tree and side is None for tree, side in zip((before, after), sides, strict=True)):
            continue  # a side that cannot be read is not a removed object
        pair = Pair(*sides)
        pairs.append(pair)
        made, forbidden, found = _of_pair(name, pair)
        changed += made
        refused += forbidden
        findings += found
    return Found(tuple(changed), tuple(pairs), tuple(refused), tuple(findings))


def _of_pair(file: str, pair: Pair) -> tuple[list[ObjectChange], tuple[Refusal, ...], tuple[Finding, ...]]:
    old, new = pair
    if old is None or new is None:
        return [_alone(file, each, gone=new is None) for each in pair if each is not None], (), ()
    if _kind(old) != _kind(new):
        return [_alone(file, old, gone=True), _alone(file, new, gone=False)], (), ()
    if same(old.data, new.data):
        return [_change(file, old, new, Effect.COMMENTS)], (), ()
    if _place(old) != _place(new):
        return [_change(file, old, new, Effect.RERUN)], (), ()
    forbidden, findings = refusals(new, old)
    effect = Effect.REFUSED if forbidden else Effect.UPDATED
    return [_change(file, old, new, effect)], forbidden, findings


def _change(file: str, old: Document, new: Document, effect: Effect) -> ObjectChange:
    fields = field_changes(old, new) if effect is not Effect.COMMENTS else ()
    return ObjectChange(file, str(new.data["kind"]), _name(new), _name(old), effect, fields)


def _alone(file: str, document: Document, *, gone: bool) -> ObjectChange:
    kind, name = str(document.data["kind"]), _name(document)
    if not gone:
        return ObjectChange(file, kind, name, "", Effect.CREATED)
    return ObjectChange(file, kind, "", name, Effect.KEPT if is_kept(document.data) else Effect.DELETED)


def is_kept(data: JsonObject) -> bool:
    """Return whether an object stays in the cluster after its file is removed, by its annotations."""
    return any(word in str(get(data, "metadata", "annotations", key) or "").split(",") for key, word in _KEEP)


def jobset_of(documents: Iterable[Document | None]) -> Document | None:
    """Return the first JobSet."""
    return next((each for each in documents if each is not None and each.data["kind"] == "JobSet"), None)


def _kind(document: Document) -> tuple[str, str]:
    return str(document.data["apiVersion"]).rpartition("/")[0], str(document.data["kind"])


def _place(document: Document) -> tuple[str, str]:
    return str(get(document.data, "metadata", "namespace") or ""), _name(document)


def _name(document: Document) -> str:
    return str(get(document.data, "metadata", "name"))


_TRIED: Final = 2000
"""The most pairs compared; beyond that, renamed jobs are reported as removed and new ones."""

_Names = tuple[tuple[str, str], ...]
"""Pairs of old and new names, longest first."""


def renamed(jobs: Iterable[JobChange], jobsets: Mapping[Place, Pair]) -> list[JobChange]:
    """Return the jobs, with removed and new jobs joined if they were renamed."""
    jobs = list(jobs)
    gone: dict[tuple[object, ...], list[JobChange]] = {}
    for job in jobs:
        if job.effect is Effect.DELETED and jobsets[job.place].old is not None:
            gone.setdefault(_likeness(job, job.before), []).append(job)
    joined: dict[Place, JobChange] = {}
    tried = 0
    for job in jobs:
        new = jobsets[job.place].new
        if job.effect is not Effect.CREATED or new is None:
            continue
        candidates = gone.get(_likeness(job, job.after), [])
        for other in candidates:
            old = jobsets[other.place].old
            tried += 1
            if old is not None and tried <= _TRIED and _is_same(old.data, new.data, _names(other, old, job, new)):
                candidates.remove(other)
                joined[job.place] = other
                break
    taken = {other.place for other in joined.values()}
    return [_join(job, joined.get(job.place)) for job in jobs if job.place not in taken]


def _likeness(job: JobChange, usage: object) -> tuple[object, ...]:
    return job.place.environment, job.queue, usage


def _join(job: JobChange, other: JobChange | None) -> JobChange:
    if other is None:
        return job
    return replace(
        job,
        effect=Effect.RENAMED,
        other=other.place,
        old_name=other.old_name,
        words=(),
        objects=(*job.objects, *other.objects),
        before=other.before,
        last=other.last,
    )


def _names(other: JobChange, old: Document, job: JobChange, new: Document) -> _Names:
    pairs = {(other.place.name, job.place.name), (other.old_name, job.name)}
    pairs.add((str(get(old.data, "metadata", "namespace")), str(get(new.data, "metadata", "namespace"))))
    return tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair)))


def _is_same(old: Json, new: Json, names: _Names) -> bool:
    """Return whether two values are equal after replacing the old names by the new ones."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(value, new[key], names) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_is_same(a, b, names) for a, b in zip(old, new, strict=True))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or _as_new(old, names) == new
    return old == new and type(old) is type(new)


def _as_new(text: str, names: _Names) -> str:
    for old, new in names:
        found = re.sub(rf"(?<![a-z0-9]){re.escape(old)}(?![a-z0-9])", lambda _, new=new: new, text)  # type: ignore[misc]
        if found != text:
            return found
    return text


_Said = tuple[Path, str]
"""The path of a field, and why it may not change."""

_JOB: Final = ("selector", "template", "completionMode", "podFailurePolicy", "successPolicy", "backoffLimitPerIndex")
_STORAGE: Final[Path] = ("spec", "resources", "requests", "storage")
_CLAIM: Final = ("accessModes", "selector", "storageClassName", "volumeMode", "volumeName", "dataSource")


def refusals(new: Document, old: Document) -> tuple[tuple[Refusal, ...], tuple[Finding, ...]]:
    """Return the changes that a cluster refuses, and findings about an object that cannot be compared.

    Both objects have the same kind, namespace and name.
    """
    kind, name = str(new.data["kind"]), str(get(new.data, "metadata", "name"))
    if kind == "JobSet":
        found, findings = _of_jobset(new, old)
    else:
        found, findings = tuple(_of_other(kind, new.data, old.data)), ()
    return tuple(Refusal(kind, name, field, message) for field, message in found), findings


def _of_jobset(new: Document, old: Document) -> tuple[tuple[tuple[str, str], ...], tuple[Finding, ...]]:
    resource = BUILT_IN.find(*split_version(str(new.data["apiVersion"])), "JobSet")
    if resource is None:
        message = f"trainc does not know JobSets of {new.data['apiVersion']}"
        return (), (unreadable(new, message, old=False),)
    stored: list[JsonObject] = []
    for document in (new, old):
        held = as_stored(resource, document, created=True)
        if isinstance(held, Finding):
            return (), (unreadable(document, held.message, old=document is old),)
        stored.append(held)
    try:
        return tuple(_named(resource, *stored)), ()
    except GoDecodeError as error:
        return (), (unreadable(new, error.message, old=False),)


def _named(resource: Resource, new: JsonObject, old: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the fields that the CRD's rules and the webhook refuse to change, and the messages."""
    reported: set[Path] = set()
    for failure in failures(resource.schema, new, old):
        if failure.transition:
            path = existing(new, failure.path)
            before = counterpart(old, new, path)
            found = tuple(changes(get(new, *path), get(old, *before), path, before))
            reported |= {change.name for change in found}
            yield from ((named(new, old, change), failure.message) for change in found)
            if not found:
                yield dotted(path), failure.message
    for changed in jobset_changes(new, old):
        wrapped, was = _within(changed.path, changed.new), _within(changed.path, changed.old)
        for change in changes(wrapped, was):
            if change.name not in reported:
                yield named(wrapped, was, change), changed.message


def _within(path: Path, value: Json) -> Json:
    """Return an object with only the value at a path of keys."""
    for step in reversed(path):
        value = {str(step): value}
    return value


def _of_other(kind: str, new: JsonObject, old: JsonObject) -> Iterator[tuple[str, str]]:
    if kind == "ConfigMap":
        yield from ((dotted(each.path), each.message) for each in config_map_changes(new, old))
    elif kind == "Secret":
        yield from _differing(new, old, [("type",)], IMMUTABLE)
        if old.get("immutable") is True:
            yield from _differing(new, old, [("immutable",), ("data",), ("stringData",)], FROZEN)
    elif kind == "Job":
        yield from _differing(new, old, [("spec", name) for name in _JOB], IMMUTABLE)
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        yield from _differing(new, old, [("roleRef",)], "cannot change roleRef")
    elif kind == "PersistentVolumeClaim":
        message = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        yield from _differing(new, old, [("spec", name) for name in _CLAIM], message)
        yield from _less(new, old)


def _less(new: JsonObject, old: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the storage of a claim if it decreases, as a volume cannot shrink."""
    sizes = [get(data, *_STORAGE) for data in (new, old)]
    try:
        size, was = (from_json(size) for size in sizes if size is not None)
    except ValueError:  # one of them is missing, or not a quantity
        return
    if size < was:
        yield dotted(_STORAGE), "field can not be less than status.capacity"


def _differing(new: JsonObject, old: JsonObject, paths: list[Path], message: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        value, was = get(new, *path), get(old, *path)
        if not same(value, was) and (value or was):
            yield dotted(path), message


_PLAIN = lazy(r"[A-Za-z_][\w-]*\Z")
_INDEX = lazy(r"[0-9]+\Z")
_BARE = lazy(r"[^\s\[\]=]+\Z")


def field_changes(old: Document, new: Document) -> tuple[FieldChange, ...]:
    """Return the changed fields of an object, in the order of the new version, with secrets masked."""
    shown, before = masked(new, old), masked(old, new)
    return tuple(
        FieldChange(
            named(new.data, old.data, change),
            _shown(before, change.old_path, change.old),
            _shown(shown, change.path, change.new),
        )
        for change in _sorted_out(new.data, old.data)
    )


def _sorted_out(new: JsonObject, old: JsonObject) -> Iterator[Change]:
    """Yield the changes; a null, which is a value in JSON, is none to a cluster."""
    return (change for change in changes(new, old) if not (change.new is None and change.old is None))


def _shown(data: JsonObject, path: Path, value: Json) -> Json:
    return None if value is None else get(data, *path)


def named(new: Json, old: Json, change: Change) -> str:
    """Spell the path of a change: ``spec.replicatedJobs[node].template``, items of lists by what names them.

    An item without a key is named by its index, another key than name is said: ``volumeMounts[mountPath=/data]``.
    """
    text, value = "", new
    for depth, step in enumerate(change.name):
        if depth >= len(change.path):  # what is gone
            value = get(old, *change.old_path[:-1])
        text += _item(value, step) if isinstance(step, int) else _key(step, first=not text)
        value = get(value, step)
    return text


def _key(step: str, *, first: bool) -> str:
    if _PLAIN.match(step):
        return step if first else f".{step}"
    return f'["{step}"]'


def _item(value: Json, step: int) -> str:
    key = key_of(get(value, step))
    if key is None or not _BARE.match(str(key[1])):
        return f"[{step}]"
    name, said = key
    return f"[{said}]" if name == "name" and not _INDEX.match(str(said)) else f"[{name}={said}]"


def masked(document: Document, *others: Document | None) -> JsonObject:
    """Return the object of a document with its secrets, and those of others, masked at any position."""
    texts: set[str] = set()
    for each in (document, *others):
        if each is not None:
            texts.update(secret.text for found in hidden(each).values() for secret in found)
    spellings = {form for text in texts for form in (text, dumps(text)[1:-1]) if len(form) >= LEAST}
    # Longest first: one secret may begin as another does.
    forms = re.compile("|".join(map(re.escape, sorted(spellings, key=lambda form: (-len(form), form)))) or r"(?!)")
    here = hidden(document)

    def mask(path: Path, value: Json) -> Json:
        for secret in here.get(path, ()):
            value = MASK if secret.whole or not isinstance(value, str) else value.replace(secret.text, MASK)
        return forms.sub(MASK, value) if isinstance(value, str) else value

    return as_object(mapped(document.data, mask)) if texts else document.data
