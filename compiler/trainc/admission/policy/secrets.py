"""Keeps secrets out of the messages of policies.

A messageExpression or an error may show any part of an object, even a token in capitals. So policies are evaluated a
second time, for the object with its secrets masked. If the message then differs only by masks, it is shown with them;
if it differs in another way, it is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from msgspec.structs import replace

from trainc.admission.policy.documents import Decision, Request
from trainc.basics.jsonvalues import as_object, get
from trainc.findings.redaction import MASK, masked_object
from trainc.kube.gojson import trim_space

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
    """Tell whether a masked message is the other with MASK for something in it, and not a different one."""
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
