"""`trainc validate --base`, with a repository whose first commit holds what trainc rendered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import RUNTIME, Run, job, put

from gitrepo import commit, needs_git

pytestmark = needs_git
PATH = "jobs/a/one.yaml"
NODES = "  trainer:\n    numNodes: {}\n"


def trainjob(nodes: int = 2, extra: str = "") -> str:
    return job("one").replace("  trainer: {}\n", NODES.format(nodes)) + extra


@pytest.fixture(autouse=True)
def base(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """Render one job and commit everything."""
    for name in ("a/two", "b/three"):
        (repository / f"jobs/{name}.yaml").unlink()
    put(repository, PATH, trainjob())
    return again(repository, run)


def again(repository: Path, run: Run) -> str:
    """Render and commit what is there now."""
    assert run("render").exit_code == 0
    return commit(repository)


def heads(run: Run, *args: str) -> list[str]:
    """Return the first lines of the findings."""
    return [line for line in run("validate", "--base", "HEAD", *args).stdout.splitlines() if "]: " in line]


def test_the_findings_for_programs(repository: Path, run: Run) -> None:
    put(repository, PATH, trainjob(4))
    warning, error = json.loads(run("validate", "--base", "HEAD", "--format", "json").stdout)
    assert (warning["stage"], error["stage"]) == (None, "jobset-webhook")
    assert warning["upstream"] == 'spec.trainer: Invalid value: "object": field is immutable'
    assert error["upstream"].startswith('spec.replicatedJobs: Invalid value: [{"name":"node","groupName":"default",')
    assert error["upstream"].endswith("]: field is immutable")
    assert (error["found"], error["expected"]) == ("4", "2")
    assert [(place["file"], place["line"], place["message"]) for place in error["related"]] == [
        ("HEAD:jobs/a/one.yaml", 7, "the input at HEAD"),
        ("HEAD:out/prod/a/one/jobset-one.yaml", 26, "at HEAD"),
    ]
    located = json.loads(run("validate", "--base", "HEAD", "--format", "sarif").stdout)["runs"][0]["results"][1]
    names = [place["logicalLocations"][0]["fullyQualifiedName"] for place in located["relatedLocations"]]
    assert names == ["HEAD:jobs/a/one.yaml", "HEAD:out/prod/a/one/jobset-one.yaml"]


def test_jobs_of_different_runs_have_different_ways_forward(repository: Path, run: Run) -> None:
    for name, second in (("two", "2"), ("three", "2"), ("four", "7")):
        text = job(name).replace(f"name: {name}", f"name: {name}, annotations: {{trainc.dev/run: '{second}'}}")
        put(repository, f"jobs/b/{name}.yaml", text)
    again(repository, run)
    put(repository, "runtimes/plain.yaml", RUNTIME.replace("img:1", "img:2"))
    found = json.loads(run("validate", "--base", "HEAD", "--format", "json").stdout)
    told = {item["hint"].partition("run: ")[2][:3]: item["message"].partition("immutable")[2] for item in found}
    assert told == {'"2"': "", '"3"': " (in 2 TrainJobs: b/three and b/two)", '"8"': ""}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(trainjob(), trainjob(2, "  suspend: true\n"), id="suspend"),
        pytest.param(trainjob(2, "  suspend: true\n"), trainjob(), id="resume"),
        pytest.param(job("one"), job("one").replace("name: one", "name: one, labels: {team: a}"), id="labels"),
        pytest.param(job("one"), job("one").replace("name: one", "name: one, annotations: {a/b: c}"), id="annotations"),
    ],
)
def test_what_may_change(repository: Path, run: Run, old: str, new: str) -> None:
    put(repository, PATH, old)
    again(repository, run)
    put(repository, PATH, new)
    assert heads(run) == []


def test_no_repository(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "plain"
    put(root, PATH, job("one"))
    monkeypatch.chdir(root)
    result = run("validate", "--base", "main")
    assert result.exit_code == 2
    assert "Invalid value for '--base': no git repository here: not a git repository" in result.stderr
    assert result.stderr.endswith("\nHint: run trainc where the repository is checked out.\n")


SETTINGS = """\
environments:
  prod:
    registries: {docker.io: mirror.example.com/hub}
    patches:
    - target: {kind: JobSet}
      patch: {spec: {replicatedJobs: [{name: node, template: {spec: {backoffLimit: 3}}}]}}
  test:
    namespaces: {a: a-test}
    imagePullSecrets: [registry]
"""
DIGEST = "sha256:" + 64 * "a"
LOCKED = f"images:\n  docker.io/library/busybox:1: {DIGEST}\n"


@pytest.mark.parametrize(
    "change",
    [
        ("trainc.yaml", "hub}", "spoke}", 3),
        ("trainc.yaml", "    registries: {docker.io: mirror.example.com/hub}\n", "", 2),
        ("trainc.yaml", "backoffLimit: 3", "backoffLimit: 4", 6),
        ("trainc.yaml", "    imagePullSecrets: [registry]\n", "", 7),
        ("trainc.yaml", "[registry]", "[registry, other]", 9),
        ("images.lock.yaml", "aaaaaa", "bbbbbb", 2),
        ("images.lock.yaml", f"images:\n  docker.io/library/busybox:1: {DIGEST}\n", "images: {}\n", 1),
        ("runtimes/plain.yaml", "    numNodes: 2\n", "", 6),
    ],
)
def test_a_finding_stands_at_the_line_that_changed(
    repository: Path, run: Run, change: tuple[str, str, str, int]
) -> None:
    file, old, new, line = change
    texts = {
        "trainc.yaml": SETTINGS,
        "images.lock.yaml": LOCKED,
        "runtimes/plain.yaml": RUNTIME.replace("example.com/img:1", "busybox:1").replace(
            "spec:\n  template:", "spec:\n  mlPolicy:\n    numNodes: 2\n    torch: {}\n  template:", 1
        ),
        PATH: job("one"),
    }
    for name, text in texts.items():
        put(repository, name, text)
    again(repository, run)
    assert old in texts[file]
    put(repository, file, texts[file].replace(old, new))
    found = json.loads(run("validate", "--base", "HEAD", "--format", "json").stdout)
    assert found
    assert {(one["code"], one["file"], one["line"]) for one in found} == {("TC204", file, line)}
