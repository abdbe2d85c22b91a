"""What default output does and faithful does not, and how jobs of one run stand beside each other."""

from __future__ import annotations

import pytest

import builders
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, get

API = "apiVersion: trainer.kubeflow.org/v1alpha1"


def job(name: str = "j", spec: str = "", metadata: str = "", runtime: str = "torch-distributed") -> str:
    return (
        f"{API}\nkind: TrainJob\nmetadata: {{name: {name}{metadata}}}\n"
        f"spec: {{runtimeRef: {{name: {runtime}}}, trainer: {{}}{spec}}}\n"
    )


def runtime(name: str, image: str) -> str:
    return builders.runtime(builders.role(trainer=True, image=image), name=name, policy="{torch: {}}")


def made(*texts: str, faithful: bool = False) -> Build:
    return compile([Source(f"{i}.yaml", text) for i, text in enumerate(texts)], Options(faithful=faithful))


def jobset(build: Build) -> JsonObject:
    (found,) = [o.data for o in build.objects if o.kind == "JobSet"]
    return found


def errors(build: Build) -> list[str]:
    return [f.code for f in build.findings if f.severity == "error"]


QUEUE = ", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: high, team: a}"
RESERVED = ", labels: {kueue.x-k8s.io/prebuilt-workload-name: w}"


def test_suspend_is_written_only_where_it_is_true() -> None:
    assert "suspend" not in get(jobset(made(job())), "spec")  # type: ignore[operator]
    assert get(jobset(made(job(spec=", suspend: true"))), "spec", "suspend") is True
    faithful = made(job(runtime="rt"), runtime("rt", "i:1"), faithful=True)
    assert get(jobset(faithful), "spec", "suspend") is False


def test_kueues_labels_are_copied_and_no_others() -> None:
    labels = get(jobset(made(job(metadata=QUEUE))), "metadata", "labels")
    assert labels == {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "high"}
    reserved = get(jobset(made(job(metadata=RESERVED))), "metadata", "labels")
    assert reserved == {"kueue.x-k8s.io/prebuilt-workload-name": "w"}
    faithful = made(job(metadata=QUEUE, runtime="rt"), runtime("rt", "i:1"), faithful=True)
    assert get(jobset(faithful), "metadata", "labels") is None


@pytest.mark.parametrize("key", ["provreq.kueue.x-k8s.io/maxRunDurationSeconds", "kueue.x-k8s.io/admission-gated-by"])
def test_kueues_annotations_are_copied(key: str) -> None:
    metadata = f", annotations: {{{key}: '600', note: x}}"
    assert get(jobset(made(job(metadata=metadata))), "metadata", "annotations") == {key: "600"}


@pytest.mark.parametrize("place, key", [("labels", "kai.scheduler/queue"), ("annotations", "kai.scheduler/topology")])
def test_what_kai_scheduler_reads_from_a_job_is_copied(place: str, key: str) -> None:
    """In a cluster with Trainer, it reads what the JobSet does not have from the TrainJob, which owns it."""
    metadata = f", {place}: {{{key}: a, note: x}}"
    assert get(jobset(made(job(metadata=metadata))), "metadata", place) == {key: "a"}
    own = runtime("rt", "i:1").replace("  template:\n", f"  template:\n    metadata: {{{place}: {{{key}: b}}}}\n", 1)
    assert get(jobset(made(job(metadata=metadata, runtime="rt"), own)), "metadata", place) == {key: "b"}
    faithful = made(job(metadata=metadata, runtime="rt"), runtime("rt", "i:1"), faithful=True)
    assert get(jobset(faithful), "metadata", place) is None


def test_a_suspended_job_in_a_queue_is_an_error_by_default_only() -> None:
    assert errors(made(job(metadata=QUEUE, spec=", suspend: true"))) == ["TC601"]
    faithful = made(job(metadata=QUEUE, spec=", suspend: true", runtime="rt"), runtime("rt", "i:1"), faithful=True)
    assert errors(faithful) == []


def image(build: Build) -> object:
    path = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "image")
    return get(jobset(build), *path)


def test_built_in_runtimes_stand_behind_those_given() -> None:
    assert image(made(job())) == "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"
    assert image(made(job(), runtime("torch-distributed", "mine:1"))) == "mine:1"


