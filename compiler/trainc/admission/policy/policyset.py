"""All policies of a cluster: loaded once, then evaluated for each request.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/dispatcher.go. A server returns the first denial
that it finds, in no fixed order; here all are returned, by policy, binding and path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.admission.policy.creation import creation_findings
from trainc.admission.policy.documents import (
    ANNOTATION,
    AUDIT,
    DENY,
    ERROR,
    GROUP,
    INVALID,
    RULES,
    UNDECIDED,
    WARN,
    Decision,
    Request,
    Stored,
    is_policy,
    read,
    rows,
)
from trainc.admission.policy.evaluation import Evaluation, Verdict
from trainc.admission.policy.expressions import Bound, Expressions
from trainc.admission.policy.match import (
    Applied,
    AppliedBinding,
    Cluster,
    apply,
    depends_on_object,
    doubts,
    is_placed,
    match,
    own,
    param_kind,
    sees,
)
from trainc.admission.policy.values import names, object_names, params_value
from trainc.basics.jsonvalues import JsonObject, Path, as_object, get
from trainc.basics.memo import Remembered
from trainc.cel.values import Value
from trainc.documents.classify import Key
from trainc.findings import Finding, has_errors
from trainc.findings.redaction import MASK, TEXT_WIDTH, masked_object
from trainc.inputs.source import Document
from trainc.kube.generated import Generated
from trainc.kube.gojson import go_json, trim_space
from trainc.schema.kinds import BUILT_IN, Registry, split_version
from trainc.upstream import JOBSET_API

_EXEMPT = frozenset(
    f"{mode}{kind}" for mode in ("Validating", "Mutating") for kind in ("AdmissionPolicy", "AdmissionPolicyBinding")
)
"""The kinds that no policy applies to: shouldIgnoreResource of the server's plugin. Webhooks are not among them."""

_FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"


