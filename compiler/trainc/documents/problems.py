"""What the readers of YAML and of JSON report."""

from __future__ import annotations

import json

import msgspec

from trainc.basics.jsonvalues import Json, Path
from trainc.documents import scalars
from trainc.kube.fielderror import quote

CONVERTING = "error converting YAML to JSON: "
"""How sigs.k8s.io/yaml begins each of its errors."""


class Problem(msgspec.Struct, frozen=True):
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
    """The rest of a document cannot be read; ``offset`` counts code points from the start of its text."""

    def __init__(self, problem: Problem, offset: int) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.offset = offset


def duplicate_key(path: Path, upstream: str | None = None) -> Problem:
    """Return the problem of a key that its mapping already has."""
    return Problem("TC003", path, f'the key "{path[-1]}" stands here twice', upstream=upstream, fatal=False)


def ambiguous(path: Path, text: str, reading: scalars.Reading, *, key: str | None = None) -> Problem:
    """Return the problem of a plain scalar, or a key, that readers of YAML take differently."""
    ours = scalars.describe(reading.value) if key is None else f'the key "{key}"'
    others = f"YAML 1.2 readers as {scalars.describe(scalars.core(text))}, PyYAML as {scalars.describe_pyyaml(text)}"
    if key is not None or isinstance(reading.value, str):
        hint = f"write {json.dumps(text, ensure_ascii=False)} for the string"
    else:
        plain = json.dumps(reading.value)
        hint = f'write "{text}" for the string, or {plain} for what Kubernetes reads'
    return Problem("TC005", path, f"Kubernetes reads {text} as {ours}, {others}", text, hint, fatal=False)


def go_syntax(value: Json) -> str | None:
    """Write value as Go's ``%#v`` does for what go-yaml decodes; None where that is unknown."""
    if isinstance(value, str):
        return quote(value)
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