def test_faithful_looks_nothing_up() -> None:
    build = made(job(), faithful=True)
    (finding,) = build.findings
    assert (finding.code, finding.stage) == ("TC301", "webhook")
    assert finding.upstream is not None
    assert finding.upstream.startswith("spec.RuntimeRef: Invalid value: ")


def test_one_bad_job_leaves_the_others_their_objects() -> None:
    build = made(job("good"), job("bad", spec=", managedby: x"))
    assert {j.name: bool(j.objects) for j in build.jobs} == {"bad": False, "good": True}
    assert errors(build) == ["TC101"]
    assert build.files == {}


def test_a_runtime_that_no_job_uses_is_admitted_too() -> None:
    build = made(job(), runtime("unused", "i:1").replace("torch: {}", "torch: []"))
    assert errors(build) == ["TC102"]
    assert [j.findings for j in build.jobs] == [()]
    assert len(build.objects) == 1 and build.files == {}


def test_a_job_carries_the_errors_of_its_runtime() -> None:
    build = made(job(runtime="rt"), runtime("rt", "i:1").replace("torch: {}", "torch: []"))
    assert [f.stage for f in build.jobs[0].findings if f.severity == "error"] == ["runtime-crd"]
    assert build.jobs[0].objects == ()


def test_a_misspelt_name_in_a_patch_is_an_error_by_default_and_accepted_under_faithful() -> None:
    patch = (
        ", runtimePatches: [{manager: example.com/m, trainingRuntimeSpec: {template: {spec: {replicatedJobs:"
        " [{name: node, template: {spec: {template: {spec: {containers: [{name: nodee}]}}}}}]}}}}]"
    )
    assert errors(made(job(spec=patch))) == ["TC309"]
    faithful = made(job(spec=patch, runtime="rt"), runtime("rt", "i:1"), faithful=True)
    assert [(f.code, f.severity) for f in faithful.findings] == [("TC309", "warning")]


def test_a_training_runtime_is_sought_in_the_jobs_namespace() -> None:
    own = runtime("rt", "i:1").replace("ClusterTrainingRuntime", "TrainingRuntime")
    text = job().replace("name: torch-distributed", "kind: TrainingRuntime, name: rt")
    sources = [Source("jobs/a/j.yaml", text), Source("rt.yaml", own.replace("{name: rt}", "{name: rt, namespace: a}"))]
    assert errors(compile(sources, Options())) == []
    sources[1] = Source("rt.yaml", own.replace("{name: rt}", "{name: rt, namespace: b}"))
    (finding,) = compile(sources, Options()).findings
    assert finding.upstream is not None
    assert "spec.runtimeRef: Invalid value" in finding.upstream


def test_two_groups_of_one_kind_are_told_apart_in_file_names() -> None:
    both = runtime("rt", "i:1").replace(
        "  template:\n    spec:\n", "  podGroupPolicy: {coscheduling: {}, volcano: {}}\n  template:\n    spec:\n", 1
    )
    names = [path.rpartition("/")[2] for path in made(job(runtime="rt"), both).files]
    assert sorted(names) == [
        "jobset-j.yaml",
        "podgroup.scheduling.volcano.sh-j.yaml",
        "podgroup.scheduling.x-k8s.io-j.yaml",
    ]


def test_the_same_input_in_another_order_gives_the_same_result() -> None:
    sources = [Source(f"jobs/{ns}/{name}.yaml", job(name)) for ns in "ba" for name in ("w", "x")]
    first, second = compile(sources, Options()), compile(reversed(sources), Options())
    assert list(first.files.items()) == list(second.files.items())
    assert [(j.namespace, j.name) for j in first.jobs] == [("a", "w"), ("a", "x"), ("b", "w"), ("b", "x")]


@pytest.mark.parametrize("folder", ["runtimes", "policies"])
def test_only_faithful_output_has_trainjobs_of_any_folder(folder: str) -> None:
    sources = [Source(f"{folder}/all.yaml", f"{job(runtime='rt')}---\n{runtime('rt', 'i:1')}")]
    assert errors(compile(sources, Options())) == ["TC007"]
    build = compile(sources, Options(faithful=True))
    assert (errors(build), jobset(build)["metadata"]) == ([], {"name": "j", "namespace": "default"})
