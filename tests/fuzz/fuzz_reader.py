"""The reader: YAML and JSON, one document and streams, against sigs.k8s.io/yaml and kubectl's decoder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from fuzz.target import Case, Choices, Target
from load.yaml_oracle import PIECES, STREAM_PIECES, same
from oracle import gotools
from trainc.documents.load import _units
from trainc.documents.problems import Problem, Refused
from trainc.documents.yaml import read_yaml
from trainc.inputs.source import Source

OURS = (
    "kubectl ignores everything from this line on",
    "a byte order mark inside the text",
    "JSON cannot represent the tag",
    "more than 100 collections inside each other",
    "the file looks like UTF-16 or UTF-32",
    "\\ud",  # half of a surrogate pair: Go writes U+FFFD
    "\\uD",
)
"""What trainc refuses and Kubernetes does not, knowing it."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS = _words(
    """
    a b kind x-y 1 0 -1 0x1F 0o17 017 1_000 1e3 1.5 -0.0 .5 .inf -.INF .nan ~ null Null yes No on OFF y n true FALSE
    = << 2024-01-01 2024-01-01T00:00:00Z 12:30 0b101 +1 1. 9223372036854775808 18446744073709551616
    -9223372036854775809 1e400 a:b a#b http://x/y é 😀 - ? : ! & * @ ` % | > { } [ ] , # ' " \\ --- ... 0b+1 -0b1 4.0
    1e21 1e-7 0. 08 _1 1__0 +.5 .5e3
    """
)
TAGS = _words(
    """
    !!str !!int !!float !!bool !!null !!map !!seq !!binary !!timestamp !!merge ! !x !<tag:yaml.org,2002:str>
    """
)
ESCAPES = [*"0abt\tnvfre \"/\\N_LP'", "x41", "u00e9", "U0001F600", "ud83d", "u0000", "q", "\n  "]
ODD = "\t\r\x00\x01\x7f\u0085\u00a0\u2028\u2029\ufeff\ufffe\ue000\U0001f600"
NUMBERS = _words(
    """
    0 -0 1 1.0 1e3 -1.5E-3 1e400 9223372036854775808 12345678901234567890 01 1. .5 NaN 0.1e1 1E+2
    """
)


