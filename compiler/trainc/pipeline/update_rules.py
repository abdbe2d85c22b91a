"""Changes that a cluster refuses: compares the objects of this run with those of the base revision.

Rules that compare with oldSelf (x-kubernetes-validations) and the webhooks' rules for updates. Objects that are new,
renamed or removed are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from trainc.admission.base_revision import (
    Base,
    Identity,
    as_stored,
    broken,
    identify,
    no_longer_emitted,
    standard,
)
from trainc.admission.rules import BrokenRule, failures
from trainc.admission.update import (
    jobset_changes,
    kueue_changes,
    may_wait,
    refused_changes,
    rewritten,
    trainjob_changes,
)
from trainc.basics.differences import Change, LostValues, changes, contains, counterpart, same, undone
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, existing, get
from trainc.basics.memo import Remembered, last
from trainc.checks.created_pods import created_claims
from trainc.documents.classify import RUNTIMES, TRAINJOB, is_companion
from trainc.documents.positions import text_of_path
from trainc.findings import Finding, Related, Severity, has_errors, report
from trainc.findings.redaction import masked_value
from trainc.gitops.base import FLUX_PREFIX, SYNC_OPTIONS, job_name_path, run_of, sync_options
from trainc.gitops.environment import left_by
from trainc.gitops.keys import EXTERNAL_SECRETS, operator_secret
from trainc.gitops.naming import new_run_hint
from trainc.gitops.pods import named_by_pods
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.options import Options
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.plugins.model import Model, Object, Objects
from trainc.plugins.origins import source_of
from trainc.schema import Resource, admit, has_rules
from trainc.schema.kinds import BUILT_IN, Registry, split_version
from trainc.schema.wording import show
from trainc.upstream import RUN

if TYPE_CHECKING:
    from trainc.pipeline.compile import Build

RULE: Final = "TC202"
WEBHOOK: Final = "TC204"
FIXED: Final = "TC205"
RUN_NUMBER: Final = "TC609"
_ADVISORY = frozenset((TRAINJOB, *RUNTIMES))
"""The kinds that may never be applied to a cluster."""

_COMPARED: Final = ("JobSet", "ConfigMap", "RoleBinding", "Secret")
"""The kinds of a job's objects with immutable fields. Other Jobs have a hash of their spec in the name."""

_USED: Final = ("ConfigMap", "ExternalSecret", "PersistentVolumeClaim", "Secret", "ServiceAccount")
"""The kinds of objects that pods use, or of which the cluster makes one that they use."""

_ABSENT = "nothing"
_REWRITTEN = "the text is unchanged, but Trainer's webhook rewrites quantities when it sets the time of a runtime patch"
_TRIED = 16
"""The most changes of an object that are undone one by one to find the one that a rule refuses."""

_SEARCHED: Final = 100
"""The most changed settings that are searched for the cause of a change."""

_FEW: Final = 64
"""The inputs whose state at the base revision is kept."""

_NAMED = 3
"""The most further changes that a message names."""


_Locate = Callable[[Change], tuple[Document, Path]]
"""Returns the input that caused a change."""


class Refusal(NamedTuple):
    """A refusal of changes to an object: code and stage, our message and the cluster's, and the changes."""

    code: str
    stage: str
    message: str
    upstream: str
    changes: tuple[Change, ...]


