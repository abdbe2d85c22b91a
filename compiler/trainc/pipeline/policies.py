"""Evaluates the admission policies of a run for every object, and turns their decisions into findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.admission.base_revision import Base, Previous
from trainc.basics.jsonvalues import JsonObject, Path, as_object, existing, get, put
from trainc.documents.classify import POLICIES, Key, identity
from trainc.documents.positions import within
from trainc.findings import Finding, Related, Severity, report
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.schema import Resource
from trainc.schema.kinds import BUILT_IN, Registry, split_version

if TYPE_CHECKING:
    from trainc.admission.policy import Decision, PolicySet, Request
    from trainc.checks.created_pods import CreatedObject

STAGE: Final = "policy"
"""Where a cluster refuses what a bound policy denies."""

UNDECIDED: Final = "TC504"
LACKING: Final = "TC519"
_CODES: Final[Mapping[str, tuple[str, str]]] = {
    "Deny": ("TC501", "denies"),
    "Warn": ("TC502", "warns of"),
    "Audit": ("TC503", "would record of"),
}
_FAILED = frozenset(("denied", "error"))
_HINT: Final = "give the Namespace, with its labels, in policies/"
_PARAMS_HINT: Final = "give the params in policies/, or bind with parameterNotFoundAction: Deny"
_OF_NAMESPACE: Final = ("namespaceObject.metadata.labels.", "namespaceObject.metadata.annotations")
"""How reasons begin that a Namespace document removes."""

_PARAM_KIND: Final = ("spec", "paramKind")
_NAME: Path = ("metadata", "name")

_FOLDER: Final = "policies/"
_NOT_FOR_POLICIES: Final = ("jobs/", "runtimes/")
"""The folders in which neither Namespaces nor params of policies are read."""

Place = Callable[[Path], tuple[Document, Path]]
"""Returns where in the inputs a path of an object comes from."""


class Policies(Struct, frozen=True, eq=False):
    """The policies of a run. ``earlier`` are those of another revision, which judge as well."""

    policies: PolicySet
    registry: Registry = BUILT_IN
    previous: Previous = field(default_factory=Previous)
    namespaces: Mapping[str, str] = field(default_factory=dict)
    earlier: Earlier | None = None
    pods: bool = False
    faithful: bool = False

    @classmethod
    def of(
        cls,
        documents: Iterable[Document],
        cluster: Mapping[Key, Document],
        registry: Registry,
        base: Base,
        options: Options,
    ) -> Policies | None:
        """Load the policies and bindings among documents; None without any. ``cluster`` holds namespaces and params.

        An object that exists at ``base`` is updated, any other is created.
        """
        given = tuple(document for document in documents if is_policy(document))
        facts = {key: each for key, each in cluster.items() if not each.source.name.startswith(_NOT_FOR_POLICIES)}
        earlier = Earlier.of(options, given, facts, registry)
        if not given and earlier is None:
            return None
        from trainc.admission.policy import PolicySet

        settings = options.settings
        pods = settings.pods or (earlier is not None and earlier.pods)
        policies = PolicySet.load(given, facts, registry)
        return cls(policies, registry, Previous(base, registry), settings.namespaces, earlier, pods, options.faithful)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a server refuses of the policies themselves, and Deny bindings whose params are not given."""
        return (*self.policies.findings, *(self._without_params(*pair) for pair in self.policies.without_params()))

    def _without_params(self, policy: Document, binding: Document) -> Finding:
        message = f"policy {_name(policy)!r} with binding {_name(binding)!r} is undecided: its params are not given"
        severity = Severity.WARNING if self.faithful else None
        return report(LACKING, binding, ("spec", "paramRef"), message, hint=_PARAMS_HINT, severity=severity)

    def of_input(self, document: Document) -> tuple[Finding, ...]:
        """Return what policies say about an input, as a cluster stores it."""
        if is_policy(document):
            return ()
        old = self.previous.input(document.data)
        data = moved(document.data, self.namespaces)
        return self._decided(data, old, lambda path: (document, existing(document.data, path) or _NAME))

    def of_objects(self, model: Model, objects: Iterable[Object]) -> tuple[Finding, ...]:
        """Return what policies say about the objects of a job, at the lines that caused it.

        With ``policies: {pods: true}`` in trainc.yaml, also about the Jobs and pods that a JobSet creates.
        """
        found: list[Finding] = []
        for obj in objects:
            found += self._decided(obj.data, self.previous.emitted(obj.data), partial(source_of, model, obj))
            if self.pods and obj.kind == "JobSet":
                from trainc.checks.created_pods import created_objects

                for child in created_objects(obj.data):
                    found += self._of_child(model, obj, child)
        return tuple(found)

    def _of_child(self, model: Model, obj: Object, child: CreatedObject) -> tuple[Finding, ...]:
        def place(path: Path) -> tuple[Document, Path]:
            return source_of(model, obj, existing(obj.data, (*child.template, *path)))

        return self._decided(child.data, None, place, child.unknown)

    def _decided(
        self,
        data: JsonObject,
        old: JsonObject | Finding | None,
        place: Place,
        unknown: tuple[Path, ...] = (),
    ) -> tuple[Finding, ...]:
        """Return what policies say about an object. ``old`` is a note where no cluster could hold the old one."""
        request = creation(data, self.registry, unknown)
        if request is None:
            return ()
        notes: tuple[Finding, ...] = ()
        if isinstance(old, Finding):
            notes = (old,)
        elif old is not None:
            request = replace(request, operation="UPDATE", old_object=old)
        decisions = self.policies.decide(request)
        earlier = self.earlier.decide(request, decisions) if self.earlier is not None else ()
        if not decisions and not earlier:
            return notes
        from trainc.admission.policy import without_secrets

        found: list[Finding] = [*notes]
        for decision in without_secrets(request, decisions, self.policies.decide) if decisions else ():
            found += _findings(decision, request.kind, place, self.faithful)
        if earlier and self.earlier is not None:
            for decision in without_secrets(request, earlier, self.earlier.policies.decide):
                found += _findings(decision, request.kind, place, self.faithful, self.earlier.revision)
        return tuple(found)


