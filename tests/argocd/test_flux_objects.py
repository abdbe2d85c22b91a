"""Flux as the target: what objects say to it, and its Kustomizations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import runtime
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, get
from trainc.gitops.flux import annotated, kustomization
from trainc.inputs.settings import Flux, Settings
from trainc.kube.names import is_dns1123_subdomain, is_valid_label_value
from trainc.pipeline.layout import flux_files
from trainc.plugins.model import Object

PREFIX = "kustomize.toolkit.fluxcd.io/"
MPI = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: j, annotations: {a: b}, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  runtimeRef: {name: deepspeed-distributed}
  trainer: {numNodes: 2, image: 'registry.example.com/x:1'}
"""
TARGET: JsonObject = {"environments": {"prod": {"target": "flux"}}}


def built(config: JsonObject | None = None, *, faithful: bool = False) -> tuple[Object, ...]:
    build = compile([Source("jobs/a/j.yaml", MPI)], Options(config=config or {}, faithful=faithful))
    assert build.objects, build.findings
    return build.objects


def test_every_object_says_it() -> None:
    objects = built(TARGET)
    assert len(objects) > 5
    for made in objects:
        said = {
            key.removeprefix(PREFIX): value
            for key, value in get(made.data, "metadata", "annotations").items()
            if key.startswith(PREFIX)
        }
        assert said == {"substitute": "disabled", **({"ssa": "IfNotPresent"} if made.kind == "Secret" else {})}


def test_nothing_else_changes() -> None:
    """But for the names that hold a hash of the content."""

    def bare(made: Object) -> JsonObject:
        metadata = {**made.data["metadata"]}
        metadata.pop("annotations", None)
        if made.stem is not None:
            metadata["name"] = made.stem
        return {**made.data, "metadata": metadata} if made.kind != "Job" else metadata

    assert list(map(bare, built(TARGET))) == list(map(bare, built()))


def test_argo_cd_is_told_nothing_of_it() -> None:
    for made in built():
        assert not any(key.startswith(PREFIX) for key in get(made.data, "metadata", "annotations") or {})


def test_where_it_comes_from() -> None:
    (jobset,) = (made for made in built(TARGET) if made.kind == "JobSet")
    origins = jobset.origins()
    assert origins["metadata", "annotations", f"{PREFIX}substitute"].kind == "environment"
    assert origins["metadata", "annotations", f"{PREFIX}substitute"].name == "target"


CLAIM = """\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""


@pytest.mark.parametrize(
    ("config", "prefix", "said"),
    [
        (TARGET, PREFIX, {"substitute": "disabled", "prune": "disabled"}),
        (
            {},
            "argocd.argoproj.io/",
            {"sync-options": "Prune=false,Delete=false", "compare-options": "IgnoreExtraneous"},
        ),
    ],
)
def test_a_claim_that_jobs_share_outlives_them(config: JsonObject, prefix: str, said: JsonObject) -> None:
    job = MPI.replace("deepspeed-distributed", "own")
    own = Source("runtimes/own.yaml", runtime(name="own") + CLAIM)
    build = compile([Source("jobs/a/j.yaml", job), own], Options(config=config))
    (claim,) = (made for made in build.objects if made.kind == "PersistentVolumeClaim")
    assert get(claim.data, "metadata", "annotations") == {f"{prefix}{key}": value for key, value in said.items()}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": "ConfigMap"}, {"substitute": "disabled"}),
        ({"kind": "Secret", "type": "Opaque"}, {"substitute": "disabled", "ssa": "IfNotPresent"}),
        ({"kind": "Secret", "data": {}}, {"substitute": "disabled"}),
        ({"kind": "PersistentVolumeClaim"}, {"substitute": "disabled", "prune": "disabled"}),
    ],
)
def test_a_kind(data: JsonObject, said: JsonObject) -> None:
    given_: JsonObject = {**data, "metadata": {"name": "x", "annotations": {"own": "kept"}}}
    found = get(annotated(given_), "metadata", "annotations")
    assert found == {"own": "kept", **{f"{PREFIX}{key}": value for key, value in said.items()}}
    assert given_["metadata"] == {"name": "x", "annotations": {"own": "kept"}}, "what was given stays"


def test_a_kustomization() -> None:
    assert kustomization("out/prod/team-a/bert", Settings()) == {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "prod.team-a.bert", "namespace": "flux-system"},
        "spec": {
            "interval": "10m",
            "path": "./out/prod/team-a/bert",
            "prune": True,
            "force": False,
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        },
    }


def test_its_options() -> None:
    found = kustomization("out/p/a/b", Settings(flux=Flux("ml", "gitops", "1h", "keep")))
    assert get(found, "metadata", "namespace") == "gitops"
    assert get(found, "spec", "sourceRef", "name") == "ml"
    assert (get(found, "spec", "interval"), get(found, "spec", "deletionPolicy")) == ("1h", "Orphan")


def test_its_path_begins_at_the_top_of_the_repository() -> None:
    assert get(kustomization("out/p/a/b", Settings(folder="teams/ml")), "spec", "path") == "./teams/ml/out/p/a/b"


PARTS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(st.lists(st.tuples(PARTS, PARTS, PARTS), min_size=1, max_size=4, unique=True))
def test_names_fit_into_a_label_and_never_meet(places: list[tuple[str, str, str]]) -> None:
    names = [str(get(kustomization("/".join(("out", *parts)), Settings()), "metadata", "name")) for parts in places]
    assert len(set(names)) == len(names)
    for name in names:
        assert (is_valid_label_value(name), is_dns1123_subdomain(name)) == ((), ())


def test_a_long_name_is_cut_at_a_whole_character() -> None:
    found = get(kustomization(f"out/production/{'n' * 43}/bert-large", Settings()), "metadata", "name")
    assert found == f"production.{'n' * 43}-f7616f9a"


def test_files_only_where_there_is_a_folder() -> None:
    made = kustomization("out/prod/a/j", Settings())
    assert flux_files([(None, made)], Settings()) == {}
    assert list(flux_files([("deploy/flux", made)], Settings())) == ["deploy/flux/kustomization-prod.a.j.yaml"]
