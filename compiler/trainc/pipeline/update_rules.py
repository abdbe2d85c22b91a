"""What a cluster refuses to change: objects of this run compared with those of the base revision.

Rules that compare with oldSelf (x-kubernetes-validations) and the webhooks' rules for updates. Objects that are new,
renamed or removed are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from trainc.admission.base_revision import Base, as_stored, broken, identify, standard
from trainc.admission.rules import RuleFailure, failures
from trainc.admission.update import config_map_changes, jobset_changes, rewritten, trainjob_changes
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, existing, get
from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.documents.compare import Change, changes, contains, counterpart, holds, is_text_of, same, undone
from trainc.findings import Finding, Related, Severity, report
from trainc.findings.redaction import concealed
from trainc.gitops.base import run_of
from trainc.gitops.naming import new_run_hint
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.schema import Resource, admit, has_rules
from trainc.schema.kinds import BUILT_IN, Registry, split_version
from trainc.schema.wording import show

RULE: Final = "TC202"
WEBHOOK: Final = "TC204"
CONFIG_MAP: Final = "TC205"
_ADVISORY = frozenset((TRAINJOB, *RUNTIMES))
"""The kinds that need not reach a cluster."""

_ABSENT = "nothing"
_RESPELT = "it is spelt as it was, but Trainer's webhook respells quantities where it sets the time of a runtime patch"
_TRIED = 16
"""Of so many changes it is tried which of them a rule refuses."""

_NAMED = 3
"""So many further changes are named in a message."""


_Place = Callable[[Change], tuple[Document, Path]]
"""Where the inputs have caused a change."""


class _Refusal(NamedTuple):
    """What a cluster says to changes of one object: its words, the rule if there is one, and the changes."""

    code: str
    stage: str
    message: str
    upstream: str
    changes: tuple[Change, ...]


class UpdateRules(msgspec.Struct, frozen=True, eq=False):
    """The comparison with a base revision."""

    base: Base
    registry: Registry = BUILT_IN

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What of the base revision cannot be compared with, as notes."""
        return self.base.notes("JobSet", "ConfigMap")

    def of_input(self, document: Document) -> tuple[Finding, ...]:
        """Return the changes of a document that a cluster would refuse; ``document`` holds it as a cluster stores it.

        They are warnings for TrainJobs and runtimes, which trainc compiles, and errors for what lies beside them. A
        TrainJob with another run number may change.
        """
        old = self.base.input(*identify(document.data))
        if old is not None and identify(document.data)[:2] == ("", "ConfigMap"):
            return tuple(self._frozen(document.data, old, lambda one: (document, existing(document.data, one.path))))
        resource = self._resource(document.data) if old is not None else None
        if old is None or resource is None or not has_rules(resource.schema) or _is_new_run(document, old):
            return ()
        stored = as_stored(resource, old)
        if isinstance(stored, Finding):
            return (stored,)
        try:
            new, before = _mutated(document.data, stored)
            refusals = [*_by_rules(resource, new, before, ""), *_by_trainer(new, before)]
        except GoDecodeError as error:  # of the old one: the new one has been decoded
            return (broken(old, error.path, error.message),)
        respelt = stored != before or document.data != new
        return tuple(self._of_input(document, old, (new, before), refusal, respelt=respelt) for refusal in refusals)

    def of_objects(self, model: Model, objects: Iterable[Object]) -> tuple[Finding, ...]:
        """Return the changes of a job's JobSet and ConfigMaps that a cluster refuses, at the lines that caused them."""
        found: list[Finding] = []
        for obj in objects:
            if obj.kind == "JobSet":
                found += self._jobset(model, obj)
            elif obj.kind == "ConfigMap":
                found += self._config_map(model, obj)
        return tuple(found)

    def _config_map(self, model: Model, obj: Object) -> Iterator[Finding]:
        """Yield the finding of a job's ConfigMap, which is made as a whole, where the inputs have changed first."""
        old = self.base.emitted(*identify(obj.data))
        if old is not None:
            hint = new_run_hint(model.job)
            place = lambda change: self._first_change(model) or self._cause(model, obj, change)  # noqa: E731
            yield from self._frozen(obj.data, old, place, hint)

    def _frozen(self, data: JsonObject, old: Document, place: _Place, hint: str | None = None) -> Iterator[Finding]:
        """Yield one finding of an immutable ConfigMap, with its first change."""
        forbidden = tuple(config_map_changes(data, old.data))
        found = tuple(change for f in forbidden for change in changes(f.new, f.old, f.path))
        if not found:
            return
        related = Related(self._was(found[0]), old, existing(old.data, found[0].old_path))
        yield report(
            CONFIG_MAP,
            *place(found[0]),
            f"ConfigMap {get(data, 'metadata', 'name')} is refused: {_named(found)}: {forbidden[0].message}",
            hint=hint,
            related=(related,),
            upstream=", ".join(f.upstream for f in forbidden),
        )

    def _jobset(self, model: Model, obj: Object) -> Iterator[Finding]:
        old = self.base.emitted(*identify(obj.data))
        resource = self._resource(obj.data)
        if old is None or resource is None:
            return
        stored = as_stored(resource, old, created=True)
        if isinstance(stored, Finding):
            yield stored
            return
        refusals = list(_by_rules(resource, obj.data, stored, "jobset-crd"))
        told = tuple(change.name for refusal in refusals for change in refusal.changes)
        refusals += _by_jobset(obj.data, stored, told)
        for refusal in refusals:
            for place, caused in self._by_cause(model, obj, refusal.changes):
                hint = new_run_hint(model.job)
                yield self._of_jobset(place, old, (obj.data, stored), refusal._replace(changes=caused), hint)

    def _of_input(
        self,
        document: Document,
        old: Document,
        data: tuple[JsonObject, JsonObject],
        refusal: _Refusal,
        *,
        respelt: bool,
    ) -> Finding:
        kind = str(document.data["kind"])
        new, stored = data
        first = refusal.changes[0]
        related = Related(self._was(first), old, existing(old.data, first.old_path))
        return report(
            refusal.code,
            document,
            existing(document.data, first.path),
            f"{_named(refusal.changes)}: {refusal.message}",
            severity=Severity.WARNING if kind in _ADVISORY else None,
            found=_shown(new, first.path, first.new),
            expected=_shown(stored, first.old_path, first.old),
            hint=_RESPELT
            if respelt and same(get(document.data, *first.path), get(old.data, *first.old_path))
            else None,
            related=(related,),
            upstream=refusal.upstream,
        )

    def _of_jobset(
        self,
        place: tuple[Document, Path],
        old: Document,
        data: tuple[JsonObject, JsonObject],
        refusal: _Refusal,
        hint: str,
    ) -> Finding:
        document, path = place
        new, stored = data
        first = refusal.changes[0]
        emitted = Related(self._was(first), old, existing(old.data, first.old_path))
        return report(
            refusal.code,
            document,
            path,
            f"the JobSet is refused: {_named(refusal.changes)}: {refusal.message}",
            found=_shown(new, first.path, first.new),
            expected=_shown(stored, first.old_path, first.old),
            hint=hint,
            related=(*self._cause_before(document, path), emitted),
            stage=refusal.stage,
            upstream=refusal.upstream,
        )

    def _cause_before(self, document: Document, path: Path) -> Iterator[Related]:
        """Yield the line of the input at the base revision, where it was another."""
        old = self._before(document)
        if old is None:
            return
        before = counterpart(old.data, document.data, path)
        if before != path or get(old.data, *before) != get(document.data, *path):
            yield Related(f"the line at {self.base.revision}", old, before)

    def _before(self, document: Document) -> Document | None:
        """Return an input at the base revision as a cluster holds it; None if there is none, or a broken one."""
        if "apiVersion" not in document.data:
            return self.base.settings.get(document.source.name)
        old = self.base.input(*identify(document.data))
        resource = self._resource(document.data)
        stored = as_stored(resource, old) if old is not None and resource is not None else None
        return replace(old, data=stored) if old is not None and isinstance(stored, dict) else None

    def _by_cause(
        self, model: Model, obj: Object, found: Iterable[Change]
    ) -> Iterator[tuple[tuple[Document, Path], tuple[Change, ...]]]:
        """Yield changes by the place in the inputs that caused them, in their order."""
        caused: dict[tuple[str, int, Path], tuple[tuple[Document, Path], list[Change]]] = {}
        for change in found:
            document, path = self._cause(model, obj, change)
            caused.setdefault((document.source.name, document.index, path), ((document, path), []))[1].append(change)
        for place, changed in caused.values():
            yield place, tuple(changed)

    def _cause(self, model: Model, obj: Object, change: Change) -> tuple[Document, Path]:
        """Return where a value comes from; if that is as it was, what has changed instead: an input or a setting."""
        document, path = source_of(model, obj, change.path)
        if any(self._cause_before(document, path)):
            return document, path
        for given in (model.job, model.runtime) if change.old is not None else ():
            for lost in self._input_changes(given):
                if lost.old is not None and (holds(lost.old, change.old) or is_text_of(change, lost)):
                    return given, existing(given.data, lost.path)
        return self._changed_setting(model, change) or (document, path)

    def _changed_setting(self, model: Model, change: Change) -> tuple[Document, Path] | None:
        """Return the option or the digest that has changed and is to blame: by its value, or as nothing else has."""
        options = model.options
        found: list[tuple[Document, Change]] = []
        for document in (options.config_document, options.lock.document):
            if document is not None and (old := self._before(document)) is not None:
                found += ((document, one) for one in changes(document.data, old.data) if options.concerns(one.name))
        named = [(document, one) for document, one in found if contains(change.old, one.old)]
        if not named and self._first_change(model) is None:
            named = found
        return next(((document, existing(document.data, one.path)) for document, one in named), None)

    def _first_change(self, model: Model) -> tuple[Document, Path] | None:
        """Return where TrainJob or runtime have changed first: what is made of them as a whole changed with them."""
        for given in (model.job, model.runtime):
            for change in self._input_changes(given):
                if change.name[0] == "spec":
                    return given, existing(given.data, change.path)
        return None

    def _input_changes(self, document: Document) -> Iterator[Change]:
        if (old := self._before(document)) is not None:
            yield from changes(document.data, old.data)

    def _was(self, change: Change) -> str:
        return f"there was {_ABSENT} at {self.base.revision}" if change.old is None else f"at {self.base.revision}"

    def _resource(self, data: JsonObject) -> Resource | None:
        return self.registry.find(*split_version(str(data["apiVersion"])), str(data["kind"]))


