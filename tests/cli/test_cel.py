"""Lines of `trainc cel --jsonl` that cannot be read."""

from __future__ import annotations

import json

import pytest
from small import Run


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b'"\xff"', "not UTF-8 text"),
        (b'{"env": "dyn", "expr": "\xed\xa0\x80"}', "not UTF-8 text"),
        (rb'"\ud800"', "not Unicode text: a surrogate without its pair"),
        (b'{"env": "dyn", "expr": "1", "vars": {"a": [1%s]}}' % (b"0" * 309), "a number too large for 64 bits"),
    ],
)
def test_a_line_that_cannot_be_read_does_not_stop_the_others(run: Run, line: bytes, error: str) -> None:
    result = run("cel", "--jsonl", stdin=line + b'\n{"env": "dyn", "expr": "1"}\n')
    assert result.exit_code == 2
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["error"], second["value"]) == (f"invalid input: {error}", 1)