class Earlier(Struct, frozen=True, eq=False):
    """The policies of another revision, where they differ from those given. ``pods``: they judge Jobs and pods, too."""

    revision: str
    policies: PolicySet
    pods: bool

    @classmethod
    def of(
        cls, options: Options, given: tuple[Document, ...], facts: Mapping[Key, Document], registry: Registry
    ) -> Earlier | None:
        """Load the policies of the revision; None where it has none, or the same ones.

        ``given`` are the current policies and ``facts`` their Namespaces and params, which count where the revision has
        none of the name.
        """
        revision = options.policies_from
        documents = tuple(Base.of(revision, "").inputs.values())
        policies = tuple(document for document in documents if is_policy(document))
        if revision is None or not policies:
            return None
        start = f"{revision.name}:{_FOLDER}"
        own = {identity(each): each for each in documents if each.source.name.startswith(start)}
        pods = get(revision.config, "policies", "pods") is True and not options.settings.pods
        known = {identity(each): each.data for each in given} | {key: each.data for key, each in facts.items()}
        judges = {**own, **{identity(each): each for each in policies}}
        same = len(policies) == len(given) and all(known.get(key) == each.data for key, each in judges.items())
        if same and not pods:
            return None
        from trainc.admission.policy import PolicySet

        return cls(revision.name, PolicySet.load(policies, {**facts, **own}, registry), pods)

    def decide(self, request: Request, current: Iterable[Decision]) -> tuple[Decision, ...]:
        """Return the failures of these policies that are not among the ``current`` decisions."""
        known = {(_name(each.policy), each.message, each.action) for each in current}
        return tuple(
            each
            for each in self.policies.decide(request)
            if each.outcome in _FAILED
            and known.isdisjoint((_name(each.policy), each.message, action) for action in ("Deny", each.action))
        )


