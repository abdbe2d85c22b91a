"""No change hides behind one that looks harmless: a rename, a long line, a longer list."""

from __future__ import annotations

from json import dumps
from typing import Any

from trainc.changes import compare, formats
from trainc.project.files import OWNED


def jobset(name: str, container: dict[str, Any], script: str = "") -> dict[str, bytes]:
    pod = {"template": {"spec": {"containers": [{"name": "node", "image": "x:1", **container}]}}}
    objects = {
        "jobset": {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": pod}}]},
        }
    }
    if script:
        objects["configmap"] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"run.sh": script}}
    return {
        f"out/prod/a/{name}/{kind}-{name}.yaml": OWNED
        + f"jobs/a/{name}.yaml\n".encode()
        + dumps({**data, "metadata": {"name": name, "namespace": "a"}}).encode()
        for kind, data in objects.items()
    }


def test_a_renamed_job_that_runs_a_program_of_its_name() -> None:
    before = jobset("train", {"image": "example.com/train:1", "command": ["python", "train.py"]})
    after = jobset("other", {"image": "example.com/other:1", "command": ["python", "other.py"]})
    shown = formats.as_text(compare(before, after))
    assert shown.startswith("> prod/a/other: renamed, runs again: was prod/a/train\n")
    assert "    image (node): example.com/train:1 -> example.com/other:1\n" in shown
    assert "    command (node): train.py -> other.py\n" in shown
    assert '.containers[node].command[1]\n- "train.py"\n+ "other.py"\n' in shown


def test_a_renamed_job_whose_script_changes() -> None:
    before, after = jobset("train", {}, "run this\n"), jobset("other", {}, "run that\n")
    shown = formats.as_text(compare(before, after))
    assert "> prod/a/other: renamed, runs again: was prod/a/train\n" in shown
    assert '  data["run.sh"]\n- run this\n+ run that\n' in shown
