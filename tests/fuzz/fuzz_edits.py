"""Edits of ``trainc fix``: only the token changes, and Go reads the intended object."""

from __future__ import annotations

from typing import Any

import yaml

from fuzz.fuzz_reader import WORDS, Writer
from fuzz.target import Case, Choices, Target
from load.yaml_oracle import same
from oracle import gotools
from trainc.basics.jsonvalues import Json, Path
from trainc.documents.edit import Edit, _expected, apply
from trainc.documents.load import load
from trainc.findings.fixes import Action, Fix
from trainc.inputs.source import Document, Source

HEAD = "apiVersion: v1\nkind: K\nmetadata: {name: x}\n"
ACTIONS = (Action.REPLACE, Action.RENAME, Action.QUOTE, Action.UNQUOTE, Action.REMOVE)


def make(chance: Choices) -> Case:
    """Return a text, and edits: the number of a path, an action and a value."""
    text = HEAD + "spec:" + Writer(chance).value(chance.choice(("\n  ", "\n")), 1) + chance.choice(("\n", "", " # c\n"))
    edits = [[chance.getrandbits(8), chance.randrange(5), chance.choice(WORDS)] for _ in range(chance.randrange(1, 4))]
    return {"text": text, "edits": edits}


def _read(source: Source) -> tuple[tuple[Document, ...], int]:
    documents, findings = load(source)
    return documents, len(findings)


def _paths(value: Json, path: Path) -> list[Path]:
    steps: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for step, child in steps for each in _paths(child, (*path, step)))]


def ours(case: Case) -> Any:
    """Return the text with the edits that are possible, what they should make of it, their actions, and findings."""
    source = Source("a.yaml", case["text"])
    documents, findings = load(source)
    if len(documents) != 1 or "spec" not in documents[0].data:
        return case["text"], None, [], findings
    paths = _paths(documents[0].data["spec"], ("spec",))
    fixes = (Fix(ACTIONS[action], paths[number % len(paths)], value) for number, action, value in case["edits"])
    edited, done = apply(source, [Edit(0, fix) for fix in fixes], _read)
    expected = _expected({0: documents[0]}, done)[0] if done else None
    return edited.text, expected, [str(edit.fix.action) for edit in done], findings


def compare(case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare what Go reads with what was intended, and where the texts differ."""
    text, expected, done, findings = ours
    if not done:
        return None if text == case["text"] else f"changed by nothing\n{text!r}"
    if findings and theirs.get("stop"):  # refused before and after
        return None
    if theirs.get("stop") or not same(theirs.get("documents"), [expected]):
        return f"Go reads something else\n{text!r}\n{expected}\n{theirs}"
    if len(done) == 1 and not _is_in_token(case["text"], text, is_line=done == [Action.REMOVE]):
        return f"more changed than a token\n{text!r}"
    return None


def _is_in_token(before: str, after: str, *, is_line: bool) -> bool:
    """Return whether two texts differ in one scalar only, as PyYAML finds it, or if ``is_line`` in whole lines."""
    if before == after:
        return True
    if is_line:
        start = _shared(before, after)
        end = len(before) - _shared(before[start:][::-1], after[start:][::-1])
        return before[start:end].count("\n") <= 1
    tokens = (token for token in yaml.scan(before, yaml.SafeLoader) if isinstance(token, yaml.ScalarToken))
    ends = ((before[: token.start_mark.index], before[token.end_mark.index :]) for token in tokens)
    try:
        return any(after.startswith(head) and after[len(head) :].endswith(tail) for head, tail in ends)
    except yaml.YAMLError:
        return True


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


TARGET = Target(
    make, ours, compare, oracle=lambda: [gotools.build(package="./yamlread")], question=lambda _, ours: ours[0]
)
