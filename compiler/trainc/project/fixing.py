"""Edits sources in memory until nothing more can be fixed, and writes the changed files.

Each round compiles the edited sources again. A fix is taken back if its finding is still there, or if more errors than
before concern the edited field.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import Match
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from trainc.basics.jsonvalues import Path as FieldPath
from trainc.documents.edit import Edit, apply
from trainc.documents.load import load
from trainc.documents.positions import BOM
from trainc.findings import Finding, Severity, sort_key
from trainc.findings.display import one_line
from trainc.findings.fixes import Action, Fix, fix_of, moved, new_run
from trainc.findings.redaction import masked_lines
from trainc.inputs.source import Document, Source
from trainc.pipeline.jobresults import DocumentId, document_id
from trainc.project.config import read_document
from trainc.project.environments import Outcome
from trainc.project.files import LIMIT, open_regular, read_open
from trainc.project.links import has_link, leads_out
from trainc.project.names import SETTINGS
from trainc.project.write import CHANGED, replace_sources

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


class Refused(NamedTuple):
    """A fix that was taken back, with the error that it caused, if any, or that has no token that can be edited."""

    fixed: Fixed
    error: Finding | None


class Result(msgspec.Struct, frozen=True):
    """The edited sources by name, the fixes, and the outcome of the last compilation.

    ``refused`` are the fixes of findings that remain.
    """

    files: Files
    fixed: tuple[Fixed, ...]
    refused: tuple[Refused, ...]
    outcome: Outcome


Key = tuple[str, Edit]
"""The name of a file and an edit in it."""


def fix_all(files: Files, compiled: Compile, is_wanted: Callable[[Finding, Fix], bool]) -> Result:
    """Apply the wanted fixes of the findings in some files, again until there are no more."""
    outcome = compiled(files)
    fixed: list[Fixed] = []
    refused: dict[Key, Refused] = {}
    wanted: dict[Key, Fixed] = {}
    for _ in range(ROUNDS):
        wanted = {key: each for key, each in _wanted(outcome, files, is_wanted).items() if key not in refused}
        if any(each.fix.safe for each in wanted.values()):  # what they correct may say more about the rest
            wanted = {key: each for key, each in wanted.items() if each.fix.safe}
        if not wanted:
            break
        trial, applied = _apply(files, wanted)
        if not applied:
            refused |= {key: Refused(each, None) for key, each in wanted.items()}
            continue
        after = compiled(trial)
        worse = {key: Refused(wanted[key], error) for key, error in _worse(applied, wanted, outcome, after)}
        refused |= worse
        if not worse:
            files, outcome = trial, after
            fixed += (wanted[key] for key in applied)
    fixed.sort(key=lambda each: sort_key(each.finding))
    remaining = _remaining(outcome)
    kept = (each for each in refused.values() if _identity(*each.fixed[:2]) in remaining)
    return Result(files, tuple(fixed), tuple(kept), outcome)


def _apply(files: Files, keys: Iterable[Key]) -> tuple[Files, list[Key]]:
    """Return the files with the edits that are possible, and those."""
    edits: dict[str, list[Edit]] = {}
    for name, edit in keys:
        edits.setdefault(name, []).append(edit)
    trial, applied = dict(files), list[Key]()
    for name, each in edits.items():
        trial[name], done = apply(files[name], each, read_documents)
        applied += ((name, edit) for edit in done)
    return trial, applied


def _wanted(outcome: Outcome, files: Files, is_wanted: Callable[[Finding, Fix], bool]) -> dict[Key, Fixed]:
    """Return the wanted fixes by their edits, each edit once."""
    found: dict[Key, Fixed] = {}
    for each in fixes(outcome):
        finding, document, fix = each
        source = files.get(document.source.name)
        if source is not None and source.text == document.source.text and is_wanted(finding, fix):
            mark = finding.document.locate(()) if fix.action in _COMMENTS else None
            found.setdefault((source.name, Edit(document.index, fix, mark)), each)
    return found


def fixes(outcome: Outcome) -> Iterator[Fixed]:
    """Yield each finding that has a fix, with the document to edit."""
    for finding in outcome.findings:
        if (fix := fix_of(finding)) is not None:
            yield Fixed(finding, finding.document, fix)
    reported = {(finding.code, finding.file, finding.path) for finding in outcome.findings}
    for finding, document in _of_jobs(outcome):
        fix = new_run(finding)
        if fix is not None and (finding.code, finding.file, finding.path) in reported:
            yield Fixed(finding, document, fix)


def _of_jobs(outcome: Outcome) -> Iterator[tuple[Finding, Document]]:
    """Yield the findings of each TrainJob, with the TrainJob."""
    for jobs in outcome.jobs.values():
        yield from ((finding, job.document) for job in jobs for finding in job.findings)


def read_documents(source: Source) -> tuple[tuple[Document, ...], int]:
    """Return the documents of a source, and the number of findings on its YAML."""
    documents, findings = _read(source)
    return documents, len(findings)


def _read(source: Source) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    if source.name in SETTINGS:
        _, document, findings = read_document(source)
        return (document,), findings
    return load(source)


_Identity = tuple[DocumentId, DocumentId, str, str, FieldPath]


def _identity(finding: Finding, document: Document, path: FieldPath | None = None) -> _Identity:
    """Return what two runs have in common of a finding, with the document to edit; ``path`` is where it is now."""
    place = finding.path if path is None else path
    return document_id(document), document_id(finding.document), finding.code, finding.message, place


def _remaining(outcome: Outcome) -> frozenset[_Identity]:
    of_documents = ((finding, finding.document) for finding in outcome.findings)
    return frozenset(_identity(*each) for each in (*of_documents, *_of_jobs(outcome)))


def _worse(
    applied: Iterable[Key], wanted: Mapping[Key, Fixed], before: Outcome, after: Outcome
) -> Iterator[tuple[Key, Finding | None]]:
    """Yield edits whose finding is still there, or that cause more errors at the edited field, or what contains it.

    Each has the first error that it causes. Errors below a renamed key do not count: the wrong name hid them.
    """
    old, new = _errors(before), _errors(after)
    remaining = _remaining(after)
    renamed: dict[DocumentId, dict[FieldPath, str]] = {}
    for name, edit in applied:
        fix = wanted[name, edit].fix
        if fix.action is Action.RENAME:
            renamed.setdefault((name, edit.index), {})[fix.path] = str(fix.value)
    for name, edit in applied:
        document, (finding, owner, _) = (name, edit.index), wanted[name, edit]
        names = renamed.get(document, {})
        was, now = _at(old, document, edit.fix.path), _at(new, document, moved(edit.fix.path, names))
        is_left = _identity(finding, owner, moved(finding.path, names)) in remaining
        if edit.mark is None and (is_left or sum(map(len, now)) > sum(map(len, was))):
            known = {each.message for each in chain(*was)}
            yield (name, edit), next((each for each in chain(*now) if each.message not in known), None)


_Errors = Mapping[tuple[DocumentId, FieldPath], list[Finding]]


def _errors(outcome: Outcome) -> _Errors:
    """Return the errors by each of their positions: that of a second job with the same name is in both."""
    found = defaultdict[tuple[DocumentId, FieldPath], list[Finding]](list)
    for each in outcome.findings:
        if each.severity is Severity.ERROR:
            for one in ((each.document, each.path), *((other.document, other.path) for other in each.related)):
                found[document_id(one[0]), one[1]].append(each)
    return found


def _at(errors: _Errors, document: DocumentId, path: FieldPath) -> list[list[Finding]]:
    """Return the errors at a path, and at what contains it, for each position."""
    return [errors.get((document, path[:end]), []) for end in range(1, len(path) + 1)]


# Files.


class EditError(OSError):
    """A file that cannot be edited, and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, name)


