"""docs/diff.md says what trainc diff does: its effects, its keys, its options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click import Option

from trainc.changes import Effect
from trainc.changes.phrases import EFFECTS
from trainc.cli.diff import command

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "diff.md").read_text(encoding="utf-8")


def test_every_effect_has_a_row_with_its_sign() -> None:
    rows = re.findall(r"(?m)^\| `(.)` \| `([a-z]+)` \|", PAGE)
    assert sorted(rows) == sorted((EFFECTS[effect][0], effect.value) for effect in Effect)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, child in value.items():
            if key not in ("gpus", "fields"):
                yield from (key, *keys(child))
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def test_every_key_is_described() -> None:
    section = PAGE.partition("## JSON")[2].partition("\n## ")[0]
    found = {key for path in HERE.glob("cases/*/expected.json") for key in keys(json.loads(path.read_text()))}
    assert len(found) > 30
    assert {key for key in found if not re.search(rf"`\.?{key}(\[\])?`", section)} == set()


def test_every_option_is_described() -> None:
    for option in command.params:
        if isinstance(option, Option):
            assert any(f"`{name}" in PAGE for name in option.opts), option.name
