"""Output is inert: no name, value or text of an input acts on a terminal, or commands the runner of a CI job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from ruamel.yaml import YAML
from small import Run, job, put

from builders import policy
from gitrepo import commit, needs_git

OUTPUT = "::set-output name=approved::true"
GROUP = "##[group]x"
AZURE = "##vso[task.setvariable variable=x]y"
NAMES = (
    f"x\n{OUTPUT}",
    f"{OUTPUT}\r\n \t{OUTPUT}",
    f"a {GROUP}{AZURE} ##teamcity[x]",
    "a\x1b]0;title\x07b\u202ec\u2066d\u0085e\u2028f\x9bg\x7f",
)
FORMATS = ("text", "json", "sarif", "github", "junit", "codequality")
OURS = re.compile(r"::(error|warning|notice) (file=|title=TC[0-9]{3} )")


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
    assert "##[" not in text
    assert "##vso[" not in text
    assert "##teamcity[" not in text
    for line in text.splitlines():
        begins = line.strip()
        assert not begins.startswith("::") or (annotations and OURS.match(begins)), line
    assert [char for char in text if not char.isprintable() and char not in "\n\t"] == []


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
    put(repository, f"jobs/a/{name}.yaml", "kind: [\n")
    put(repository, f"jobs/{name}/b.yaml", job(extra="  strange: 1\n"))
    put(repository, "jobs/a/values.yaml", json.dumps({"kind": name, name: name}))
    found = check(run, "validate", "--format", format_)
    assert "TC0" in found
    if format_ in ("json", "sarif", "codequality"):
        json.loads(found)
    if format_ == "junit":
        fromstring(found)
    check(run, "build", str(repository / "jobs" / "a" / f"{name}.yaml"), "--format", format_)


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
