"""Evaluates the admission policies of a run for every object, and turns their decisions into findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.admission.base_revision import Base, Previous, documents_of, identify
from trainc.admission.companions import admit_companions
from trainc.basics.differences import same
from trainc.basics.jsonvalues import JsonObject, Path, as_object, existing, get, put
from trainc.documents.classify import POLICIES, TRAINJOB, Key, identity
from trainc.documents.positions import within
from trainc.findings import Finding, Related, Severity, report
from trainc.gitops.base import run_of
from trainc.gitops.keys import EXTERNAL_SECRETS, GENERATORS
from trainc.gitops.naming import MODE
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.pipeline.update_rules import kept_by_others
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.schema.kinds import BUILT_IN, Registry, all_kinds, split_version
from trainc.upstream import COSCHEDULING_API, SERVER_FIELDS, VOLCANO_API

if TYPE_CHECKING:
    from trainc.admission.policy import Decision, PolicySet, Request
    from trainc.checks.created_pods import CreatedObject

STAGE: Final = "policy"
"""The stage of findings on objects that a bound policy denies."""

UNDECIDED: Final = "TC504"
LACKING: Final = "TC519"
_CODES: Final[Mapping[str, tuple[str, str]]] = {
    "Deny": ("TC501", "denies"),
    "Warn": ("TC502", "warns about"),
    "Audit": ("TC503", "would audit"),
}
_FAILED = frozenset(("denied", "error"))
_HINT: Final = "add the Namespace with its labels to policies/"
_RESUMED_HINT: Final = (
    "JobSet only adds to the pods of a suspended JobSet when it resumes: they keep what they had before the change,"
    " unless the job has a new run number"
)
_REPLACED_HINT: Final = "remove it from the pod template: it replaces JobSet's own when the JobSet resumes"
_GATED_HINT: Final = "Kubernetes 1.34 drops it by default, but not a cluster whose feature gate is on"
_CONSTRAINTS: Final = ("spec", "matchConstraints")
_SOURCE: Final = ("spec", "dataSourceRef")
"""The source of a claim, which the API server drops if it is in another namespace and a feature gate is off."""
_PODS_HINT: Final = "set policies: {pods: true} in trainc.yaml"
_NO_PARAMS: Final = "no params found"
"""A part of the server's message that adding params resolves."""

_ADD_PARAMS: Final = "add the params to policies/, or correct paramRef in the binding"
_VERSION_HINT: Final = "write the params in the version that paramKind names"
_OF_PARAMS: Final = "params: "
"""The start of reasons that params in another version resolve."""

_OF_NAMESPACE: Final = ("namespaceObject.metadata.labels", "namespaceObject.metadata.annotations")
"""The start of reasons that adding a Namespace resolves."""

_PARAM_KIND: Final = ("spec", "paramKind")
_NAME: Path = ("metadata", "name")
_SYSTEM_FIELDS: Final = frozenset(SERVER_FIELDS) - {"ownerReferences"}  # which a server takes from the author

_GENERATED: Final[Mapping[tuple[str, str], str]] = {
    (COSCHEDULING_API, "PodGroup"): "podgroups",
    (VOLCANO_API, "PodGroup"): "podgroups",
    (EXTERNAL_SECRETS, "ExternalSecret"): "externalsecrets",
    (GENERATORS, "SSHKey"): "sshkeys",
}
"""The resources of generated kinds that CRDs define, all of them namespaced. A CRD in the inputs does not rename them,
or policies would no longer match."""

