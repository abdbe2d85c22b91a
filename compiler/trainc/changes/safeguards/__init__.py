"""What judges a change, compared with another revision: policies, severities and comments that a change weakens. Pure.

Whether a changed expression forbids less nobody can tell in general. What plainly forbids as much or more is passed
over; anything else is reported, so that nobody weakens a rule unseen.
"""

from __future__ import annotations

from collections.abc import Iterable

from trainc.changes.safeguards.comments import new_comments
from trainc.changes.safeguards.documents import changed_documents
from trainc.changes.safeguards.levels import lowered
from trainc.findings import Finding, sort_key
from trainc.inputs.options import Revision
from trainc.inputs.source import Document, Source

__all__ = ["weakened"]


def weakened(
    before: Revision, after: Revision, config: Document | None, unread: Iterable[Source] = ()
) -> tuple[Finding, ...]:
    """Return what judges less, or otherwise, after a change than before: TC520, TC521 and TC522, sorted.

    ``config`` is trainc.yaml after the change. ``unread`` are files below policies/ that are not read as policies: what
    is gone may be there.
    """
    found = (*changed_documents(before, after, unread), *lowered(before, after, config), *new_comments(before, after))
    return tuple(sorted(found, key=sort_key))