class UpdateRules(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Compares objects with those of a base revision."""

    base: Base
    registry: Registry = BUILT_IN

    @cached_property
    def _before(self) -> Mapping[Document, Document | None]:
        """Inputs at the base revision as a cluster stores them; None for those that are missing or invalid."""
        return Remembered(self._stored_before, _FEW)

    @cached_property
    def _input_changes(self) -> Mapping[Document, tuple[Change, ...]]:
        """The changes of inputs since the base revision."""
        return Remembered(self._changes_of, _FEW)

    @cached_property
    def _first_in_spec(self) -> Mapping[Document, Change | None]:
        """The first change in the spec of an input: thousands of annotations may have changed before it."""
        return Remembered(
            lambda document: next((one for one in self._input_changes[document] if one.name[0] == "spec"), None), _FEW
        )

    @cached_property
    def _lost_values(self) -> Mapping[Document, LostValues]:
        """The old values of changed inputs."""
        return Remembered(lambda document: LostValues(self._input_changes[document]), _FEW)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Notes on objects of the base revision that cannot be compared."""
        return self.base.notes(*_COMPARED)

    def of_input(self, document: Document) -> tuple[Finding, ...]:
        """Return findings on refused changes of a document, as a cluster stores it.

        They are warnings for TrainJobs and runtimes, which trainc compiles, and errors for other kinds. A TrainJob with
        another run number may change.
        """
        new = document.data
        old = self.base.input(*identify(new))
        if old is not None and new["kind"] == TRAINJOB and run_of(document) < run_of(old):
            return (self._earlier_run(document, old),)
        if is_companion(document):
            # Without out/, only ConfigMaps, to which trainc adds no defaults.
            usable = new["kind"] == "ConfigMap" and self.base.unrendered
            known = self.base.emitted(*identify(new)) or (old if usable else None)
            if known is not None:
                return tuple(self._immutable(new, known, lambda change: (document, existing(new, change.path))))
        resource = self._resource(new) if old is not None else None
        new_run = old is not None and new["kind"] == TRAINJOB and run_of(document) != run_of(old)
        if old is None or resource is None or not has_rules(resource.schema) or new_run:
            return ()
        stored = as_stored(resource, old)
        if isinstance(stored, Finding):
            return (stored,)
        try:
            after = new if new["kind"] != TRAINJOB else rewritten(new, stored)  # by Trainer's mutating webhook
            refusals = list(_by_rules(resource, after, stored, ""))
            if new["kind"] == TRAINJOB:
                for changed in trainjob_changes(after, stored):
                    found = tuple(changes(changed.new, changed.old, changed.path))
                    refusals.append(Refusal(WEBHOOK, "", changed.message, changed.upstream, found))
        except GoDecodeError as error:  # in the old object, since the new one was decoded before
            return (broken(old, error.path, error.message),)
        findings = []
        for refusal in refusals:
            first = refusal.changes[0]
            written = text_of_path(document, first.path)
            hint = _REWRITTEN if written is not None and written == text_of_path(old, first.old_path) else None
            severity = Severity.WARNING if new["kind"] in _ADVISORY else None
            source = document, existing(new, first.path)
            findings.append(self._finding(refusal, source, old, (after, stored), hint=hint, severity=severity))
        return tuple(findings)

    def _earlier_run(self, document: Document, old: Document) -> Finding:
        """Return the warning about a run number that is lower than before."""
        path: Path = ("metadata", "annotations", RUN)
        message = f"run number lowered from {run_of(old)} to {run_of(document)} since {self.base.revision}"
        hint = f'the job runs again with the name of an earlier run: use "{run_of(old) + 1}" for a new one'
        source = document, existing(document.data, path)
        related = (Related(f"at {self.base.revision}", old, existing(old.data, path)),)
        return report(RUN_NUMBER, *source, message, hint=hint, related=related, severity=Severity.WARNING)

    def of_objects(self, model: Model, objects: Objects) -> tuple[Finding, ...]:
        """Return findings on refused changes of a job's objects, at their sources."""
        found: list[Finding] = []
        others = kept_by_others(self.base, model)
        for obj in objects:
            old = self.base.emitted(*identify(obj.data), others) if obj.kind in _COMPARED else None
            if old is not None and obj.kind == "JobSet":
                taken = self._of_another_job(model, obj, old)
                found += taken if has_errors(taken) else (*taken, *self._jobset(model, obj, old))
            elif obj.kind == "JobSet":
                found += self._claims_of_others(model, obj)
            elif old is not None:
                locate = partial(self._source_of_content, model, obj)
                found += self._immutable(obj.data, old, locate, new_run_hint(model.job))
            elif obj.kind == "Secret" and (old := self._of_operator(obj, obj.name)) is not None:
                locate, stored = partial(self._source_of_content, model, obj), operator_secret(old.data)
                found += self._immutable(obj.data, old, locate, new_run_hint(model.job), stored)
        return tuple(found)

    def _of_another_job(self, model: Model, jobset: Object, old: Document) -> tuple[Finding, ...]:
        """Return an error if the JobSet was that of another job, whose Application or Kustomization deletes it.

        If one Application has both jobs, the JobSet stays as it is, which is a warning.
        """
        *_, namespace, job, _ = old.source.name.split("/")
        together = model.options.settings.tool.per_namespace
        if (namespace, job) == (model.namespace, model.title):
            return ()
        effect = "and Argo CD keeps it: nothing runs again" if together else "whose sync deletes it"
        message = f"JobSet {jobset.name} was that of job {job} at {self.base.revision}, {effect}"
        severity = Severity.WARNING if together else None
        related = (Related(f"at {self.base.revision}", old, ("metadata", "name")),)
        where = model.job, job_name_path(model.job)
        return (report("TC602", *where, message, severity=severity, found=jobset.name, related=related),)

    def _claims_of_others(self, model: Model, jobset: Object) -> Iterator[Finding]:
        """Yield an error for each claim of a new JobSet that another JobSet had: JobSet's controller uses it as it is.

        The name of a claim is that of its template, and then of the JobSet.
        """
        group, kind, namespace, _ = identify(jobset.data)
        named: dict[str, list[str]] = {}  # by each JobSet that may have had the claims
        for name in _claims(jobset.data):
            words = name.split("-")
            for start in range(1, len(words)):
                named.setdefault("-".join(words[start:]), []).append(name)
        for owner, names in named.items():
            if (old := self.base.emitted(group, kind, namespace, owner)) is None:
                continue
            claims = _claims(old.data)
            for name in filter(claims.__contains__, names):
                message = f"JobSet {jobset.name} would use the data of JobSet {owner}, which had claim {name}"
                related = (Related(f"at {self.base.revision}", old, existing(old.data, claims[name])),)
                where = model.job, job_name_path(model.job)
                yield report("TC602", *where, message, found=name, related=related)

    def _of_operator(self, obj: Object, secret: str) -> Document | None:
        """Return the ExternalSecret of the base revision with the name of a Secret, in the namespace of an object."""
        namespace = identify(obj.data)[2]
        return self.base.emitted(split_version(EXTERNAL_SECRETS)[0], "ExternalSecret", namespace, secret)

    def _source_of_content(self, model: Model, obj: Object, change: Change) -> tuple[Document, Path]:
        """Return the source of a change of an object: the first change of the inputs, if there is one."""
        return self._first_change(model) or self._cause(model, obj, change)

    def _immutable(
        self,
        data: JsonObject,
        old: Document,
        locate: _Locate,
        hint: str | None = None,
        stored: JsonObject | None = None,
    ) -> Iterator[Finding]:
        """Yield one finding on an object with changed immutable fields, for its first change.

        ``stored`` is the old object in the cluster, if that is not the one of the document.
        """
        forbidden = tuple(refused_changes(data, stored or old.data))
        found = tuple(change for f in forbidden for change in changes(f.new, f.old, f.path))
        if not found:
            return
        yield report(
            FIXED,
            *locate(found[0]),
            f"{data['kind']} {get(data, 'metadata', 'name')} is refused: {_named(found)}: {forbidden[0].message}",
            hint=hint,
            related=(self._before_change(old, found[0]),),
            upstream=", ".join(f.upstream for f in forbidden),
        )

    def _jobset(self, model: Model, obj: Object, old: Document) -> Iterator[Finding]:
        resource = self._resource(obj.data)
        if resource is None or same(old.data, obj.data):
            return
        stored = as_stored(resource, old, created=True)
        if isinstance(stored, Finding):
            yield stored
            return
        refusals = jobset_refusals(resource, obj.data, stored)
        hint, data = new_run_hint(model.job), (obj.data, stored)
        for refusal in refusals:
            for source, caused in self._by_cause(model, obj, refusal.changes):
                of_cause = refusal._replace(changes=caused)
                before = tuple(self._cause_before(*source))
                yield self._finding(of_cause, source, old, data, "the JobSet is refused: ", hint=hint, related=before)

    def _finding(
        self,
        refusal: Refusal,
        source: tuple[Document, Path],
        old: Document,
        data: tuple[JsonObject, JsonObject],
        subject: str = "",
        *,
        hint: str | None,
        severity: Severity | None = None,
        related: tuple[Related, ...] = (),
    ) -> Finding:
        """Return the finding on a refusal; ``data`` are the new and the old object, ``old`` is the old document."""
        new, stored = data
        first = refusal.changes[0]
        return report(
            refusal.code,
            *source,
            f"{subject}{_named(refusal.changes)}: {refusal.message}",
            severity=severity,
            found=_shown(new, first.path, first.new),
            expected=_shown(stored, first.old_path, first.old),
            hint=hint,
            related=(*related, self._before_change(old, first)),
            stage=refusal.stage or None,
            upstream=refusal.upstream,
        )

    def _before_change(self, old: Document, change: Change) -> Related:
        message = f"not set at {self.base.revision}" if change.old is None else f"at {self.base.revision}"
        return Related(message, old, existing(old.data, change.old_path))

    def _cause_before(self, document: Document, path: Path) -> Iterator[Related]:
        """Yield the position of the input at the base revision, if it was different."""
        old = self._before[document]
        if old is None:
            return
        before = counterpart(old.data, document.data, path)
        if before != path or get(old.data, *before) != get(document.data, *path):
            yield Related(f"the input at {self.base.revision}", old, before)

    def _stored_before(self, document: Document) -> Document | None:
        if "apiVersion" not in document.data:
            return self.base.settings.get(document.source.name)
        old = self.base.input(*identify(document.data))
        resource = self._resource(document.data)
        stored = as_stored(resource, old) if old is not None and resource is not None else None
        return replace(old, data=last(stored)) if old is not None and isinstance(stored, dict) else None

    def _changes_of(self, document: Document) -> tuple[Change, ...]:
        old = self._before[document]
        return () if old is None else tuple(changes(document.data, old.data))

    def _by_cause(
        self, model: Model, obj: Object, found: Iterable[Change]
    ) -> Iterator[tuple[tuple[Document, Path], tuple[Change, ...]]]:
        """Yield changes by their source in the inputs, in order."""
        caused: dict[tuple[str, int, Path], tuple[tuple[Document, Path], list[Change]]] = {}
        for change in found:
            document, path = self._cause(model, obj, change)
            caused.setdefault((document.source.name, document.index, path), ((document, path), []))[1].append(change)
        for source, changed in caused.values():
            yield source, tuple(changed)

    def _cause(self, model: Model, obj: Object, change: Change) -> tuple[Document, Path]:
        """Return the source of a changed value; if that is unchanged, the changed input or setting that caused it."""
        document, path = source_of(model, obj, change.path)
        if any(self._cause_before(document, path)):
            return document, path
        for origin in (model.job, model.runtime) if change.old is not None else ():
            if (lost := self._lost_values[origin].cause_of(change)) is not None:
                return origin, existing(origin.data, lost.path)
        return self._changed_setting(model, change) or (document, path)

    def _changed_setting(self, model: Model, change: Change) -> tuple[Document, Path] | None:
        """Return the changed option or digest with the old value, or the only change of the inputs."""
        options = model.options
        found: list[tuple[Document, Change]] = []
        for document in (options.config_document, options.lock.document):
            if document is not None:
                concerned = (one for one in self._input_changes[document] if options.concerns(one.name))
                found += ((document, one) for one in islice(concerned, _SEARCHED))
        named = [(document, one) for document, one in found if contains(change.old, one.old)]
        if not named and self._first_change(model) is None:
            named = found
        return next(((document, existing(document.data, one.path)) for document, one in named), None)

    def _first_change(self, model: Model) -> tuple[Document, Path] | None:
        """Return the first change in the spec of TrainJob or runtime."""
        for document in (model.job, model.runtime):
            if (change := self._first_in_spec[document]) is not None:
                return document, existing(document.data, change.path)
        return None

    def _resource(self, data: JsonObject) -> Resource | None:
        return self.registry.find(*split_version(str(data["apiVersion"])), str(data["kind"]))


def kept_by_others(base: Base, model: Model) -> tuple[str, ...]:
    """Return the environments that a job has left, and whose objects of it stay in the cluster of its new one."""
    known = base.has_job(model.namespace, model.title)
    return () if known else tuple(left_by(model.job, model.options))


def deleted_in_use(build: Build, made: Set[Identity], options: Options) -> Iterator[Finding]:
    """Yield a warning for each object that the sync deletes, though pods of a JobSet that stays use it.

    ``made`` are the objects of all environments of the cluster.
    """
    revision = options.base
    if revision is None:
        return
    tool = read_settings(revision.config, options.environment).tool  # with which the cluster has what is deleted
    deleted: dict[Identity, Document] = {}
    emitted = (each.identity for each in build.summaries)
    homes = {each.namespace for each in build.shared}
    for old in no_longer_emitted(revision, options.environment, _USED, emitted, made):
        stored = identify(operator_secret(old.data) if old.data["kind"] == "ExternalSecret" else old.data)
        *_, namespace, folder, _ = old.source.name.split("/")
        ends = folder == FOLDER and namespace not in homes and not tool.per_namespace  # and with it its Application
        keeps = {f"{SYNC_OPTIONS} {'Delete' if ends else 'Prune'}=false", f"{FLUX_PREFIX}prune disabled"}
        is_kept = (ends and tool.on_delete == "keep") or not keeps.isdisjoint(sync_options(old.data.get("metadata")))
        if stored not in made and not is_kept:
            deleted[stored] = old
    users: dict[Identity, list[tuple[Document, str]]] = {}
    base = Base.of(revision, (options.environment,))
    for job in build.jobs if deleted else ():
        for jobset in (each for each in job.summaries if each.kind == "JobSet"):
            before = base.emitted(*jobset.identity)
            for kind, name in named_by_pods(before.data) if before is not None else ():
                users.setdefault(("", kind, jobset.identity[2], name), []).append((job.document, jobset.name))
    for stored in sorted(deleted.keys() & users.keys()):
        (document, named), *others = users[stored]
        more = f" (and {len(others)} more)" if others else ""
        message = f"{stored[1]} {stored[3]} is deleted, but JobSet {named}{more} stays, and its pods use it"
        related = (Related(f"at {revision.name}", deleted[stored], ("metadata", "name")),)
        # No hint that 'trainc fix' applies: a job that has ended would run again, and does not need the object.
        hint = "if the job has not ended, revert the change until it has"
        where = document, job_name_path(document)
        yield report(FIXED, *where, message, hint=hint, severity=Severity.WARNING, related=related)


def jobset_refusals(resource: Resource, new: JsonObject, old: JsonObject) -> list[Refusal]:
    """Return the changes of a JobSet that the CRD's rules, and then the webhooks, refuse, each change once.

    Both are JobSets as a cluster stores them. Raises GoDecodeError for other data.
    """
    refusals = list(_by_rules(resource, new, old, "jobset-crd"))
    reported = {change.name for refusal in refusals for change in refusal.changes}
    of_webhooks = (
        *(("jobset-webhook", changed) for changed in jobset_changes(new, old)),
        *(("", changed) for changed in kueue_changes(new, old, waits=may_wait(old))),  # not in all clusters
    )
    for stage, changed in of_webhooks:
        others = changes(changed.new, changed.old, changed.path)
        if found := tuple(change for change in others if change.name not in reported):
            refusals.append(Refusal(WEBHOOK, stage, changed.message, changed.upstream, found))
    return refusals


def _by_rules(resource: Resource, new: JsonObject, old: JsonObject, stage: str) -> Iterator[Refusal]:
    """Yield the failures of the CRD's rules, except at or above other errors of the new object."""
    new, old = standard(new), standard(old)
    skip = tuple(violation.path for violation in admit(resource, new).violations if violation.blocking)
    blame = _Blame(resource, new, old, skip)
    for failure in failures(resource.schema, new, old, skip):
        if failure.transition:
            yield Refusal(RULE, stage, failure.message, failure.upstream or "", blame.changes_of(failure))


class _Blame(msgspec.Struct, frozen=True, dict=True):
    """Finds the changes that rules refuse; ``skip`` holds the paths of other errors of the new object."""

    resource: Resource
    new: JsonObject
    old: JsonObject
    skip: tuple[Path, ...]
    known: dict[Path, tuple[Change, ...]] = msgspec.field(default_factory=dict)
    without: dict[tuple[Path, Path], frozenset[tuple[Path, str]]] = msgspec.field(default_factory=dict)
    """The rules that fail without a change, by its name and path: an item may be in the place of a removed one."""

    def changes_of(self, failure: BrokenRule) -> tuple[Change, ...]:
        """Return the changes each of which breaks the rule by itself; all of them if there is none."""
        found = self._below(existing(self.new, failure.path))
        untried = sum((change.name, change.path) not in self.without for change in found[:_TRIED])
        if not 1 < len(found) <= _TRIED or len(self.without) + untried > _TRIED:
            return found
        rule = failure.path, failure.rule
        return tuple(change for change in found if rule not in self._failing_without(change)) or found

    def _below(self, path: Path) -> tuple[Change, ...]:
        """Return the changes at or below a path; the value itself, if it is the same."""
        if path not in self.known:
            before = counterpart(self.old, self.new, path)
            new, old = get(self.new, *path), get(self.old, *before)
            self.known[path] = tuple(changes(new, old, path, before)) or (Change(path, before, path, new, old),)
        return self.known[path]

    def _failing_without(self, change: Change) -> frozenset[tuple[Path, str]]:
        key = change.name, change.path
        if key not in self.without:
            found = failures(self.resource.schema, as_object(undone(self.new, change)), self.old, self.skip)
            self.without[key] = frozenset((each.path, each.rule) for each in found)
        return self.without[key]


def _claims(jobset: JsonObject) -> dict[str, Path]:
    """Return the names of a JobSet's claims, with the paths of their templates."""
    return {str(get(claim.data, "metadata", "name")): claim.template for claim in created_claims(jobset)}


def _named(found: tuple[Change, ...]) -> str:
    """Return a summary of changes: the first one, the names of a few others, and the number of the rest."""
    first, *named = [dotted(change.name) for change in found[: 1 + _NAMED]]
    if rest := len(found) - 1 - len(named):
        named.append(f"{rest} more")
    how = "was added" if found[0].old is None else "was removed" if found[0].new is None else "has changed"
    return f"{first} {how}" + (f" (also {', '.join(named)})" if named else "")


def _shown(data: JsonObject, path: Path, value: Json) -> str:
    return _ABSENT if value is None else show(masked_value(data, path))
