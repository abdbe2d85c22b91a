"""The policies of a cluster, as a whole: loaded once, then asked about each request.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/dispatcher.go. A server returns the first denial
that it finds, in no fixed order; here all are returned, by policy, binding and place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from trainc.admit.policy.cluster import Cluster
from trainc.admit.policy.creation import creation_findings
from trainc.admit.policy.decision import ANNOTATION, AUDIT, DENY, ERROR, INVALID, UNDECIDED, Decision, Request
from trainc.admit.policy.documents import BINDING, GROUP, POLICY, Read, Stored, is_policy, read
from trainc.admit.policy.evaluate import Evaluation, Verdict
from trainc.admit.policy.expressions import Bound, Expressions
from trainc.admit.policy.matching import Match, match, own, sees
from trainc.admit.policy.params import ConfigurationError, collect, lacks_params, scope
from trainc.admit.policy.passing import Case, Sort, cases, passes, sort_of
from trainc.admit.policy.request import names, namespace_value, object_names
from trainc.admit.policy.wording import upstream
from trainc.cel.values import Undecided, Value
from trainc.diagnostics import Diagnostic, has_errors
from trainc.documents import Key, identity
from trainc.records import dataclass, field, replace
from trainc.schema.kinds import BUILT_IN, Registry
from trainc.source import Document, Path, as_object

_EXEMPT = frozenset(
    f"{mode}{kind}"
    for mode in ("Validating", "Mutating")
    for kind in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)


@dataclass(frozen=True, slots=True, eq=False)
class PolicySet:
    """The policies and bindings given. ``findings``: what a server refuses of them when they are created.

    A policy or binding that is refused decides nothing: no cluster would have it.
    """

    findings: tuple[Diagnostic, ...] = ()
    bound: tuple[Bound, ...] = field(default=(), repr=False)
    cluster: Cluster = field(default_factory=lambda: Cluster({}, BUILT_IN), repr=False)

    @classmethod
    def load(
        cls, documents: Iterable[Document], cluster: Mapping[Key, Document], resources: Registry = BUILT_IN
    ) -> PolicySet:
        """Return the policies and bindings among documents.

        The other documents, and those of ``cluster``, are the namespaces and params that a cluster would hold.
        ``resources`` says which kinds there are, and what they are called.
        """
        objects: dict[Key, Document] = dict(cluster)
        found: list[Read] = []
        for document in documents:
            if is_policy(document):
                found.append(read(document))
            else:
                objects.setdefault(identity(document), document)
        policies = {each.document: Expressions(each.stored) for each in found if _is(each, POLICY) and each.stored}
        findings = creation_findings(found, policies)
        refused = {_place(finding.document) for finding in findings if has_errors((finding,))}
        good = [each for each in found if _place(each.document) not in refused]
        return cls(findings, _bound(good, policies), Cluster(objects, resources))

    def seeing(self, namespace: str) -> tuple[Bound, ...]:
        """Return the policies that may say anything of what is in a namespace; of it no other does."""

        def sees_it(bound: Bound) -> bool:
            parts = (bound.policy.spec.get("matchConstraints"), *(b.spec.get("matchResources") for b in bound.bindings))
            own, *others = (sees(as_object(part), namespace, self.cluster) for part in parts)
            # That its params cannot be had, a policy says whatever its bindings see.
            return own and (bound.policy.has_params or any(others))

        return tuple(filter(sees_it, self.bound))

    def without_params(self) -> Iterator[tuple[Document, Document]]:
        """Yield policies and bindings that deny by params, and pass everything because none of these is given."""
        for bound in self.bound:
            for binding in bound.bindings:
                if DENY in binding.actions and lacks_params(bound.policy, binding, self.cluster):
                    yield bound.policy.document, binding.document

    def decide(self, request: Request) -> tuple[Decision, ...]:
        """Return all that the policies say of a request, by policy, binding and place; empty: it is admitted."""
        if request.group == GROUP and request.kind in _EXEMPT:
            return ()
        found: list[Decision] = []
        objects: dict[str, Mapping[str, Value]] = {}
        for case in _cases(self, sort_of(request)):
            if case.matched is not None:
                version = case.matched.kind[1]
                if version not in objects:
                    objects[version] = object_names(request, case.matched)
                if passes(case, request, objects[version], self.cluster):
                    continue
            found += _Asking(case.bound, request, self.cluster).decide()
        return tuple(found)


@lru_cache(maxsize=1024)
def _cases(policies: PolicySet, sort: Sort) -> tuple[Case, ...]:
    return cases(policies.bound, sort, policies.cluster)


def _place(document: Document) -> tuple[str, int]:
    """Return which document of its source it is: findings hold copies whose marks differ."""
    return document.source.name, document.index


def _is(each: Read, kind: str) -> bool:
    return each.document.data["kind"] == kind


def _bound(good: list[Read], policies: Mapping[Document, Expressions]) -> tuple[Bound, ...]:
    """Return the policies that are bound, by name."""
    bindings: dict[str, list[Stored]] = {}
    for each in good:
        if _is(each, BINDING) and each.stored is not None:
            bindings.setdefault(each.stored.policy_name, []).append(each.stored)
    by_name = {e.stored.name: e.stored for e in good if _is(e, POLICY) and e.stored is not None}
    return tuple(
        Bound(policy, tuple(sorted(bindings[name], key=lambda each: each.name)), policies[policy.document])
        for name, policy in sorted(by_name.items())
        if name in bindings
    )


class _Asking:
    """One policy asked about one request."""

    def __init__(self, bound: Bound, request: Request, cluster: Cluster) -> None:
        self._bound = bound
        self._policy = bound.policy
        self._request = request
        self._cluster = cluster

    def decide(self) -> Iterator[Decision]:
        """Yield what the policy says."""
        constraints = as_object(self._policy.spec.get("matchConstraints"))
        try:
            matched = match(constraints, self._request, self._cluster)
            if matched is None:
                return
            if self._policy.has_params:
                scope(self._policy, self._cluster)
        except Undecided as undecided:
            matched = match({**constraints, "namespaceSelector": {}}, self._request, self._cluster)
            if matched is not None and any(self._objects(binding, matched) for binding in self._bound.bindings):
                yield self._open(None, ("spec", "matchConstraints", "namespaceSelector"), undecided.reason)
            return
        except ConfigurationError as error:
            yield from self._misconfigured(None, f"failed to configure policy: {error}")
            return
        yield from _merged(each for binding in self._bound.bindings for each in self._by_binding(binding, matched))

    def _by_binding(self, binding: Stored, matched: Match) -> Iterator[Decision]:
        resources = binding.spec.get("matchResources")
        try:
            if isinstance(resources, dict) and match(resources, self._request, self._cluster) is None:
                return
        except Undecided as undecided:
            assert isinstance(resources, dict), "it was matched"
            wide = {**resources, "namespaceSelector": {}}
            if match(wide, self._request, self._cluster) is not None and self._objects(binding, matched, bound=True):
                yield self._open(binding, ("spec", "matchResources", "namespaceSelector"), undecided.reason)
            return
        yield from self._bound_by(binding, matched)

    def _objects(self, binding: Stored, matched: Match, *, bound: bool = False) -> bool:
        """Tell whether a binding finds fault where its policy applies; ``bound``: and the binding applies, too."""
        decisions = self._bound_by(binding, matched) if bound else self._by_binding(binding, matched)
        return any(decision.outcome != ANNOTATION for decision in decisions)

    def _bound_by(self, binding: Stored, matched: Match) -> Iterator[Decision]:
        """Yield what the policy says where the binding is about the request."""
        try:
            params = collect(self._policy, binding, self._request.scope, self._cluster)
        except ConfigurationError as error:
            yield from self._misconfigured(binding, f"failed to configure binding: {error}")
            return
        objects, early = object_names(self._request, matched), own(self._request)
        namespace = namespace_value(self._request, self._cluster)
        for param in params:
            evaluation = Evaluation(
                self._bound.expressions,
                names(self._request, matched, objects, param),
                names(self._request, early._replace(kind=matched.kind), objects, param),
                namespace,
                ignores=self._policy.ignores_failures,
            )
            for verdict in evaluation.verdicts():
                yield from self._decisions(binding, verdict, evaluation)

    def _decisions(self, binding: Stored, verdict: Verdict, evaluation: Evaluation) -> Iterator[Decision]:
        path = evaluation.explain(verdict, self._request.object)
        decision = Decision(
            self._policy.document,
            binding.document,
            verdict.path,
            AUDIT if verdict.key else DENY,
            verdict.outcome,
            verdict.message,
            verdict.reason,
            object_path=path,
            position=verdict.position,
        )
        actions = (decision.action,) if verdict.key or verdict.certain else binding.actions
        if verdict.outcome == UNDECIDED and not verdict.key:
            actions = actions[:1] if DENY not in actions else (DENY,)
        for action in actions:
            text = upstream(self._request, self._policy, binding, action, verdict)
            yield replace(decision, action=action, upstream=text)

    def _open(self, binding: Stored | None, path: Path, reason: str) -> Decision:
        """Return that it is not known whether the policy applies."""
        where = binding.document if binding is not None else None
        actions = [_strongest(each) for each in (self._bound.bindings if binding is None else (binding,))]
        action = DENY if DENY in actions else actions[0]
        return Decision(self._policy.document, where, path, action, UNDECIDED, reason, at_binding=binding is not None)

    def _misconfigured(self, binding: Stored | None, message: str) -> Iterator[Decision]:
        """Yield the denial of a policy or binding that cannot be used, whatever the actions are."""
        if self._policy.ignores_failures:
            return
        path: Path = ("spec", "paramKind") if binding is None else ("spec", "paramRef")
        verdict = Verdict(path, ERROR, message, INVALID)
        yield Decision(
            self._policy.document,
            binding.document if binding is not None else None,
            path,
            DENY,
            ERROR,
            message,
            INVALID,
            upstream(self._request, self._policy, binding, DENY, verdict),
            at_binding=binding is not None,
        )


def _strongest(binding: Stored) -> str:
    return DENY if DENY in binding.actions else next(iter(binding.actions), DENY)


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
