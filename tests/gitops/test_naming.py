"""Names: a run number, names by content, what of it reaches files, findings and the environment's patches."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import role, trainjob
from builders import runtime as runtime_text
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import as_object, get, objects
from trainc.project.config import parse
from trainc.upstream import RUN

RUNTIME = runtime_text(role(trainer=True), name="plain", template="{labels: {tier: a}}", spec="%s")


def job(runtime: str = "mlx-distributed", *, run: str | None = None, name: str = "j", extra: str = "{}") -> Source:
    notes = f", annotations: {{trainc.dev/run: '{run}'}}" if run is not None else ""
    text = trainjob(name, runtime=runtime, metadata=f", namespace: a{notes}", trainer=extra)
    return Source(f"jobs/a/{name}.yaml", text)


def built(*sources: Source, config: str = "environments: {prod: {}}", faithful: bool = False) -> Build:
    read, findings = parse(Source("trainc.yaml", config))
    assert findings == ()
    build = compile(sources, Options(faithful=faithful, config=read.data, config_document=read.document))
    assert not [finding for finding in build.findings if finding.severity == "error"]
    return build


def names(build: Build) -> list[str]:
    return sorted({made.name for made in build.objects})


def jobset(build: Build) -> dict[str, Any]:
    (found,) = (made.data for made in build.objects if made.kind == "JobSet")
    return found


CONTENT = "environments: {prod: {naming: content}}"


@pytest.mark.parametrize("runtime", ["mlx-distributed", "torch-distributed", "torchtune-llama3.2-1b"])
def test_a_run_number_is_in_every_name_and_in_no_path(runtime: str) -> None:
    plain, second = built(job(runtime)), built(job(runtime, run="2"))
    assert list(plain.files) == list(second.files)
    made = [(one.name, two.name) for one, two in zip(plain.objects, second.objects, strict=True)]
    assert made
    for one, two in made:
        unsealed = [re.sub(r"-[0-9a-f]{8}$", "", name) for name in (one, two)]
        assert unsealed[1] == f"j-2{unsealed[0].removeprefix('j')}"
    for path, text in second.files.items():
        first_line = plain.files[path].decode().partition("\n")[0]
        assert text.decode().startswith(first_line)
        assert re.search(r"\bj-(node|launcher|mpi)", text.decode()) is None, "hosts and mounts have other names, too"


def test_the_first_run_has_the_plain_name() -> None:
    assert built(job(run="1")).files == built(job()).files


def test_the_annotation_stays_in_git() -> None:
    assert RUN not in str(jobset(built(job(run="2"))))


def test_faithful_output_knows_no_runs() -> None:
    runtime = Source("r.yaml", RUNTIME % "network: {}")
    plain = [made.data for made in built(job("plain"), runtime, faithful=True).objects]
    assert [made.data for made in built(job("plain", run="2"), runtime, faithful=True).objects] == plain


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_a_finding(text: str) -> None:
    quoted = "".join(f"\\U{ord(char):08X}" for char in text)
    source = Source("j.yaml", job("torch-distributed", run="@").text.replace("'@'", f'"{quoted}"'))
    build = compile([source], Options())
    codes = {finding.code for finding in build.findings if finding.severity == "error"}
    if re.fullmatch("[1-9][0-9]{0,8}", text):
        assert codes == set()
        assert names(build) == ["j" if text == "1" else f"j-{text}"]
    else:
        assert codes & {"TC609", "TC002", "TC108"}


def test_names_by_content() -> None:
    build = built(job(), config=CONTENT)
    (name,) = (made.name for made in build.objects if made.kind == "JobSet")
    assert re.fullmatch("j-[0-9a-f]{8}", name)
    assert list(build.files) == list(built(job()).files)
    assert all(made.name.startswith(name) for made in build.objects), "ConfigMap and JobSet are renamed together"
    assert built(job(), config=CONTENT).files == build.files
    assert re.fullmatch("j-3-[0-9a-f]{8}", jobset(built(job(run="3"), config=CONTENT))["metadata"]["name"])


@pytest.mark.parametrize(("config", "name"), [(CONTENT, "j-2-[0-9a-f]{8}"), ("environments: {prod: {}}", "j-2")])
def test_a_lowered_error_leaves_names_as_they_are(config: str, name: str) -> None:
    above_its_limit = "{resourcesPerNode: {limits: {cpu: 1}, requests: {cpu: 2}}}"
    wrong = job("torch-distributed", run="2", extra=above_its_limit)
    build = built(wrong, config=f"{config}\nseverities: {{TC807: warning}}")
    assert re.fullmatch(name, jobset(build)["metadata"]["name"])
    assert list(build.files) == ["out/prod/a/j/jobset-j.yaml"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tier: a", "tier: b"),
        ("labels: {tier", "annotations: {tier"),
        ("network: {}", "suspend: true"),
        ("network: {}", "coordinator: {replicatedJob: node, jobIndex: 0, podIndex: 0}"),
    ],
)
def test_what_can_be_changed_does_not_rename(old: str, new: str) -> None:
    before, after = RUNTIME % "network: {}", (RUNTIME % "network: {}").replace(old, new)
    assert before != after
    one, two = (jobset(built(job("plain"), Source("r.yaml", text), config=CONTENT)) for text in (before, after))
    assert one["metadata"]["name"] == two["metadata"]["name"]
    assert one != two or "suspend" in new, "a runtime's suspend reaches no JobSet"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("img:1", "img:2"),
        ("network: {}", "successPolicy: {operator: Any}"),
        ("network: {}", "network: {enableDNSHostnames: false}"),
        ("network: {}", "failurePolicy: {maxRestarts: 1}"),
        ("network: {}", "startupPolicy: {startupPolicyOrder: InOrder}"),
    ],
)
def test_what_cannot_be_changed_renames(old: str, new: str) -> None:
    before, after = RUNTIME % "network: {}", (RUNTIME % "network: {}").replace(old, new)
    one, two = (names(built(job("plain"), Source("r.yaml", text), config=CONTENT)) for text in (before, after))
    assert one != two


def test_a_hostfile_renames() -> None:
    one, two = (built(job(extra=f"{{numProcPerNode: {slots}}}"), config=CONTENT) for slots in (1, 4))
    assert not set(names(one)) & set(names(two))


def test_a_jobset_of_the_plain_name_in_the_cluster_is_another_one() -> None:
    there = Source(
        "there.yaml", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: j, namespace: a}\n"
    )
    alone, beside = (built(job(), *more, config=CONTENT) for more in ((), (there,)))
    assert names(alone) == names(beside)


def test_a_jobset_of_the_final_name_in_the_cluster_is_reported() -> None:
    name = jobset(built(job(), config=CONTENT))["metadata"]["name"]
    there = f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: {name}, namespace: a}}\n"
    lowered = f"{CONTENT}\nseverities: {{TC313: warning}}"
    build = built(job(), Source("policies/there.yaml", there), config=lowered)
    assert {made.kind for made in build.objects} == {"ConfigMap"}
    assert [(each.code, name in each.message) for each in build.findings if each.code == "TC313"] == [("TC313", True)]


@pytest.mark.parametrize("naming", ["stable", "content"])
def test_patches_name_what_stays(naming: str) -> None:
    config = (
        f"environments: {{prod: {{naming: {naming}, patches: [{{target: {{kind: JobSet, name: j}},"
        " patch: {metadata: {labels: {patched: 'yes'}}}}, {target: {kind: ConfigMap, name: j-mpi-hostfile},"
        " patch: {metadata: {labels: {patched: 'yes'}}}}]}}"
    )
    build = built(job(run="2"), config=config)
    patched = {made.kind for made in build.objects if get(made.data, "metadata", "labels", "patched") == "yes"}
    assert patched == {"JobSet", "ConfigMap"}
    assert "TC606" not in {finding.code for finding in build.findings}


def test_two_runs_of_one_name_in_two_files_meet() -> None:
    two = Source("jobs/a/two.yaml", job(run="2").text)
    build = compile([job(), two], Options())
    assert {finding.code for finding in build.findings if finding.severity == "error"} == {"TC009"}


def test_where_the_name_comes_from() -> None:
    for run, place in (("2", ("metadata", "annotations", RUN)), (None, ("metadata", "name"))):
        (found,) = (made for made in built(job(run=run)).objects if made.kind == "JobSet")
        origin = found.origins()["metadata", "name"]
        assert (origin.kind, origin.path) == ("input", place)


def test_mounted_config_maps_are_immutable() -> None:
    made = {one.name: one.data for one in built(job()).objects if one.kind == "ConfigMap"}
    assert made["j-mpi-hostfile"]["immutable"] is True
    patch = "patches: [{target: {kind: ConfigMap}, patch: {immutable: false}}]"
    own = built(job(), config=f"environments: {{prod: {{{patch}}}}}").objects
    assert [one.data["immutable"] for one in own if one.name == "j-mpi-hostfile"] == [False]


def test_a_deadline_is_that_of_every_job() -> None:
    text = str(job("plain").text) + "  activeDeadlineSeconds: 600\n"
    runtime = (RUNTIME % "network: {}") + (
        "      - name: side\n        replicas: 2\n        template:\n          spec:\n"
        "            activeDeadlineSeconds: 60\n"
        "            template: {spec: {containers: [{name: side, image: 'example.com/img:1'}]}}\n"
    )
    build = built(Source("j.yaml", text), Source("r.yaml", runtime))
    jobs = objects(jobset(build)["spec"]["replicatedJobs"])
    assert [as_object(get(one, "template", "spec"))["activeDeadlineSeconds"] for one in jobs] == [600, 60]
    (found,) = (made for made in build.objects if made.kind == "JobSet")
    origin = found.origins()["spec", "replicatedJobs", 0, "template", "spec", "activeDeadlineSeconds"]
    assert (origin.kind, origin.path) == ("input", ("spec", "activeDeadlineSeconds"))
    assert not [finding for finding in build.findings if finding.code == "TC312"]


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ("network: {}", True),
        ("failurePolicy: {maxRestarts: 0}", True),
        ("failurePolicy: {rules: [{name: a, action: FailJobSet}]}", True),
        ("failurePolicy: {maxRestarts: 3}", False),
        ("failurePolicy: {rules: [{name: a, action: RestartJobSetAndIgnoreMaxRestarts}]}", False),
        ("startupPolicy: {startupPolicyOrder: InOrder}", False),
    ],
)
def test_where_a_deadline_has_a_static_equal(lines: str, kept: bool) -> None:
    text = str(job("plain").text) + "  activeDeadlineSeconds: 600\n"
    build = compile([Source("j.yaml", text), Source("r.yaml", RUNTIME % lines)], Options())
    assert ("TC312" in {f.code for f in build.findings if f.severity == "error"}) is not kept
    assert bool(build.objects) is kept


def test_a_ttl_of_a_patch_is_refused_at_the_patch() -> None:
    config = "environments: {prod: {patches: [{target: {kind: JobSet}, patch: {spec: {ttlSecondsAfterFinished: 60}}}]}}"
    read, _ = parse(Source("trainc.yaml", config))
    build = compile([job("torch-distributed")], Options(config=read.data, config_document=read.document))
    (finding,) = (finding for finding in build.findings if finding.code == "TC610")
    assert finding.document is read.document
    assert finding.path[-2:] == ("spec", "ttlSecondsAfterFinished")
    by_hand = config.replace("{patches", "{argocd: {automated: false}, patches")
    assert jobset(built(job("torch-distributed"), config=by_hand))["spec"]["ttlSecondsAfterFinished"] == 60
