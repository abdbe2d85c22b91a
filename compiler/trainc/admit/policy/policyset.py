"""The policies of a cluster, as a whole: loaded once, then asked about each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainc.admit.policy.decision import Decision, Request
from trainc.diagnostics import Diagnostic
from trainc.documents import Key
from trainc.schema.registry import BUILT_IN, Registry
from trainc.source import Document


@dataclass(frozen=True, slots=True, eq=False)
class PolicySet:
    """The policies and bindings given. ``findings``: what a server refuses of them when they are created.

    A policy or binding that is refused decides nothing: no cluster would have it.
    """

    findings: tuple[Diagnostic, ...] = ()

    @classmethod
    def load(
        cls, documents: Iterable[Document], cluster: Mapping[Key, Document], resources: Registry = BUILT_IN
    ) -> PolicySet:
        """Return the policies and bindings among documents.

        The other documents, and those of ``cluster``, are the namespaces and params that a cluster would hold.
        ``resources`` says which kinds there are, and what they are called.
        """
        return cls()

    def decide(self, request: Request) -> tuple[Decision, ...]:
        """Return all that the policies say of a request, by policy, binding and place; empty: it is admitted."""
        return ()
