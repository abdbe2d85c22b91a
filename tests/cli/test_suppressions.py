"""SARIF lists what comments silence; no other format does, and no exit status hangs on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import Run, job

from folders import put

COMMENT = "  # trainc: ignore TC412, TC409 the image moves on purpose\n"
IMAGE = "  trainer:\n    image: example.com/moving:latest\n"


def loose(name: str) -> str:
    return job(name).replace("  trainer: {}\n", COMMENT + IMAGE)


def results(text: str) -> list[tuple[str, object]]:
    return [(each["ruleId"], each.get("suppressions")) for each in json.loads(text)["runs"][0]["results"]]


def test_sarif_lists_what_is_silenced(repository: Path, run: Run) -> None:
    put(repository, "jobs/a/one.yaml", loose("one"))
    put(repository, "trainc.yaml", "environments: {dev: {}, prod: {}}\n")
    reason = [{"kind": "inSource", "justification": "the image moves on purpose"}]
    for command in (
        ["validate"],
        ["render"],
        ["render", "--check"],
        ["build", "jobs/a/one.yaml", "runtimes/plain.yaml"],
    ):
        found = run(*command, "--format", "sarif")
        assert found.exit_code == 0
        text = found.stdout if command[0] != "build" else found.stderr
        unused = [] if command[0] == "build" else [("TC017", [])]  # another environment may have a use for it
        assert sorted(results(text)) == [*unused, ("TC412", reason)]
    assert "[TC412]" not in run("validate").stdout


@pytest.mark.parametrize("reason", ["password=hunter2-before moves", "hunter2-before moves"])
def test_the_reason_of_a_comment_shows_no_secret(repository: Path, run: Run, reason: str) -> None:
    text = loose("one").replace("the image moves", reason)
    put(repository, "jobs/a/one.yaml", f"{text}    env: [{{name: MY_TOKEN, value: hunter2-before}}]\n")
    for command in ("validate", "render"):
        found = run(command, "--format", "sarif").stdout
        assert "inSource" in found
        assert "hunter2-before" not in found


def test_without_suppressions_nothing_is_said_of_them(repository: Path, run: Run) -> None:
    put(repository, "jobs/a/one.yaml", loose("one").replace(COMMENT, ""))
    assert results(run("validate", "--format", "sarif").stdout) == [("TC412", None)]


def test_it_does_not_depend_on_the_cache(
    repository: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINC_CACHE_DIR", str(tmp_path / "cache"))
    put(repository, "jobs/a/one.yaml", loose("one"))
    assert run("render").exit_code == 0
    first = run("render", "--check", "--format", "sarif").stdout
    assert first == run("render", "--check", "--format", "sarif").stdout
    assert "inSource" in first
