"""`trainc validate --base`, with a repository whose first commit holds what trainc rendered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import RUNTIME, Run, job, put, tree

from gitrepo import commit, git, needs_git

pytestmark = needs_git
PATH = "jobs/a/one.yaml"
NODES = "  trainer:\n    numNodes: {}\n"
DATABASE = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: stores.example.com}
spec:
  group: example.com
  names: {kind: Store, plural: stores}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size:
                  type: integer
                  x-kubernetes-validations:
                    - rule: "!oldSelf.hasValue() || self >= oldSelf.value()"
                      optionalOldSelf: true
                      message: a store does not shrink
"""


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


def test_nothing_has_changed(repository: Path, run: Run, base: str) -> None:
    before = tree(repository)
    result = run("validate", "--base", base)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 TrainJob is valid\n")
    assert tree(repository) == before


def test_a_job_changes_its_jobset(repository: Path, run: Run) -> None:
    put(repository, PATH, trainjob(4))
    assert run("validate").exit_code == 0, "without a base there is nothing to see"
    assert run("validate", "--base", "HEAD").exit_code == 1
    assert heads(run) == [
        "jobs/a/one.yaml:7:5: warning[TC202]: spec.trainer.numNodes has changed: field is immutable",
        "jobs/a/one.yaml:7:5: error[TC204]: the JobSet is refused: spec.replicatedJobs[0].template.spec.completions has"
        " changed (also spec.replicatedJobs[0].template.spec.parallelism): field is immutable",
    ]


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


def test_a_runtime_changes_the_jobsets_of_all_its_jobs(repository: Path, run: Run) -> None:
    put(repository, "jobs/b/two.yaml", job("two"))
    again(repository, run)
    put(repository, "runtimes/plain.yaml", RUNTIME.replace("img:1", "img:2"))
    assert heads(run) == [
        "runtimes/plain.yaml:19:23: error[TC204]: the JobSet is refused: spec.replicatedJobs[0].template.spec.template"
        ".spec.containers[0].image has changed: field is immutable (in 2 TrainJobs: a/one and b/two)"
    ]


def test_jobs_of_different_runs_have_different_ways_forward(repository: Path, run: Run) -> None:
    for name, second in (("two", "2"), ("three", "2"), ("four", "7")):
        text = job(name).replace(f"name: {name}", f"name: {name}, annotations: {{trainc.dev/run: '{second}'}}")
        put(repository, f"jobs/b/{name}.yaml", text)
    again(repository, run)
    put(repository, "runtimes/plain.yaml", RUNTIME.replace("img:1", "img:2"))
    found = json.loads(run("validate", "--base", "HEAD", "--format", "json").stdout)
    told = {item["hint"].partition("run: ")[2][:3]: item["message"].partition("immutable")[2] for item in found}
    assert told == {'"2"': "", '"3"': " (in 2 TrainJobs: b/three and b/two)", '"8"': ""}


def test_what_was_there_and_is_gone(repository: Path, run: Run) -> None:
    put(repository, PATH, trainjob(2, "    env: [{name: A, value: a}, {name: B, value: b}]\n"))
    again(repository, run)
    put(repository, PATH, trainjob(2, "    env: [{name: B, value: b}]\n"))
    head = (
        "jobs/a/one.yaml:8:5: error[TC204]: the JobSet is refused: spec.replicatedJobs[0].template.spec.template.spec"
    )
    assert f"{head}.containers[0].env[0] was removed: field is immutable" in heads(run)
    put(repository, PATH, trainjob().replace("    numNodes: 2\n", "    args: [a]\n"))
    assert [head.partition("]")[0] for head in heads(run)] == [
        "jobs/a/one.yaml:6:3: error[TC204",  # env and numNodes are gone: at what they were in
        "jobs/a/one.yaml:7:5: warning[TC202",
        "jobs/a/one.yaml:7:5: error[TC204",
    ]
    (repository / PATH).unlink()
    put(repository, "jobs/a/new.yaml", job("new"))
    assert heads(run) == [], "an object of another name, and one that is gone"


def test_another_order_of_jobs(repository: Path, run: Run) -> None:
    jobs = RUNTIME.partition("      replicatedJobs:\n")[2]
    other = jobs.replace("name: node\n          template", "name: other\n          template", 1).replace(
        ": trainer", ": other"
    )
    start = RUNTIME.removesuffix(jobs)
    put(repository, "runtimes/plain.yaml", start + jobs + other)
    again(repository, run)
    put(repository, "runtimes/plain.yaml", start + other + jobs)
    (found,) = heads(run)
    assert "the JobSet is refused: spec.replicatedJobs has changed: field is immutable" in found


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


