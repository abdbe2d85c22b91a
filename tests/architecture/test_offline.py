"""No command that reads a pull request opens a socket, and the only program that one starts is git."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from builders import policy, runtime, trainjob
from folders import put
from gitrepo import commit, needs_git

pytestmark = needs_git

SCRIPT = Path(__file__).parent / "offline.py"
PACKAGE = SCRIPT.parents[2] / "compiler"

FILES = {
    "trainc.yaml": "environments: {prod: {}, stage: {}}\n",
    "policies/p.yaml": policy("few-nodes", "object.spec.replicatedJobs.all(job, job.template.spec.parallelism <= 4)"),
    "policies/tests/t.yaml": """\
tests:
- name: without jobs
  object: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, spec: {replicatedJobs: []}}
  expect: {few-nodes: pass}
""",
    "runtimes/rt.yaml": runtime(),
    "old.yaml": """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: old, namespace: a}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: "example.com/i:1"}]}}
""",
    **{f"jobs/a/j{number}.yaml": trainjob(f"j{number}") for number in range(4)},
    "jobs/a/odd.yaml": trainjob("odd", trainer="{numNods: 2}"),
}
GIT = ["subprocess.Popen git"]
COMMANDS: dict[str, tuple[int, list[str]]] = {
    "validate": (1, GIT),
    "fix": (0, []),
    "render --jobs 2": (0, GIT),
    "render --check": (0, GIT),
    "validate --base HEAD": (0, GIT),
    "diff": (0, GIT),
    "build jobs/a/j1.yaml": (0, []),
    "report": (0, GIT),
    "explain a/j1": (0, []),
    "import old.yaml": (0, []),
    "policy test": (0, []),
    "cel 1+1": (0, []),
    "rerun jobs/a/j1.yaml": (0, []),
}
"""Each command, its exit status, and the programs that it starts."""


def run(root: Path, commands: list[list[str]], *, script: str = "") -> dict[str, list[object]]:
    """Run commands under the hook; ``script`` runs before, as a part of trainc would."""
    command = [sys.executable, "-B", SCRIPT, PACKAGE] if not script else [sys.executable, "-B", "-c", script, PACKAGE]
    done = subprocess.run(
        command, cwd=root, input=json.dumps(commands), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[object]] = json.loads(done.stdout)
    return found


def test_nothing_but_git_is_started_and_no_socket_is_opened(tmp_path: Path) -> None:
    for name, text in FILES.items():
        put(tmp_path, name, text)
    commit(tmp_path)
    found = run(tmp_path, [command.split() for command in COMMANDS])
    assert {name: found[name] for name in COMMANDS if found[name][:2] != list(COMMANDS[name])} == {}


def test_the_hook_sees_what_it_is_for(tmp_path: Path) -> None:
    statements = "import os, socket, subprocess; subprocess.run(['true']); os.system('true'); socket.socket()"
    inside = f"import trainc.findings.codes as m; m.page = lambda code: exec({statements!r})"
    script = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import offline; {inside}; offline.main()"
    found = run(tmp_path, [["explain", "TC101"]], script=script)
    assert found["explain TC101"][:2] == [2, ["os.system", "socket.__new__", "subprocess.Popen true"]]
