"""`trainc policy test`, and policies in validate and render."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from small import Run, put

from builders import policy

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
