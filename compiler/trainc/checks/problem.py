"""What is wrong at a place of an object, in the words of Kubernetes' field errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.kube.fielderror import go_value, quote
from trainc.kube.gojson import go_json
from trainc.records import dataclass
from trainc.source import Json, Path

NOT_NEGATIVE = "must be greater than or equal to 0"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that the API server refuses in an object that a controller creates.

    ``path`` leads to it in the object, ``upstream`` is the server's text and ``detail`` what that says without the
    field. ``found`` is the value at fault where that is a text or a number; ``other`` a second path involved.
    """

    code: str
    path: Path
    detail: str
    upstream: str
    found: str | None = None
    other: Path | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A place of an object: its path, and its name as the server's Go code spells it, which is not always the same."""

    code: str
    path: Path
    field: str

    def coded(self, code: str) -> Place:
        """Return the place, with another code for what is wrong there."""
        return Place(code, self.path, self.field)

    def child(self, *names: str) -> Place:
        """Return the field of that name, or the one below it for further names."""
        return Place(self.code, (*self.path, *names), ".".join((self.field, *names)))

    def index(self, index: int) -> Place:
        """Return an item of the list."""
        return Place(self.code, (*self.path, index), f"{self.field}[{index}]")

    def key(self, key: str) -> Place:
        """Return an entry of the map."""
        return Place(self.code, (*self.path, key), f"{self.field}[{key}]")

    def within(self, *path: str | int) -> Place:
        """Return a place further in that the server calls by the name of this one."""
        return Place(self.code, (*self.path, *path), self.field)

    def named(self, field: str) -> Place:
        """Return this place under the name that the server has for it."""
        return Place(self.code, self.path, field)

    def required(self, detail: str = "") -> Problem:
        """Something is missing or empty."""
        text = f"{self.field}: Required value"
        return Problem(self.code, self.path, detail or "a value is required", f"{text}: {detail}" if detail else text)

    def forbidden(self, detail: str) -> Problem:
        """Something may not be there."""
        return Problem(self.code, self.path, detail, f"{self.field}: Forbidden: {detail}")

    def invalid(self, value: Json, detail: str, *, typed: bool = False) -> Problem:
        """A value is wrong. ``typed``: its Go type is a string by another name, which Go writes as JSON."""
        shown = go_json(value) if typed else go_value(value, struct=True)
        return self._valued("Invalid value", shown, detail, value)

    def each_invalid(self, value: str, details: Iterable[str]) -> Iterator[Problem]:
        """Yield a problem for everything that is wrong with a value."""
        return (self.invalid(value, detail) for detail in details)

    def unsupported(self, value: Json, supported: Sequence[str]) -> Problem:
        """A value is none of those that there are, which are named in the order given."""
        detail = f"supported values: {', '.join(map(quote, supported))}"
        return self._valued("Unsupported value", go_json(value), detail, value)

    def duplicate(self, value: Json) -> Problem:
        """A value is there for the second time."""
        return self._valued("Duplicate value", go_value(value), "", value, "is there twice")

    def not_found(self, value: str, detail: str = "", ours: str = "") -> Problem:
        """A value names something that is not there."""
        return self._valued("Not found", quote(value), detail, value, ours)

    def too_many(self, count: int, limit: int) -> Problem:
        """A list has too many items."""
        detail = f"must have at most {limit} item{'' if limit == 1 else 's'}"
        return self._valued("Too many", str(count), detail, count)

    def too_long(self, limit: int) -> Problem:
        """A text has too many bytes."""
        detail = f"may not be more than {limit} bytes"
        return Problem(self.code, self.path, detail, f"{self.field}: Too long: {detail}")

    def not_negative(self, value: Json) -> Iterator[Problem]:
        """Yield the problem of a number below 0; none for what is no number."""
        if isinstance(value, int) and value < 0:
            yield self.invalid(value, NOT_NEGATIVE)

    def _valued(self, kind: str, shown: str, detail: str, value: Json, ours: str = "") -> Problem:
        text = f"{self.field}: {kind}: {shown}"
        found = value if isinstance(value, str) else str(value) if isinstance(value, int) else None
        said = ours or detail or kind.lower()
        return Problem(self.code, self.path, said, f"{text}: {detail}" if detail else text, found)
