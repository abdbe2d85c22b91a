"""Work grows with the size of what is checked, also where one operation of Python may hide a loop.

Such operations are a search in a list or by a pattern, and a text that shows all of a document. As in test_growth.py,
four times the size may take up to nine times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from json import dumps

import pytest
from test_growth import is_linear

from builders import runtime, trainjob
from effort import thorough
from trainc import Options, Source, compile
from trainc.admission import companions
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.checks import functions, trainer
from trainc.documents.load import load
from trainc.findings import report
from trainc.project.files import Kind
from trainc.project.foreign import foreign

pytestmark = thorough

IMAGE = "registry.example.com/a:1"


def role(pod: JsonObject | None = None, spec: JsonObject | None = None, name: str = "node") -> JsonObject:
    """Return a replicated job with these fields of its pods and of its Job."""
    template: JsonObject = {"spec": {"containers": [{"name": "node", "image": IMAGE}], **(pod or {})}}
    return {"name": name, "template": {"spec": {**(spec or {}), "template": template}}}


def contained(container: JsonObject, pod: JsonObject | None = None) -> JsonObject:
    """Return a replicated job whose pods have one container."""
    return role({"containers": [{"name": "node", "image": IMAGE, **container}], **(pod or {})})


def patch(manager: int, jobs: list[Json]) -> JsonObject:
    return {"manager": f"a.io/{manager}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


def codes(count: int) -> JsonObject:
    rule: JsonObject = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [*range(1, count)]}}
    return role({"restartPolicy": "Never"}, {"podFailurePolicy": {"rules": [rule]}})


def affine(count: int) -> JsonObject:
    keys: JsonObject = {f"{kind}LabelKeys": [f"{kind}{i}" for i in range(count)] for kind in ("match", "mismatch")}
    term: JsonObject = {"topologyKey": "a", "labelSelector": {}, **keys}
    return role({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})


def sidecars(count: int) -> JsonObject:
    """Return pods with resources of their own, in which each sidecar has another resource."""
    limits: list[JsonObject] = [{"limits": {f"example.com/a{i}": 1}} for i in range(count)]
    containers: list[Json] = [
        {"name": f"a{i}", "image": IMAGE, "restartPolicy": "Always", "resources": each} for i, each in enumerate(limits)
    ]
    return role({"initContainers": containers, "resources": {"limits": {"cpu": 1}}})


def mounted(path: str) -> JsonObject:
    mount: JsonObject = {"name": "v", "mountPath": "/v", "subPathExpr": path}
    return contained({"volumeMounts": [mount]}, {"volumes": [{"name": "v", "emptyDir": {}}]})


def initializer(image: str, name: str = "dataset-initializer") -> JsonObject:
    return role({"containers": [{"name": "dataset-initializer", "image": image}]}, name=name)


ROLES: dict[str, tuple[int, Callable[[int], list[Json]]]] = {
    "parts of a variable's name": (1000, lambda n: [mounted("$(" + "_PORT" * n + "\n)")]),
    "exit codes": (6000, lambda n: [codes(n)]),
    "label keys": (3000, lambda n: [affine(n)]),
    "brackets in an image": (15_000, lambda n: [contained({"image": "%(" * n})]),
    "resources of sidecars": (800, lambda n: [sidecars(n)]),
    "sysctls": (
        3000,
        lambda n: [role({"securityContext": {"sysctls": [{"name": f"net.a{i}", "value": "1"} for i in range(n)]}})],
    ),
    "initializers without an address": (
        500,
        lambda n: [initializer("ghcr.io/kubeflow/trainer/dataset-initializer:v2.3.0", f"job-{i}") for i in range(n)],
    ),
    "folders of an image": (150, lambda n: [initializer("kubeflow/trainer/dataset-initializer:1.1/" * n + "@\n")]),
}
"""Replicated jobs of a runtime, by what grows."""


@pytest.mark.parametrize("kind", ROLES)
def test_the_checks_of_four_times_the_items_take_about_four_times_the_work(kind: str) -> None:
    size, made = ROLES[kind]
    assert is_linear(lambda size: seconds(made(size)), size)


def seconds(jobs: list[Json], patches: list[Json] | None = None, options: Options | None = None) -> float:
    job = trainjob(more=f"  runtimePatches: {dumps(patches or [])}\n")
    source = Source("job.yaml", runtime(f"        {dumps(jobs)}\n", policy="{numNodes: 1}") + f"---\n{job}")
    start = time.process_time()
    build = compile([source], options or Options())
    assert not {found.code for found in build.findings} & {"TC006", "TC101", "TC301", "TC902"}
    return time.process_time() - start


def test_the_labels_of_a_runtime_with_many_initializers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of them without an address, the labels of all jobs could be looked at."""
    looked, real = [], trainer.misspelt
    monkeypatch.setattr(trainer, "misspelt", lambda model: looked.append(model) or real(model))
    seconds([initializer("ghcr.io/kubeflow/trainer/dataset-initializer:v2.3.0", f"job-{i}") for i in range(5)])
    assert len(looked) == 2  # for TC823, and for all initializers together