def moved(data: JsonObject, namespaces: Mapping[str, str]) -> JsonObject:
    """Return an input with the namespace that it has in the cluster."""
    home = get(data, "metadata", "namespace")
    if not isinstance(home, str) or home not in namespaces:
        return data
    return put(data, ("metadata", "namespace"), namespaces[home])


def is_policy(document: Document) -> bool:
    """Tell whether a document is a policy or a binding."""
    return document.data["kind"] in POLICIES


def creation(data: JsonObject, registry: Registry, unknown: tuple[Path, ...] = ()) -> Request | None:
    """Return the request that creates an object; None for an unknown kind."""
    from trainc.admission.policy import Request

    resource = _resource(registry, str(data["apiVersion"]), str(data["kind"]))
    if resource is None:
        return None
    metadata = as_object(data.get("metadata"))
    namespace = str(metadata.get("namespace") or "default") if resource.namespaced else ""
    name = str(metadata.get("name", ""))
    names = (resource.group, resource.version, resource.kind, resource.plural, namespace, name)
    return Request("CREATE", data, None, *names, unknown=unknown)


@lru_cache(maxsize=256)
def _resource(registry: Registry, api_version: str, kind: str) -> Resource | None:
    return registry.find(*split_version(api_version), kind)


def named(decision: Decision) -> str:
    """Return what a server calls a policy and its binding."""
    policy = f"policy {_name(decision.policy)!r}"
    return policy if decision.binding is None else f"{policy} with binding {_name(decision.binding)!r}"


def _name(document: Document) -> str:
    return str(as_object(document.data.get("metadata")).get("name", ""))


def _findings(decision: Decision, kind: str, place: Place, faithful: bool, revision: str = "") -> tuple[Finding, ...]:
    """Return the finding of a decision; that of a policy or binding which cannot be used is at its own line.

    ``revision`` is where the policy is from, if it is not one of those given.
    """
    if decision.outcome == "undecided":
        return (_undecided(decision, faithful),)
    if decision.outcome not in _FAILED:
        return ()  # an annotation that a server would record: nothing to mend
    code, verb = _CODES[decision.action]
    misconfigured = decision.at_binding or decision.path == _PARAM_KIND
    document, path = _where(decision) if misconfigured else place(decision.object_path)
    origin = f" of {revision}" if revision else ""
    message = f"policy {_name(decision.policy)!r}{origin} {verb} the {kind}: {decision.message}"
    refused = decision.action == "Deny"
    related = () if misconfigured else (Related(named(decision), *_where(decision)),)
    return (
        report(
            code,
            document,
            path,
            message,
            related=related,
            stage=STAGE if refused else None,
            upstream=decision.upstream or None,
        ),
    )


def _undecided(decision: Decision, faithful: bool) -> Finding:
    """Return a finding at the policy, so that it is the same for every object.

    A Deny that a document could decide is an error: without it nobody knows what the policy forbids.
    """
    helps = decision.path[-1:] == ("namespaceSelector",) or decision.message.startswith(_OF_NAMESPACE)
    denies = decision.action == "Deny"
    code = LACKING if helps and denies else UNDECIDED
    severity = None if code == LACKING and not faithful else Severity.WARNING if denies else Severity.NOTE
    message = f"{named(decision)} is undecided: {decision.message}"
    return report(code, *_where(decision), message, hint=_HINT if helps else None, severity=severity)


def _where(decision: Decision) -> tuple[Document, Path]:
    at_binding = decision.at_binding and decision.binding is not None
    document = decision.binding if at_binding and decision.binding is not None else decision.policy
    path = existing(document.data, decision.path)
    return (document if decision.position is None else within(document, path, decision.position)), path
