"""What an origin is called, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.documents.load import load
from trainc.gitops.base import option_place
from trainc.model import Origin
from trainc.options import Options
from trainc.source import Document, JsonObject, Path, Source, as_list, get

_NAMESPACE: Final[Path] = ("metadata", "namespace")


class Provenance(msgspec.Struct, frozen=True):
    """Where a value came from.

    ``kind`` is trainjob, runtime, companion, folder (below jobs/), patch, default, plugin, fix, environment or lock.
    ``name`` says which: what the document is called, the patch's manager, the schema or webhook that defaulted, the
    plugin, the fix, the option of trainc.yaml. ``file``, ``line`` and ``column`` are where it is written, or where that
    is written which made it; None where nobody wrote anything. Lines and columns count from 1.
    """

    kind: str
    name: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def word(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".rstrip()

    @property
    def place(self) -> str:
        """File and line, empty without."""
        return "" if self.file is None else self.file if self.line is None else f"{self.file}:{self.line}"


def provenances(origin: Origin, options: Options) -> tuple[Provenance, ...]:
    """Return where a value came from, and then where those came from that it has replaced, the last one first."""
    return tuple(dict.fromkeys(_each(origin, options)))


def _each(origin: Origin | None, options: Options) -> Iterator[Provenance]:
    while origin is not None:
        yield _provenance(origin, options)
        origin = origin.earlier


def _provenance(origin: Origin, options: Options) -> Provenance:
    if origin.kind == "input" and origin.document is not None:
        return _input(origin.document, origin.path)
    if origin.kind == "fix" and (found := _switch(origin.name, options)) is not None:
        return _placed("fix", origin.name, *found)
    if origin.document is None:
        return Provenance(origin.kind, origin.name)
    return _placed(origin.kind, origin.name, origin.document, origin.path)


def _input(document: Document, path: Path) -> Provenance:
    kind, name = str(document.data["kind"]), str(get(document.data, "metadata", "name"))
    ours = kind == TRAINJOB or kind in RUNTIMES
    written = get(_written(document.source, document.index), *path) is not None
    if not written and (not ours or get(document.data, *path) is not None):
        if kind == TRAINJOB and path == _NAMESPACE:
            return Provenance("folder", str(get(document.data, *path)), document.source.name.rpartition("/")[0] or None)
        return Provenance("default", f"{kind} CRD" if ours else "API server")
    if kind == TRAINJOB:
        return _placed("trainjob", name, document, path)
    if kind in RUNTIMES:
        return _placed("runtime", name, document, path)
    return _placed("companion", f"{kind} {name}", document, path)


@lru_cache(maxsize=16)
def _written(source: Source, index: int) -> JsonObject:
    """Return a document as its text has it, before anything was defaulted."""
    return next((document.data for document in load(source)[0] if document.index == index), {})


def _switch(fix: str, options: Options) -> tuple[Document, Path] | None:
    """Return where trainc.yaml switches a fix on."""
    document, place = options.config_document, option_place(options, "fixes")
    if document is None or place is None:
        return None
    chosen = as_list(get(document.data, *place))
    return document, (*place, chosen.index(fix)) if fix in chosen else place


def _placed(kind: str, name: str, document: Document, path: Path) -> Provenance:
    mark = document.locate(path)
    return Provenance(kind, name, document.source.name, mark.line, mark.column)