class PolicySet(Struct, frozen=True, eq=False, dict=True):
    """Policies and bindings. ``findings`` are the errors of a server when they are created.

    A policy or binding with such an error has no effect: no cluster would have it.
    """

    findings: tuple[Finding, ...] = ()
    bound: tuple[Bound, ...] = ()
    cluster: Cluster = field(default_factory=lambda: Cluster({}, BUILT_IN))

    @classmethod
    def load(
        cls, documents: Iterable[Document], cluster: Mapping[Key, Document], resources: Registry = BUILT_IN
    ) -> PolicySet:
        """Return the policies and bindings among documents.

        ``cluster`` has the namespaces and params in the cluster, ``resources`` are the registered kinds.
        """
        found = [read(document) for document in documents if is_policy(document)]
        policies = {each.document: Expressions(each) for each in found if each.is_policy and each.decoded}
        findings = tuple(creation_findings(found, policies))
        # A server that is asked to ignore unknown fields, as a comment asks trainc, stores and enforces the rest.
        refused = {_position(each.document) for each in findings if has_errors((each,)) and each.code != "TC101"}
        good = [each for each in found if _position(each.document) not in refused]
        bindings: dict[str, list[Stored]] = {}
        for each in sorted((each for each in good if not each.is_policy), key=lambda each: each.name):
            bindings.setdefault(each.policy_name, []).append(each)
        by_name = {each.name: each for each in good if each.is_policy and each.name in bindings}
        bound = (Bound(by_name[k], tuple(bindings[k]), policies[by_name[k].document]) for k in sorted(by_name))
        return cls(findings, tuple(bound), Cluster(cluster, resources))

    def seeing(self, namespace: str) -> tuple[Bound, ...]:
        """Return the policies that may apply to objects in a namespace."""

        def sees_it(bound: Bound) -> bool:
            own, *others = (sees(part, namespace, self.cluster) for part in bound.constraints)
            # A policy reports missing params even if none of its bindings applies.
            return own and (bound.policy.has_params or any(others))

        return tuple(filter(sees_it, self.bound))

    def params(self, bound: Iterable[Bound]) -> Iterator[tuple[Document, bool]]:
        """Yield the objects of the kinds of the policies' params, and whether each is written with a namespace."""
        kinds = [param_kind(each.policy) for each in bound if each.policy.has_params]
        for group, kind in dict.fromkeys((split_version(api_version)[0], kind) for api_version, kind in kinds):
            for _, _, document in self.cluster.of_kind(group, kind):
                yield document, is_placed(document)

    def doubtful(self) -> Iterator[tuple[Document, Document, str, str]]:
        """Yield policies and Deny bindings whose params are unknown, with the reason and a hint."""
        for bound in self.bound:
            for binding in (each for each in bound.bindings if DENY in each.actions):
                for reason, hint in doubts(bound.policy, binding, self.cluster):
                    yield bound.policy.document, binding.document, reason, hint

    def without_created(self) -> Iterator[tuple[Document, bool]]:
        """Yield the policies that match what controllers create; True if a Deny binding does, but matches no JobSet."""

        def matching(part: Stored, requests: Iterable[Request]) -> list[Request]:
            rules: JsonObject = {key: part.constraints.get(key) for key in (*RULES, "matchPolicy")}
            rules[RULES[0]] = [{**rule, "resourceNames": []} for rule in rows(rules, RULES[0])]  # of any name
            return [each for each in requests if match(rules, each, self.cluster) is not None]

        for bound in self.bound:
            requests = matching(bound.policy, (_JOBSET, *_CREATED))
            kinds = [(binding, {each.kind for each in matching(binding, requests)}) for binding in bound.bindings]
            if any(found - {_JOBSET.kind} for _, found in kinds):
                others = (binding for binding, found in kinds if found and _JOBSET.kind not in found)
                yield bound.policy.document, any(DENY in binding.actions for binding in others)

    def applying(self, request: Request) -> Iterator[tuple[Document, bool]]:
        """Yield the policies that apply to a request, or may apply, and whether they deny."""
        for bound in () if _is_exempt(request) else self.bound:
            if (applied := apply(bound, request, self.cluster)) is not None:
                denies = any(DENY in each.binding.actions for each in applied.bindings)
                yield bound.policy.document, denies or bool(applied.error)

    def decide(self, request: Request) -> tuple[Decision, ...]:
        """Return the decisions about a request, by policy, binding and path; none if it is admitted."""
        if _is_exempt(request):
            return ()
        objects: dict[str, Mapping[str, Value]] = {}
        found: list[Decision] = []
        generated = Generated(str(get(request.object, "metadata", "generateName") or ""))
        # Matching ignores the object where it can: nearly all requests are admitted, and 1,000 jobs with all policies
        # take a third more time if each of them is matched again.
        sample = replace(request, object=None, old_object=None, name=request.scope, unknown=())
        for bound, known in self._applied[sample]:
            applied = known or apply(bound, request, self.cluster)
            if applied is not None:
                found += _PolicyEvaluation(bound, applied, request, self.cluster, objects, generated).decide()
        return tuple(found)

    @cached_property
    def _applied(self) -> Remembered[Request, tuple[tuple[Bound, Applied | None], ...]]:
        """The policies that may match a request, regardless of its object, and how they apply.

        The second item is None if that depends on the object.
        """
        return Remembered(self._applied_to, _REQUESTS)

    @cached_property
    def _by_namespace(self) -> Remembered[str, tuple[Bound, ...]]:
        """The policies by namespace, as ``_bound_in`` returns them."""
        return Remembered(self._bound_in, _REQUESTS)

    def _bound_in(self, namespace: str) -> tuple[Bound, ...]:
        """Return the policies with the bindings that may apply in a namespace: each namespace may have its own."""

        def in_it(binding: Stored) -> bool:
            return sees(binding.constraints, namespace, self.cluster)

        return tuple(replace(bound, bindings=tuple(filter(in_it, bound.bindings))) for bound in self.bound)

    def _applied_to(self, request: Request) -> tuple[tuple[Bound, Applied | None], ...]:
        found: list[tuple[Bound, Applied | None]] = []
        is_in_namespace = request.scope and request.resource != "namespaces"
        for bound in self._by_namespace[request.scope] if is_in_namespace else self.bound:
            if depends_on_object(bound, request):
                found.append((bound, None))
            elif (applied := apply(bound, request, self.cluster)) is not None:
                found.append((bound, applied))
        return tuple(found)


