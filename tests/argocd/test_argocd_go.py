"""With Go: the template as Argo CD expands it, the health checks in its Lua, every object by its own CRDs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from argocd_environments import OPTIONS, REPOSITORY, tree
from click.testing import CliRunner
from msgspec.structs import replace
from test_argocd_health import STATUSES, script

from oracle import gotools
from trainc.basics.jsonvalues import JsonObject
from trainc.cli.root import trainc
from trainc.documents.emit import emit
from trainc.gitops.argocd import applicationset
from trainc.pipeline.layout import argocd_objects

ORACLE = gotools.ORACLE / "argocd"
ARGO_CD = "github.com/argoproj/argo-cd/v3@v3.5.7"

pytestmark = pytest.mark.go

DIRECTORIES = [
    "jobs",
    "jobs/team-a",
    "out",
    *(f"out/{name}" for name in OPTIONS),
    *(f"out/{name}/{place}" for name in OPTIONS for place in ("team-a", "team-b")),
    *(f"out/{name}/team-a/{job}" for name in OPTIONS for job in ("0-shared", "bert", "bert-2")),
    *(f"out/{name}/team-b/bert" for name in OPTIONS),
    "out/plain/team-b/bert/deeper",
    "out/plainer/team-a/bert",
]


def ask(question: dict[str, Any]) -> dict[str, Any]:
    if (reason := gotools.missing(ORACLE)) is not None:
        pytest.skip(reason)
    (answer,) = gotools.ask(".", [question], ORACLE)
    return dict(answer)


def expand(data: JsonObject, directories: list[str] = DIRECTORIES) -> dict[str, Any]:
    return ask({"ApplicationSet": data, "Directories": directories})


def test_an_application_a_job() -> None:
    answer = expand(applicationset(tree("plain")))
    assert answer["Error"] == ""
    found = {made["metadata"]["name"]: made["spec"] for made in answer["Applications"]}
    assert {name: spec["source"]["path"] for name, spec in found.items()} == {
        "plain.team-a.0-shared": "out/plain/team-a/0-shared",
        "plain.team-a.bert": "out/plain/team-a/bert",
        "plain.team-a.bert-2": "out/plain/team-a/bert-2",
        "plain.team-b.bert": "out/plain/team-b/bert",
    }
    assert found["plain.team-b.bert"]["destination"] == {
        "server": "https://kubernetes.default.svc",
        "namespace": "team-b",
    }
    assert found["plain.team-a.bert"]["project"] == "trainc-plain"


def test_an_application_a_namespace() -> None:
    answer = expand(applicationset(tree("namespaces")))
    found = {made["metadata"]["name"]: made["spec"]["source"] for made in answer["Applications"]}
    assert {name: source["path"] for name, source in found.items()} == {
        "namespaces.team-a": "out/namespaces/team-a",
        "namespaces.team-b": "out/namespaces/team-b",
    }
    assert all(source["directory"] == {"include": "*.yaml", "recurse": True} for source in found.values())


def test_an_application_is_refreshed_by_what_may_move_to_another() -> None:
    """git lists only the new path of a file that moved, and quotes one beyond ASCII."""
    found, key = dict[str, str](), "argocd.argoproj.io/manifest-generate-paths"
    for name, folders in (("plain", DIRECTORIES), ("namespaces", DIRECTORIES), ("hydrator", ["jobs/team-a"])):
        for made in expand(applicationset(tree(name)), folders)["Applications"]:
            found[made["metadata"]["name"]] = made["metadata"]["annotations"][key]
    assert found == {
        "plain.team-a.0-shared": "/",
        "plain.team-a.bert": ".",
        "plain.team-a.bert-2": ".",
        "plain.team-b.bert": ".",
        "namespaces.team-a": "/",
        "namespaces.team-b": "/",
        "hydrator.team-a": "/",
    }


def test_the_source_hydrator_has_an_application_per_folder_of_jobs() -> None:
    folders = ["jobs/team-a", "jobs/team-b", "jobs/vision", "jobs/without-jobs", "out/x/y"]
    answer = expand(applicationset(tree("hydrator")), folders)
    found = {made["metadata"]["name"]: made["spec"] for made in answer["Applications"]}
    assert {name: spec["destination"]["namespace"] for name, spec in found.items()} == {
        "hydrator.team-a": "team-a",
        "hydrator.team-b": "team-b",
        "hydrator.vision": "team-b",
    }
    assert found["hydrator.vision"]["sourceHydrator"] == {
        "drySource": {
            "repoURL": REPOSITORY,
            "targetRevision": "HEAD",
            "path": "jobs/vision",
            "plugin": {"name": "trainc", "parameters": [{"name": "env", "string": "hydrator"}]},
        },
        "syncSource": {"targetBranch": "env/hydrator", "path": "out/hydrator/vision"},
        "hydrateTo": {"targetBranch": "env/hydrator-next"},
    }


def test_the_source_hydrator_without_jobs_has_no_application() -> None:
    """With an error, as of a generator without directories, Argo CD keeps the Applications of removed jobs."""
    answer = expand(applicationset(replace(tree("hydrator"), folders=())), ["jobs/team-a", "jobs/team-b"])
    assert (answer["Error"], answer["Applications"]) == ("", [])


@pytest.mark.parametrize("name", ["plain", "namespaces", "hydrator"])
def test_a_folder_of_the_repository(name: str) -> None:
    found = tree(name)
    inside = replace(found, settings=replace(found.settings, folder="teams/ml"))
    above = expand(applicationset(found), [*DIRECTORIES, "jobs/vision"])["Applications"]
    below = expand(applicationset(inside), [f"teams/ml/{path}" for path in (*DIRECTORIES, "jobs/vision")])[
        "Applications"
    ]
    assert [made["metadata"]["name"] for made in below] == [made["metadata"]["name"] for made in above]
    for one, other in zip(below, above, strict=True):
        assert one["spec"]["destination"] == other["spec"]["destination"]
        if "source" in one["spec"]:
            assert one["spec"]["source"]["path"] == f"teams/ml/{other['spec']['source']['path']}"
        else:
            sources = (one["spec"]["sourceHydrator"], other["spec"]["sourceHydrator"])
            for key in ("drySource", "syncSource"):
                assert sources[0][key]["path"] == f"teams/ml/{sources[1][key]['path']}"
    needed = applicationset(inside)["spec"]["template"]["metadata"]["annotations"]  # type: ignore[index,call-overload]
    assert "/runtimes" not in str(needed).replace("/teams/ml/runtimes", "")


def test_an_application_is_a_plain_directory() -> None:
    """Nothing else is looked for in it, whatever files it has."""
    answer = expand(applicationset(tree("plain")))
    assert all(made["spec"]["source"]["directory"] == {"include": "*.yaml"} for made in answer["Applications"])


def test_what_looks_like_a_template_and_is_none() -> None:
    (made, *_) = expand(applicationset(tree("all")))["Applications"]
    assert made["spec"]["source"]["repoURL"] == "ssh://git@git.example.com/{{ml}}/training.git"
    assert made["spec"]["destination"]["name"] == "gpu-west"


def test_names_of_two_jobs_never_meet() -> None:
    answer = expand(applicationset(tree("plain")), ["out/plain/a/b-c", "out/plain/a-b/c"])
    assert [made["metadata"]["name"] for made in answer["Applications"]] == ["plain.a.b-c", "plain.a-b.c"]


def test_a_template_that_asks_for_what_is_not_there_makes_no_application() -> None:
    """missingkey=error: otherwise the text would be <no value>."""
    for asked in ("{{ .path.nothing }}", "{{ index .path.segments 9 }}"):
        data: Any = json.loads(json.dumps(applicationset(tree("plain"))))
        data["spec"]["template"]["spec"]["project"] = asked
        answer = expand(data)
        assert answer["Error"] != ""
        assert answer["Applications"] == []


def test_health_checks_in_the_lua_of_argo_cd() -> None:
    checks = [
        {"Script": script(case["kind"]), "Object": {"spec": case["spec"], "status": case["status"]}}
        for case in STATUSES
    ]
    expected = [{"status": case["health"], "message": case["message"]} for case in STATUSES]
    assert ask({"Checks": checks})["Checks"] == expected


@pytest.fixture(scope="session")
def crds() -> str:
    if (reason := gotools.missing(ORACLE, "-json", ARGO_CD)) is not None:
        pytest.skip(reason)
    found = json.loads(gotools.run(["go", "mod", "download", "-json", ARGO_CD], folder=ORACLE))
    return str(Path(found["Dir"]) / "manifests" / "crds")


def validate(root: Path, crds: str, made: list[JsonObject]) -> tuple[int, str]:
    (root / "objects.yaml").write_text("---\n".join(map(emit, made)), encoding="utf-8")
    result = CliRunner().invoke(trainc, ["validate", "--crd-dir", crds, "objects.yaml"], prog_name="trainc")
    return result.exit_code, result.output


def every_object() -> list[JsonObject]:
    """All objects, and the Applications that Argo CD makes of them."""
    made = [data for name in OPTIONS for data in argocd_objects([tree(name)])[:-1]]
    head: JsonObject = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
    applications = [each for name in OPTIONS for each in expand(applicationset(tree(name)))["Applications"]]
    assert len(applications) == 11
    return [*made, *({**head, **each} for each in applications)]


def test_every_object_fits_the_crds(crds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, output = validate(tmp_path, crds, every_object())
    assert (status, output) == (0, "no TrainJob found; the other documents are valid\n")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "goTemplat"), True),
        (("spec", "template", "spec", "syncPolicy", "retry", "limit"), "5"),
        (("spec", "template", "spec", "syncPolicy", "automated", "prun"), True),
        (("spec", "template", "spec", "source", "repoURL"), 1),
        (("spec", "generators", 0, "git", "directories", 0, "path"), None),
        (("spec", "syncPolicy"), {"applicationsSync": "never"}),
    ],
)
def test_the_crds_refuse_what_is_wrong(
    crds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: tuple[str | int, ...], value: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    data: Any = json.loads(json.dumps(applicationset(tree("prod", {"argocd": {"repoURL": REPOSITORY}}))))
    place = data
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    status, output = validate(tmp_path, crds, [data])
    assert status == 1
    assert str(path[-1]) in output
