"""`output: 1` of trainc.yaml: what cannot be changed of a JobSet stays as it is, whatever release renders it.

The folder output/1 holds that of a job for every runtime of Trainer's own and a few more: a release that made one of
them otherwise would have every such JobSet refused. A file there is never written anew, `--update` adds missing ones
only: another output needs another number, and a folder of its own beside this one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import role, runtime, trainjob
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, as_object
from trainc.gitops.immutable_configmaps import read_by_pods
from trainc.gitops.naming import immutable_part
from trainc.pipeline.runtimes import builtin_names
from trainc.project.config import parse

HERE = Path(__file__).parent / "output"
OUTPUTS = (1,)
NUMBERED = {"run": "2"}
TUNED = "{args: [dtype=bf16], numProcPerNode: 2}"
EXTRA = (
    runtime(
        role(trainer=True, image="example.com/flux:1", container=", command: [lmp]"),
        name="flux-and-gang",
        policy="{numNodes: 2, flux: {}}",
    ).replace("  template:", "  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 60}}\n  template:", 1)
    + "---\n"
    + runtime(
        role(image="example.com/mpi:1", container=", command: [sleep]"),
        role("launcher", trainer=True, image="example.com/mpi:1", container=", command: [mpirun]"),
        name="mpi-kubexec",
        metadata=", annotations: {trainc.dev/transport: kubexec}",
        policy="{mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}",
    )
)
CASES = (
    *((name, {}) for name in builtin_names()),
    ("flux-and-gang", {}),
    ("mpi-kubexec", {}),
    ("mlx-distributed", NUMBERED),
)


def rendered(output: int, runtime_name: str, notes: dict[str, str]) -> JsonObject:
    """Return what may not change under a number: names, and what of each object a cluster holds on to."""
    environment = "{transport: {image: 'example.com/kubectl:1'}}"
    config, findings = parse(
        Source("trainc.yaml", f"output: {output}\nfixes: recommended\nenvironments: {{prod: {environment}}}\n")
    )
    assert findings == ()
    annotations = "".join(f", annotations: {{trainc.dev/{key}: '{value}'}}" for key, value in notes.items())
    trainer = "{numNodes: 2, env: [{name: MODE, value: fast}]}" if not runtime_name.startswith("torchtune") else TUNED
    text = trainjob(runtime=runtime_name, metadata=f", namespace: team{annotations}", trainer=trainer)
    sources = [Source("jobs/team/job.yaml", text), Source("runtimes/extra.yaml", EXTRA)]
    build = compile(sources, Options(config=config.data, config_document=config.document))
    assert build.files, [finding.message for finding in build.findings]
    (jobset,) = (made for made in build.objects if made.kind == "JobSet")
    read = read_by_pods(jobset.data)
    return {
        "names": sorted(f"{made.kind} {made.name}" for made in build.objects if made.stem is None),
        "jobset": immutable_part(jobset.data),
        "configMaps": {
            made.name: made.data["data"] for made in build.objects if made.kind == "ConfigMap" and made.name in read
        },
    }


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize(("name", "notes"), CASES, ids=["-".join((name, *notes)) for name, notes in CASES])
def test_the_immutable_part_stays(output: int, name: str, notes: dict[str, str], update: bool) -> None:
    path = HERE / str(output) / f"{'-'.join((name, *notes))}.json"
    made = rendered(output, name, notes)
    if update and not path.exists():
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    assert made == json.loads(path.read_text(encoding="utf-8"))


def test_every_file_is_compared() -> None:
    for output in OUTPUTS:
        names = {path.stem for path in (HERE / str(output)).iterdir()}
        assert names == {"-".join((name, *notes)) for name, notes in CASES}


def test_the_number_is_one_that_there_is() -> None:
    _, findings = parse(Source("trainc.yaml", f"output: {max(OUTPUTS)}\n"))
    assert findings == ()
    for wrong in (0, max(OUTPUTS) + 1, "'1'"):
        _, findings = parse(Source("trainc.yaml", f"output: {wrong}\n"))
        assert [finding.path for finding in findings] == [("output",)]


def test_names_by_content_stay() -> None:
    """Another way to compute the hash would run all jobs again that are named by their content."""
    config = "output: 1\nfixes: recommended\nenvironments: {prod: {naming: content}}\n"
    options = Options(config=parse(Source("trainc.yaml", config))[0].data)
    jobs = [
        Source(f"jobs/team/{name}.yaml", trainjob(runtime=name, name=name, metadata=", namespace: team"))
        for name in ("mlx-distributed", "torch-distributed")
    ]
    names = [made.name for made in compile(jobs, options).objects if made.kind == "JobSet"]
    assert names == ["mlx-distributed-20978286", "torch-distributed-112e7d1c"]


def test_what_the_files_hold_is_what_is_frozen() -> None:
    part = rendered(1, "mlx-distributed", {})
    assert set(as_object(part["configMaps"])) == {"job-mpi-hostfile"}
    assert "replicatedJobs" in as_object(part["jobset"])
    assert "suspend" not in as_object(part["jobset"])
