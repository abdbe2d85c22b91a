"""The problems that the readers of YAML and JSON report, and the size limits of documents (TC012)."""

from __future__ import annotations

import json

from trainc.basics.jsonvalues import Json, Path
from trainc.findings.reporting import Fault

CONVERTING = "error converting YAML to JSON: "
"""The beginning of each error of sigs.k8s.io/yaml."""


MAX_DOCUMENTS = 100_000
"""Documents in one text; a List counts as one."""

MAX_DEPTH = 100
"""Nested collections in one document. Go's readers stop at 10,000; no Kubernetes object comes near 100."""

MAX_ALIASED = 3 * 1024 * 1024
"""Characters that aliases may repeat in one document: the API server's limit, in bytes, for a request."""

MAX_REPEATED = 1_000
"""Keys and items that aliases may repeat in one document, or REPEATED times what it has itself, if that is more."""

REPEATED = 9

MAX_OBJECT = 3 * 1024 * 1024
"""Bytes of one object as JSON: the API server's limit for a request."""

MAX_NODES = 100_000
"""Keys and items in one object. One of MAX_OBJECT bytes would have 30 bytes for each; real ones have fewer nodes."""

SMALL_TEXT = 2 * MAX_NODES
"""Characters of a text that cannot contain an object that is too large, unless aliases repeat parts of it."""

TOO_DEEP = f"more than {MAX_DEPTH} collections inside each other"

FEWER_ALIASES = "write out some of the aliases (*name), or split the document"


class Problem(Fault, frozen=True):
    """An error in a document that is being read; ``fatal`` if the value at the path cannot be used."""

    fatal: bool = True


class Refused(Exception):
    """The rest of a document cannot be read; ``offset`` counts code points from the start of its text."""

    def __init__(self, problem: Problem, offset: int) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.offset = offset


def duplicate_key(path: Path, upstream: str | None = None) -> Problem:
    """Return the problem of a key that its mapping already has."""
    return Problem("TC003", path, f"duplicate key '{path[-1]}'", upstream, fatal=False)


def measure(value: Json) -> tuple[int, int]:
    """Return roughly the number of characters of value as JSON, and how many collections are nested in it."""
    if isinstance(value, dict):
        parts = [measure(child) for child in value.values()]
        size = 2 + sum(len(key) + 4 for key in value)
    elif isinstance(value, list):
        parts = [measure(child) for child in value]
        size = 2 + len(value)
    else:
        return (len(value) + 2 if isinstance(value, str) else 4), 0
    return size + sum(part[0] for part in parts), 1 + max((part[1] for part in parts), default=0)


def excess(value: Json) -> str | None:
    """Return the limit that an object exceeds so that no cluster could store it, or None."""
    waiting = [value]
    nodes = 0
    while waiting:
        item = waiting.pop()
        children = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []
        nodes += len(children)
        if nodes > MAX_NODES:
            return f"more than {MAX_NODES} keys and items in one object"
        waiting += children
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
    return f"an object of more than {MAX_OBJECT // 1024 // 1024} MiB" if size > MAX_OBJECT else None


def repeats_too_much(aliased: int, nodes: int) -> bool:
    """Return whether aliases make so much of a small text that it would take minutes: ``aliased`` of the nodes."""
    return aliased > max(MAX_REPEATED, REPEATED * (nodes - aliased))


def too_many_aliases(aliased: int, nodes: int) -> bool:
    """Apply go-yaml's rule against documents that grow by aliases: ``aliased`` of the ``nodes`` are repetitions."""
    if aliased <= 100 or nodes <= 1000:
        return False
    low, high = 400_000, 4_000_000
    return aliased / nodes > 0.99 - 0.89 * min(max(nodes - low, 0) / (high - low), 1.0)
