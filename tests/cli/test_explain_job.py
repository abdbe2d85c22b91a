"""`trainc explain NAMESPACE/JOB` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import Run, job, put

IMAGE = "spec.replicatedJobs[0].template.spec.template.spec.containers[0].image"


def test_one_field(repository: Path, run: Run) -> None:
    result = run("explain", "a/one", "spec.replicatedJobs[node].template.spec.template.spec.containers[node].image")
    assert result.exit_code == 0
    assert result.stdout == (
        f"JobSet a/one: {IMAGE}\n  value   example.com/img:1\n  origin  runtime plain  runtimes/plain.yaml:19\n"
    )


@pytest.mark.parametrize(
    ("policy", "variable"), [("torch: {}", "PET_NNODES"), ("jax: {}", "JAX_NUM_PROCESSES")], ids=["torch", "jax"]
)
@pytest.mark.parametrize("field", ["{}", "env[name={}]"])
def test_the_variable_of_the_number_of_nodes(
    repository: Path, run: Run, policy: str, variable: str, field: str
) -> None:
    runtime = (repository / "runtimes/plain.yaml").read_text()
    put(
        repository,
        "runtimes/plain.yaml",
        runtime.replace("spec:\n", f"spec:\n  mlPolicy: {{numNodes: 3, {policy}}}\n", 1),
    )
    put(repository, "jobs/a/one.yaml", job("one").replace("trainer: {}", "trainer:\n    numNodes: 2"))
    put(repository, "jobs/a/two.yaml", job("two").replace("trainer: {}", "trainer: {numProcPerNode: 1}"))

    def lines(name: str) -> list[list[str]]:
        return [line.split() for line in run("explain", name, field.format(variable)).stdout.splitlines()]

    assert lines("a/one")[-1] == ["value:", '"2"', "trainjob", "one", "jobs/a/one.yaml:7"]
    assert lines("a/two")[-1] == ["value:", '"3"', "runtime", "plain", "runtimes/plain.yaml:6"]
    assert lines("a/two")[-2][:3] == ["-", "name:", variable]


def test_a_variable_that_replaces_the_number_of_nodes(repository: Path, run: Run) -> None:
    runtime = (repository / "runtimes/plain.yaml").read_text()
    put(repository, "runtimes/plain.yaml", runtime.replace("spec:\n", "spec:\n  mlPolicy: {numNodes: 3, jax: {}}\n", 1))
    text = 'trainer:\n    numNodes: 2\n    env:\n    - {name: JAX_NUM_PROCESSES, value: "7"}'
    put(repository, "jobs/a/one.yaml", job("one").replace("trainer: {}", text))
    last = run("explain", "a/one", "JAX_NUM_PROCESSES").stdout.splitlines()[-1]
    assert last.split() == ["value:", '"7"', "trainjob", "one", "jobs/a/one.yaml:9"]


def test_all_fields_are_aligned(repository: Path, run: Run) -> None:
    result = run("explain", "a/one")
    title, *lines = result.stdout.splitlines()
    assert title == "JobSet a/one"
    told = [line for line in lines if "runtimes/plain.yaml:" in line]
    assert len({line.index("runtimes/plain.yaml:") for line in told}) == 1
    assert "        template:" in lines
    assert any(line.startswith("  - name: node  ") for line in lines)
    assert any(line.split() == ["restartPolicy:", "OnFailure", "default", "JobSet", "webhook"] for line in lines)


def test_json(repository: Path, run: Run) -> None:
    (entry,) = json.loads(run("explain", "a/one", "image", "-o", "json").stdout)
    assert entry == {
        "object": {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "one", "namespace": "a"},
        "field": IMAGE,
        "path": ["spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "image"],
        "value": "example.com/img:1",
        "origin": {"kind": "runtime", "name": "plain", "file": "runtimes/plain.yaml", "line": 19, "column": 23},
        "replaced": [],
    }


def test_the_environment(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", "environments:\n  test: {jobs: [b]}\n  prod: {jobs: [a], queue: q}\n")
    (line,) = [line for line in run("explain", "a/one").stdout.splitlines() if "queue-name: q" in line]
    assert line.split()[2:] == ["environment", "queue", "trainc.yaml:3"]
    assert run("explain", "b/three", "--env", "test").exit_code == 0
    result = run("explain", "a/one", "--env", "test")
    assert result.exit_code == 2
    assert "a/one not found in environment test" in result.stderr
    assert run("explain", "a/one", "--env", "no").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("a/on",), "TrainJob 'a/on' not found in jobs/. Hint: did you mean 'a/one'?"),
        (("a/",), "TrainJob 'a/'"),
        (("/one",), "TrainJob '/one'"),
        (("../a/one",), "TrainJob '../a/one'"),
        (("a/b/c",), "TrainJob 'a/b/c'"),
        (("a/one", "spec.netwrok"), "netwrok not found in spec. Hint: did you mean 'network'?"),
        (("a/one", "spec.replicatedJobs[nod]"), "Hint: it has [name=node]"),
        (("a/one", "apiVersion.x"), "Hint: it is a value, not a mapping"),
        (("a/one", "configmap:data"), "the job has no object 'configmap'. Hint: it has jobset/one"),
        (("a/0-shared",), "not found in any environment"),
        (("TC101", "spec"), "FIELD is only allowed after NAMESPACE/JOB"),
        (("one",), "codes look like TC101, jobs like NAMESPACE/JOB"),
    ],
)
def test_what_is_not_there(repository: Path, run: Run, arguments: tuple[str, ...], told: str) -> None:
    result = run("explain", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in " ".join(result.stderr.split())


def test_what_jobs_share(repository: Path, run: Run) -> None:
    runtime = repository / "runtimes/plain.yaml"
    runtime.write_text(runtime.read_text() + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: account}\n")
    result = run("explain", "a/0-shared", "serviceaccount:metadata.name")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].split() == [
        "origin",
        "companion",
        "ServiceAccount",
        "account",
        "runtimes/plain.yaml:23",
    ]


def test_a_job_with_an_error(repository: Path, run: Run) -> None:
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    result = run("explain", "a/one")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "jobs/a/one.yaml:5:16: error[TC301]" in result.stderr
    assert run("explain", "a/two").exit_code == 0, "the others are not compiled"


def test_a_broken_trainc_yaml(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", "environment: {}\n")
    assert run("explain", "a/one").exit_code == 1
