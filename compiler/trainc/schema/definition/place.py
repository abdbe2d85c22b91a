"""Places in a CustomResourceDefinition, and what an API server says of them.

A place has two names: its path in the document, and the server's spelling. They differ: the server reads a CRD into
its internal version, which holds at the top what all versions have in common.
Source of the texts: k8s.io/apimachinery pkg/util/validation/field.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.findings import suggest
from trainc.kube.fielderror import go_value, quote
from trainc.records import dataclass
from trainc.schema.violation import Violation
from trainc.schema.wording import show
from trainc.source import Json, Path

CODE = "TC111"


@dataclass(frozen=True, slots=True)
class Place:
    """A place: ``path`` in the document, ``text`` as the server spells it."""

    path: Path
    text: str

    def child(self, *names: str) -> Place:
        """Return the place of a field below."""
        return Place((*self.path, *names), ".".join((self.text, *names) if self.text else names))

    def key(self, name: str) -> Place:
        """Return the place of a key of this map."""
        return Place((*self.path, name), f"{self.text}[{name}]")

    def index(self, index: int) -> Place:
        """Return the place of an item of this list."""
        return Place((*self.path, index), f"{self.text}[{index}]")

    @property
    def name(self) -> str:
        """The last step, which names the place in a message."""
        step = self.path[-1] if self.path else "the document"
        return f"item {step}" if isinstance(step, int) else step


def required(place: Place, detail: str = "") -> Violation:
    """Return the violation of a field that is not there."""
    joined = f"{place.name} {detail}" if detail.startswith("must") else f"{place.name} is missing {detail}".rstrip()
    text = f"{place.text}: Required value"
    return Violation(CODE, place.path, joined, f"{text}: {detail}" if detail else text)


def invalid(place: Place, value: Json, detail: str) -> Violation:
    """Return the violation of a field with a value that it may not have."""
    text = f"{place.text}: Invalid value: {go_value(value)}: {detail}"
    return Violation(CODE, place.path, _sentence(place, detail), text, found=show(value))


def forbidden(place: Place, detail: str) -> Violation:
    """Return the violation of a field that may not be there."""
    return Violation(CODE, place.path, _sentence(place, detail), f"{place.text}: Forbidden: {detail}")


def unsupported(place: Place, value: str, accepted: Sequence[str]) -> Violation:
    """Return the violation of a field whose value is none of those accepted."""
    listed = ", ".join(map(quote, accepted))
    return Violation(
        CODE,
        place.path,
        f"{place.name} must be one of {listed}",
        f"{place.text}: Unsupported value: {quote(value)}: supported values: {listed}",
        found=show(value),
        expected=listed,
        hint=suggest(value, accepted),
    )


def _sentence(place: Place, detail: str) -> str:
    return detail if detail.startswith(f"{place.name} ") else f"{place.name}: {detail}"
