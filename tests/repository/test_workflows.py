"""The workflows of GitHub: no token that writes meets code of a pull request, and the comment goes where it belongs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from effort import some
from trainc.changes.formats import MARK
from trainc.changes.formats import as_markdown as render
from trainc.changes.model import Difference, Directory
from trainc.findings import report
from trainc.inputs.source import Document, Source

WORKFLOWS = sorted((Path(__file__).resolve().parents[2] / ".github" / "workflows").glob("*.yml"))
POSTER = "diff-comment.yml"
RELEASE = "release.yml"
REUSABLE = "trainc.yml"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}|\./\.trainc-action")
"""An action by its commit, or ours, which trainc.yml checks out by the ref that its caller chooses."""

GH = r"""#!/usr/bin/env bash
printf '%s\n' "$*" >>"$CALLS"
case "$*" in
  "run download "*) [ -n "$COMMENT" ] && mkdir -p "$RUNNER_TEMP/diff" && cp "$COMMENT" "$RUNNER_TEMP/diff/comment.md" ;;
  *"/pulls "*) printf '%s' "$NUMBER" ;;
  *"--paginate"*) printf '%s' "$EXISTING" ;;
esac
"""


@cache
def workflow(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job.get("steps", ())]


def permissions(path: Path) -> list[dict[str, str]]:
    found = workflow(path)
    return [
        found.get("permissions", {}),
        *(job["permissions"] for job in found["jobs"].values() if "permissions" in job),
    ]


def test_there_are_workflows() -> None:
    assert {path.name for path in WORKFLOWS} == {"audit.yml", "ci.yml", "diff.yml", POSTER, RELEASE, REUSABLE}


READS = {"contents": "read"}
RIGHTS = {
    "audit.yml": READS,
    "ci.yml": READS,
    "diff.yml": READS,
    POSTER: {},
    RELEASE: {},
    "audit.yml audit": READS,
    "ci.yml determinism": READS,
    "ci.yml mutants": READS,
    "ci.yml test": READS,
    "diff.yml diff": READS,
    f"{POSTER} comment": {"actions": "read", "pull-requests": "write"},
    f"{RELEASE} build": READS,
    f"{RELEASE} publish": {"id-token": "write", "attestations": "write"},
    f"{RELEASE} github": {"contents": "write"},
}
"""The permissions of each workflow, and of each of its jobs; those of trainc.yml are its caller's."""


def test_each_job_has_the_permissions_that_it_needs() -> None:
    found = {}
    for path in WORKFLOWS:
        if path.name != REUSABLE:
            found[path.name] = workflow(path)["permissions"]
            for name, job in workflow(path)["jobs"].items():
                found[f"{path.name} {name}"] = job.get("permissions", found[path.name])
    assert {name: granted for name, granted in found.items() if RIGHTS.get(name) != granted} == {}