def test_the_variables_in_four_times_the_patches() -> None:
    """The error of the server shows all patches for each container with variables."""

    def patched(count: int) -> float:
        container: JsonObject = {"name": "node", "env": [{"name": "A", "value": "a"}]}
        pod: JsonObject = {"spec": {"template": {"spec": {"containers": [container]}}}}
        jobs: list[Json] = [{"name": f"job-{i}", "template": pod} for i in range(40)]
        return seconds([role(name=f"job-{i}") for i in range(40)], [patch(i, jobs) for i in range(count)])

    assert is_linear(patched, 3)


def test_the_volumes_with_two_sources_of_a_patched_job() -> None:
    def patched(count: int) -> float:
        volumes: list[Json] = [{"name": f"v{i}", "emptyDir": {}, "hostPath": {"path": "/a"}} for i in range(count)]
        pod: JsonObject = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
        return seconds([role({"volumes": volumes})], [patch(0, [{"name": "node", "template": pod}])])

    assert is_linear(patched, 250)


def test_the_wrong_types_in_a_patch_of_trainc_yaml() -> None:
    """Go reads on after each of them, since a later error may be one that it returns in place of the first."""

    def patched(count: int) -> float:
        container: JsonObject = {"name": "node", "env": [{"name": f"A{i}", "value": i} for i in range(count)]}
        jobs: list[Json] = [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}]
        changes: JsonObject = {"target": {"kind": "JobSet"}, "patch": {"spec": {"replicatedJobs": jobs}}}
        config: JsonObject = {"environments": {"prod": {"patches": [changes]}}}
        return seconds([role()], options=Options(config=config))

    assert is_linear(patched, 250)


def test_the_findings_of_four_times_the_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each object has 100 findings, which are made once: only what becomes of them is measured."""
    document = load(Source("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"))[0][0]
    found = (report("TC108", document, (), ""),) * 100
    monkeypatch.setattr(companions, "admit_object", lambda document, registry: (document, found))
    monkeypatch.setattr(companions, "secrets_in_plain_text", lambda document: ())

    def admitted(count: int) -> float:
        start = time.process_time()
        assert len(companions.admit_companions([document] * count, (), faithful=False).findings) == 100 * count
        return time.process_time() - start

    assert is_linear(admitted, 1500)


def test_folders_in_folders_below_out() -> None:
    """For each entry, all folders above it could be looked for among the paths of ``unmanaged``, or named again."""
    start = time.process_time()
    names = ["out/prod/a/b" + "/d" * depth for depth in range(1900)]  # as deep as Linux allows
    own = [f"{name}/.trainc-1-1.tmp" for name in names]
    there = dict.fromkeys(names, Kind.FOLDER) | dict.fromkeys(own, Kind.FILE)
    found = foreign(there, [*own, "out/prod/a/b/c.yaml"], ["out/prod/x" + "/d" * 1900, "out/prod/y/z.txt"])
    assert [*found] == []
    assert time.process_time() - start < 4  # half a second; 20 if it grows with the cube of the depth


def test_a_function_that_an_alias_repeats_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 needs seconds for some functions of 128 KiB, and a file of that size can repeat one 23 times."""
    parsed: list[str] = []

    def counted(code: str, _: frozenset[str]) -> tuple[functions.Mistake, ...]:
        parsed.append(code)
        return ()

    monkeypatch.setattr(functions, "_invalid", counted)
    text = functions.Script("", "once()", "train.py", "python").text
    job = trainjob(trainer=f"{{args: [&a {dumps(text)}, *a, *a]}}", runtime="torch-distributed")
    assert compile([Source("a.yaml", job)]).files
    assert parsed == ["once()"]
