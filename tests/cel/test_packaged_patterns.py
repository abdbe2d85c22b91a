"""The patterns in the rules of the CRDs in the package, left to Python's re: in ASCII they mean the same to RE2."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainc.cel.library import regex
from trainc.cel.values import EvalError
from trainc.data import load_json

WEIGHTS: dict[str, int] = load_json("schemas/patterns.json")
TOOL = Path(__file__).parents[2] / "compiler" / "tools" / "rules.py"
TEXTS = st.text(st.sampled_from("azAZ09-+.:/ \n\t\x00_"), max_size=12) | st.text(st.characters(max_codepoint=127))


def test_the_table_is_what_its_tool_writes() -> None:
    spec = importlib.util.spec_from_file_location("rules_tool", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PATTERNS.read_text(encoding="utf-8") == tool.render_patterns(), "run compiler/tools/rules.py"
    assert len(WEIGHTS) >= 2


@pytest.mark.parametrize("pattern", WEIGHTS)
@given(text=TEXTS)
@example(text="a\n")
@example(text="a://b\n")
@example(text="a-")
@example(text="hf://x")
def test_they_match_as_re2_does(pattern: str, text: str) -> None:
    by_re2 = regex.pattern(pattern).search(text.encode()) is not None
    assert regex.matches(text, pattern) == by_re2


@pytest.mark.parametrize("pattern", WEIGHTS)
def test_other_texts_are_left_to_re2(pattern: str) -> None:
    assert not regex.matches("é", pattern)
    assert regex.weight(pattern) == regex.pattern(pattern).programsize


def test_re2_prints_nothing_about_an_invalid_pattern(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EvalError):
        regex.pattern("(")
    assert capfd.readouterr() == ("", "")
