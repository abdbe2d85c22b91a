"""Output is inert: no name, value or text of an input acts on a terminal, or commands the runner of a CI job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from ruamel.yaml import YAML
from small import RUNTIME, Run, job

from builders import policy
from folders import put
from gitrepo import commit, needs_git
from readers import Page, runner, terminal
from trainc.findings.display import is_shown

OUTPUT = "::set-output name=approved::true"
GROUP = "##[group]x"
AZURE = "##vso[task.setvariable variable=x]y"
NAMES = (
    f"x\n{OUTPUT}",
    f"{OUTPUT}\r\n \t{OUTPUT}",
    f"a {GROUP}{AZURE} ##teamcity[x]",
    "a\x1b]0;title\x07b\u202ec\u2066d\u0085e\u2028f\x9bg\x7f\u3164\u034f\ufe0f",
)
FORMATS = ("text", "json", "sarif", "github", "junit", "codequality")
DRAWN = 8_000
"""The most characters that are drawn on a terminal, which takes a second for a log of SARIF."""

OLD_JOB = """\
# \u202e a comment ##[error]x
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: old, namespace: a, annotations: {b: NAME}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/img:1
            args:
            - |
              ::error::x
              ##[error]y
"""


RULE = "object.spec.replicatedJobs.all(job, job.template.spec.parallelism <= 4)"
TEST = """\
tests:
- name: NAME
  object:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: train}
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {parallelism: NODES, template: {spec: {containers: [{name: node, image: "i:1"}]}}}}
  expect:
    few: EXPECT
