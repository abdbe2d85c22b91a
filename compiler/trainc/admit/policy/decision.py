"""What policies are asked, and what they say."""

from __future__ import annotations

from typing import Final

from trainc.records import dataclass
from trainc.source import Document, JsonObject, Path, as_object

DENIED, ERROR, UNDECIDED, ANNOTATION = "denied", "error", "undecided", "annotation"
DENY, WARN, AUDIT = "Deny", "Warn", "Audit"
INVALID: Final = "Invalid"
"""The reason of a denial that names none."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to an API server: what it changes, before and after.

    ``operation`` is CREATE, UPDATE, DELETE or CONNECT; ``object`` is None on DELETE, ``old_object`` on CREATE.
    ``resource`` is the plural. ``namespace`` is empty for objects that have none. ``unknown`` are the paths of what in
    ``object`` only a cluster knows, whatever stands there.
    """

    operation: str
    object: JsonObject | None
    old_object: JsonObject | None
    group: str
    version: str
    kind: str
    resource: str
    namespace: str
    name: str
    sub_resource: str = ""
    unknown: tuple[Path, ...] = ()

    @property
    def label(self) -> str:
        """What refusals call the object: ``jobsets.jobset.x-k8s.io "name"``."""
        from trainc.kube.fielderror import quote

        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        prefix = as_object((self.object or {}).get("metadata")).get("generateName")
        return f"{resource} {quote(self.name or str(prefix or ''))}"

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a namespace, of which a server says that it is in itself."""
        return (self.group, self.resource) == ("", "namespaces")

    @property
    def scope(self) -> str:
        """The namespace that the request is in, as a server has it."""
        return self.name if self.is_namespace else self.namespace


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that a policy says of a request; a policy that has nothing to say makes none.

    ``binding`` is None where the policy cannot be used at all. ``path`` leads into the policy (or into the binding
    where ``at_binding``), ``position`` is an offset in code points of the expression there, if one is to blame.
    ``action`` is Deny, Warn or Audit. ``outcome``: ``denied`` (a validation is false), ``error`` (failurePolicy Fail
    turns a failure into a denial), ``undecided`` (``message`` says what cannot be known offline: neither a pass nor a
    failure), ``annotation`` (an audit annotation that a server would record, nothing to mend).
    ``reason`` is that of the HTTP status, empty if undecided. ``upstream`` is what the server would say: its error, its
    warning, or ``key: value`` of the audit annotation. ``object_path``: the field to point at, best effort, () if none.
    """

    policy: Document
    binding: Document | None
    path: Path
    action: str
    outcome: str
    message: str
    reason: str = ""
    upstream: str = ""
    object_path: Path = ()
    position: int | None = None
    at_binding: bool = False
