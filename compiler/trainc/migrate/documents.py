"""The document to import: its values, what has become of each, and the findings about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, get, objects
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document
from trainc.migrate.inplace import Addition, Edit
from trainc.migrate.trees import Comment, comments_of, containers, read_tree

NO_EQUAL, CHANGED = "TC030", "TC031"


class Converted(msgspec.Struct, frozen=True, eq=False):
    """The documents that a converter makes; see the package."""

    job: CommentedMap | None = None
    runtime: CommentedMap | None = None
    others: tuple[CommentedMap, ...] = ()
    edits: tuple[Edit | Addition, ...] = ()


class Old:
    """A document to import. Paths are those of the old document. ``documents`` are all documents of the run."""

    def __init__(self, document: Document, documents: Sequence[Document] = ()) -> None:
        self.document = document
        self.documents = documents
        self.data: JsonObject = document.data
        self.findings: list[Finding] = []
        self._tree, first, last = _tree_of(document)
        self._comments, self._end = comments_of(document, first, last)
        self._moved: dict[Path, tuple[Any, Any]] = {}
        self._done: set[Path] = set()

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(get(self.data, "metadata", "name"))

    @property
    def namespace(self) -> str:
        """The namespace of the object; default if it has none."""
        return str(get(self.data, "metadata", "namespace") or "default")

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(self.data["kind"])

    def get(self, *path: str | int) -> Json:
        """Return a value; None if it does not exist."""
        return get(self.data, *path)

    def read(self, *path: str | int) -> Json:
        """Return a value, and mark it as imported."""
        self.done(*path)
        return get(self.data, *path)

    def keys(self, *path: str | int) -> tuple[str, ...]:
        """Return the keys of a mapping, or none."""
        return tuple(as_object(get(self.data, *path)))

    def items(self, *path: str | int) -> list[JsonObject]:
        """Return the items of a list that are mappings, or none; all items of a valid list are."""
        return objects(get(self.data, *path))

    def done(self, *path: str | int) -> None:
        """Mark a value, with all that it contains, as imported."""
        self._done.add(path)

    def node(self, *path: str | int) -> Any:
        """Return a value with quotes and layout."""
        found = self._tree
        for step in path:
            found = found[step]
        return found

    def put(self, target: Any, key: str | None, *path: str | int) -> bool:
        """Move a value to a key of a new mapping, or append it to a new list; return False if it does not exist."""
        if get(self.data, *path) is None:
            return False
        value = self.node(*path)
        if key is None:
            target.append(value)
            self._moved[path] = (target, len(target) - 1)
        else:
            target[key] = value
            self._moved[path] = (target, key)
        self.done(*path)
        return True

    def moved(self, target: Any, key: Any, *path: str | int) -> None:
        """Attach the comments of a value to a new one, which a converter computed from it."""
        self._moved[path] = (target, key)
        self.done(*path)

    def note(self, path: Path, message: str, hint: str | None = None, code: str = CHANGED) -> None:
        """Report that a field is reached in another way."""
        self._report(code, path, message, hint, Severity.NOTE)

    def warn(self, path: Path, message: str, hint: str | None = None, code: str = CHANGED) -> None:
        """Report that the new job behaves a little differently."""
        self._report(code, path, message, hint, Severity.WARNING)

    def refuse(self, path: Path, message: str, hint: str | None = None, code: str = NO_EQUAL) -> None:
        """Report that a meaning would be lost."""
        self._report(code, path, message, hint, Severity.ERROR)

    def _report(self, code: str, path: Path, message: str, hint: str | None, severity: Severity) -> None:
        self.done(*path)
        self.findings.append(report(code, self.document, path, message, severity=severity, hint=hint))

    @property
    def errors(self) -> list[Finding]:
        """The errors so far."""
        return [finding for finding in self.findings if finding.severity == Severity.ERROR]

    def report_rest(self) -> None:
        """Report every value that is neither read, moved nor marked."""
        for path in list(self._unmarked(self.data, ())):
            value = get(self.data, *path)
            shown = str(value) if not isinstance(value, dict | list) else None
            message = f"{dotted(path)} has no equal in a TrainJob and is not imported"
            self.findings.append(report(NO_EQUAL, self.document, path, message, found=shown))

    def _unmarked(self, value: Json, path: Path) -> Iterator[Path]:
        if path in self._done or value is None:
            return
        if not any(done[: len(path)] == path for done in self._done):
            if value not in ({}, []):
                yield path
            return
        if isinstance(value, dict):
            for key, item in value.items():
                yield from self._unmarked(item, (*path, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._unmarked(item, (*path, index))

    def comments(self, trees: list[CommentedMap]) -> tuple[dict[tuple[int, Any], Comment], list[str]]:
        """Return where each comment belongs in new documents, and those for the head of the first one."""
        there = {one for tree in trees for one in containers(tree)}
        table: dict[tuple[int, Any], Comment] = {}
        head: list[str] = []
        for path, comment in self._comments.items():
            target = self._target(path)
            if target is None or id(target[0][0]) not in there:
                head += [*comment.above, *([comment.beside] if comment.beside else ())]
                continue
            (container, key), exact = target
            entry = table.setdefault((id(container), key), Comment())
            entry.above += comment.above
            if exact and entry.beside is None:
                entry.beside = comment.beside
            elif comment.beside:
                entry.above.append(comment.beside)
        if self._end:
            table[id(trees[0]), None] = Comment(self._end)
        return table, head

    def _target(self, path: Path) -> tuple[tuple[Any, Any], bool] | None:
        if path in self._moved:
            return self._moved[path], True
        if any(path[:size] in self._moved for size in range(len(path))):
            return (self.node(*path[:-1]), path[-1]), True
        inside = [place for moved, place in self._moved.items() if path and moved[: len(path)] == path]
        return (inside[0], False) if inside else None


def _tree_of(document: Document) -> tuple[Any, int, int]:
    """Return the tree of a document, and its first and last line; a List counts as one."""
    lines = document.source.decoded().splitlines()
    line = document.locate(()).line
    first = next((number + 1 for number in range(line - 1, 0, -1) if lines[number - 1].startswith("---")), 1)
    last = next((number - 1 for number in range(line + 1, len(lines) + 1) if lines[number - 1].startswith("---")), None)
    last = len(lines) if last is None else last
    tree = read_tree("\n".join(lines[first - 1 : last]) + "\n")
    found = next((node for node in _objects(tree) if node.lc.line + first == line), tree)
    if found is not tree:
        marks = document.marks().values()
        first, last = line, max(mark.line for mark in marks)
    return found, first, last


def _objects(tree: Any) -> Iterator[CommentedMap]:
    """Yield the items of a List, or the object itself."""
    if isinstance(tree, CommentedMap) and isinstance(tree.get("items"), CommentedSeq):
        for item in tree["items"]:
            yield from _objects(item)
    elif isinstance(tree, CommentedMap):
        yield tree
