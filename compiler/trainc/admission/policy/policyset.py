"""All policies of a cluster: loaded once, then evaluated for each request.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/dispatcher.go. A server returns the first denial
that it finds, in no fixed order; here all are returned, by policy, binding and path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

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
    UNDECIDED,
    WARN,
    Decision,
    Request,
    Stored,
    is_policy,
    read,
)
from trainc.admission.policy.evaluate import Evaluation, Verdict
from trainc.admission.policy.expressions import Bound, Expressions
from trainc.admission.policy.match import (
    Applied,
    AppliedBinding,
    Cluster,
    apply,
    depends_on_object,
    lacks_params,
    own,
    sees,
)
from trainc.admission.policy.values import names, object_names
from trainc.basics.jsonvalues import JsonObject, Path
from trainc.cel.values import Value
from trainc.documents.classify import Key, identity
from trainc.findings import Finding, has_errors
from trainc.inputs.source import Document
from trainc.kube.gojson import go_json
from trainc.schema.kinds import BUILT_IN, Registry

_EXEMPT = frozenset(
    f"{mode}{kind}"
    for mode in ("Validating", "Mutating")
    for kind in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)

_FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"


class PolicySet(Struct, frozen=True, eq=False):
    """Policies and bindings. ``findings``: what a server rejects when they are created.

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

        The other documents and those of ``cluster`` are the namespaces and params in the cluster. ``resources`` are the
        registered kinds.
        """
        objects: dict[Key, Document] = dict(cluster)
        found: list[Stored] = []
        for document in documents:
            if is_policy(document):
                found.append(read(document))
            else:
                objects.setdefault(identity(document), document)
        policies = {each.document: Expressions(each) for each in found if each.is_policy and each.decoded}
        findings = tuple(creation_findings(found, policies))
        refused = {_place(finding.document) for finding in findings if has_errors((finding,))}
        good = [each for each in found if _place(each.document) not in refused]
        bindings: dict[str, list[Stored]] = {}
        for each in sorted((each for each in good if not each.is_policy), key=lambda each: each.name):
            bindings.setdefault(each.policy_name, []).append(each)
        by_name = {each.name: each for each in good if each.is_policy and each.name in bindings}
        bound = (Bound(by_name[k], tuple(bindings[k]), policies[by_name[k].document]) for k in sorted(by_name))
        return cls(findings, tuple(bound), Cluster(objects, resources))

    def seeing(self, namespace: str) -> tuple[Bound, ...]:
        """Return the policies that may apply to objects in a namespace."""

        def sees_it(bound: Bound) -> bool:
            own, *others = (sees(part, namespace, self.cluster) for part in bound.constraints)
            # A policy reports missing params even if none of its bindings applies.
            return own and (bound.policy.has_params or any(others))

        return tuple(filter(sees_it, self.bound))

    def without_params(self) -> Iterator[tuple[Document, Document]]:
        """Yield policies and Deny bindings with params that admit everything because no params were found."""
        for bound in self.bound:
            for binding in bound.bindings:
                if DENY in binding.actions and lacks_params(bound.policy, binding, self.cluster):
                    yield bound.policy.document, binding.document

    def decide(self, request: Request) -> tuple[Decision, ...]:
        """Return the decisions about a request, by policy, binding and path; none if it is admitted."""
        if request.group == GROUP and request.kind in _EXEMPT:
            return ()
        objects: dict[str, Mapping[str, Value]] = {}
        found: list[Decision] = []
        # Matching ignores the object where it can: nearly all requests are admitted, and 1,000 jobs with all policies
        # take a third more time if each of them is matched again.
        sample = replace(request, object=None, old_object=None, name=request.scope, unknown=())
        for bound, known in _applied_to(self, sample):
            applied = known or apply(bound, request, self.cluster)
            if applied is not None:
                found += _Judgment(bound, applied, request, self.cluster, objects).decide()
        return tuple(found)


@lru_cache(maxsize=1024)
def _applied_to(policies: PolicySet, request: Request) -> tuple[tuple[Bound, Applied | None], ...]:
    """Return the policies that may match requests like one, whose object does not count, and how they apply.

    None where that depends on the object.
    """
    found: list[tuple[Bound, Applied | None]] = []
    for bound in policies.bound:
        if depends_on_object(bound, request):
            found.append((bound, None))
        elif (applied := apply(bound, request, policies.cluster)) is not None:
            found.append((bound, applied))
    return tuple(found)


def _place(document: Document) -> tuple[str, int]:
    """Return which document of its source it is: findings hold copies whose marks differ."""
    return document.source.name, document.index


class _Judgment(Struct, frozen=True, eq=False):
    """The evaluation of one policy for one request. ``objects``: the values of its objects, cached by version."""

    bound: Bound
    applied: Applied
    request: Request
    cluster: Cluster
    objects: dict[str, Mapping[str, Value]]

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
        """Tell whether a binding would fail the request if its policy (``bound``: and the binding) applies."""
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
            self.objects[version] = object_names(request, matched)
        objects = self.objects[version]
        for param in applied.params:
            early: Mapping[str, Value] = {}
            if expressions.conditions:
                early = names(request, own(request)._replace(kind=matched.kind), objects, param, None)
            known = names(request, matched, objects, param, self.cluster)
            evaluation = Evaluation(expressions, known, early, self.bound.policy.ignores_failures)
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
    """Yield decisions, the values of one audit annotation joined into one, as the server records them."""
    values: dict[Path, list[Decision]] = {}
    for decision in decisions:
        if decision.outcome != ANNOTATION:
            yield decision
            continue
        known = values.setdefault(decision.path, [])
        if all(decision.message != other.message for other in known):
            known.append(decision)
    for known in values.values():
        message = ", ".join(decision.message for decision in known)
        key = known[0].upstream.removesuffix(known[0].message)
        yield replace(known[0], message=message, upstream=key + message)


def _upstream(request: Request, policy: Stored, binding: Stored | None, action: str, verdict: Verdict) -> str:
    """Return the server's text for an action; empty for an undecided verdict or an unknown message."""
    if verdict.outcome == UNDECIDED or verdict.guessed:
        return ""
    if verdict.outcome == ANNOTATION:
        return f"{policy.name}/{verdict.key}: {verdict.message}"
    bound = f" with binding '{binding.name}'" if binding is not None else ""
    if action == WARN:
        return f"Validation failed for ValidatingAdmissionPolicy '{policy.name}'{bound}: {verdict.message}"
    if action == AUDIT and binding is not None:
        failure: JsonObject = {
            "message": verdict.message,
            "policy": binding.policy_name,
            "binding": binding.name,
            "expressionIndex": verdict.ordinal,
            "validationActions": [*binding.actions],
        }
        return f"{_FAILURE_KEY}: {go_json([failure], struct=True)}"
    denial = f"ValidatingAdmissionPolicy '{policy.name}'{bound} denied request: {verdict.message}"
    return f"{request.label} is forbidden: {denial}"