def test_a_release_is_attested_with_all_its_files() -> None:
    jobs = workflow(next(path for path in WORKFLOWS if path.name == RELEASE))["jobs"]
    made = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert any("-m build --no-isolation" in each for each in made)
    assert any("compiler/tools/release.py dist release" in each for each in made)
    (attested,) = (step for step in jobs["publish"]["steps"] if "attest-build-provenance" in step["uses"])
    assert attested["with"]["subject-path"].split() == ["dist/*", "release/*"]
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]][-1] == "pypa/gh-action-pypi-publish"
    assert "dist/* release/*" in jobs["github"]["steps"][-1]["run"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_expressions_stay_out_of_scripts(path: Path) -> None:
    for step in steps(path):
        assert "uses" not in step or PINNED.fullmatch(step["uses"]), step
        assert "${{" not in step.get("run", ""), "a script in which somebody else's text is code"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_runs_a_pull_request_cannot_write(path: Path) -> None:
    triggers = workflow(path)[True]  # YAML 1.1 reads `on` as true
    assert "pull_request_target" not in triggers
    writes = any("write" in granted.values() for granted in permissions(path))
    assert writes == (path.name in (POSTER, RELEASE))
    assert ("permissions" in workflow(path)) == (path.name != REUSABLE), "its caller decides"
    if path.name == REUSABLE:
        assert set(triggers) == {"workflow_call"}
    if path.name == RELEASE:
        assert triggers == {"push": {"tags": ["v*"]}}
        assert workflow(path)["permissions"] == {}
        assert all("permissions" in job for job in workflow(path)["jobs"].values())
    if path.name == POSTER:
        assert set(triggers) == {"workflow_run", "workflow_call"}
        assert not any("uses" in step for step in steps(path)), "neither a checkout nor anybody's action"
    if "pull_request" in triggers:
        assert not re.search(r"\bsecrets\.", path.read_text(encoding="utf-8"))
        assert all(s["with"]["persist-credentials"] is False for s in steps(path) if "checkout" in s.get("uses", ""))


def post(tmp_path: Path, comment: str, *, number: str = "7", existing: str = "") -> tuple[int, list[str]]:
    """Run the poster's script with a gh that writes down how it is called."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("bash is not installed")
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "comment").write_text(comment, encoding="utf-8")
    (tmp_path / "temp").mkdir(exist_ok=True)
    values = {"CALLS": "calls", "RUNNER_TEMP": "temp"}
    environment = {
        "COMMENT": str(tmp_path / "comment") if comment else "",
        **{name: str(tmp_path / value) for name, value in values.items()},
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_REPOSITORY": "a/b",
        "RUN": "1",
        "SHA": "c0ffee",
        "OWNER": "fork",
        "BRANCH": "$(touch pwned); x",
        "NUMBER": number,
        "EXISTING": existing,
        "LC_ALL": "C.UTF-8",
    }
    (script,) = (step["run"] for step in steps(next(path for path in WORKFLOWS if path.name == POSTER)))
    done = subprocess.run([bash, "-e", "-c", script], cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert not (tmp_path / "pwned").exists()
    return done.returncode, (tmp_path / "calls").read_text(encoding="utf-8").splitlines()


def test_a_first_comment_is_posted_and_a_second_one_replaces_it(tmp_path: Path) -> None:
    body = f"{MARK}\n### trainc: 1 of 2 directories changes\n"
    status, calls = post(tmp_path, body)
    assert status == 0
    assert calls[1].startswith("api --method GET repos/a/b/pulls -f state=open -f head=fork:$(touch pwned); x ")
    assert '.head.sha == "c0ffee"' in calls[1]
    assert calls[-1].startswith("api --method POST repos/a/b/issues/7/comments -F body=@")
    (tmp_path / "calls").unlink()
    status, calls = post(tmp_path, body, existing="42\n43")
    assert status == 0
    assert calls[-1].startswith("api --method PATCH repos/a/b/issues/comments/42 -F body=@")


def test_nothing_is_said_of_no_change_but_what_was_said_before_is_replaced(tmp_path: Path) -> None:
    body = render(Difference())
    status, calls = post(tmp_path, body)
    assert (status, len(calls)) == (0, 3)
    (tmp_path / "calls").unlink()
    status, calls = post(tmp_path, body, existing="42")
    assert status == 0
    assert calls[-1].startswith("api --method PATCH repos/a/b/issues/comments/42 -F body=@")


def test_a_warning_is_posted_although_nothing_changes(tmp_path: Path) -> None:
    relaxed = report("TC520", Document(Source("policies/x.yaml", b""), {}), (), "validationActions changed")
    for difference in (
        Difference(stale=(Directory("prod", "a", "one"),)),
        Difference(foreign=("out/prod/evil.yaml",)),
        Difference(weakened=(relaxed,)),
    ):
        status, calls = post(tmp_path, render(difference))
        assert status == 0
        assert calls[-1].startswith("api --method POST repos/a/b/issues/7/comments -F body=@")
        (tmp_path / "calls").unlink()


@pytest.mark.parametrize(
    ("comment", "number", "status", "calls"),
    [
        ("", "7", 0, 3),
        ("something else\n", "7", 1, 3),
        ("something else\n", "", 1, 2),
        (f"{MARK}\n{'x' * 65_536}", "7", 1, 3),
        (f"{MARK}\n", "", 0, 2),
        (f"{MARK}\n", "7\n8", 1, 4),
        *(
            (f"{MARK}\n### trainc: 1 of 2 directories changes\n{line}\n", "7", 1, 3)
            for line in some(
                (
                    "/approve",
                    "@dependabot merge",
                    "  /lgtm",
                    "- ping @team",
                    "Fixes #1",
                    "see GH-1",
                    "see www.evil.example",
                    "see https://evil.example",
                    "<code>https://evil.example</code>",
                    "<code>www.evil.example</code>",
                    "<code>a&#64;evil.example</code>",
                    "<code>a&#64;b&#95;c&#46;example</code>",
                    "<code></code><img src=x>",
                    "![x](https://evil.example)",
                    "| <script> |",
                    "<details open><summary>x</summary>",
                    "```diff\n/approve\n```",
                    "```diff\n+ a\n ```\n@x\n```",
                    "\n```diff\n@dependabot merge\n```",
                    "<details><summary>x</summary>\n```diff\n <img src=x>\n```",
                    "</details>\n```diff\n <a href=x>y</a>\n```",
                    "```diff\n+ a",
                    "```mermaid\ngraph LR\n  click j0 href\n```",
                    "```suggestion\n+ a\n```",
                    "a\r/approve",
                    "\u202eevil",
                ),
                4,
            )
        ),
    ],
)
def test_nothing_is_posted(tmp_path: Path, comment: str, number: str, status: int, calls: int) -> None:
    ended, made = post(tmp_path, comment, number=number)
    assert (ended, len(made)) == (status, calls)
    assert not any("POST" in call or "PATCH" in call for call in made)


@pytest.mark.parametrize(
    ("comment", "number", "status"), [("", "7", 0), ("something else\n", "7", 1), (f"{MARK}\n", "7\n8", 1)]
)
def test_a_comment_on_an_earlier_commit_is_replaced_if_there_is_no_new_one(
    tmp_path: Path, comment: str, number: str, status: int
) -> None:
    ended, calls = post(tmp_path, comment, number=number, existing="42")
    assert ended == status
    replaced = [call for call in calls if call.startswith("api --method PATCH repos/a/b/issues/comments/42 -F body=@")]
    assert len(replaced) == len(number.split())
    body = (tmp_path / "temp" / "comment.md").read_text(encoding="utf-8")
    assert body == f"{MARK}\n### trainc: no comparison of the last commit, see the log of its check\n"


@pytest.mark.parametrize(
    ("tag", "date", "problem"),
    [
        ("v1.2.3", "2026-01-31", ""),
        ("v1.2.4", "2026-01-31", "::error::the tag is v1.2.4, but the version is 1.2.3\n"),
        ("v1.2.3", "not released yet", "::error::CHANGELOG.md has no entry '## [1.2.3] - YYYY-MM-DD'\n"),
    ],
)
def test_a_release_needs_its_tag_and_a_dated_entry(tmp_path: Path, tag: str, date: str, problem: str) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 1.2.3\n", encoding="utf-8")
    python.chmod(0o755)
    entries = (
        f"## [Unreleased]\n\nnext\n\n## [1.2.3] - {date}\n\nthis\n\n## [1.2.2] - 2025-01-01\n\nold\n\n[1.2.2]: x\n"
    )
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{entries}", encoding="utf-8")
    release = next(path for path in WORKFLOWS if path.name == RELEASE)
    (script,) = (step["run"] for step in steps(release) if "TAG" in step.get("env", {}) and "CHANGELOG" in step["run"])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "TAG": tag},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (bool(problem), problem)
    if not problem:
        assert (tmp_path / "notes.md").read_text(encoding="utf-8").strip() == "this"
