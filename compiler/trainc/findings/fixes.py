"""The fix of a finding: the one edit of its document that its hint suggests, for ``trainc fix``.

A fix is read from the hint that the finding shows, so that text and edit cannot disagree. ``FIXABLE`` has a rule for
each code whose findings may have exactly one right answer; docs/fix.md has the same table, and reasons for the other
codes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Path, get
from trainc.basics.regex import lazy
from trainc.findings.display import invisible, is_in_file
from trainc.findings.finding import Finding
from trainc.findings.redaction import MASK
from trainc.findings.reporting import has_similar_words
from trainc.upstream import RUN, RUN_PATH


class Action(StrEnum):
    """What a fix does: RENAME a key, write another value, or change a comment or the run number."""

    RENAME = "rename"
    REPLACE = "replace"
    QUOTE = "quote"
    UNQUOTE = "unquote"
    REMOVE = "remove"
    RENAME_COMMENT = "rename-comment"
    REMOVE_IGNORE = "remove-ignore"
    SET_RUN = "set-run"


class Fix(Struct, frozen=True):
    """One edit of a document: ``value`` is the new name or value, or the code to remove from a comment.

    ``safe``: the edit keeps the meaning that a cluster gives the document, or gives one to what it refuses or ignores.
    """

    action: Action
    path: Path
    value: str | None = None
    safe: bool = True


Rule = Callable[[Finding], Fix | None]

_NAME = lazy(r"did you mean '([^']+)'\?(?=;|\Z)")
_QUANTITY = lazy(r"did you mean (\w[\w.]*)(?: \([^)]*\))?( or .*)?\?(?=;|\Z)")
_RENAMED = lazy(r"'([^']+)' should be '([^']+)'")
_UNQUOTED = lazy(r"write (\S+) without quotes")
_AS_READ = lazy(r'write ".*" for the string, or (\S+) for what Kubernetes reads')
_LABEL = lazy(r"write (\S+): ([^\s;]+)")
_MEBIBYTES = lazy(r"write (\S+) for mebibytes")
_PLURAL = lazy(r"write the plural in lower case: ([^\s;]+)")
_IMAGE = lazy(r"write '([^']+)'(?=;|\Z)")
_KIND = lazy(r"a \w+ with this name exists: set kind: (\w+)")
_IGNORED = lazy(r"nothing to ignore: no (\w+) here")
_QUOTED_NUMBER = lazy(r'write it in quotes: "([1-9]\d*)"\Z')
_NEW_RUN = lazy(rf'add {RUN}: "(\d+)"')


def fix_of(finding: Finding) -> Fix | None:
    """Return the fix of a finding in a file, or None if it has no fix, or more than one right answer."""
    rule = FIXABLE.get(finding.code)
    if rule is None or not is_in_file(finding.document.source):
        return None
    fix = rule(finding)
    return None if fix is not None and MASK in (fix.value or "") else fix


def new_run(finding: Finding) -> Fix | None:
    """Return the new run number of a TrainJob whose objects have an immutable change; its path is in the TrainJob."""
    found = _NEW_RUN.search(finding.hint or "") if finding.code in NEW_RUN else None
    return None if found is None else Fix(Action.SET_RUN, RUN_PATH, found[1])


def with_new_run(finding: Finding, run: int) -> Finding:
    """Return a finding whose hint has a new run number with another number."""
    return replace(finding, hint=_NEW_RUN.sub(f'add {RUN}: "{run}"', finding.hint or ""))


def is_fixable(finding: Finding) -> bool:
    """Return whether ``trainc fix`` applies a fix to the finding without further options."""
    fix = fix_of(finding)
    return fix is not None and fix.safe


def _value_of(finding: Finding) -> str | None:
    """Return the text that a finding is about, if that is the whole value at its path."""
    value = get(finding.document.data, *finding.path)
    is_found = isinstance(value, str) and finding.found in (None, value, json.dumps(value), f'"{value}"')
    return str(value) if is_found else None


def _similar_field(finding: Finding) -> Fix | None:
    """Return the fix of a misspelt key. It is safe if both keys have similar words: name may not become nodeName."""
    if not finding.path or isinstance(finding.path[-1], int):
        return None
    name = finding.path[-1]
    if found := _NAME.match(finding.hint or ""):
        return Fix(Action.RENAME, finding.path, found[1], _is_misspelt(str(name), found[1]))
    clean = str(name)
    while hidden := invisible(clean):
        clean = clean[: hidden[1]] + clean[hidden[1] + 1 :]
    is_hidden = clean != name and (finding.hint or "").startswith("delete the ")
    return Fix(Action.RENAME, finding.path, clean) if is_hidden and clean else None


def _similar_value(finding: Finding) -> Fix | None:
    """Return the fix of a misspelt value. It is safe if only upper and lower case or separators differ."""
    found, value = _NAME.match(finding.hint or ""), _value_of(finding)
    if found is None or value is None or "/" in value:
        return None
    return Fix(Action.REPLACE, finding.path, found[1], _letters(value) == _letters(found[1]))


def _is_misspelt(name: str, right: str) -> bool:
    words_match = has_similar_words(name, right) and has_similar_words(right, name)
    return words_match or _letters(name) == _letters(right)


def _letters(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")


def _other_type(finding: Finding) -> Fix | None:
    hint = finding.hint or ""
    if finding.path == RUN_PATH:  # the number, without zeros in front
        run = _QUOTED_NUMBER.match(hint)
        return None if run is None else Fix(Action.SET_RUN, finding.path, run[1])
    if hint.startswith("write it in quotes"):
        return Fix(Action.QUOTE, finding.path)
    found = _UNQUOTED.match(hint)
    return Fix(Action.UNQUOTE, finding.path, found[1]) if found else None


def _required(finding: Finding) -> Fix | None:
    found = _RENAMED.match(finding.hint or "")
    if found is None:
        return None
    return Fix(Action.RENAME, (*finding.path, found[1]), found[2], _is_misspelt(found[1], found[2]))


def _ambiguous(finding: Finding) -> Fix | None:
    hint = finding.hint or ""
    if " as the key " in finding.message:
        return None
    if found := _AS_READ.match(hint):
        return Fix(Action.UNQUOTE, finding.path, found[1], safe=False)
    return Fix(Action.QUOTE, finding.path) if hint.startswith('write "') else None


def _setting(finding: Finding) -> Fix | None:
    if finding.message.startswith("unknown code "):  # a code with a similar number means something else
        fix = _similar_field(finding)
        return fix if fix is not None and fix.value == str(finding.path[-1]).upper() else None
    return _similar_field(finding) if finding.message.startswith("unknown key ") else _similar_value(finding)


def _comment(finding: Finding) -> Fix | None:
    found = _NAME.match(finding.hint or "") if finding.message.startswith("unknown comment ") else None
    return Fix(Action.RENAME_COMMENT, (), found[1]) if found else None


def _unused_comment(finding: Finding) -> Fix | None:
    found = _IGNORED.match(finding.message)
    return Fix(Action.REMOVE_IGNORE, (), found[1]) if found else None


def _label(finding: Finding) -> Fix | None:
    found = _LABEL.match(finding.hint or "")
    if found is None:
        return None
    if finding.path[-1] != found[1]:
        return Fix(Action.RENAME, finding.path, found[1])
    return Fix(Action.REPLACE, finding.path, found[2])


def _expected(finding: Finding) -> Fix | None:
    """Return the fix that writes the expected value, such as the folder's namespace."""
    is_one = finding.expected is not None and " " not in finding.expected and _value_of(finding) is not None
    return Fix(Action.REPLACE, finding.path, finding.expected, safe=False) if is_one else None