@pytest.mark.parametrize("lines", ["ttlSecondsAfterFinished: 60", "failurePolicy: {maxRestarts: 1}"])
def test_what_a_runtime_may_change_of_a_jobset(repository: Path, run: Run, lines: str) -> None:
    put(
        repository,
        "runtimes/plain.yaml",
        RUNTIME.replace("      replicatedJobs", f"      {lines}\n      replicatedJobs"),
    )
    put(repository, "trainc.yaml", "environments: {prod: {argocd: {automated: false}}}\n")
    assert heads(run) == [], "failurePolicy may come, and not change"
    again(repository, run)
    put(repository, "runtimes/plain.yaml", (repository / "runtimes/plain.yaml").read_text().replace("1}", "2}"))
    assert len(heads(run)) == (2 if "failurePolicy" in lines else 0)


def test_a_stale_output_counts_as_it_was_committed(repository: Path, run: Run) -> None:
    put(repository, PATH, trainjob(4))
    commit(repository)
    assert [head.partition("]")[0] for head in heads(run)] == ["jobs/a/one.yaml:7:5: error[TC204"]


def test_each_environment_has_its_own_output(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", "environments: {prod: {}, test: {}}\n")
    put(repository, PATH, trainjob(4))
    assert [head.partition("]")[0] for head in heads(run)][1:] == ["jobs/a/one.yaml:7:5: error[TC204"]
    again(repository, run)
    for name in (repository / "out/prod").rglob("*.yaml"):
        name.unlink()
    commit(repository)
    put(repository, PATH, trainjob(8))
    assert "HEAD:out/test/a/one/jobset-one.yaml" in run("validate", "--base", "HEAD").stdout


def test_a_rule_of_a_crd_given(repository: Path, run: Run) -> None:
    put(repository, "crds/store.yaml", DATABASE)
    store = "apiVersion: example.com/v1\nkind: Store\nmetadata: {name: s}\nspec: {size: 5}\n"
    put(repository, "runtimes/store.yaml", store)
    assert heads(run, "--crd-dir", "crds") == [], "a new object"
    commit(repository)
    put(repository, "runtimes/store.yaml", store.replace("5", "4"))
    assert heads(run, "--crd-dir", "crds") == [
        "runtimes/store.yaml:4:8: error[TC202]: spec.size has changed: a store does not shrink"
    ]
    put(repository, "runtimes/store.yaml", store.replace("5", "6"))
    assert heads(run, "--crd-dir", "crds") == []


def test_a_file_that_lies_elsewhere(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repository, "crds/store.yaml", DATABASE)
    store = "apiVersion: example.com/v1\nkind: Store\nmetadata: {name: s}\nspec: {size: 5}\n"
    put(repository, "stores/deep/store.yaml", store)
    commit(repository)
    put(repository, "stores/deep/store.yaml", store.replace("5", "4"))
    expected = ["stores/deep/store.yaml:4:8: error[TC202]: spec.size has changed: a store does not shrink"]
    assert heads(run, "--crd-dir", "crds", "stores") == expected
    monkeypatch.chdir(repository / "stores")
    assert heads(run, "--crd-dir", "../crds", "deep/store.yaml") == expected


def test_some_paths(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repository, PATH, trainjob(4))
    put(repository, "jobs/b/other.yaml", job("other"))
    assert len(heads(run, PATH)) == 2
    assert heads(run, "jobs/b") == []
    monkeypatch.chdir(repository / "jobs/a")
    assert len(heads(run, "one.yaml")) == 2, "from a folder below, too"


def test_a_comment_needs_a_base_to_be_of_use(repository: Path, run: Run) -> None:
    text = trainjob(4).replace(
        "    numNodes", "    # trainc: ignore TC202 a new name comes with the merge\n    numNodes"
    )
    put(repository, PATH, text)
    assert run("validate").stdout == ""
    assert ["TC204" in head for head in heads(run) if "TC522" not in head] == [True]
    put(repository, PATH, text.replace("numNodes: 4", "numNodes: 2"))
    assert run("validate").stdout == ""
    assert ["TC017" in head for head in heads(run) if "TC522" not in head] == [True]


def test_a_revision_that_is_none(repository: Path, run: Run) -> None:
    result = run("validate", "--base", "nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        "Error: Invalid value for '--base': no revision 'nowhere' here.\nHint: git rev-parse --verify must know it.\n"
    )


def test_no_repository(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "plain"
    put(root, PATH, job("one"))
    monkeypatch.chdir(root)
    result = run("validate", "--base", "main")
    assert result.exit_code == 2
    assert "Invalid value for '--base': no git repository here: not a git repository" in result.stderr
    assert result.stderr.endswith("\nHint: run trainc where the repository is checked out.\n")


def test_the_base_as_git_knows_it(repository: Path, run: Run) -> None:
    git(repository, "tag", "v1")
    put(repository, PATH, trainjob(4))
    commit(repository)
    assert "v1:jobs/a/one.yaml:7:5" in run("validate", "--base", "v1").stdout
    assert "HEAD~1:jobs/a/one.yaml:7:5" in run("validate", "--base", "HEAD~1").stdout


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
