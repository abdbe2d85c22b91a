"""What the shell completes: environments, jobs, runtimes, images and revisions, from the repository around the user.

A user is in the middle of a line, so a completion is quick, prints nothing and never fails: a repository that is broken
completes less.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from trainc.basics.jsonvalues import as_object, get
from trainc.basics.regex import lazy
from trainc.inputs.source import Source

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem  # every command imports this module

Words: TypeAlias = "Callable[[Path, str], Iterable[str | CompletionItem]]"
"""Takes the project root and the word before the cursor, and returns the words that may stand there."""

Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"

JOBS: Final = "jobs"

MOST: Final = 1000
"""The most files that are parsed to complete a word."""

_PLAIN: Final = lazy(r"[A-Za-z0-9@%+=:,./_-]+")
"""Words that no shell interprets: a completed word becomes part of a command line."""


def _completer(words: Words) -> Completer:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from trainc.project.root import find_own_root

        with redirect_stderr(io.StringIO()):
            try:
                named = ctx.params.get("root")
                root = Path.cwd() / named if named is not None else find_own_root(Path.cwd())[0]
                found = list(words(root, incomplete))
            except Exception:  # noqa: BLE001 - a message would end up in the user's line
                return []
        items = [each if isinstance(each, CompletionItem) else CompletionItem(each) for each in found]
        return [item for item in items if item.type != "plain" or _fits(str(item.value), incomplete)]

    return complete


def _fits(word: str, incomplete: str) -> bool:
    return _PLAIN.fullmatch(word) is not None and word.lower().startswith(incomplete.lower())


def _environments(root: Path, _incomplete: str) -> Iterable[str]:
    from trainc.project.config import Config, read_document
    from trainc.project.read import read_config

    sources = read_config(root).sources  # a file that does not fit its schema has environments as well
    named = as_object(read_document(sources[0])[1].data.get("environments")) if sources else {}
    return sorted(named) or Config().environments


def _below_namespaces(
    root: Path, prefix: str, incomplete: str, names: Callable[[str, str], Iterable[str]]
) -> Iterable[str]:
    """Return the folders of jobs/, after a prefix; if only one matches, its folder with each of ``names`` instead.

    ``names`` takes the folder and the rest of the incomplete word.
    """
    folders = sorted(entry.name for entry in os.scandir(root / JOBS) if entry.is_dir() and entry.name[0] != ".")
    starts = {f"{prefix}{name}/": name for name in folders}
    found = [start for start in starts if start.startswith(incomplete) or incomplete.startswith(start)]
    if len(found) != 1:
        return found
    (start,) = found
    return [start + name for name in names(starts[start], incomplete[len(start) :])]


def _jobs(root: Path, incomplete: str) -> Iterable[str]:
    from trainc.documents.classify import TRAINJOB

    def names(folder: str, rest: str) -> Iterator[str]:
        return _names(root, f"{JOBS}/{folder}", {TRAINJOB}, rest)

    return _below_namespaces(root, "", incomplete, names)


def _codes(_root: Path, incomplete: str) -> Iterator[CompletionItem]:
    from click.shell_completion import CompletionItem

    from trainc.findings.codes import CODES

    start = incomplete.upper()  # the shell replaces the word
    return (CompletionItem(code, help=CODES[code].title) for code in CODES if code.startswith(start))


def _fixable(root: Path, incomplete: str) -> Iterator[CompletionItem]:
    from trainc.findings.fixes import FIXABLE, NEW_RUN

    return (item for item in _codes(root, incomplete) if item.value in FIXABLE or item.value in NEW_RUN)


def _fields(_root: Path, incomplete: str) -> Iterable[str]:
    from trainc.schema.field_help import children, roots

    return (*roots(), *(children(incomplete) if "." in incomplete else ()))


def _kinds(_root: Path, _incomplete: str) -> Iterable[str]:
    from trainc.schema.editors import catalog_names

    return catalog_names()


def _paths(root: Path, incomplete: str) -> Iterable[str | CompletionItem]:
    """Return files of jobs/ as paths from the working directory, or let the shell complete any file."""
    top = os.path.relpath(root / JOBS)

    def names(folder: str, _rest: str) -> list[str]:
        return sorted(entry.name for entry in os.scandir(root / JOBS / folder) if entry.name[0] != ".")

    found = _below_namespaces(root, "" if top == "." else f"{top}/", incomplete, names)
    return found or _files(root, incomplete)


def _files(_root: Path, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _images(root: Path, _incomplete: str) -> Iterable[str]:
    return sorted(path.parent.name for path in (root / "images").glob("*/image.yaml"))


def _runtimes(root: Path, incomplete: str) -> Iterable[str]:
    from trainc.pipeline.runtimes import builtin_names

    kinds = {"ClusterTrainingRuntime", "TrainingRuntime"}
    return sorted({*builtin_names(), *_names(root, "runtimes", kinds, incomplete)})


def _revisions(root: Path, _incomplete: str) -> Iterable[str]:
    from trainc.project.revisions import branches_and_tags

    return ["HEAD", *branches_and_tags(root)]


def _names(root: Path, folder: str, kinds: Collection[str], start: str) -> Iterator[str]:
    """Yield the names of documents in a folder that may begin with ``start``: other files do not contain it."""
    from trainc.project.read import read_tree

    sources = read_tree(root, folder).sources
    for source in [each for each in sources if start in each.decoded()][:MOST]:
        yield from names_in(source, kinds)


def names_in(source: Source, kinds: Collection[str]) -> Iterator[str]:
    """Yield the names of the documents of some kinds in a file."""
    from trainc.documents.load import load

    for document in load(source)[0]:
        if document.data.get("kind") in kinds:
            yield str(get(document.data, "metadata", "name"))


complete_environment = _completer(_environments)
complete_explained = _completer(
    lambda root, incomplete: [*_codes(root, incomplete), *_fields(root, incomplete), *_jobs(root, incomplete)]
)
complete_job_or_file = _completer(lambda root, incomplete: [*_jobs(root, incomplete)] or _files(root, incomplete))
complete_fixable = _completer(_fixable)
complete_kind = _completer(_kinds)
complete_job_path = _completer(_paths)
complete_file = _completer(_files)
complete_image = _completer(_images)
complete_revision = _completer(_revisions)
complete_runtime = _completer(_runtimes)
