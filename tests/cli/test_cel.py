"""Lines of `trainc cel --jsonl` that cannot be read, and expressions that once ended the run."""

from __future__ import annotations

import json
from pathlib import Path

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


@pytest.mark.parametrize(
    ("expr", "error"),
    [
        ("replace('a')", "no such overload: replace(string)"),
        ("'a'.replace()", "no such overload: replace(string)"),
        ("indexOf()", "no such overload: indexOf()"),
        ("join()", "no such overload: join()"),
        ("'a'.findAll()", "no such overload: findAll(string)"),
    ],
)
def test_too_few_arguments_are_an_error_of_an_expression_without_type_check(run: Run, expr: str, error: str) -> None:
    question = {"env": "dyn", "expr": expr, "disable_check": True}
    result = run("cel", "--jsonl", stdin=f"{json.dumps(question)}\n".encode())
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["stage"], answer["error"]) == (0, "eval", error)


@pytest.mark.parametrize(
    ("expr", "error"),
    [
        ("{double('NaN'): 1}", "no such key: NaN"),
        ("object.data.map(i, object.data)", "the value is too large to be written"),
    ],
)
def test_a_value_of_cel_python_that_cannot_be_written_is_an_error(
    run: Run, tmp_path: Path, expr: str, error: str
) -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": list(range(1000))}
    (tmp_path / "object.json").write_text(json.dumps(data), encoding="utf-8")
    result = run("cel", "--engine", "celpy", expr, "--object", str(tmp_path / "object.json"))
    assert (result.exit_code, result.stdout) == (1, f"{error}\n")