def check_editable(root: Path, name: str) -> None:
    """Raise EditError for a link, a file outside of the project, and a read-only one."""
    path = root / name
    if os.path.isabs(name) or leads_out(root, path):
        raise EditError(name, "outside of the project")
    if has_link(root, name):
        raise EditError(name, "symbolic link, which trainc does not follow to write")
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise EditError(name, "read-only file")


def write_sources(root: Path, old: Files, new: Files) -> None:
    """Write the changed sources: each file is replaced by rename, and keeps its mode.

    Raises EditError, after which nothing is written, and OSError.
    """
    changed = [name for name in new if new[name] != old[name]]
    for name in changed:
        check_editable(root, name)
        if read_open(open_regular(root / name), LIMIT) != old[name].encoded():
            raise EditError(name, CHANGED)
    files = ((os.fspath(root / name), old[name].encoded(), new[name].encoded()) for name in changed)
    replace_sources(os.fspath(root), files)


def diff_text(old: Files, new: Files) -> str:
    """Return the changes as a unified diff for people: with secrets masked, and without the carriage returns of DOS."""
    lines: list[str] = []
    for name in sorted(name for name in new if new[name] != old[name]):
        texts, masks = list[list[str]](), dict[str, str]()
        for source in (old[name], new[name]):
            text = [line.rstrip("\r") for line in source.decoded().removeprefix(BOM).removesuffix("\n").split("\n")]
            documents, findings = _read(source)
            unread = (each.document for each in findings if not each.document.data)
            masked = masked_lines((*documents, *unread), text)
            masks |= {line: shown for line, shown in zip(text, masked, strict=True) if shown != line}
            texts.append(text)
        title = one_line(name)
        lines += (f"--- a/{title}", f"+++ b/{title}")
        lines += (line[:1] + masks.get(line[1:], line[1:]) for line in _hunks(*texts))
    return "".join(f"{line}\n" for line in lines)


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines of a unified diff after its head."""
    signs = {"replace": ("-", "+"), "delete": ("-", ""), "insert": ("", "+"), "equal": (" ", "")}
    for group in _Matcher(old, new).get_grouped_opcodes():
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@"
        for tag, i, i_end, j, j_end in group:
            removed, added = signs[tag]
            yield from (removed + line for line in old[i:i_end] if removed)
            yield from (added + line for line in new[j:j_end] if added)


def _range(start: int, end: int) -> str:
    return f"{start + 1}" if end - start == 1 else f"{start + (end > start)},{end - start}"


_WINDOW: Final = 50
"""The lines that are compared first, fewer than those of which difflib leaves out frequent ones."""


class _Matcher(difflib.SequenceMatcher[str]):
    """Looks for equal lines near the last ones first, since edits are local: difflib takes quadratic time."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self.old, self.new = old, new

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Return the longest stretch of equal lines in the first window with one."""
        old_end, new_end = len(self.old) if ahi is None else ahi, len(self.new) if bhi is None else bhi
        size = _WINDOW
        while True:
            old, new = self.old[alo : min(alo + size, old_end)], self.new[blo : min(blo + size, new_end)]
            found = difflib.SequenceMatcher(None, old, new).find_longest_match()
            if found.size or size >= max(old_end - alo, new_end - blo):
                return Match(alo + found.a, blo + found.b, found.size)
            size *= 2
