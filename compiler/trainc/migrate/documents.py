"""The document to import: its values, what has become of each, and the findings about it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, get
from trainc.basics.regex import lazy
from trainc.documents.load import load
from trainc.documents.rewrite import Rewrite
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.migrate.trees import Comment, comments_of, containers, read_tree, tree_of, write_tree

NO_EQUAL, CHANGED = "TC030", "TC031"
INT32_MAX: Final = 2**31 - 1
_DIGITS = lazy("[0-9]{1,10}")


def whole_number(value: Json) -> int | None:
    """Return a number of 32 bits, which may be a text as the old operators allow; None for any other value."""
    number = int(text) if _DIGITS.fullmatch(text := str(value)) else None
    return number if number is not None and number <= INT32_MAX else None


class Converted(msgspec.Struct, frozen=True, eq=False):
    """The documents that a converter makes; see the package."""

    job: CommentedMap | None = None
    runtime: CommentedMap | None = None
    edits: tuple[Rewrite, ...] = ()


class Old:
    """A document to import. Paths are those of the old document. ``runtimes`` are those of the run."""

    def __init__(self, document: Document, namespace: str = "default", runtimes: Sequence[Document] = ()) -> None:
        """Read a document; ``namespace`` is for one without."""
        self.document = document
        self.runtimes = runtimes
        self._namespace = namespace
        self.data: JsonObject = document.data
        self.findings: list[Finding] = []
        self._tree, first, last = _tree_of(document)
        self._comments, self._end = comments_of(document, first, last)
        self._moved: dict[Path, tuple[Any, Any]] = {}
        self._remarks: list[tuple[tuple[int, Any], str]] = []
        self._same: dict[Path, Path] = {}
        self._anchors: dict[Path, tuple[Any, Any]] = {}
        self._done: set[Path] = set()
        self._reported: set[tuple[str, Path, str]] = set()

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(get(self.data, "metadata", "name"))

    @property
    def namespace(self) -> str:
        """The namespace of the object, or the one for objects without."""
        return str(get(self.data, "metadata", "namespace") or self._namespace)

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

    def count(self, *path: str | int, most: int = INT32_MAX) -> int | None:
        """Return a whole number, and mark it as imported; None if it does not exist. Report any other value."""
        value = self.read(*path)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most):
            return value
        hint = "fill in variables first, such as with envsubst" if isinstance(value, str) and "$" in value else None
        self.refuse(path, f"{path[-1]} must be a whole number from 0 to {most}", hint)
        return None

    def keys(self, *path: str | int) -> tuple[str, ...]:
        """Return the keys of a mapping, or none."""
        return tuple(as_object(get(self.data, *path)))

    def items(self, *path: str | int) -> list[JsonObject]:
        """Return the items of a list of mappings, or none; an item that is not a mapping counts as an empty one."""
        return [as_object(item) for item in as_list(get(self.data, *path))]

    def done(self, *path: str | int) -> None:
        """Mark a value, with all that it contains, as imported."""
        self._done.add(path)

    def undo(self, *path: str | int) -> None:
        """Take back that a value is imported; its parts are then looked at one by one."""
        self._done.discard(path)

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
        else:
            target[key] = value
        self.moved(target, len(target) - 1 if key is None else key, *path)
        return True

    def relocate(self, source: CommentedMap, key: str, target: CommentedMap) -> None:
        """Move a value of a new mapping to another one, with its comments."""
        target[key] = source.pop(key)
        for path, (container, name) in self._moved.items():
            if container is source and name == key:
                self._moved[path] = (target, key)

    def moved(self, target: Any, key: Any, *path: str | int) -> None:
        """Attach the comments of a value to a new one, which a converter computed from it."""
        self._moved[path] = (target, key)
        self.done(*path)

    def remark(self, target: Any, key: Any, text: str) -> None:
        """Add a comment of our own above a new value."""
        self._remarks.append(((id(target), key), f"# {text}"))

    def anchor(self, target: Any, key: Any, *path: str | int) -> None:
        """Attach the comments of a mapping, whose parts are moved one by one, to a new value."""
        self._anchors[path] = (target, key)

    def same(self, path: Path, other: Path) -> None:
        """Mark a value as imported since it is the same as another one, which also gets its comments."""
        self._same[path] = other
        self.done(*path)

    def note(self, path: Path, message: str, hint: str | None = None) -> None:
        """Report that a meaning is reached in another way, and mark the value."""
        self.report(CHANGED, path, message, hint, severity=Severity.NOTE)

    def warn(self, path: Path, message: str, hint: str | None = None) -> None:
        """Report that the new job behaves differently, and mark the value."""
        self.report(CHANGED, path, message, hint, severity=Severity.WARNING)

    def refuse(self, path: Path, message: str, hint: str | None = None) -> None:
        """Report that a meaning would be lost, and mark the value."""
        self.report(NO_EQUAL, path, message, hint, severity=Severity.ERROR)

    def report(self, code: str, path: Path, message: str, hint: str | None = None, *, severity: Severity) -> None:
        """Report anything else about a value once, and mark it."""
        self.done(*path)
        if (code, path, message) not in self._reported:
            self._reported.add((code, path, message))
            self.findings.append(report(code, self.document, path, message, severity=severity, hint=hint))

    @property
    def errors(self) -> list[Finding]:
        """The errors so far."""
        return [finding for finding in self.findings if finding.severity == Severity.ERROR]

    def report_rest(self) -> None:
        """Report every value that is neither read, moved nor marked."""
        above = {done[:size] for done in self._done for size in range(len(done) + 1)}
        for path in list(self._unmarked(self.data, (), above)):
            value = get(self.data, *path)
            shown = str(value) if not isinstance(value, dict | list) else None
            name = path[-1] if path and isinstance(path[-1], str) else dotted(path)
            message = f"{name} has no equal in a TrainJob, and is not imported"
            self.findings.append(report(NO_EQUAL, self.document, path, message, found=shown))

    def _unmarked(self, value: Json, path: Path, above: set[Path]) -> Iterator[Path]:
        """Yield the paths of values of which nothing is marked; ``above`` are the marked paths and all above them."""
        if path in self._done or value is None:
            return
        if path not in above:
            if value not in ({}, []):
                yield path
            return
        if isinstance(value, dict):
            for key, item in value.items():
                yield from self._unmarked(item, (*path, key), above)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._unmarked(item, (*path, index), above)

    def comments(self, trees: list[CommentedMap]) -> tuple[dict[tuple[int, Any], Comment], list[str]]:
        """Return where each comment belongs in new documents, and those for the head of the first one."""
        there = {one for tree in trees for one in containers(tree)}
        table: dict[tuple[int, Any], Comment] = {}
        lost: list[str] = []
        inside = {
            moved[:size]: place for moved, place in reversed(self._moved.items()) for size in range(1, len(moved) + 1)
        }
        for path, comment in self._comments.items():
            target = self._target(self._original(path), inside)
            if target is None or id(target[0][0]) not in there:
                lost += [*comment.above, *([comment.beside] if comment.beside else ())]
                continue
            (container, key), exact = target
            entry = table.setdefault((id(container), key), Comment())
            entry.above += [line for line in comment.above if line not in entry.above]
            if exact and entry.beside in (None, comment.beside):
                entry.beside = comment.beside
            elif comment.beside:
                entry.above.append(comment.beside)
        for place, text in self._remarks:
            table.setdefault(place, Comment()).above.append(text)
        if self._end:
            table[id(trees[0]), None] = Comment(self._end)
        kept = {line for comment in table.values() for line in (*comment.above, comment.beside)}
        return table, [line for line in dict.fromkeys(lost) if line not in kept]

    def _original(self, path: Path) -> Path:
        size = next((len(prefix) for prefix in self._same if path[: len(prefix)] == prefix), 0)
        return (*self._same[path[:size]], *path[size:]) if size else path

    def _target(self, path: Path, inside: Mapping[Path, tuple[Any, Any]]) -> tuple[tuple[Any, Any], bool] | None:
        """Return where a comment of a value belongs, and whether that is the new place of the value.

        ``inside`` has the new place of the first part of each value of which parts were moved.
        """
        if (place := self._moved.get(path) or self._anchors.get(path)) is not None:
            return place, True
        if any(path[:size] in self._moved for size in range(len(path))):
            return (self.node(*path[:-1]), path[-1]), True
        return (inside[path], False) if path in inside else None


@lru_cache(maxsize=4)
def _lines(source: Source) -> list[str]:
    return source.decoded().split("\n")  # str.splitlines would also split at other characters


@lru_cache(maxsize=4)
def _separators(source: Source) -> list[int]:
    """Return the numbers of the lines around and between documents."""
    lines = _lines(source)
    return [0, *(number for number, text in enumerate(lines, 1) if text.startswith("---")), len(lines) + 1]


@lru_cache(maxsize=4)
def _trees(source: Source, first: int, last: int) -> tuple[Any, dict[tuple[int, int], CommentedMap]]:
    """Return the tree of some lines, and its objects by line and column.

    There are none if ruamel.yaml cannot read what kubectl can.
    """
    try:
        whole = read_tree("\n".join(_lines(source)[first - 1 : last]) + "\n")
    # 2001-02-30 is a text, and no date; a block of text may have a comment before it.
    except (YAMLError, ValueError, NotImplementedError):
        return None, {}
    return whole, {(one.lc.line + first, one.lc.col + 1): one for one in _objects(whole)}


def _tree_of(document: Document) -> tuple[Any, int, int]:
    """Return the tree of a document, and its first and last line.

    What ruamel.yaml reads in another way than kubectl is read from the data, without its layout.
    """
    lines, (line, column) = _lines(document.source), document.locate(())
    cuts = _separators(document.source)
    place = bisect_left(cuts, line + (cuts[bisect_left(cuts, line)] == line)) - 1
    first, last = cuts[place] + 1, cuts[place + 1] - 1
    whole, objects = _trees(document.source, first, last)
    tree = objects.get((line, column))
    if tree is None or _data(tree) != document.data or not _has_its_keys(tree, document.data):
        tree = tree_of(document.data)
    if tree is not whole:
        end = last
        first, last = line, max(mark.line for mark in document.marks().values())
        while first > 1 and _is_comment(lines[first - 2]):
            first -= 1
        if all(_is_comment(lines[number]) or not lines[number].strip() for number in range(last, end)):
            last = end
    return tree, first, last


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _data(tree: Any) -> Json:
    """Return a tree as kubectl reads its text."""
    documents, _ = load(Source("", write_tree(tree)))
    return documents[0].data if documents else None


def _has_its_keys(tree: Any, data: Json) -> bool:
    """Return whether the keys of a tree are those of its data, where ``yes`` is "true", and 1 is "1"."""
    if isinstance(tree, CommentedMap) and isinstance(data, dict):
        return all(key in data and _has_its_keys(value, data[key]) for key, value in tree.items())
    if isinstance(tree, CommentedSeq) and isinstance(data, list):
        return all(map(_has_its_keys, tree, data))
    return True


def _objects(tree: Any) -> Iterator[CommentedMap]:
    """Yield the items of a List, or the object itself."""
    if isinstance(tree, CommentedMap) and isinstance(tree.get("items"), CommentedSeq):
        for item in tree["items"]:
            yield from _objects(item)
    elif isinstance(tree, CommentedMap):
        yield tree