_JOBSET: Final = Request("CREATE", None, None, *split_version(JOBSET_API), "JobSet", "jobsets", "default", "")
_CREATED: Final = tuple(
    Request("CREATE", None, None, group, "v1", kind, f"{kind.lower()}s", "default", "")
    for group, kind in (("batch", "Job"), ("", "Pod"), ("", "Service"), ("", "PersistentVolumeClaim"))
)
"""What controllers create for a JobSet."""

_REQUESTS: Final = 1024
"""The most requests whose policies are kept: those of a few hundred namespaces."""


def _is_exempt(request: Request) -> bool:
    return request.group == GROUP and request.kind in _EXEMPT


def _position(document: Document) -> tuple[str, int]:
    """Return the name and index of a document, since findings have copies with other marks."""
    return document.source.name, document.index


class _PolicyEvaluation(Struct, frozen=True, eq=False):
    """The evaluation of one policy for one request.

    ``objects``: the values of its objects, cached by version. ``generated``: the values that they depend on.
    """

    bound: Bound
    applied: Applied
    request: Request
    cluster: Cluster
    objects: dict[str, Mapping[str, Value]]
    generated: Generated

    def decide(self) -> Iterator[Decision]:
        """Yield the decisions of the policy."""
        applied = self.applied
        if applied.error:
            yield from self._misconfigured(None, f"failed to configure policy: {applied.error}")
        elif not applied.undecided:
            yield from _merged(each for binding in applied.bindings for each in self._by_binding(binding))
        elif any(map(self._finds_fault, applied.bindings)):
            path = ("spec", "matchConstraints", "namespaceSelector")
            yield from self._decisions(None, Verdict(path, UNDECIDED, applied.undecided))

    def _by_binding(self, applied: AppliedBinding) -> Iterator[Decision]:
        if not applied.undecided:
            yield from self._bound_by(applied)
        elif self._finds_fault(applied, bound=True):
            verdict = Verdict(("spec", "matchResources", "namespaceSelector"), UNDECIDED, applied.undecided)
            yield from self._decisions(applied.binding, verdict, at_binding=True)

    def _finds_fault(self, applied: AppliedBinding, *, bound: bool = False) -> bool:
        """Return whether a binding would fail the request if its policy (with ``bound``, also the binding) applies."""
        decisions = self._bound_by(applied) if bound else self._by_binding(applied)
        return any(decision.outcome != ANNOTATION for decision in decisions)

    def _bound_by(self, applied: AppliedBinding) -> Iterator[Decision]:
        """Yield the decisions of the policy if the binding applies to the request."""
        binding, matched, request = applied.binding, self.applied.matched, self.request
        if applied.error:
            yield from self._misconfigured(binding, f"failed to configure binding: {applied.error}")
            return
        version, expressions = matched.kind[1], self.bound.expressions
        if version not in self.objects:
            self.objects[version] = object_names(request, matched, self.generated)
        objects = self.objects[version]
        asked = partial(names, generated=self.generated)
        for param in applied.params:
            early: Mapping[str, Value] = {}
            given = partial(params_value, param, param_kind(self.bound.policy)[0])
            if expressions.conditions:
                early = asked(request, own(request)._replace(kind=matched.kind), objects, given, None)
            known = asked(request, matched, objects, given, self.cluster)
            evaluation = Evaluation(expressions, known, early, self.generated, self.bound.policy.ignores_failures)
            for verdict in evaluation.verdicts():
                yield from self._decisions(binding, verdict, evaluation.explain(verdict, request.object))

    def _misconfigured(self, binding: Stored | None, message: str) -> Iterator[Decision]:
        """Yield the denial of a policy or binding that cannot be used, which does not depend on the actions."""
        if not self.bound.policy.ignores_failures:
            path: Path = ("spec", "paramKind") if binding is None else ("spec", "paramRef")
            verdict = Verdict(path, ERROR, message, INVALID, certain=True)
            yield from self._decisions(binding, verdict, at_binding=binding is not None)

    def _decisions(
        self, binding: Stored | None, verdict: Verdict, object_path: Path = (), *, at_binding: bool = False
    ) -> Iterator[Decision]:
        """Yield a decision per action; one if the actions do not count, or if it is undecided whether they do."""
        bindings = self.bound.bindings if binding is None else (binding,)
        actions = [action for each in bindings for action in each.actions]
        if verdict.key or verdict.certain:
            actions = [AUDIT if verdict.key else DENY]
        elif verdict.outcome == UNDECIDED:
            actions = [DENY] if DENY in actions else actions[:1]
        for action in actions:
            yield Decision(
                self.bound.policy.document,
                binding.document if binding is not None else None,
                verdict.path,
                action,
                verdict.outcome,
                verdict.message,
                verdict.reason,
                _upstream(self.request, self.bound.policy, binding, action, verdict),
                object_path,
                verdict.position,
                at_binding,
            )