_ONLY_IN_CLUSTERS: Final = (
    "MutatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
"""Kinds of the admission API that trainc does not evaluate."""

_OTHER_ENGINES: Final = (
    *("constraints.gatekeeper.sh", "mutations.gatekeeper.sh", "templates.gatekeeper.sh"),
    *("kyverno.io", "policies.kyverno.io", "policies.kubewarden.io"),
)
"""API groups of Gatekeeper, Kyverno and Kubewarden."""

_FOLDER: Final = "policies/"
_NOT_FOR_POLICIES: Final = ("jobs/", "runtimes/")
"""The folders whose Namespaces and params do not apply to policies."""

Locate = Callable[[Path], tuple[Document, Path]]
"""Returns the source of a value of an object."""


class Policies(Struct, frozen=True, eq=False):
    """The policies of a run. ``earlier`` are those of another revision, which are enforced as well."""

    policies: PolicySet
    registry: Registry = BUILT_IN
    previous: Previous = field(default_factory=Previous)
    namespaces: Mapping[str, str] = field(default_factory=dict)
    earlier: Earlier | None = None
    pods: bool = False
    faithful: bool = False
    by_content: bool = False
    not_evaluated: tuple[Document, ...] = ()

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
        documents = tuple(documents)
        current = tuple(document for document in documents if is_policy(document))
        reported = "jobs/" if options.faithful else _NOT_FOR_POLICIES  # by TC007 and TC834
        not_evaluated = tuple(
            document
            for document in documents
            if _is_only_in_clusters(document.data) and not document.source.name.startswith(reported)
        )
        others = only_for_policies(cluster)
        earlier = Earlier.of(options, current, others, registry)
        if not current and earlier is None and not not_evaluated:
            return None
        from trainc.admission.policy import PolicySet

        settings = options.settings
        pods = settings.pods or (earlier is not None and earlier.pods)
        policies = PolicySet.load(current, others, registry)
        previous, mode = Previous(base, registry), (options.faithful, settings.naming.mode == MODE)
        return cls(policies, registry, previous, settings.namespaces, earlier, pods, *mode, not_evaluated)

    @property
    def tried(self) -> int:
        """How many bound policies are tried on each job, with those of the other revision.

        On Jobs and pods, too, each takes three times as long.
        """
        earlier = () if self.earlier is None else self.earlier.policies.bound
        return (len(self.policies.bound) + len(earlier)) * (3 if self.pods else 1)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings on policies that a server refuses, or that trainc does not evaluate, and on missing params."""
        severity = Severity.WARNING if self.faithful else None
        found = list(self.policies.findings)
        for policy, binding, reason, hint in self.policies.doubtful():
            message = f"policy {_name(policy)!r} with binding {_name(binding)!r} is undecided: {reason}"
            found.append(report(LACKING, binding, ("spec", "paramRef"), message, hint=hint, severity=severity))
        for policy, denies in () if self.pods else self.policies.without_created():
            severity = Severity.WARNING if denies else Severity.NOTE
            message = f"policy {_name(policy)!r} is not evaluated on the objects that controllers create, such as pods"
            found.append(report(UNDECIDED, policy, _CONSTRAINTS, message, hint=_PODS_HINT, severity=severity))
        for document in self.not_evaluated:
            message = f"{document.data['kind']} {_name(document)!r} is not evaluated: only a cluster does"
            found.append(report(UNDECIDED, document, ("kind",), message))
        return tuple(found)

    def further_params(self, companions: Iterable[Document]) -> Iterator[Finding]:
        """Yield an error for each companion, as it is emitted, that would be params of policies only in a cluster."""
        from trainc.admission.policy.match import ParamRefs

        known = self.policies.cluster.objects
        params = ParamRefs((bound.policy, binding) for bound in self.policies.bound for binding in bound.bindings)
        for document in (document for document in companions if identity(document) not in known):
            if (of := params.policy_of(document.data)) is not None:
                shown = f"{document.data['kind']} {_name(document)}"
                message = f"in the cluster, {shown} is among the params of policy {of.name!r}"
                related = (Related(f"policy {of.name!r}", of.document, _PARAM_KIND),)
                hint = "choose another name, or other labels"
                yield report("TC608", document, _NAME, message, found=_name(document), related=related, hint=hint)

    def of_input(self, document: Document) -> tuple[Finding, ...]:
        """Evaluate the policies for an input, as a cluster stores it."""
        if is_policy(document):
            return ()
        data, old = with_cluster_namespace(document.data, self.namespaces), self.previous.input(document.data)
        before: Document | None = None
        if old is not None and data["kind"] == TRAINJOB:
            # A TrainJob that no environment includes is in no cluster yet.
            home, name = (str(get(data, "metadata", key)) for key in ("namespace", "name"))
            old = old if self.previous.base.has_job(home, name) else None
            before = self.previous.base.input(*identify(document.data)) if old is not None else None
        old = with_cluster_namespace(old, self.namespaces) if isinstance(old, dict) else old
        found = self._of_document(document, data, old)
        if before is None:
            return found
        # It may have another JobSet than before, so that all of its spec may change.
        renamed = self.by_content and not (isinstance(old, dict) and same(data.get("spec"), old.get("spec")))
        again = renamed or run_of(document) != run_of(before)
        return (*found, *self._of_document(document, data, None)) if again else found

    def of_companion(self, document: Document) -> tuple[Finding, ...]:
        """Evaluate the policies for a companion as it is emitted, with its namespace in the cluster."""
        return self._of_document(document, document.data, self.previous.companion(document.data))

    def _of_document(
        self, document: Document, data: JsonObject, old: JsonObject | Finding | None
    ) -> tuple[Finding, ...]:
        """Evaluate the policies for a document with the given data in the cluster."""
        if create_request(data, self.registry) is None:
            return tuple(self._unevaluated(document, data))
        return self._decided(data, old, lambda path: (document, existing(document.data, path) or _NAME))

    def _unevaluated(self, document: Document, data: JsonObject) -> Iterator[Finding]:
        """Yield a finding for each policy that would be evaluated for an object if trainc knew its kind."""
        from trainc.admission.policy import Request
        from trainc.admission.policy.creation import plural_of

        group, version = split_version(str(data["apiVersion"]))
        kind, metadata = str(data["kind"]), as_object(data.get("metadata"))
        names = kind, plural_of(kind), str(metadata.get("namespace") or "default"), str(metadata.get("name", ""))
        known = all_kinds(group)
        applying = {
            policy: denies
            for equivalent in (version, *known.get(kind, ()))
            for policy, denies in self.policies.applying(Request("CREATE", data, None, group, equivalent, *names))
        }
        for policy, denies in applying.items():
            name = f"policy {_name(policy)!r}"
            message = f"{name} is not evaluated for {kind} {names[-1]!r}: trainc has no schema of this kind"
            hint = None if known else "pass its CRD with --crd-dir"
            severity = Severity.WARNING if denies else Severity.NOTE
            related = (Related(name, policy, _NAME),)
            yield report(UNDECIDED, document, ("kind",), message, hint=hint, severity=severity, related=related)

    def of_objects(self, model: Model, objects: Iterable[Object]) -> tuple[Finding, ...]:
        """Evaluate the policies for the objects of a job.

        With ``policies: {pods: true}`` in trainc.yaml, also for the Jobs and pods that a JobSet creates.
        """
        found: list[Finding] = []
        of_new: set[tuple[str, Path]] = set()
        others = kept_by_others(self.previous.base, model)
        for obj in objects:
            old = self.previous.emitted(obj.data, others)
            found += self._decided(obj.data, old, partial(_locate, model, obj, ()))
            for child in _children(obj.data, old) if self.pods else ():
                request = create_request(child.data, self.registry, child.unknown)
                decided = self._requested(request, partial(_locate, model, obj, child.template))
                if child.hint is not None:
                    resumed_only = (each for each in decided if (each.message, each.path) not in of_new)
                    found += (replace(each, hint=each.hint or child.hint) for each in resumed_only)
                else:
                    of_new.update((each.message, each.path) for each in decided)
                    found += decided
        return tuple(found)

    def _decided(self, data: JsonObject, old: JsonObject | Finding | None, locate: Locate) -> tuple[Finding, ...]:
        """Evaluate the policies for an object. ``old`` is a note if the old object is invalid."""
        if isinstance(old, Finding):
            return (old, *self._decided(data, None, locate))
        data, old = without_system_fields(data), old and without_system_fields(old)
        request = server_request(data, old, self.registry)
        found = self._requested(request, locate)
        if request is None or (kept := _with_source(as_object(request.object), data)) is None:
            return found
        gated = self._requested(replace(request, object=kept), locate)
        seen = {(each.message, each.path) for each in found}
        new = (each for each in gated if (each.message, each.path) not in seen)
        return (*found, *(replace(each, hint=each.hint or _GATED_HINT) for each in new))

    def _requested(self, request: Request | None, locate: Locate) -> tuple[Finding, ...]:
        """Evaluate the policies for a request."""
        if request is None:
            return ()
        decisions = self.policies.decide(request)
        found = [(self.policies, decisions, "")]
        if self.earlier is not None:
            found.append((self.earlier.policies, self.earlier.decide(request, decisions), self.earlier.revision))
        findings: list[Finding] = []
        for policies, decided, revision in found:
            if decided:
                from trainc.admission.policy import without_secrets

                for decision in without_secrets(request, decided, policies.decide):
                    findings += _findings(decision, request.kind, locate, self.faithful, revision)
        return tuple(findings)


class Earlier(Struct, frozen=True, eq=False):
    """The policies of another revision, if they differ. ``pods``: they also apply to Jobs and pods."""

    revision: str
    policies: PolicySet
    pods: bool

    @classmethod
    def of(
        cls, options: Options, current: tuple[Document, ...], others: Mapping[Key, Document], registry: Registry
    ) -> Earlier | None:
        """Load the policies of the revision; None if it has none, or the same ones.

        ``current`` are the current policies, and ``others`` their Namespaces and params, used where the revision has
        none with the name. ``registry`` has the current kinds.
        """
        revision = options.policies_from
        documents = documents_of(revision)[0] if revision is not None else ()
        policies = tuple(document for document in documents if is_policy(document))
        if revision is None or not policies:
            return None
        start = f"{revision.name}:{_FOLDER}"
        stored = admit_companions(documents, options.crds, faithful=options.faithful)
        resources = {identity(each): each for each in stored.documents if each.source.name.startswith(start)}
        pods = get(revision.config, "policies", "pods") is True and not options.settings.pods
        current_data = {identity(each): each.data for each in current} | {
            key: each.data for key, each in others.items()
        }
        loaded = {**resources, **{identity(each): each for each in policies}}
        unchanged = len(policies) == len(current) and all(
            same(current_data.get(key), each.data) for key, each in loaded.items()
        )
        from trainc.admission.policy import PolicySet
        from trainc.admission.policy.documents import namespaced_params

        same_scopes = all(namespaced_params(p, stored.registry) == namespaced_params(p, registry) for p in policies)
        if unchanged and same_scopes and not pods:
            return None

        return cls(revision.name, PolicySet.load(policies, {**others, **resources}, stored.registry), pods)

    def decide(self, request: Request, current: Iterable[Decision]) -> tuple[Decision, ...]:
        """Return the decisions of these policies that are not among the ``current`` ones."""
        reported = {(_name(each.policy), each.outcome, each.message, each.action) for each in current}

        def is_reported(each: Decision) -> bool:
            names = _name(each.policy), each.outcome, each.message
            return not reported.isdisjoint((*names, action) for action in ("Deny", each.action))

        return tuple(each for each in self.policies.decide(request) if not is_reported(each))


def _locate(model: Model, obj: Object, template: Path, path: Path) -> tuple[Document, Path]:
    return source_of(model, obj, existing(obj.data, (*template, *path)))


def _children(data: JsonObject, old: JsonObject | Finding | None) -> Iterator[CreatedObject]:
    """Yield what controllers create for a JobSet, and the first pod of a Job with its claims.

    ``old`` is the object before an update, or a note.
    """
    from trainc.checks import created_pods
    from trainc.checks.server_forms import server_form

    made: list[CreatedObject] = []
    sent: list[CreatedObject] = []
    later: list[CreatedObject] = []
    if data["kind"] == "JobSet":
        made += created_pods.created_objects(data)
        sent += (*created_pods.created_claims(data), *created_pods.created_service(data))
        kept = created_pods.resumed(data, old) if isinstance(old, dict) else data
        forms = [(data, False, _GATED_HINT)]
        if kept is not data or created_pods.names_own_metadata(data):
            forms.append((kept, True, _REPLACED_HINT if kept is data else _RESUMED_HINT))
        for gated in (False, True) if created_pods.has_gated_fields(data) else (False,):
            for jobset, resumed, hint in forms if gated else forms[1:]:
                children = created_pods.created_objects(jobset, resumed=resumed, gated=gated)
                pairs = zip(children, made, strict=True)
                later += (replace(child, hint=hint) for child, new in pairs if child.data != new.data)
    elif data["kind"] == "Job":
        made += created_pods.created_pod(server_form(data).data)
    yield from (*made, *later)
    sent += (claim for child in made for claim in created_pods.ephemeral_claims(child))
    for child in sent:
        form = server_form(child.data)
        completed = replace(child, data=form.data, unknown=(*child.unknown, *form.unknown))
        yield completed
        if (gated_form := _with_source(form.data, child.data)) is not None:
            yield replace(completed, data=gated_form, hint=_GATED_HINT)


def _with_source(stored: JsonObject, given: JsonObject) -> JsonObject | None:
    """Return a claim as a server with the feature gate stores it; None if its source is not in another namespace."""
    source = get(given, *_SOURCE)
    return put(stored, _SOURCE, source) if as_object(source).get("namespace") else None


def with_cluster_namespace(data: JsonObject, namespaces: Mapping[str, str]) -> JsonObject:
    """Return an input with the namespace that it has in the cluster."""
    home = get(data, "metadata", "namespace")
    if not isinstance(home, str) or home not in namespaces:
        return data
    return put(data, ("metadata", "namespace"), namespaces[home])


def only_for_policies(cluster: Mapping[Key, Document]) -> dict[Key, Document]:
    """Return the objects that policies see as Namespaces and params: not those of the authors of jobs and runtimes."""
    return {key: each for key, each in cluster.items() if not each.source.name.startswith(_NOT_FOR_POLICIES)}


def is_policy(document: Document) -> bool:
    """Return whether a document is a policy or a binding."""
    return document.data["kind"] in POLICIES


def create_request(data: JsonObject, registry: Registry, unknown: tuple[Path, ...] = ()) -> Request | None:
    """Return the request that creates an object; None for an unknown kind."""
    from trainc.admission.policy import Request

    api_version, kind = str(data["apiVersion"]), str(data["kind"])
    plural, resource = _GENERATED.get((api_version, kind)), None
    if plural is None and (resource := registry.find(*split_version(api_version), kind)) is not None:
        plural = resource.plural
    if plural is None:
        return None
    metadata = as_object(data.get("metadata"))
    namespaced = resource is None or resource.namespaced
    if not namespaced and "namespace" in metadata:
        data = {**data, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}
    namespace = str(metadata.get("namespace") or "default") if namespaced else ""
    names = (*split_version(api_version), kind, plural, namespace, str(metadata.get("name", "")))
    return Request("CREATE", data, None, *names, unknown=unknown)


def without_system_fields(data: JsonObject) -> JsonObject:
    """Return an object without the fields of its metadata that a server sets, and never takes from the author.

    Source: WipeObjectMetaSystemFields in k8s.io/apiserver v0.34 pkg/registry/rest/meta.go, and BeforeUpdate.
    """
    given = as_object(data.get("metadata"))
    if _SYSTEM_FIELDS.isdisjoint(given):
        return data
    return {**data, "metadata": {key: value for key, value in given.items() if key not in _SYSTEM_FIELDS}}


def server_request(data: JsonObject, old: JsonObject | None, registry: Registry) -> Request | None:
    """Return the request that creates an object, or updates ``old``, as the API server shows it to policies."""
    from trainc.checks.server_forms import server_form

    form = server_form(without_system_fields(data) if old is None else data, created=old is None)
    if old is None:
        return create_request(form.data, registry, form.unknown)
    before = server_form(old, created=False)
    request = create_request(form.data, registry, (*form.unknown, *before.unknown))
    return request and replace(request, operation="UPDATE", old_object=before.data)


def _policy_names(decision: Decision) -> str:
    """Return the names of a policy and its binding, as a server writes them."""
    policy = f"policy {_name(decision.policy)!r}"
    return policy if decision.binding is None else f"{policy} with binding {_name(decision.binding)!r}"


def _is_only_in_clusters(data: JsonObject) -> bool:
    """Return whether only a cluster evaluates an object, which is a policy or configures one."""
    return data["kind"] in _ONLY_IN_CLUSTERS or split_version(str(data["apiVersion"]))[0] in _OTHER_ENGINES


def _name(document: Document) -> str:
    return str(as_object(document.data.get("metadata")).get("name", ""))


def _findings(decision: Decision, kind: str, locate: Locate, faithful: bool, revision: str = "") -> tuple[Finding, ...]:
    """Return the finding on a decision, which for an invalid policy or binding is reported there.

    ``revision`` is that of the policy, if it is not a current one.
    """
    refused = decision.action == "Deny"
    origin = f" of {revision}" if revision else ""
    if decision.outcome == "undecided":
        # At the policy, so that it is the same for every object; an error if a missing document would decide a Deny.
        hint = _VERSION_HINT if decision.message.startswith(_OF_PARAMS) else None
        if decision.path[-1:] == ("namespaceSelector",) or decision.message.startswith(_OF_NAMESPACE):
            hint = _HINT
        code = LACKING if hint and refused else UNDECIDED
        severity = None if code == LACKING and not faithful else Severity.WARNING if refused else Severity.NOTE
        result = "is undecided, which denies nothing" if refused and code == UNDECIDED else "is undecided"
        message = f"{_policy_names(decision)}{origin} {result}: {decision.message}"
        return (report(code, *_position(decision), message, hint=hint, severity=severity),)
    if decision.outcome not in _FAILED:
        return ()  # an annotation that a server would record: nothing to fix
    code, verb = _CODES[decision.action]
    misconfigured = decision.at_binding or decision.path == _PARAM_KIND
    position = _position(decision) if misconfigured else locate(decision.object_path)
    message = f"policy {_name(decision.policy)!r}{origin} {verb} the {kind}: {decision.message}"
    related = () if misconfigured else (Related(_policy_names(decision), *_position(decision)),)
    stage, upstream = STAGE if refused else None, decision.upstream or None
    hint = _ADD_PARAMS if _NO_PARAMS in decision.message else None
    return (report(code, *position, message, related=related, stage=stage, upstream=upstream, hint=hint),)


def _position(decision: Decision) -> tuple[Document, Path]:
    document = decision.policy
    if decision.at_binding and decision.binding is not None:
        document = decision.binding
    path = existing(document.data, decision.path)
    return (document if decision.position is None else within(document, path, decision.position)), path