def _is_new_run(document: Document, old: Document) -> bool:
    """Tell whether a TrainJob has another run number: what is made of it is new, and may be anything."""
    return document.data["kind"] == TRAINJOB and run_of(document) != run_of(old)


def _mutated(new: JsonObject, old: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return both versions of a document given as Trainer's mutating webhook leaves them."""
    if new["kind"] != TRAINJOB:
        return new, old
    before = rewritten(old)
    return rewritten(new, before), before


def _by_rules(resource: Resource, new: JsonObject, old: JsonObject, stage: str) -> Iterator[_Refusal]:
    """Yield what the rules of the CRD say; where the new object has errors of its own, not those at or above them."""
    new = standard(new)
    skip = tuple(violation.path for violation in admit(resource, new).violations if violation.blocking)
    for failure in failures(resource.schema, new, old, skip):
        if not failure.transition:
            continue
        path = existing(new, (*failure.path, *failure.about))
        before = counterpart(old, new, path)
        found = tuple(changes(get(new, *path), get(old, *before), path, before))
        found = found or (Change(path, before, path, get(new, *path), get(old, *before)),)
        found = _to_blame(resource, (new, old), skip, failure, found)
        yield _Refusal(RULE, stage, failure.message, failure.upstream, found)


def _to_blame(
    resource: Resource,
    data: tuple[JsonObject, JsonObject],
    skip: tuple[Path, ...],
    failure: RuleFailure,
    found: tuple[Change, ...],
) -> tuple[Change, ...]:
    """Return the changes without any one of which the rule would hold; all, where it takes several."""
    if not 1 < len(found) <= _TRIED:
        return found
    new, old = data
    failed = (failure.path, failure.rule)
    tries = [(change, as_object(undone(new, change))) for change in found]
    source_of = [
        change
        for change, tried in tries
        if failed not in [(each.path, each.rule) for each in failures(resource.schema, tried, old, skip)]
    ]
    return tuple(source_of) or found


def _by_trainer(new: JsonObject, old: JsonObject) -> Iterator[_Refusal]:
    if new["kind"] == TRAINJOB:
        for changed in trainjob_changes(new, old):
            found = tuple(changes(changed.new, changed.old, changed.path))
            yield _Refusal(WEBHOOK, "", changed.message, changed.upstream, found)


def _by_jobset(new: JsonObject, old: JsonObject, told: tuple[Path, ...]) -> Iterator[_Refusal]:
    """Yield what JobSet's webhook says; ``told`` are the places of which the CRD's rules have said so."""
    for changed in jobset_changes(new, old):
        found = tuple(change for change in changes(changed.new, changed.old, changed.path) if change.name not in told)
        if found:
            yield _Refusal(WEBHOOK, "jobset-webhook", changed.message, changed.upstream, found)


def _named(found: tuple[Change, ...]) -> str:
    """Say what has changed: the first place in full, a few others by name, the rest by number."""
    first, *others = [dotted(change.name) for change in found]
    named = others[:_NAMED]
    if rest := len(others) - len(named):
        named.append(f"{rest} more")
    how = "is new" if found[0].old is None else "is gone" if found[0].new is None else "has changed"
    return f"{first} {how}" + (f" (also {', '.join(named)})" if named else "")


def _shown(data: JsonObject, path: Path, value: Json) -> str:
    return _ABSENT if value is None else show(concealed(data, path))
