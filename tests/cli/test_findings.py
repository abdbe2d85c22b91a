"""How render, build and validate write findings, and which fail the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from small import Process, Run, job

from effort import some
from folders import put
from trainc.findings.formats import FORMATS

WARNS = job("one", extra="  managedBy: kueue.x-k8s.io/multikueue\n")
COMMANDS = (["render"], ["validate"], ["build", "jobs/a/one.yaml"])


def as_text(shown: str) -> list[str]:
    return [line.partition("[")[2][:5] for line in shown.splitlines() if "]: " in line]


def as_json(shown: str) -> list[str]:
    return [item["code"] for item in json.loads(shown)]


def as_sarif(shown: str) -> list[str]:
    return [result["ruleId"] for result in json.loads(shown)["runs"][0]["results"]]


def as_github(shown: str) -> list[str]:
    return [line.partition("title=")[2][:5] for line in shown.splitlines()]


def as_junit(shown: str) -> list[str]:
    return [case.attrib["name"][:5] for case in fromstring(shown.encode()).iter("testcase") if len(case)]


def as_codequality(shown: str) -> list[str]:
    return [issue["check_name"] for issue in json.loads(shown)]


READERS = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
    "junit": as_junit,
    "codequality": as_codequality,
}


def test_every_format_is_read_here() -> None:
    assert list(READERS) == list(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_stream_of_findings_holds_nothing_else(repository: Path, run: Run, name: str, command: list[str]) -> None:
    def shown(*more: str) -> str:
        result = run(*command, "--format", name, *more)
        text = result.stderr if command[0] == "build" else result.stdout
        return text.removesuffix("1 warning\n").removesuffix("1 error\n")

    assert READERS[name](shown("-q")) == []
    put(repository, "jobs/a/one.yaml", WARNS)
    assert READERS[name](shown()) == ["TC311"]
    assert READERS[name](shown("-q")) == []
    assert READERS[name](shown("-q", "--fail-on", "warning")) == ["TC311"]
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    assert READERS[name](shown()) == ["TC301"]


@pytest.mark.parametrize("name", some(FORMATS, 3))
def test_names_in_a_narrow_encoding(repository: Path, process: Process, name: str) -> None:
    put(repository, "jobs/a/é名.yaml", job("four", runtime="none"))
    done = process("validate", "--format", name, cwd=repository, PYTHONIOENCODING="latin-1")
    assert done.returncode == 1
    assert "TC301" in READERS[name](done.stdout.decode("latin-1"))


@pytest.mark.parametrize("name", FORMATS)
def test_of_one_code_and_file_64_findings_are_written_and_the_number_of_the_others(
    repository: Path, run: Run, name: str
) -> None:
    spelt = "".join(f"  unknown{number}: 1\n" for number in range(100))
    put(repository, "jobs/a/one.yaml", job("one", extra=spelt))
    put(repository, "jobs/a/two.yaml", job("two", extra=spelt))
    result = run("validate", "--format", name)
    shown = result.stdout.removesuffix("200 errors\n")
    assert result.exit_code == 1
    assert READERS[name](shown) == ["TC101"] * 130
    assert shown.count("36 more findings of TC101 in this file") >= 2
    assert ("unknown63" in shown, "unknown99" in shown) == (True, False)


def test_the_number_of_other_findings_counts_as_the_worst_of_them(repository: Path, run: Run) -> None:
    spelt = "".join(f"  unknown{number}: 1\n" for number in range(65))
    put(repository, "jobs/a/one.yaml", job("one", extra=spelt))
    put(repository, "trainc.yaml", "environments: {prod: {}}\nseverities: {TC101: warning}\n")
    assert run("validate", "-q").stdout == ""
    result = run("validate", "-q", "--fail-on", "warning", "--format", "json")
    assert result.exit_code == 1
    assert [each["severity"] for each in json.loads(result.stdout)] == ["warning"] * 65
    assert json.loads(result.stdout)[-1]["message"] == "1 more finding of TC101 in this file"


def test_a_run_with_a_cache_writes_as_many_findings(repository: Path, process: Process, tmp_path: Path) -> None:
    labels = "---\n".join(
        job(f"job-{number}", extra="  managedBy: kueue.x-k8s.io/multikueue\n") for number in range(70)
    )
    put(repository, "jobs/a/one.yaml", labels)
    for name in ("jobs/a/two.yaml", "jobs/b/three.yaml"):
        (repository / name).unlink()
    runs = [process("render", "--format", "json", TRAINC_CACHE_DIR=str(tmp_path / "cache")) for _ in range(3)]
    assert [each.returncode for each in runs] == [0, 0, 0]
    assert [json.loads(each.stdout)[-1]["message"] for each in runs] == ["6 more findings of TC311 in this file"] * 3


@pytest.mark.parametrize("case", ["folder", "stdin", "builtin"])
def test_no_format_names_a_file_that_does_not_exist(repository: Path, run: Run, case: str) -> None:
    stdin = None
    command = ["validate"]
    if case == "folder":
        for name in ("a/one", "a/two", "b/three"):
            (repository / f"jobs/{name}.yaml").unlink()
        command = ["validate", "runtimes/none"]
        (repository / "runtimes/none").mkdir()
    elif case == "stdin":
        stdin, command = WARNS.encode(), ["build", "-"]
    else:
        text = (
            job("one")
            .replace("{name: plain}", "{name: mlx-distributed}")
            .replace("trainer: {}", "trainer: {numNodes: 2}")
        )
        put(repository, "jobs/a/one.yaml", text)
    github = run(*command, "--format", "github", stdin=stdin).output
    sarif = run(*command, "--format", "sarif", stdin=stdin).output
    junit = run(*command, "--format", "junit", stdin=stdin).output
    named = re.findall("file=([^,]*),", github) + re.findall(r'"uri": "([^"]*)"', sarif.partition('"results"')[2])
    named += re.findall(' file="([^"]*)"', junit)
    result = run(*command, "--format", "codequality", "-q", "--fail-on", "warning", stdin=stdin)
    quality = json.loads(result.stderr if command[0] == "build" else result.stdout)
    named += [issue["location"]["path"] for issue in quality]
    assert re.match(r"::(error|warning|notice) title=TC\d{3} ", github), "the runner takes no other line"
    assert [name for name in named if not (repository / name).exists()] == []