def _full_name(finding: Finding) -> Fix | None:
    is_name = finding.message == "not the full name of an image"
    return Fix(Action.RENAME, finding.path, finding.expected) if is_name else _setting(finding)


def _locked_digest(finding: Finding) -> Fix | None:
    image, found, expected = get(finding.document.data, *finding.path), finding.found, finding.expected
    if not isinstance(image, str) or not found or not expected or not image.endswith(f"@{found}"):
        return None
    return Fix(Action.REPLACE, finding.path, f"{image.removesuffix(found)}{expected}", safe=False)


def _runtime(finding: Finding) -> Fix | None:
    """Return the fix of a runtimeRef: the kind that has a runtime of this name, or else a similar name."""
    kind, path = _KIND.match(finding.hint or ""), (*finding.path[:-1], "kind")
    if kind is None or path not in finding.document.marks():  # a default, which the data may have
        return _similar_value(finding)
    return Fix(Action.REPLACE, path, kind[1])


def _written(form: re.Pattern[str], *, safe: bool) -> Rule:
    """Return the rule that replaces a value by the text in a hint of this form; a second text makes it unsafe."""

    def rule(finding: Finding) -> Fix | None:
        found = form.match(finding.hint or "")
        if found is None or _value_of(finding) is None:
            return None
        return Fix(Action.REPLACE, finding.path, found[1], safe and found.lastindex == 1)

    return rule