"""


def few(operations: str = "[CREATE]") -> str:
    return policy("few", RULE, "no more than four nodes", operations=operations)


def case(nodes: int, expect: str, name: str = "a test") -> str:
    return TEST.replace("NODES", str(nodes)).replace("EXPECT", expect).replace("NAME", name)


def assert_inert(text: str, *, annotations: bool = False) -> None:
    for command in runner(text):
        assert annotations, command
        assert command.name in ("error", "warning", "notice")
        assert re.match(r"TC[0-9]{3} ", command.properties["title"]), command
    assert is_shown(text.replace("\n", "").replace("\t", ""))
    if len(text) < DRAWN:
        terminal(text)


def check(run: Run, *args: str, stdin: bytes | None = None) -> str:
    """Run a command; return what it writes on both streams, which is inert."""
    result = run(*args, stdin=stdin)
    assert_inert(result.stdout, annotations="github" in args)
    assert_inert(result.stderr, annotations="github" in args)
    return result.stdout + result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_names_below_out(name: str, repository: Path, run: Run) -> None:
    run("render")
    path = next(repository.glob("out/prod/a/one/*.yaml"))
    put(repository, f"out/prod/a/{name}/jobset-one.yaml", path.read_text())
    put(repository, f"out/prod/a/one/{name}.yaml", path.read_text())
    assert "name=approved" in check(run, "render", "--check") or OUTPUT not in name
    check(run, "render", "-v")


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_names_below_jobs(name: str, format_: str, repository: Path, run: Run) -> None:
    put(repository, f"jobs/a/{name}\udcff.yaml", "kind: [\n")
    put(repository, f"jobs/{name}/b.yaml", job(extra="  strange: 1\n"))
    put(repository, "jobs/a/values.yaml", json.dumps({"kind": name, name: name}))
    found = check(run, "validate", "--format", format_)
    assert "TC0" in found
    if format_ in ("json", "sarif", "codequality"):
        json.loads(found)
    if format_ == "junit":
        fromstring(found)
    check(run, "build", str(repository / "jobs" / "a" / f"{name}\udcff.yaml"), "--format", format_)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_tests_of_policies(name: str, format_: str, repository: Path, run: Run) -> None:
    put(repository, "policies/few.yaml", few())
    put(repository, f"policies/tests/{name}.yaml", case(9, "pass", json.dumps(name)))
    put(repository, "policies/tests/ok.yaml", case(1, "pass", json.dumps(name)))
    assert "TC505" in check(run, "policy", "test", "--format", format_)


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_file_system(name: str, repository: Path, run: Run) -> None:
    put(repository, f"out/prod/{name}", "in the way")
    put(repository, "jobs/c/four.yaml", job("four"))
    put(repository, "trainc.yaml", json.dumps({"environments": {name: {}, "prod": {}}}))
    check(run, "render")
    check(run, "render", "--env", name)
    check(run, "validate", f"nothing/{name}")
    check(run, "image", "verify", name)
    check(run, "image", "lock", f"{name}=sha256:{'0' * 64}")
    check(run, "image", "build", name)
    check(run, "diff", "--base", name)
    check(run, name)
    check(run, "cmp")


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str, repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", "severities: {TC615: ignore}\nenvironments: {prod: {}}\n")
    value = json.dumps(name)
    script = json.dumps(f"set -e\n{name}\n  {OUTPUT}\nend\n")
    extra = "  managedBy: trainer.kubeflow.org/trainjob-controller\n"
    text = job(extra=extra).replace(
        "  trainer: {}", f"  trainer: {{args: [{value}, {script}], env: [{{name: A, value: {value}}}]}}"
    )
    path = put(
        repository, "jobs/a/value.yaml", text.replace("{name: job}", f"{{name: value, annotations: {{a: {value}}}}}")
    )
    plain, wrapped = check(run, "build", str(path)), check(run, "build", str(path), "-o", "json")
    listed = json.loads(wrapped)["items"]
    read = [dict(each) for each in YAML(typ="safe", pure=True).load_all(plain)]
    assert read == listed
    assert [name, f"set -e\n{name}\n  {OUTPUT}\nend\n"] in [
        container.get("args")
        for each in listed
        if each["kind"] == "JobSet"
        for container in each["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    ]
    check(run, "explain", "a/value")
    check(run, "explain", "a/value", "env[name=A]")
    assert json.loads(check(run, "explain", "a/value", "-o", "json"))
    check(run, "explain", "a/value", name)
    check(run, "explain", f"a/{name}")
    check(run, "explain", name)


@pytest.mark.parametrize("name", NAMES)
def test_cel(name: str, repository: Path, run: Run) -> None:
    value = json.dumps(name)
    text = f"apiVersion: v1\nkind: {value}\nmetadata: {{name: {value}}}\n"
    path = put(repository, "object.yaml", f"{text}---\n{text}")
    check(run, "cel", "object", "--object", str(path))
    first, _ = check(run, "cel", "object.kind", "--object", str(path), "-o", "json").splitlines()
    assert json.loads(first)["value"] == name
    check(run, "cel", name)
    check(run, "cel", "object[object.kind]", "--object", str(path))
    check(
        run, "cel", "--jsonl", stdin=json.dumps({"expr": value, name: 1, "id": name}).encode() + f"\n{name}\n".encode()
    )


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_printed(name: str, repository: Path, run: Run) -> None:
    value = json.dumps(name)
    text = OLD_JOB.replace("NAME", value)
    old = put(repository, "old.yaml", text)
    check(run, "import", str(old))
    printed = YAML(typ="safe", pure=True).load(run("import", str(old)).stdout)
    assert printed["metadata"]["annotations"]["b"] == name
    assert printed["spec"]["trainer"]["args"] == ["::error::x\n##[error]y\n"]
    mine = RUNTIME.replace("name: plain", f"name: mine\n  annotations: {{trainc.dev/description: {value}}}")
    put(repository, "runtimes/mine.yaml", f"# {name!a} \u202e ##[error]x\n{mine}")
    for arguments in (("runtimes",), ("runtimes", "mine"), ("runtimes", "-o", "json"), ("new", "job", "x", "-o", "-")):
        check(run, *arguments, *(("-n", "a", "--runtime", "mine") if arguments[0] == "new" else ()))
    page = run("report", "-o", "-").stdout
    assert runner(page) == []
    assert Page(page).open == []


@pytest.mark.parametrize("name", NAMES)
def test_changes_to_files(name: str, repository: Path, run: Run) -> None:
    put(
        repository, f"jobs/a/{name}.yaml", f"# \u202e ::error::x\n# {name!a}\n" + job("six", extra="  suspendd: true\n")
    )
    shown = check(run, "fix", "--diff", "--unsafe")
    assert [line[:6] for line in shown.splitlines() if line.startswith(("--- ", "+++ "))] in ([], ["--- a/", "+++ b/"])
    check(run, "rerun", "--diff", "a/six")
    unknown = run("explain", "a/one", f"metadata.{name}")
    assert_inert(unknown.stderr)
    assert [line.partition(" ")[0] for line in unknown.stderr.splitlines() if line] == [
        "Usage:",
        "Try",
        "Error:",
        "Hint:",
    ]


def test_an_internal_error(run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_named: object) -> None:
        raise ValueError("\n".join(NAMES))

    monkeypatch.setattr("trainc.cli.validate.read_tree", fail)
    assert "TC902" in check(run, "validate")
    assert "Traceback" in check(run, "validate", "-v")


@needs_git
@pytest.mark.parametrize("output", ["text", "markdown", "json"])
@pytest.mark.parametrize("name", NAMES)
def test_diff(name: str, output: str, repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("render")
    commit(repository)
    value = json.dumps(name)
    path = next(repository.glob("out/prod/a/one/*.yaml"))
    text = path.read_text().replace("image: example.com/img:1", f"image: {value}")
    assert value in text
    put(repository, f"out/prod/a/{name}/jobset-one.yaml", text)
    path.write_text(text)
    shown = check(run, "diff", "-o", output)
    assert "1 created" in shown or output == "json"