class Writer:
    """Writes a random value as YAML in random styles."""

    def __init__(self, chance: Choices) -> None:
        self.chance = chance
        self.pick = chance.choice
        self.anchors = 0

    def document(self) -> str:
        """Return one document."""
        head = self.pick(("", "", "", "# c\n", "%YAML 1.1\n---\n", "--- ", "---\n"))
        return head + self.block("\n", 0).lstrip("\n") + self.pick(("\n", "", "\n...\n", " # c\n"))

    def block(self, newline: str, depth: int) -> str:
        """Return a value that starts after a key's colon, or an item's dash."""
        kind = 0 if depth > 5 or self.chance.is_done else self.chance.randrange(12)
        if kind in (1, 2, 3):
            return "".join(
                f"{newline}{self.key(depth)}:{self.value(newline + self.pick(('  ', '  ', ' ', '')), depth + 1)}"
                for _ in range(self.chance.randrange(1, 4))
            )
        if kind in (4, 5):
            indent = newline + self.pick(("", "  "))
            return "".join(
                f"{indent}-{self.value(indent + '  ', depth + 1)}" for _ in range(self.chance.randrange(1, 4))
            )
        if kind in (6, 7):
            header = self.pick("|>") + self.pick(("", "-", "+", "1", "2", "-1", "2+"))
            lines = (self.pick(("a", " b", "", "# c", "x: y", "\tt", "---")) for _ in range(self.chance.randrange(4)))
            return f" {header}" + "".join(f"{newline}  {line}" if line else "\n" for line in lines)
        return f" {self.flow(depth)}"

    def value(self, newline: str, depth: int) -> str:
        """Return a value with properties, a comment, or as an alias."""
        kind = self.chance.randrange(16)
        if kind == 1:
            self.anchors += 1
            return f" &a{self.anchors}{self.block(newline, depth)}"
        if kind == 2:
            return f" *a{self.chance.randrange(1, self.anchors + 2)}"
        if kind == 3:
            return f" {self.pick(TAGS)}{self.block(newline, depth)}"
        if kind == 4:
            return f" # c{newline}{self.block(newline, depth)}"
        return self.block(newline, depth)

    def key(self, depth: int) -> str:
        """Return a key, often of few so that some are repeated."""
        kind = self.chance.randrange(12)
        if kind == 1:
            return f"? {self.flow(depth)}\n"
        if kind == 2:
            return f"*a{self.chance.randrange(1, self.anchors + 2)} "
        if kind == 3:
            return "<<"
        if kind == 4:
            return self.pick(TAGS) + " k"
        return self.flow(9) if kind > 8 else self.pick("abcd")

    def flow(self, depth: int) -> str:
        """Return a value on one line."""
        kind = self.chance.randrange(8) if depth < 7 else self.chance.randrange(3)
        if kind == 1:
            return f"'{self.text().replace(chr(39), chr(39) * 2)}'"
        if kind == 2:
            parts = (
                self.pick((self.text().replace("\\", "").replace('"', ""), "\\" + self.pick(ESCAPES))) for _ in "ab"
            )
            return f'"{"".join(parts)}"'
        if kind == 3:
            return f"[{', '.join(self.flow(depth + 1) for _ in range(self.chance.randrange(4)))}{self.pick(('', ','))}]"
        if kind == 4:
            pairs = (f"{self.key(9)}: {self.flow(depth + 1)}" for _ in range(self.chance.randrange(4)))
            return f"{{{', '.join(pairs)}}}"
        if kind == 5:
            return f"{self.pick(TAGS)} {self.flow(depth + 1)}"
        return self.text()

    def text(self) -> str:
        """Return words for a scalar."""
        text = self.pick(WORDS)
        while self.chance.randrange(4) == 1:
            text += self.pick((" ", "", ":", ": ", " #", "\n  ", *ODD)) + self.pick(WORDS)
        return text


def _json(chance: Choices, depth: int = 0) -> str:
    kind = chance.randrange(5) if depth < 5 else chance.randrange(3)
    space = chance.choice(("", "", " ", "\n", "\t", "\r\n"))
    if kind == 4 or depth == 0:
        keys = (_text(chance) for _ in range(chance.randrange(4)))
        return "{" + ",".join(f"{space}{key}:{_json(chance, depth + 1)}" for key in keys) + space + "}"
    if kind == 3:
        return "[" + f",{space}".join(_json(chance, depth + 1) for _ in range(chance.randrange(4))) + space + "]"
    if kind == 2:
        return chance.choice(("true", "false", "null", "nul", "~", "True"))
    return chance.choice(NUMBERS) if kind == 1 else _text(chance)


def _text(chance: Choices) -> str:
    parts = ("", "a", "b", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\/", "\\'", "\\x", "é", *ODD)
    return '"' + "".join(chance.choice(parts) for _ in range(chance.randrange(4))) + '"'


def make(chance: Choices) -> Case:
    """Return a text."""
    kind = chance.randrange(8)
    if kind == 0:
        return chance.rest().decode("utf-8", "replace")
    if kind == 1:
        text = "".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 9)))
    elif kind == 2:
        return "".join(chance.choice(STREAM_PIECES) for _ in range(chance.randrange(1, 8)))
    elif kind == 3:
        text = chance.choice(("\n", "", " ", "\n---\n", ",")).join(_json(chance) for _ in range(chance.randrange(1, 4)))
    else:
        text = chance.choice(("---\n", "")).join(Writer(chance).document() for _ in range(chance.choice((1, 1, 1, 2))))
    for _ in range(chance.choice((0, 0, 1, 2))):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(["", *PIECES]) + text[at + chance.randrange(3) :]
    return text


