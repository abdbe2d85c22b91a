"""Collects what a server refuses of an object's fields, each with its place and the server's text.

Source: k8s.io/apimachinery v0.34 pkg/util/validation/field/errors.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainc.kube.fielderror import go_value
from trainc.kube.gojson import go_json
from trainc.records import NamedTuple
from trainc.source import Json, Path, dotted


class Problem(NamedTuple):
    """What is refused: ``path`` may name a field that is not there. ``position``: an offset in an expression there."""

    path: Path
    message: str
    upstream: str
    found: str | None = None
    expected: str | None = None
    position: int | None = None


def invalid(path: Path, value: Json, detail: str, position: int | None = None) -> Problem:
    """Return a value that is wrong."""
    shown = go_value(value, struct=True)
    return Problem(path, detail, f"{dotted(path)}: Invalid value: {shown}: {detail}", _found(value), position=position)


def required(path: Path, detail: str = "") -> Problem:
    """Return a value that is missing."""
    message = detail or f"{dotted(path)} is missing"
    return Problem(path, message, f"{dotted(path)}: Required value" + (f": {detail}" if detail else ""))


def forbidden(path: Path, detail: str, value: Json) -> Problem:
    """Return a value that must not be there."""
    return Problem(path, detail, f"{dotted(path)}: Forbidden: {detail}", _found(value))


def unsupported(path: Path, value: str, supported: Sequence[str]) -> Problem:
    """Return a value that is none of those there are."""
    listed = ", ".join(go_value(each) for each in supported)
    text = f"{dotted(path)}: Unsupported value: {go_json(value)}: supported values: {listed}"
    return Problem(path, f"{value!r} is not known here", text, value, " or ".join(supported))


def duplicate(path: Path, value: str) -> Problem:
    """Return a value that is there before."""
    return Problem(path, f"{value!r} is given twice", f"{dotted(path)}: Duplicate value: {go_json(value)}", value)


def too_many(path: Path, count: int, limit: int) -> Problem:
    """Return a list with too many items."""
    detail = f"must have at most {limit} items"
    return Problem(path, detail, f"{dotted(path)}: Too many: {count}: {detail}", str(count), f"at most {limit}")


def internal(path: Path, detail: str, position: int | None = None) -> Problem:
    """Return a value at which the server fails."""
    return Problem(path, detail, f"{dotted(path)}: Internal error: {detail}", position=position)


def each_invalid(path: Path, value: str, details: Iterable[str]) -> list[Problem]:
    """Return a value that is wrong in several ways."""
    return [invalid(path, value, detail) for detail in details]


def _found(value: Json) -> str | None:
    return value if isinstance(value, str) else go_json(value)