def _merged(decisions: Iterable[Decision]) -> Iterator[Decision]:
    """Yield decisions, with the values of each audit annotation joined, as the server records them."""
    values: dict[Path, dict[str, Decision]] = {}
    for decision in decisions:
        if decision.outcome == ANNOTATION:
            values.setdefault(decision.path, {}).setdefault(decision.message, decision)
        else:
            yield decision
    for known in values.values():
        message, first = ", ".join(known), next(iter(known.values()))
        key = first.upstream.removesuffix(first.message)
        yield replace(first, message=message, upstream=key + message)


def _upstream(request: Request, policy: Stored, binding: Stored | None, action: str, verdict: Verdict) -> str:
    """Return the server's text for an action; empty for an undecided verdict or an unknown message."""
    if verdict.outcome == UNDECIDED or verdict.guessed:
        return ""
    if verdict.outcome == ANNOTATION:
        return f"{policy.name}/{verdict.key}: {verdict.message}"
    message = verdict.message[:TEXT_WIDTH]  # a finding shows no more, and each binding has a text
    bound = f" with binding '{binding.name}'" if binding is not None else ""
    if action == WARN:
        return f"Validation failed for ValidatingAdmissionPolicy '{policy.name}'{bound}: {message}"
    if action == AUDIT and binding is not None:
        failure: JsonObject = {
            "message": message,
            "policy": binding.policy_name,
            "binding": binding.name,
            "expressionIndex": verdict.ordinal,
            "validationActions": [*binding.actions],
        }
        return f"{_FAILURE_KEY}: {go_json([failure], struct=True)}"
    denial = f"ValidatingAdmissionPolicy '{policy.name}'{bound} denied request: {message}"
    return f"{request.label} is forbidden: {denial}"


# Secrets in the messages of policies.
# A messageExpression or an error may show any part of an object, even a token in capitals. So policies are evaluated a
# second time, for the object with its secrets masked. If the message then differs only by masks, it is shown with them;
# if it differs in another way, it is not shown.


HIDDEN: Final = "(not shown, since it depends on what looks like a secret)"

_Key: TypeAlias = tuple[object, ...]


def without_secrets(
    request: Request, decisions: tuple[Decision, ...], decide: Callable[[Request], Iterable[Decision]]
) -> Iterator[Decision]:
    """Yield decisions about a request without the secrets of its objects."""
    new, old = (data and masked_object(data) for data in (request.object, request.old_object))
    if not decisions or (new is request.object and old is request.old_object):
        yield from decisions
        return
    others = {_key(other): other for other in decide(replace(request, object=new, old_object=old))}
    for decision in decisions:
        yield _compared(decision, others.get(_key(decision)))


def _key(decision: Decision) -> _Key:
    documents = (decision.policy, decision.binding)
    return (*((each.source.name, each.index) if each else None for each in documents), decision.path, decision.action)


def _compared(decision: Decision, other: Decision | None) -> Decision:
    if other is not None and other.outcome == decision.outcome:
        if other.message == decision.message:
            return decision
        if _fits(decision.message, other.message):
            return replace(decision, message=other.message, upstream=other.upstream)
    # The messages of a validation that do not depend on the object.
    row = as_object(get(decision.policy.data, *decision.path[:-1]))
    written = trim_space(str(row.get("message") or ""))
    if decision.message in (written, f"failed expression: {trim_space(str(row.get('expression')))}"):
        return decision
    return replace(decision, message=HIDDEN, upstream="")


def _fits(message: str, masked: str) -> bool:
    """Return whether a masked message is the other with MASK for something in it, and not a different one."""
    first, *rest = masked.split(MASK)
    if not rest or not message.startswith(first) or not message.endswith(rest[-1]):
        return False
    at = len(first)
    for part in rest:
        at = message.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
