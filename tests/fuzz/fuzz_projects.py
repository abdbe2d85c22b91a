"""Whole projects: no exception, whatever a pull request changes in the inputs.

A case is a project of `tests/errors`, or a job of this repository, with a few edits: of fields, of the style in which a
document is written, and of its text. It is checked as `trainc validate --base` does, against the project before, and
its findings are written in one of the formats. The changes of out/ are shown, and fixes applied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from errors.test_errors import BASE, CASES, CUT, parse
from fuzz.target import Case, Choices, Target
from trainc.basics.jsonvalues import Json
from trainc.changes.compare import compare as compare_trees
from trainc.changes.formats import as_json, as_markdown, as_text
from trainc.changes.safeguards import weakened
from trainc.documents.load import load
from trainc.findings.formats import FORMATS
from trainc.findings.settling import limited
from trainc.inputs.options import Revision
from trainc.inputs.settings import settings_of_all
from trainc.inputs.source import Packed, Source
from trainc.pipeline.content import bytes_of
from trainc.project.config import Config
from trainc.project.environments import Outcome, Standard, compile_for, parse_config
from trainc.project.files import LIMIT
from trainc.project.fixing import fix_all
from trainc.project.names import CONFIG, LOCK, SETTINGS, is_read
from trainc.project.read import Inputs

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 8_000  # characters of a project; those of larger ones take too long

ODD: tuple[Json, ...] = (
    None, True, 0, -1, 2, 1.5, 1 << 31, 1 << 63, 10**30, 1e300, "", " ", "0", "-1", "~", ".inf", "1e999999", "1n",
    "5Gi", "$(X)", "$$", "a/b", "/", "..", "a\nb", "a\n", "\n", "#", "é", "\u2028", "\x7f", "😀", "x" * 64,
    "2024-01-01T00:00:00Z", "2", "true", [], {}, [None], [[]], [{}], {"": ""},
    {"a": None}, [""], "%", "{", "*", "10s", "metadata.name",
)  # fmt: skip
PIECES = (
    "", " ", "\n", "\t", "\r\n", "\r", "&a ", "*a", "!!str ", "!!int ", "!!float ", "!!binary ", "! ", "# \\x", "# c\n",
    "'", '"', "- ", "? ", ": ", ", ", "{", "}", "[", "]", "---\n", "...\n", "|\n", ">-\n", "|+2\n", "<<: *a\n", "\\",
    "\ufeff", "\u2028", "é", "# trainc: ignore TC101 x\n", "# trainc: ignore-file TC4 x\n", "0", ".inf", "null", "%",
    "\x00", "&a # \\u\n      ",
)  # fmt: skip


@cache
def projects() -> tuple[dict[str, str], ...]:
    """Return the projects to start from: their texts by path."""
    found = []
    for path in (path for path in CASES if path.stem != "TC504-work"):  # which takes long on purpose
        case = parse(path.read_text(encoding="utf-8").partition(CUT)[0])
        texts = {name.removeprefix(BASE): text for name, text in (*case.base, *case.files)}
        found.append({name: text for name, text in texts.items() if is_read(name) or name in SETTINGS})
    runtimes = [path.read_text() for path in sorted((ROOT / "runtimes").glob("*.yaml"))]
    for path in sorted((ROOT / "jobs").rglob("*.yaml")):
        text = path.read_text()
        names = re.findall(r"name: (\S+)", text)
        used = [runtime for runtime in runtimes if any(f"name: {name}\n" in runtime for name in names)]
        found.append({path.relative_to(ROOT).as_posix(): text, "runtimes/used.yaml": "---\n".join(used)})
    return tuple(each for each in found if each and sum(map(len, each.values())) < LONGEST)


@cache
def known() -> dict[str, tuple[list[Json], list[str]]]:
    """Return the values that each key has in the projects, and the keys beside and below it."""
    values: dict[str, dict[str, Json]] = {}
    below: dict[str, dict[str, None]] = {}
    for project in projects():
        for name, text in project.items():
            for document in load(Source(name, text))[0]:
                for path, value in _nodes(document.data, ()):
                    key = _key(path)
                    values.setdefault(key, {})[json.dumps(value)] = value
                    below.setdefault(key, {}).update(dict.fromkeys(value) if isinstance(value, dict) else {})
    return {key: ([*values[key].values()], [*below[key]]) for key in values}


def _key(path: tuple[str | int, ...]) -> str:
    """Return the last key of a path; empty for a document."""
    return next((str(step) for step in reversed(path) if isinstance(step, str)), "")


def _nodes(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    yield path, value
    steps: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in steps:
        yield from _nodes(child, (*path, step))


class Editor:
    """Edits the texts of a project."""

    def __init__(self, chance: Choices) -> None:
        self.chance = chance
        self.pick = chance.choice
        self.anchors = 0

    def edit(self, name: str, text: str) -> str:
        """Return a text with one edit, of a field or of characters."""
        documents = load(Source(name, text))[0] if self.chance.randrange(8) else ()
        if not documents:
            return self.characters(text)
        data = [json.loads(json.dumps(document.data)) for document in documents]
        at = self.chance.randrange(len(data))
        data[at] = self.field(data[at])
        return "".join(f"---\n{self.written(each, '').lstrip()}\n" for each in data)

    def characters(self, text: str) -> str:
        """Return a text with a piece before, or in place of, a token."""
        places = [found.start() for found in re.finditer(r"\S+|\n", text)] or [0]
        at = self.pick(places) + self.pick((0, 0, 0, 1))
        end = at + self.pick((0, 0, 1, 4, 30))
        return text[:at] + self.pick(PIECES) + text[end:]

    def field(self, data: Json) -> Json:
        """Return an object with one value replaced, added or removed."""
        nodes = list(_nodes(data, ()))
        path, value = self.pick(nodes)
        values, below = known().get(_key(path), ([], []))
        kind = self.chance.randrange(6)
        if kind == 0 and values:
            new = self.pick(values)
        elif kind in (1, 2) and isinstance(value, dict) and below:
            added = self.pick(below)
            new = {**value, added: self.pick((self.pick(known()[added][0]), self.pick(ODD)))}
        elif kind == 3 and isinstance(value, list) and value:
            new = [*value, self.pick(value)]
        elif kind == 4 and isinstance(value, dict) and value:
            removed = self.pick(sorted(value))
            new = {other: child for other, child in value.items() if other != removed}
        else:
            new = self.pick((self.pick(ODD), self.pick(nodes)[1]))
        return _replaced(data, path, json.loads(json.dumps(new)))

    def written(self, value: Json, indent: str) -> str:
        """Return a value in any style, as it stands behind a colon."""
        anchor, kind = "", self.chance.randrange(64)
        if kind == 1:
            self.anchors += 1
            anchor = f" &a{self.anchors}"
        elif kind == 2:
            anchor = f" # {self.pick(('c', chr(92) + 'x', 'trainc: ignore TC101 x'))}\n{indent}  "
        elif kind == 3 and isinstance(value, str):
            anchor = " !!str"
        elif kind == 4 and self.anchors:
            return f" *a{self.chance.randrange(1, self.anchors + 1)}"
        elif kind == 5:
            return f"{anchor} {json.dumps(value, ensure_ascii=bool(self.chance.randrange(2)))}"
        if isinstance(value, dict) and value:
            items = (f"\n{indent}{self.key(key)}:{self.written(child, indent + '  ')}" for key, child in value.items())
            return anchor + "".join(items)
        if isinstance(value, list) and value:
            return anchor + "".join(f"\n{indent}-{self.written(child, indent + '  ')}" for child in value)
        if isinstance(value, str) and "\n" in value.strip("\n") and kind < 48:
            header = " |" if value.endswith("\n") else " |-"
            return anchor + header + "".join(f"\n{indent}  {line}" for line in value.removesuffix("\n").split("\n"))
        if isinstance(value, str) and kind < 48 and re.fullmatch(r"[a-zA-Z/_][\w./-]*", value):
            return f"{anchor} {value}"
        return f"{anchor} {json.dumps(value)}"

    def key(self, key: str) -> str:
        """Return a key."""
        return key if re.fullmatch(r"[a-zA-Z][\w./-]*", key) and self.chance.randrange(16) else json.dumps(key)


def _replaced(value: Any, path: tuple[str | int, ...], new: Json) -> Any:
    if not path:
        return new
    value[path[0]] = _replaced(value[path[0]], path[1:], new)
    return value


def make(chance: Choices) -> Case:
    """Return the texts of a project after a pull request, and before it; these may be none."""
    before = dict(projects()[chance.randrange(len(projects()))])
    for _ in range(chance.randrange(3)):
        before = {**projects()[chance.randrange(len(projects()))], **before}
    editor, after, is_compared = Editor(chance), dict(before), chance.randrange(2)
    for _ in range(chance.choice((1, 1, 2, 3, 5))):
        name = chance.choice(sorted(after))
        after[name] = editor.edit(name, after[name])
        if len(after) > 1 and chance.randrange(16) == 1:
            after.pop(chance.choice(sorted(after)))
    form = chance.choice(("text", "github", "codequality", "text", "junit", "json", *FORMATS))  # sarif takes long
    return {"files": after, "base": before if is_compared else None, "format": form}


def _compiled(
    texts: dict[str, str], base: Revision | None, old: Config | None
) -> tuple[Outcome, Config, tuple[Source, ...]]:
    """Compile the texts of a project, as far as they fit, which reading them checks."""
    sources = {name: Source(name, text.encode("utf-8", "surrogatepass")) for name, text in texts.items()}
    sources = {name: source for name, source in sources.items() if len(source.text) <= LIMIT}
    settings = {name: Inputs((sources.pop(name),)) if name in sources else Inputs() for name in SETTINGS}
    config, of_config = parse_config(settings[CONFIG], settings[LOCK])
    inputs = Inputs(tuple(sources[name] for name in sorted(sources)))
    standard = None
    if base is not None and old is not None:
        now = Revision("", inputs.sources, config.data)
        standard = Standard(base, weakened(base, now, config.document, ()))
    outcome = compile_for(inputs, config, config.environments, of_config, base=base, standard=standard)
    return outcome, config, inputs.sources


def ours(case: Case) -> Any:
    """Check, compare and fix a project; return the codes of its findings, and the messages of TC902."""
    base, old, before = None, None, {}
    if case["base"] is not None:
        outcome, old, sources = _compiled(case["base"], None, None)
        before = {name: bytes_of(content) for name, content in outcome.files.items()}
        output = tuple(Packed.of(name, data) for name, data in before.items())
        base = Revision("main", sources, old.data, output=output)
    outcome, config, sources = _compiled(case["files"], base, old)
    FORMATS[case["format"]](limited(outcome.findings), False)
    after = {name: bytes_of(content) for name, content in outcome.files.items()}
    difference = compare_trees(before, after, settings_of_all(config.data))
    as_json(difference, "main", "head"), as_markdown(difference), as_text(difference, False)
    files = {source.name: source for source in sources}
    fixed = fix_all(files, lambda now: _compiled(_texts(now, case), base, old)[0], lambda *_: True)
    found = (*outcome.findings, *difference.findings, *fixed.outcome.findings)
    return {"codes": sorted({each.code for each in found}), "bugs": [e.message for e in found if e.code == "TC902"]}


def _texts(files: Any, case: Case) -> dict[str, str]:
    settings = {name: text for name, text in case["files"].items() if name in SETTINGS}
    return {**settings, **{name: source.decoded() for name, source in files.items()}}


def compare(_case: Case, ours: Any, _theirs: Any) -> str | None:
    """Return the first message of TC902."""
    return next((re.sub(r"\d+|'.*'", "_", message) + f"\n{message}" for message in ours["bugs"]), None)


TARGET = Target(make, ours, compare, features=lambda _case, ours: ours["codes"] if ours else ())