def ours(text: Case) -> Any:
    """Return what trainc makes of the text as one document, and as a stream."""
    try:
        data, problems = read_yaml(text)
    except Refused as refusal:
        data, problems = None, [refusal.problem]
    return data, problems, [(unit.data, unit.problems) for unit in _units(Source("a.yaml", text))]


def compare(text: Case, ours: Any, theirs: Any) -> str | None:
    """Compare the document, then the stream."""
    data, problems, units = ours
    found = _document(data, problems, theirs) or _stream(units, theirs)
    if found is None:
        return None
    # A key may override a merged one; in Go also a merged one the key before it, whose value need not be readable.
    is_repeated = "<<" in text and "already set in map" in theirs.get("strict", "")
    is_known = is_repeated and found.startswith(("does not see", "refuses"))
    # libyaml and its port in Go go different ways in rubbish like [a\\n[b; what a third reader can read is none.
    is_rubbish = found.startswith("refuses") and "TC002" in found and not _is_yaml(text)
    return None if is_known or is_rubbish else found


def _is_yaml(text: str) -> bool:
    try:
        for _ in yaml.parse(text, yaml.SafeLoader):
            pass
    except yaml.YAMLError:
        return False
    return True


def _fatal(problems: Iterable[Problem]) -> Problem | None:
    return next((problem for problem in problems if problem.fatal), None)


def _document(data: Any, problems: list[Problem], theirs: Any) -> str | None:
    fatal, error = _fatal(problems), theirs.get("error", "")
    if fatal is None:
        if error:
            return f"reads what Go refuses: {_kind(error)}\n{data}\n{error}"
        if not same(data, theirs["json"]):
            return f"reads something else than Go\n{data}\n{theirs['json']}"
        if "already set in map" in theirs.get("strict", "") and not any(each.code == "TC003" for each in problems):
            return f"does not see a duplicate key\n{theirs['strict']}"
        return None
    if fatal.message.startswith(OURS):
        return None
    if not error and (theirs.get("stop") or any(each.code == "TC003" for each in problems)):
        return None  # kubectl refuses it, or it is the value of a repeated key
    if not error:
        return f"refuses what Go reads: {_kind(fatal.message)}\n{fatal}\n{theirs['json']}"
    return None


def _stream(units: list[tuple[Any, list[Problem]]], theirs: Any) -> str | None:
    read: list[Any] = []
    fatal = None
    for data, problems in units:
        if (fatal := _fatal(problems)) is not None:
            break
        if data is not None:
            read.append(data)
    documents = theirs.get("documents") or []
    if fatal is None and theirs.get("stop"):
        return f"reads a stream that kubectl refuses: {_kind(theirs['stop'])}\n{read}\n{documents}\n{theirs['stop']}"
    is_refused = theirs.get("stop") or any(each.code == "TC003" for _, problems in units for each in problems)
    if fatal is not None and not is_refused and not fatal.message.startswith(OURS):
        return f"refuses a stream that kubectl reads: {_kind(fatal.message)}\n{fatal}\n{documents}"
    if fatal is not None:  # kubectl stops there, at the latest
        shared = min(len(read), len(documents))
        read, documents = read[:shared], documents[:shared]
    if not same(read, documents):
        return f"reads another stream than kubectl\n{read}\n{documents}"
    return None


def _kind(message: str) -> str:
    message = message.removeprefix("error converting YAML to JSON: ")
    return re.sub(r"'.*'|\".*\"|`.*`|\d+|[:\[{].*", "_", message)[:60]


def seeds() -> Iterable[bytes]:
    """Return short inputs of the repository, as raw text."""
    paths = sorted((gotools.ORACLE.parents[1] / "jobs").rglob("*.yaml"))
    return (b"\x00" + path.read_bytes()[:500] for path in paths[:20])


TARGET = Target(make, ours, compare, oracle=lambda: [gotools.build(package="./yamlread")], seeds=seeds)
