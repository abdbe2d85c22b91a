"""What commands do alike with what the last run has left (``trainc.cache``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trainc.findings import Diagnostic
from trainc.read import Inputs, has_config
from trainc.source import Document

if TYPE_CHECKING:
    from trainc.cache.memory import Memory
    from trainc.cache.results import Facts, Known
    from trainc.cache.whole import Whole

T = TypeVar("T")


def open_whole(root: Path, *, use: bool, by_bytes: bool) -> Whole | None:
    """Return what is known of a repository as a whole; None where nothing is to be."""
    if (home := _home(use=use)) is None:
        return None
    from trainc.cache.whole import Whole

    return Whole.of(root, *home, by_bytes=by_bytes)


def open_result(root: Path, read: Iterable[Inputs], asked: Facts, *, use: bool) -> Known | None:
    """Return what is known of a command's result in a repository; None where nothing is to be, or there is none.

    The result has to be a function of the bytes that were ``read`` and of what was ``asked``.
    """
    if (home := _home(use=use and has_config(root))) is None:
        return None
    from trainc.cache.results import Known, key_of

    key = key_of(read, asked)
    return None if key is None else Known(root, *home, key)


def open_memory(root: Path, *, use: bool, by_bytes: bool = False, compares: bool = False) -> Memory | None:
    """Return what is known of a repository's jobs from the last run; None where nothing is to be."""
    if (home := _home(use=use)) is None:
        return None
    from trainc.cache.memory import Memory

    return Memory(root, *home, by_bytes=by_bytes, compares=compares)


def _home(*, use: bool) -> tuple[Path, str] | None:
    """Return the folder of all caches and what tells this trainc's from others'; None where nothing is to be."""
    if not use:
        return None
    from trainc.cache.store import folder
    from trainc.cache.tool import fingerprint

    place = folder()
    return None if place is None else (place, fingerprint())


def recalled(
    attempt: Callable[[Memory | None], T], findings: Callable[[T], Iterable[Diagnostic]], memory: Memory | None
) -> T:
    """Return what an attempt gives with what is known.

    Where a file changed meanwhile, or one that was not read has to be shown in a finding, all are read after all.
    """
    if memory is None:
        return attempt(None)
    from trainc.cache.jobs import is_stub
    from trainc.cache.memory import Changed

    try:
        given = attempt(memory)
    except Changed:
        memory.forget()
        return attempt(None)
    if any(map(is_stub, shown(findings(given)))):
        memory.forget()
        return attempt(None)
    return given


def shown(findings: Iterable[Diagnostic]) -> Iterator[Document]:
    """Yield the documents that findings are about."""
    for finding in findings:
        yield finding.document
        yield from (other.document for other in finding.related)
