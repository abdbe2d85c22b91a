"""Edits sources in memory until nothing more can be fixed, and writes the changed files.

Each round compiles the edited sources again. A fix is taken back if its finding is still there, or if more errors than
before concern the edited field.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from trainc.basics.jsonvalues import Path as FieldPath
from trainc.documents.edit import Edit, apply
from trainc.documents.load import load
from trainc.documents.positions import BOM
from trainc.findings import Finding, Severity, sort_key
from trainc.findings.fixes import Action, Fix, fix_of, moved, new_run
from trainc.inputs.source import Document, Source
from trainc.project.config import read_document
from trainc.project.environments import Outcome
from trainc.project.files import leads_out, read_regular
from trainc.project.read import CONFIG, LOCK
from trainc.project.write import replace_files

ROUNDS: Final = 20
"""The most rounds; each makes the earlier stages of a job pass, so that later ones have their say."""

Files = Mapping[str, Source]
Compile = Callable[[Files], Outcome]
"""Compiles the given sources in place of those of their names."""

_COMMENTS = (Action.RENAME_COMMENT, Action.REMOVE_IGNORE)


class Fixed(NamedTuple):
    """A finding with its fix, and the document that was edited, as it was before."""

    finding: Finding
    document: Document
    fix: Fix


class Result(msgspec.Struct, frozen=True):
    """The edited sources by name, the fixes, and the outcome of the last compilation.

    ``refused`` are findings whose fix was taken back, or has no token that can be edited.
    """

    files: Files
    fixed: tuple[Fixed, ...]
    refused: tuple[Finding, ...]
    outcome: Outcome


Key = tuple[str, Edit]
"""The name of a file and an edit in it."""


def fix_all(files: Files, compiled: Compile, is_wanted: Callable[[Finding, Fix], bool]) -> Result:
    """Apply the wanted fixes of the findings in some files, again until there are no more."""
    outcome = compiled(files)
    fixed: list[Fixed] = []
    taken_back: dict[Key, Fixed] = {}
    wanted: dict[Key, Fixed] = {}
    for _ in range(ROUNDS):
        wanted = {key: each for key, each in _wanted(outcome, files, is_wanted).items() if key not in taken_back}
        if any(edit.fix.safe for _, edit in wanted):  # what they correct may say more about the rest
            wanted = {key: each for key, each in wanted.items() if key[1].fix.safe}
        trial, done = dict(files), dict[str, tuple[Edit, ...]]()
        for name in dict.fromkeys(name for name, _ in wanted):
            edits = [edit for file, edit in wanted if file == name]
            trial[name], done[name] = apply(files[name], edits, read_documents)
        applied = [(name, edit) for name, edits in done.items() for edit in edits]
        if not applied:
            break
        after = compiled(trial)
        worse = {
            key: wanted[key] for key in applied if _is_worse(key, wanted[key].finding, done[key[0]], outcome, after)
        }
        taken_back |= worse
        if not worse:
            files, outcome = trial, after
            fixed += (wanted[key] for key in applied)
            wanted = {}
    fixed.sort(key=lambda each: sort_key(each.finding))
    return Result(
        files, tuple(fixed), tuple(each.finding for each in (*taken_back.values(), *wanted.values())), outcome
    )


def _wanted(outcome: Outcome, files: Files, is_wanted: Callable[[Finding, Fix], bool]) -> dict[Key, Fixed]:
    """Return the wanted fixes by their edits, each edit once."""
    found: dict[Key, Fixed] = {}
    for each in _fixes(outcome):
        finding, document, fix = each
        source = files.get(document.source.name)
        if source is not None and source.text == document.source.text and is_wanted(finding, fix):
            mark = finding.document.locate(()) if fix.action in _COMMENTS else None
            found.setdefault((source.name, Edit(document.index, fix, mark)), each)
    return found


def _fixes(outcome: Outcome) -> Iterator[Fixed]:
    """Yield each finding that has a fix, with the document to edit."""
    for finding in outcome.findings:
        if (fix := fix_of(finding)) is not None:
            yield Fixed(finding, finding.document, fix)
    reported = {(finding.code, finding.file, finding.path) for finding in outcome.findings}
    for job in (job for jobs in outcome.jobs.values() for job in jobs):
        for finding in job.findings:
            fix = new_run(finding)
            if fix is not None and (finding.code, finding.file, finding.path) in reported:
                yield Fixed(finding, job.document, fix)


def read_documents(source: Source) -> tuple[tuple[Document, ...], int]:
    """Return the documents of a source, and the number of findings on its YAML."""
    if source.name in (CONFIG, LOCK):
        _, document, problems = read_document(source)
        return (document,), len(problems)
    documents, findings = load(source)
    return documents, len(findings)


def _is_worse(key: Key, finding: Finding, edits: Iterable[Edit], before: Outcome, after: Outcome) -> bool:
    """Return whether a finding is still there after its fix, or more errors concern the edited field."""
    name, edit = key
    if edit.mark is not None:
        return False
    renamed = {
        other.fix.path: str(other.fix.value)
        for other in edits
        if other.index == edit.index and other.fix.action is Action.RENAME
    }
    path = moved(edit.fix.path, renamed)
    same = finding.code, finding.message, finding.file, finding.document.index, moved(finding.path, renamed)
    if any(same == (each.code, each.message, each.file, each.document.index, each.path) for each in after.findings):
        return True
    return _errors(after, name, edit.index, path) > _errors(before, name, edit.index, edit.fix.path)


def _errors(outcome: Outcome, name: str, index: int, path: FieldPath) -> int:
    """Return the number of errors at a path and in what contains it. Those below a renamed key were hidden before."""
    return sum(
        each.path == path[: len(each.path)]
        for each in outcome.findings
        if each.severity is Severity.ERROR and each.path and each.file == name and each.document.index == index
    )


# Files.


class EditError(OSError):
    """A file that cannot be edited, and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, name)


def check_editable(root: Path, name: str) -> None:
    """Raise EditError for a link, a file outside of the project, and a read-only one."""
    path = root / name
    if path.is_symlink():
        raise EditError(name, "symbolic link, which trainc does not follow to write")
    if os.path.isabs(name) or leads_out(root, path):
        raise EditError(name, "outside of the project")
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise EditError(name, "read-only file")


def write_sources(root: Path, old: Files, new: Files) -> None:
    """Write the changed sources: each file is replaced by rename, and keeps its mode.

    Raises EditError, after which nothing is written, and OSError.
    """
    changed = [name for name in new if new[name] != old[name]]
    for name in changed:
        check_editable(root, name)
        if read_regular(root / name) != _bytes(old[name]):
            raise EditError(name, "changed since it was read")
    modes = {name: (root / name).stat().st_mode & 0o7777 for name in changed}
    replace_files(os.fspath(root), [(os.fspath(root / name), _bytes(new[name])) for name in changed])
    for name, mode in modes.items():
        (root / name).chmod(mode)


def _bytes(source: Source) -> bytes:
    return source.text.encode() if isinstance(source.text, str) else source.text


def diff_text(old: Files, new: Files) -> str:
    """Return the changes as a unified diff, for people: without the carriage returns of DOS line ends."""
    lines: list[str] = []
    for name in sorted(name for name in new if new[name] != old[name]):
        before, after = (each[name].decoded().removeprefix(BOM).splitlines() for each in (old, new))
        lines += difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    return "".join(f"{line}\n" for line in lines)
