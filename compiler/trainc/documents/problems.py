"""Problems met while text becomes plain JSON; shared by the readers of YAML and of JSON."""

from __future__ import annotations

import json

from trainc.documents import scalars
from trainc.records import dataclass
from trainc.source import Json, Path

MAX_DEPTH = 100
"""Nested collections in one document. Go's readers stop at 10,000; no object of Kubernetes comes near 100."""

MAX_ALIASED = 3 * 1024 * 1024
"""Characters that aliases may repeat in one document: the API server's limit, in bytes, for a request."""

MAX_OBJECT = 3 * 1024 * 1024
"""The API server's limit, in bytes, for a request: no object takes more as JSON."""

MAX_NODES = 100_000
"""Keys and items of one object. One that takes MAX_OBJECT would have 30 bytes for each; real ones have fewer."""

CONVERTING = "error converting YAML to JSON: "
"""How sigs.k8s.io/yaml begins each of its errors."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at ``path`` of one document; ``fatal`` where its value cannot be used."""

    code: str
    path: Path
    message: str
    found: str | None = None
    hint: str | None = None
    upstream: str | None = None
    fatal: bool = True
    stage: str = "decode"


class Refused(Exception):
    """A document cannot be read on; ``offset`` counts code points from the start of its text."""

    def __init__(self, problem: Problem, offset: int) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.offset = offset


def ambiguous(path: Path, text: str, reading: scalars.Reading, *, key: str | None = None) -> Problem:
    """Make the finding TC005 for a plain scalar, or a key, that readers take differently."""
    ours = scalars.describe(reading.value) if key is None else f'the key "{key}"'
    others = f"YAML 1.2 readers as {scalars.describe(scalars.core(text))}, PyYAML as {scalars.describe_pyyaml(text)}"
    if key is not None or isinstance(reading.value, str):
        hint = f"write {json.dumps(text, ensure_ascii=False)} for the string"
    else:
        plain = json.dumps(reading.value)
        hint = f'write "{text}" for the string, or {plain} for what Kubernetes reads'
    return Problem("TC005", path, f"Kubernetes reads {text} as {ours}, {others}", text, hint, fatal=False)


def measure(value: Json) -> tuple[int, int]:
    """Return the characters that value takes as JSON, about, and how many collections nest in it."""
    if isinstance(value, dict):
        parts = [measure(child) for child in value.values()]
        own = 2 + sum(len(key) + 4 for key in value)
    elif isinstance(value, list):
        parts = [measure(child) for child in value]
        own = 2 + len(value)
    else:
        return (len(value) + 2 if isinstance(value, str) else 4), 0
    return own + sum(part[0] for part in parts), 1 + max((part[1] for part in parts), default=0)


def excess(value: Json) -> str | None:
    """Return how an object is larger than any that a cluster could hold, or None where it is not."""
    left = [value]
    nodes = 0
    while left:
        item = left.pop()
        children = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []
        nodes += len(children)
        left += children
    if nodes > MAX_NODES:
        return f"more than {MAX_NODES} keys and items in one object"
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
    return f"an object of more than {MAX_OBJECT // 1024 // 1024} MiB" if size > MAX_OBJECT else None


def go_syntax(value: Json) -> str | None:
    """Write value as Go's ``%#v`` does for what go-yaml decodes; None where that is not known."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        items = [go_syntax(item) for item in value]
        return None if None in items else f"[]interface {{}}{{{', '.join(map(str, items))}}}"
    if isinstance(value, dict) and all(scalars.resolve(key)[0] == scalars.STR for key in value):
        fields = [(go_syntax(key), go_syntax(value[key])) for key in sorted(value)]
        if all(None not in field for field in fields):
            return f"map[interface {{}}]interface {{}}{{{', '.join(f'{key}:{item}' for key, item in fields)}}}"
    return None
