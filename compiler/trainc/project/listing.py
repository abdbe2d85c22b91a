"""Lists the YAML and JSON files below a folder."""

from __future__ import annotations

import os
from functools import cache

from trainc.findings import Finding, Severity
from trainc.project.files import MAX_FILES, about, not_followed, unnamable, unreadable
from trainc.project.missing import empty_submodule, is_submodule, submodules
from trainc.project.names import SUFFIXES, is_output, is_text, may_have_inputs

_LETTERS = frozenset("".join(sorted(suffix)) for suffix in SUFFIXES)
"""The sorted letters of each suffix, by which a misspelt one such as .ymal is found."""


def files_below(base: str, start: str = "", prefix: str = "", *, inside: bool) -> tuple[list[str], list[Finding]]:
    """Return the names of the YAML and JSON files below ``base/start``, at any depth, sorted, and findings.

    Hidden entries are skipped. ``inside`` is set within a project: links are errors there. Elsewhere, those to files
    are read, and those to folders are not, as by kubectl. ``prefix`` precedes names in findings.
    """
    names: list[str] = []
    findings: list[Finding] = []
    waiting, folders, named = [start], 0, cache(submodules)
    while waiting:
        folder = waiting.pop()
        path = f"{base}/{folder}" if folder else base
        place = (prefix + folder).rstrip("/") or "."
        try:
            with os.scandir(path) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            findings.append(unreadable(place, error))
            continue
        if not listed and inside and may_have_inputs(place) and is_submodule(os.path.realpath(path), named):
            findings.append(empty_submodule(place))
        for entry in listed:
            if entry.name.startswith("."):
                continue
            name = f"{folder}/{entry.name}" if folder else entry.name
            shown, is_link, is_readable = prefix + name, entry.is_symlink(), name.lower().endswith(SUFFIXES)
            # Where a link of a project leads is not asked: that may be a file system that does not answer.
            is_folder = not inside and os.path.isdir(entry.path) if is_link else entry.is_dir()
            if not is_text(entry.name):
                if is_folder or is_readable or (is_link and inside):
                    findings.append(unnamable(shown))
            elif is_link and (is_folder or inside):
                severity = None if inside and not is_output(shown) else Severity.WARNING  # those are TC903
                findings.append(not_followed(shown, severity))
            elif is_folder:
                waiting.append(name)
            elif is_readable:
                names.append(name)
            elif "".join(sorted(os.path.splitext(name.lower())[1].strip())) in _LETTERS:
                message = f"not read: the name does not end in {', '.join(SUFFIXES)}"
                findings.append(about(shown, message, severity=Severity.WARNING))
        folders += 1
        if max(len(names), folders) > MAX_FILES:
            findings.append(about(place, f"more than {MAX_FILES:,} files", code="TC012"))
            return [], findings
    return sorted(names), findings
