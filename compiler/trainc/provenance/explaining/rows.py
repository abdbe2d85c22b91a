"""The values of an object with their origins, in the order of its file; what looks secret is masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from trainc.documents.emit import emit
from trainc.findings.redaction import MASK
from trainc.findings.secrets import hidden
from trainc.kube.fieldorder import ordered_object
from trainc.model import Object, Origin
from trainc.options import Options
from trainc.origins import nearest
from trainc.provenance.explaining.origins import Provenance, provenances
from trainc.source import Document, Json, JsonObject, Path, Source, as_object, dotted, get, paths


class Row(msgspec.Struct, frozen=True):
    """A scalar, or an empty mapping or list: where it is, what it is, and where it came from, the last origin first."""

    path: Path
    value: Json
    origins: tuple[Provenance, ...]

    @property
    def field(self) -> str:
        """The path as findings show it."""
        return dotted(self.path)


class Table(msgspec.Struct, frozen=True, eq=False):
    """The rows of an object, or of some of its fields. ``data`` is the object as it is shown."""

    made: Object
    data: JsonObject
    fields: tuple[Path, ...]
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return f"{self.made.kind} {get(self.data, 'metadata', 'namespace')}/{self.made.name}"


def table(made: Object, fields: Iterable[Path], options: Options) -> Table:
    """Return the rows of an object at and below the fields given, each once."""
    fields = tuple(fields)
    data = _shown(as_object(ordered_object(made.data)))
    origins = made.origins()
    rows = tuple(_rows(data, origins, fields, options))
    return Table(made, data, fields, rows)


def _rows(
    data: JsonObject, origins: Mapping[Path, Origin], fields: tuple[Path, ...], options: Options
) -> Iterator[Row]:
    for path in paths(data):
        value = get(data, *path)
        leaf = not isinstance(value, dict | list) or not value
        if leaf and any(path[: len(field)] == field for field in fields):
            origin = nearest(origins, path)
            yield Row(path, value, () if origin is None else provenances(origin, options))


def _shown(data: JsonObject) -> JsonObject:
    """Return an object with what looks secret masked."""
    document = Document(Source("", emit(data)), data)
    made: Json = data
    for secret in hidden(document):
        made = _masked(made, secret.path, None if secret.whole else secret.text)
    return as_object(made)


def _masked(value: Json, path: Path, part: str | None) -> Json:
    if not path:
        return value.replace(part, MASK) if part is not None and isinstance(value, str) else MASK
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_masked(item, rest, part) if index == step else item for index, item in enumerate(value)]
    return {key: _masked(child, rest, part) if key == step else child for key, child in as_object(value).items()}
