"""`trainc cel`: values, types and costs for people, and lines of questions for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from builders import trainjob
from trainc.cli.root import trainc

JOB = trainjob("%s", runtime="torch-distributed", trainer="{numNodes: %d}")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    (tmp_path / "job.yaml").write_text(JOB % ("a", 2) + "---\n" + JOB % ("b", 9), encoding="utf-8")
    (tmp_path / "old.yaml").write_text(JOB % ("a", 3), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def invoke(*args: str, input_text: str | None = None) -> Result:
        return CliRunner().invoke(trainc, ["cel", *args], input=input_text)

    return invoke


def test_value_type_and_cost(run) -> None:  # type: ignore[no-untyped-def]
    result = run("[1, 2].map(i, i * 2)")
    assert (result.exit_code, result.output) == (0, "[2, 4]\ntype: list(int)\ncost: 0\n".replace("cost: 0", "cost: 29"))


def test_every_document_of_a_file(run) -> None:  # type: ignore[no-untyped-def]
    result = run("object.spec.trainer.numNodes <= 4", "--object", "job.yaml")
    assert result.exit_code == 0
    assert result.output == "TrainJob a:\ntrue\ntype: bool\ncost: 5\nTrainJob b:\nfalse\ntype: bool\ncost: 5\n"


def test_failed_evaluation_points_at_its_place(run) -> None:  # type: ignore[no-untyped-def]
    result = run("object.spec.zz == 1", "--object", "old.yaml")
    assert result.exit_code == 1
    assert result.output.splitlines()[:3] == [
        "ERROR: <input>:1:12: no such key: zz",
        " | object.spec.zz == 1",
        " | ...........^",
    ]


def test_refused_expression(run) -> None:  # type: ignore[no-untyped-def]
    result = run("1 == 'a'")
    assert result.exit_code == 1
    assert result.output.startswith("compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_'")


def test_undecided_is_neither_pass_nor_failure(run) -> None:  # type: ignore[no-untyped-def]
    result = run("authorizer.path('/x').check('get').allowed()")
    assert (result.exit_code, result.output) == (
        0,
        "undecided: authorizer: cannot be evaluated offline\ntype: bool\n",
    )


def test_rule_with_old_self(run) -> None:  # type: ignore[no-untyped-def]
    expression = "self.spec.trainer.numNodes == oldSelf.spec.trainer.numNodes"
    result = run("--env", "crd", expression, "--object", "old.yaml", "--old-object", "job.yaml", "-o", "json")
    assert json.loads(result.output)["value"] is False


def test_variables_in_order(run) -> None:  # type: ignore[no-untyped-def]
    arguments = ("--variable", "n=object.spec.trainer.numNodes", "--variable", "twice=variables.n * 2")
    result = run("variables.twice", "--object", "old.yaml", *arguments, "-o", "json")
    assert json.loads(result.output)["value"] == 6


def test_questions_line_by_line(run) -> None:  # type: ignore[no-untyped-def]
    lines = ['{"id": "x", "env": "dyn", "expr": "a + 1", "vars": {"a": 1}}', "", '{"id": 2, "env": "vap", "expr": "?"}']
    result = run("--jsonl", input_text="\n".join(lines))
    assert result.exit_code == 0
    first, second = map(json.loads, result.output.splitlines())
    assert first == {
        "id": "x",
        "ok": True,
        "accepted": True,
        "type": "int",
        "value": 2,
        "stage": None,
        "error": None,
        "cost": 2,
    }
    assert (second["id"], second["ok"], second["stage"], second["cost"]) == (2, False, "compile", None)


def test_a_line_that_is_no_question_gets_an_answer_too(run) -> None:  # type: ignore[no-untyped-def]
    result = run("--jsonl", input_text='{"id": 1, "env": "moon", "expr": "1"}\n{"id": 2, "env": "dyn", "expr": "1"}\n')
    assert result.exit_code == 2
    first, second = (json.loads(line) for line in result.output.splitlines() if line.startswith("{"))
    assert (first["id"], first["stage"]) == (1, None)
    assert first["error"].startswith("invalid input: ")
    assert second["value"] == 1


@pytest.mark.parametrize(
    ("arguments", "status", "output"),
    [
        (("object.spec.trainer.numNodes + 1", "--object", "old.yaml"), 0, "4\ntype: int\n"),
        (("[1, 2].map(i, i * 2)",), 0, "[2, 4]\ntype: list\n"),
        (("variables.b", "--variable", "a=2", "--variable", "b=variables.a * 3"), 0, "6\ntype: int\n"),
        (("size('ab') == 3",), 0, "false\ntype: bool\n"),
        (("object.zz", "--object", "old.yaml"), 1, "no such member in mapping: 'zz'\n"),
        (("1 +",), 1, "1 +\n  ^\n"),
    ],
)
def test_the_engine_of_cel_python(run, arguments: tuple[str, ...], status: int, output: str) -> None:  # type: ignore[no-untyped-def]
    result = run("--engine", "celpy", *arguments)
    assert (result.exit_code, result.output) == (status, output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "missing EXPR"),
        (("--jsonl", "--engine", "celpy"), "cannot be combined"),
        (("--jsonl", "1"), "reads expressions from standard input"),
        (("1", "--variable", "x"), "is not NAME=EXPR"),
        (("self", "--env", "crd"), "needs an object whose schema is known"),
        (("1", "--request", "[]"), "expected a JSON object"),
    ],
)
def test_wrong_usage(run, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_what_is_no_part_of_a_question_is_passed_over(run) -> None:  # type: ignore[no-untyped-def]
    result = run("--jsonl", input_text='{"id": 1, "env": "dyn", "expr": "1", "suite": "x"}\n')
    assert (result.exit_code, json.loads(result.stdout)["value"]) == (0, 1)
    assert result.stderr == "line 1: unknown key 'suite' ignored\n"