def _remove(name: str = "", hint: str = "") -> Rule:
    """Return the rule that removes a field of a name, or of any name; ``hint`` begins the finding's hint."""

    def rule(finding: Finding) -> Fix | None:
        is_named = finding.path[-1:] == (name,) if name else bool(finding.path)
        is_fix = is_named and (finding.hint or "").startswith(hint)
        return Fix(Action.REMOVE, finding.path, safe=False) if is_fix else None

    return rule


def _write(name: str, value: str) -> Rule:
    """Return the rule that sets a field of this name to a number or boolean."""

    def rule(finding: Finding) -> Fix | None:
        return Fix(Action.UNQUOTE, finding.path, value, safe=False) if finding.path[-1:] == (name,) else None

    return rule


FIXABLE: Final[dict[str, Rule]] = {
    "TC005": _ambiguous,
    "TC008": _similar_value,
    "TC010": _expected,
    "TC013": _setting,
    "TC016": _comment,
    "TC017": _unused_comment,
    "TC101": _similar_field,
    "TC102": _other_type,
    "TC103": _required,
    "TC104": _similar_value,
    "TC106": _written(_QUANTITY, safe=True),
    "TC108": _other_type,
    "TC301": _runtime,
    "TC304": _write("replicas", "1"),
    "TC309": _similar_value,
    "TC514": _similar_value,
    "TC516": _written(_PLURAL, safe=False),
    "TC601": _remove("suspend"),
    "TC609": _similar_field,
    "TC610": _remove("ttlSecondsAfterFinished"),
    "TC620": _similar_field,
    "TC622": _remove("automountServiceAccountToken"),
    "TC701": _full_name,
    "TC704": _remove(),
    "TC705": _locked_digest,
    "TC801": _similar_value,
    "TC803": _remove("restartPolicy", hint="leave it out"),
    "TC806": _similar_value,
    "TC821": _written(_IMAGE, safe=True),
    "TC823": _label,
    "TC827": _write("enableDNSHostnames", "true"),
    "TC836": _written(_MEBIBYTES, safe=False),
}
"""The rule of each code whose findings may have a fix."""

NEW_RUN: Final = ("TC202", "TC204", "TC205")
"""The codes of immutable changes, which a new run number makes possible."""


def moved(path: Path, renamed: dict[Path, str]) -> Path:
    """Return where a path leads after keys were renamed; ``renamed`` has new names by old paths."""
    return tuple(renamed.get(path[: size + 1], step) for size, step in enumerate(path))
