"""What is wrong with one place of a document, in our words and in the API server's."""

from __future__ import annotations

from trainc.records import dataclass
from trainc.source import Path


@dataclass(frozen=True, slots=True)
class Violation:
    """One failure.

    ``code`` is one of TC102..TC112. ``path`` leads to a value of the document (for a missing field, to what should hold
    it). ``upstream`` is the API server's own text for this error, ``<path>: <type>: <value>: <detail>``;
    '' where it is not known.
    ``blocking``: the server does not evaluate the CRD's rules after such an error.
    ``secondary``: the server says it, but it adds nothing to another violation of the same place.
    ``decode``: the server refuses the document before it looks at any schema.
    ``advisory``: the API takes the object; server-side apply, or a cluster with other settings, does not.
    """

    code: str
    path: Path
    message: str
    upstream: str
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    blocking: bool = False
    secondary: bool = False
    decode: bool = False
    advisory: bool = False
