"""`trainc policy test`, and policies in validate and render."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from small import Run, job, put, tree

from builders import policy
from gitrepo import commit, needs_git

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
DENIED = "[no more than four nodes]"


def few(operations: str = "[CREATE]") -> str:
    return policy("few", RULE, "no more than four nodes", operations=operations)


def case(nodes: int, expect: str, name: str = "a test") -> str:
    return TEST.replace("NODES", str(nodes)).replace("EXPECT", expect).replace("NAME", name)


@pytest.fixture(autouse=True)
def policies(repository: Path) -> Path:
    put(repository, "policies/few.yaml", few())
    return repository


def test_all_pass(repository: Path, run: Run) -> None:
    put(repository, "policies/tests/few.yaml", case(5, DENIED))
    result = run("policy", "test")
    assert (result.exit_code, result.stdout) == (0, "policies/tests/few.yaml\n  ok    a test\n")
    assert result.stderr == "1 test passed\n"


def test_what_fails(repository: Path, run: Run) -> None:
    put(repository, "policies/tests/few.yaml", case(4, DENIED))
    result = run("policy", "test")
    assert result.exit_code == 1
    assert "  FAIL  a test\n" in result.stdout
    assert "error[TC505]: test 'a test': policy 'few' does not give the expected result" in result.stdout
    assert "warning[TC506]: there is no test in which policy 'few' fails" in result.stdout
    assert result.stderr.endswith("1 of 1 test failed\n")


def test_some_files_only(repository: Path, run: Run) -> None:
    put(repository, "policies/tests/good.yaml", case(4, "pass"))
    put(repository, "policies/tests/bad.yaml", case(9, "pass"))
    result = run("policy", "test", "policies/tests/good.yaml")
    assert (result.exit_code, result.stderr) == (0, "1 test passed\n"), "and nothing of what no test shows"
    assert run("policy", "test").exit_code == 1


def test_for_a_ci(repository: Path, run: Run) -> None:
    put(repository, "policies/tests/few.yaml", case(4, DENIED) + case(5, DENIED, "another").removeprefix("tests:\n"))
    result = run("policy", "test", "--format", "junit")
    assert result.exit_code == 1
    root = ElementTree.fromstring(result.stdout)
    assert {name: root.get(name) for name in ("tests", "failures")} == {"tests": "2", "failures": "1"}
    failed = [each.get("name") for each in root.iter("testcase") if each.find("failure") is not None]
    assert failed == ["a test"]
    found = json.loads(run("policy", "test", "--format", "json").stdout)
    assert [finding["code"] for finding in found] == ["TC505"]


def test_without_tests(run: Run) -> None:
    result = run("policy", "test")
    assert result.exit_code == 2
    assert "error[TC014]: no test of a policy here" in result.stdout


def test_a_denied_job_is_not_written(repository: Path, run: Run) -> None:
    text = job("one").replace("  trainer: {}\n", "  trainer: {numNodes: 5}\n")
    put(repository, "jobs/a/one.yaml", text)
    before = tree(repository)
    result = run("render")
    assert result.exit_code == 1
    assert (
        "jobs/a/one.yaml:6:13: error[TC501]: policy 'few' denies the JobSet: no more than four nodes" in result.stdout
    )
    assert tree(repository) == before


@needs_git
def test_an_update(repository: Path, run: Run) -> None:
    put(repository, "policies/few.yaml", few("[UPDATE]"))
    put(repository, "jobs/a/one.yaml", job("one").replace("  trainer: {}\n", "  trainer: {numNodes: 5}\n"))
    assert run("render").exit_code == 0, "nothing is there, so all is created"
    commit(repository)
    assert run("validate").exit_code == 0
    result = run("validate", "--base", "HEAD")
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if "]: " in line] == [
        "jobs/a/one.yaml:6:13: error[TC501]: policy 'few' denies the JobSet: no more than four nodes"
    ]


def test_kinds_of_crds(repository: Path, run: Run) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                }
            ],
        },
    }
    put(repository, "crds/widgets.yaml", json.dumps(crd))
    put(repository, "policies/few.yaml", few().replace("jobset.x-k8s.io", "'*'").replace("jobsets", "'*'"))
    widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: x}, size: 3}"
    expected = "[{outcome: error, message: \"expression 'EXPR' resulted in error: no such key: spec\"}]"
    expected = expected.replace("EXPR", "object.spec.replicatedJobs.all(job, job.template.spec.parallelism <= 4)")
    text = f"tests:\n- name: a widget\n  object: {widget}\n  expect: {{few: {expected}}}\n"
    put(repository, "policies/tests/few.yaml", text)
    assert run("policy", "test", "--crd-dir", "crds").exit_code == 0
    assert "unknown kind Widget in example.com/v1" in run("policy", "test").stdout
