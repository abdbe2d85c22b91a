"""What one run takes from the last one, and leaves for the next: files below jobs/, jobs, and files below out/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from trainc.cache.facts import gather
from trainc.cache.jobs import Recall, stub, stubs_of
from trainc.cache.stamps import Stamp, is_settled, stamp
from trainc.cache.store import Stored, load, path_for, save
from trainc.contents import Content, digest_of
from trainc.documents.load import load as load_source
from trainc.files import read_regular
from trainc.findings import Diagnostic
from trainc.pipeline import Loaded, load_all
from trainc.prepared import Executor
from trainc.read import Inputs, read_file
from trainc.records import replace
from trainc.settings import Settings
from trainc.source import Document, Mark, Source
from trainc.source import Path as Way
from trainc.write import Plan

_NOTHING: Final = Inputs()


class Changed(Exception):
    """A file has changed while a run took it as known: what is known is of no use then."""


class Memory:
    """One run's view of what is known of a repository.

    ``by_bytes``: files are compared by their bytes, and stamps count for nothing. ``compares``: out/ will be compared.
    """

    def __init__(self, root: Path, place: Path, tool: str, *, by_bytes: bool = False, compares: bool = False) -> None:
        """Read what the last run left below ``place``, the folder of all caches."""
        self.root = root
        self.tool = tool
        self.path = path_for(place, tool, root, "jobs")
        self.old = load(self.path, self.tool) or Stored()
        self.new = Stored()
        self.by_bytes = by_bytes
        self.stubs: list[Document] = []
        self.digests: dict[str, bytes] = {}
        self.stamps: dict[str, Stamp | None] = {}
        self.recalls: dict[str, Recall] = {}
        self.compares = compares
        self.asked: dict[str, tuple[bytes, bool]] = {}
        self.forgotten = False
        self.reread: tuple[str, dict[int, Document]] = "", {}  # the file that was read again last

    # Files below jobs/.

    def read(self, path: str, name: str) -> Inputs:
        """Read a file below jobs/ where that is needed; a known one stands in ``stubs`` afterwards."""
        known = self.old.inputs.get(name)
        seen = stamp(path)
        if known is not None and seen is not None and known[0] == seen and not self.by_bytes and known[2] is not None:
            self._stand_in(name, known)
            return _NOTHING
        inputs = read_file(path, name)
        if not inputs.sources:
            return inputs
        data = inputs.sources[0].text
        assert isinstance(data, bytes), "files are read as bytes"
        digest = digest_of(data)
        kept = _settled(seen)
        if known is not None and known[1] == digest and known[2] is not None:
            self._stand_in(name, [kept, digest, known[2]])
            return _NOTHING
        self.digests[name], self.stamps[name] = digest, kept
        return inputs

    def _stand_in(self, name: str, entry: Any) -> None:
        self.new.inputs[name] = entry
        self.stubs += (stub(name, plain, lambda index, name=name: self._marks(name, index)) for plain in entry[2])  # type: ignore[misc]

    def load(self, sources: Iterable[Source]) -> Loaded:
        """Load sources, as ``load_all`` does, with the documents that stand for files that were not read."""
        loaded = load_all(sources, self._note)
        return replace(loaded, documents=(*loaded.documents, *self.stubs))

    def _note(self, source: Source, documents: tuple[Document, ...], findings: tuple[Diagnostic, ...]) -> None:
        """Note what a file below jobs/ holds, now that it was read and loaded."""
        if (digest := self.digests.get(source.name)) is not None:
            stubs = stubs_of(source, documents, findings)
            self.new.inputs[source.name] = [self.stamps[source.name], digest, stubs]

    def _marks(self, name: str, index: int) -> Mapping[Way, Mark]:
        return self._document(name, index).marks()

    def _document(self, name: str, index: int) -> Document:
        """Return a document of a file that was not read. Raises Changed where it is another one now."""
        if self.reread[0] != name:
            inputs = read_file(self.root / name, name)
            data = inputs.sources[0].text if inputs.sources else b""
            if not isinstance(data, bytes) or digest_of(data) != self.new.inputs[name][1]:
                raise Changed(name)
            self.reread = name, {document.index: document for document in load_source(inputs.sources[0])[0]}
        return self.reread[1][index]

    # Jobs.

    def executor(self, environment: str, inner: Executor) -> Executor:
        """Return an executor for an environment that takes known jobs from here, and gives ``inner`` the others."""
        known = self.old.jobs.get(environment, ("", {}, {}))
        reload = lambda document: self._document(document.source.name, document.index)  # noqa: E731
        is_there = self.is_same if self.compares else None
        self.recalls[environment] = recall = Recall(known, self._digest, reload, inner, is_there)
        return recall

    def _digest(self, name: str) -> bytes | None:
        """Return the digest that a file below jobs/ has in this run; None for another file."""
        entry = self.new.inputs.get(name)
        return None if entry is None else entry[1]

    # Files below out/.

    def is_same(self, name: str, content: Content) -> bool:
        """Tell whether the file of a name has a content; False where it has not, or is none."""
        wanted = digest_of(content)
        if (asked := self.asked.get(name)) is None or asked[0] != wanted:
            asked = self.asked[name] = wanted, self._is_same(name, wanted)
        return asked[1]

    def _is_same(self, name: str, wanted: bytes) -> bool:
        path = f"{self.root}/{name}"
        known, seen = self.old.outputs.get(name), stamp(path)
        if known is not None and seen is not None and known[0] == seen and not self.by_bytes:
            self.new.outputs[name] = known
            return bool(known[1] == wanted)
        if (data := read_regular(path)) is None:
            return False
        digest = digest_of(data)
        self.new.outputs[name] = [_settled(seen), digest]
        return digest == wanted

    def wrote(self, todo: Plan) -> None:
        """Note what was written: the bytes, but no stamps, for another may have written since."""
        for file in (*todo.create, *todo.change):
            self.new.outputs[file.name] = [None, digest_of(file.data)]

    def confirm(self, files: Mapping[str, tuple[Stamp | None, bytes | None]]) -> None:
        """Note the looks that files of known content have (``Whole.keep``)."""
        for part in (self.new.inputs, self.new.outputs):
            for name, entry in part.items():
                seen, digest = files.get(name, (None, None))
                if entry[0] is None and seen is not None and entry[1] == digest:
                    part[name] = [seen, *entry[1:]]

    def facts(self, settings: Mapping[str, Settings]) -> bytes:
        """Return what a run has to know of the jobs that it does not look at (``facts.py``)."""
        return gather(self.new.inputs, {name: recall.found for name, recall in self.recalls.items()}, settings)

    def keep(self, todo: Plan | None) -> None:
        """Leave what is known now for the next run; ``todo`` is what out/ was compared for, if it was."""
        if self.forgotten:
            return
        if todo is None:
            self.new.outputs = self.old.outputs
        for environment, known in self.old.jobs.items():
            self.new.jobs.setdefault(environment, known)
        for environment, recall in self.recalls.items():
            self.new.jobs[environment] = recall.found
        old, new = self.old, self.new
        if old.scattered or (new.inputs, new.jobs, new.outputs) != (old.inputs, old.jobs, old.outputs):
            save(self.path, self.tool, new)

    @property
    def seen(self) -> dict[str, tuple[Stamp | None, bytes | None]]:
        """The files below jobs/ and out/ that this run has read or written."""
        parts = (self.new.inputs, self.new.outputs)
        return {name: (entry[0], entry[1]) for part in parts for name, entry in part.items()}

    def forget(self) -> None:
        """Leave nothing: what is known was of no use to this run."""
        self.forgotten = True


def _settled(seen: Stamp | None) -> Stamp | None:
    """Return a stamp that can be trusted in the next run, or None."""
    return seen if seen is not None and is_settled(seen) else None
