"""Reads a YAML document of a page, or a part of one, with the code that reads it in a repository."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from example import ROOT
from ruamel.yaml import YAML

from trainc import Options, Severity, Source, compile
from trainc.cli.root import trainc
from trainc.inputs.imagelock import LockFile
from trainc.inputs.settings import ConfigFile, Environment, read_settings
from trainc.project.config import parse

JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "train"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"image": "registry.example.com/train:1"}},
}
RUNTIME = YAML(typ="safe").load((ROOT / "runtimes" / "mpi-distributed-kubexec.yaml").read_text(encoding="utf-8"))
"""What a part of a TrainJob or of a runtime is added to."""

WORKFLOW = {"name", "on", True, "permissions", "jobs", "env", "concurrency", "defaults", "run-name"}
STEP = {"name", "id", "if", "uses", "with", "run", "env", "shell", "working-directory", "continue-on-error"}
GITLAB_JOB = {"script", "artifacts", "stage", "image", "rules", "variables", "cache", "needs", "before_script"}
PRE_COMMIT_HOOK = {"id", "args", "files", "stages", "name"}


def read_document(text: str, root: Path) -> list[str]:
    """Read the documents of a block as their reader would; return the commands in them. Raises AssertionError."""
    commands = []
    for data in YAML(typ="safe", pure=True).load_all(text):
        commands += _read(data, text, root)
    return commands


def _read(data: Any, text: str, root: Path) -> list[str]:
    if data is None:
        assert re.match(r"# yaml-language-server: \$schema=\S+\n$", text), text
    elif isinstance(data, list):
        return [command for step in data for command in _step(step)]
    elif "kind" in data or set(data) <= {"metadata", "spec", "command", "args"}:
        _object(data, text)
    elif "repos" in data:
        for hook in (hook for repository in data["repos"] for hook in repository["hooks"]):
            assert set(hook) <= PRE_COMMIT_HOOK, hook
    elif "jobs" in data and set(data) <= WORKFLOW:
        return [command for job in data["jobs"].values() for step in job.get("steps", ()) for command in _step(step)]
    elif all(isinstance(job, dict) and set(job) <= GITLAB_JOB for job in data.values()):
        return [command for job in data.values() for command in job["script"]]
    elif set(data) == {"include"}:
        assert all(set(file) <= {"remote", "inputs"} for file in data["include"])
    elif set(data) == {"tests"}:
        _policy_tests(text, root)
    elif set(data) == {"images"}:
        _lock(text, root)
    else:
        _configuration(data, text)
    return []


def _step(step: dict[str, Any]) -> list[str]:
    assert set(step) <= STEP and ("uses" in step) != ("run" in step), step
    return step["run"].splitlines() if "run" in step else []


def _object(data: dict[str, Any], text: str) -> None:
    """Compile a TrainJob, a runtime or another object; a part of one is first completed."""
    whole = [text]
    if data.get("kind", "TrainJob") == "TrainJob" and not (data.get("metadata", {}).get("name") and "spec" in data):
        if "template" in data.get("spec", {}):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **data["spec"]["template"]}
            whole = [json.dumps(pod)]
        else:
            part = data if {"spec", "metadata", "kind"} & set(data) else {"spec": {"trainer": data}}
            whole = [json.dumps(_merged(base, part)) for base in (JOB, RUNTIME)]
    assert any(_errors(one) == [] for one in whole), text


def _errors(text: str) -> list[str]:
    build = compile([Source("document.yaml", text)], Options(fixes=()))
    return [str(finding) for finding in build.findings if finding.severity is Severity.ERROR]


def _merged(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: _merged(one.get(key), value) for key, value in other.items()}}


def _configuration(data: dict[str, Any], text: str) -> None:
    """Read trainc.yaml, or the options of one environment."""
    top = {*_keys(ConfigFile)}
    if not set(data) <= top:
        assert set(data) <= {*_keys(Environment)}, f"nothing reads {sorted(map(str, data))}"
        text = "environments:\n  prod:\n" + re.sub(r"(?m)^", "    ", text)
    config, findings = parse(Source("trainc.yaml", text))
    assert findings == ()
    for name in config.data.get("environments", ()):
        read_settings(config.data, name)


def _keys(kind: Any) -> tuple[str, ...]:
    return tuple(kind.__struct_encode_fields__)


def _policy_tests(text: str, root: Path) -> None:
    path = root / "policies" / "tests" / "of-the-page.yaml"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(trainc, ["policy", "test", "--root", str(root), str(path)])
    assert result.exit_code == 0, result.output


def _lock(text: str, root: Path) -> None:
    assert set(LockFile.__struct_encode_fields__) == {"images"}
    path = root / "images.lock.yaml"
    before = path.read_bytes() if path.exists() else None
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(trainc, ["image", "lock", "--check", "--root", str(root)])
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    path.unlink() if before is None else path.write_bytes(before)
