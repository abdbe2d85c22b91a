"""ApplicationSets, AppProjects, health checks and the plugin's definition, to the letter and by what must hold."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from argocd_environments import OPTIONS, REPOSITORY, tree
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from folders import put
from trainc.basics.jsonvalues import JsonObject, get
from trainc.documents.emit import emit
from trainc.gitops.argocd import Tree, applicationset, health_checks, plugin_definition, projects
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import Job
from trainc.pipeline.layout import argocd_files, argocd_objects, files
from trainc.plugins.model import Object

GOLDEN = Path(__file__).parent / "golden"


def text(made: tuple[JsonObject, ...]) -> str:
    return "---\n".join(emit(data) for data in made)


SHOWN = {
    **{name: lambda name=name: argocd_objects([tree(name)])[:-1] for name in OPTIONS},
    "health": lambda: (health_checks("argocd"),),
    "plugin": lambda: (plugin_definition(),),
}


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name: str, update: bool) -> None:
    path, found = GOLDEN / f"{name}.yaml", text(SHOWN[name]())
    if update:
        path.write_text(found, encoding="utf-8", newline="\n")
    assert found == path.read_text(encoding="utf-8")


def test_every_golden_is_shown() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(SHOWN)


def test_all_objects_in_the_order_of_applying() -> None:
    made = argocd_objects([tree("plain"), tree("all")])
    named = [f"{data['kind']} {get(data, 'metadata', 'namespace')}/{get(data, 'metadata', 'name')}" for data in made]
    assert named == [
        "AppProject argocd/trainc-plain",
        "AppProject gitops/training",
        "ApplicationSet argocd/trainc-plain",
        "ApplicationSet gitops/trainc-all",
        "ConfigMap argocd/argocd-cm",
        "ConfigMap gitops/argocd-cm",
    ]


def application(options: JsonObject) -> JsonObject:
    spec = get(applicationset(tree("prod", options)), "spec", "template", "spec")
    assert isinstance(spec, dict)
    return spec


def test_what_keeps_finished_jobs_finished() -> None:
    """The options without which a real Argo CD runs jobs again, or holds back commits."""
    template = get(applicationset(tree("plain")), "spec", "template")
    assert get(template, "metadata", "annotations") == {
        "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
        "argocd.argoproj.io/manifest-generate-paths": (
            '{{ if eq (index .path.segments 3) "0-shared" }}/{{ else }}.{{ end }}'
        ),
    }
    policy = get(template, "spec", "syncPolicy")
    assert get(policy, "automated") == {"prune": True, "selfHeal": False}
    assert get(policy, "syncOptions") == ["ServerSideApply=true"]
    assert get(policy, "retry", "refresh") is True
    assert get(policy, "retry", "limit") == 5


@pytest.mark.parametrize("folder", ["", "teams/ml"])
@pytest.mark.parametrize("name", ["reader", "l\u00e4ufer", 'a"b', "a\tb"])
def test_a_changed_role_refreshes_the_application_of_its_namespace(tmp_path: Path, folder: str, name: str) -> None:
    """As Argo CD looks for changed files: ChangedFiles in util/git/client.go, AppFilesHaveChanged in util/app/path."""
    found = tree("namespaces")
    inside = replace(found, settings=replace(found.settings, folder=folder))
    key = "argocd.argoproj.io/manifest-generate-paths"
    needed = get(applicationset(inside), "spec", "template", "metadata", "annotations", key)
    file = tmp_path / folder / "out" / "prod" / "team-a" / "0-shared" / f"role-{name}.yaml"
    file.parent.mkdir(parents=True)

    _git(tmp_path, "init", "--quiet")
    for content in ("one", "two"):
        file.write_text(content, encoding="utf-8")
        _git(tmp_path, "add", ".")
        _git(tmp_path, "commit", "--quiet", "--message", content)
    (changed,) = _git(tmp_path, "diff", "--name-only", "HEAD~..HEAD").splitlines()
    assert any(f"/{changed}".startswith(f"{path.rstrip('/')}/") for path in str(needed).split(";"))


def test_a_job_whose_file_moves_out_of_the_output_refreshes_the_application_of_its_namespace(tmp_path: Path) -> None:
    """git lists only the new path of a file that moved, which a pull request can choose."""
    key = "argocd.argoproj.io/manifest-generate-paths"
    needed = get(applicationset(tree("namespaces")), "spec", "template", "metadata", "annotations", key)
    job, moved = tmp_path / "out/prod/team-a/one/jobset-one.yaml", tmp_path / "jobs/team-a/notes.txt"
    job.parent.mkdir(parents=True)
    moved.parent.mkdir(parents=True)
    job.write_text("one\n", encoding="utf-8")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "--quiet", "--message", "one")
    job.rename(moved)
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "--quiet", "--message", "none")
    (changed,) = _git(tmp_path, "diff", "--name-only", "HEAD~..HEAD").splitlines()
    assert changed == "jobs/team-a/notes.txt"
    assert needed == "/"  # which every path is below, for Argo CD


def test_a_job_whose_role_moves_out_of_the_output_refreshes_its_application(tmp_path: Path) -> None:
    """Its Application looks at its folder only, so the file of the JobSet has to change, too."""
    jobset, role = (Object({"kind": kind, "metadata": {"name": "one"}}) for kind in ("JobSet", "Role"))
    document = Document(Source("jobs/team-a/one.yaml", b""), {})
    _git(tmp_path, "init", "--quiet")
    for objects in ((jobset, role), (jobset,)):
        written = dict(files(Job("team-a", "one", document, objects=objects), Options(environment="prod")))
        if len(objects) == 1:
            written["jobs/team-a/notes.txt"] = (tmp_path / "out/prod/team-a/one/role-one.yaml").read_bytes()
            shutil.rmtree(tmp_path / "out")
        for name, data in written.items():
            put(tmp_path, name, data)
        _git(tmp_path, "add", ".")
        _git(tmp_path, "commit", "--quiet", "--message", f"{len(objects)} files")
    changed = _git(tmp_path, "diff", "--name-only", "HEAD~..HEAD").splitlines()
    assert changed == ["jobs/team-a/notes.txt", "out/prod/team-a/one/jobset-one.yaml"]


def _git(folder: Path, *command: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *identity, *command], cwd=folder, capture_output=True, check=True).stdout.decode()


def test_not_automated_says_nothing_of_pruning() -> None:
    policy = application({"argocd": {"repoURL": REPOSITORY, "automated": False}})["syncPolicy"]
    assert isinstance(policy, dict)
    assert sorted(policy) == ["retry", "syncOptions"]


@pytest.mark.parametrize(("on_delete", "expected"), [("stop", None), ("keep", {"preserveResourcesOnDeletion": True})])
def test_on_delete(on_delete: str, expected: JsonObject | None) -> None:
    made = applicationset(tree("prod", {"argocd": {"repoURL": REPOSITORY, "onDelete": on_delete}}))
    assert get(made, "spec", "syncPolicy") == expected


def spec(made: tuple[JsonObject, ...]) -> JsonObject:
    (project,) = made
    found = project["spec"]
    assert isinstance(found, dict)
    return found


def test_a_project_allows_what_is_there_and_no_more() -> None:
    found = spec(projects([tree("plain")]))
    assert found["sourceRepos"] == [REPOSITORY]
    kinds = [f"{get(item, 'group')}/{get(item, 'kind')}" for item in found["namespaceResourceWhitelist"]]
    assert kinds == [
        "/ConfigMap",
        "/Secret",
        "batch/Job",
        "jobset.x-k8s.io/JobSet",
        "rbac.authorization.k8s.io/Role",
    ]
    assert "clusterResourceWhitelist" not in found
    assert not {"namespaceResourceBlacklist", "clusterResourceBlacklist"} & set(found)
    assert [get(item, "namespace") for item in found["destinations"]] == ["*"]


def test_a_missing_namespace_is_a_cluster_resource_that_needs_leave() -> None:
    found = spec(projects([tree("namespaces")]))
    assert found["clusterResourceWhitelist"] == [
        {"group": "", "kind": "Namespace", "name": "team-a"},
        {"group": "", "kind": "Namespace", "name": "team-b"},
    ]


def test_without_jobs_what_is_left_of_the_last_can_go() -> None:
    found = spec(projects([Tree("plain", tree("plain").settings)]))
    assert [get(item, "namespace") for item in found["destinations"]] == ["*"]
    # an immutable ConfigMap that stays would refuse that of a later job with its name
    kinds = [{"group": "", "kind": "ConfigMap"}, {"group": "jobset.x-k8s.io", "kind": "JobSet"}]
    assert found["namespaceResourceWhitelist"] == kinds


def test_environments_share_a_project() -> None:
    one = {"argocd": {"repoURL": REPOSITORY, "project": "shared"}, "destination": {"server": "https://a.example.com"}}
    two = {"argocd": {"repoURL": "https://other.example.com/x", "project": "shared", "namespaces": ["x"]}}
    found = spec(projects([tree("one", one), tree("two", two)]))
    assert found["description"] == "TrainJobs of one, two, compiled by trainc"
    assert found["sourceRepos"] == [REPOSITORY, "https://other.example.com/x"]
    assert [(get(item, "server"), get(item, "namespace")) for item in found["destinations"]] == [
        ("https://a.example.com", "*"),
        ("https://kubernetes.default.svc", "x"),
    ]


@pytest.mark.parametrize(
    ("destination", "applied", "allowed"),
    [
        ({"server": "https://a.example.com/"}, "https://a.example.com", "https://a.example.com"),
        ({"server": "https://[fd00::1]:6443"}, "https://[fd00::1]:6443", r"https://\[fd00::1\]:6443"),
        ({"name": "west*"}, "west*", r"west\*"),
    ],
)
def test_a_project_allows_the_cluster_of_its_applications(destination: JsonObject, applied: str, allowed: str) -> None:
    """Argo CD trims slashes of addresses, and takes the destinations of a project for globs."""
    (key,) = destination
    made = tree("prod", {"argocd": {"repoURL": REPOSITORY}, "destination": destination})
    assert get(applicationset(made), "spec", "template", "spec", "destination", key) == applied
    assert {get(item, key) for item in spec(projects([made]))["destinations"]} == {allowed}


def test_the_project_of_argo_cd_itself_is_used_and_not_replaced() -> None:
    found = tree("prod", {"argocd": {"repoURL": REPOSITORY, "project": "default"}})
    assert projects([found]) == ()
    assert get(applicationset(found), "spec", "template", "spec", "project") == "default"


def test_without_a_repository() -> None:
    found = tree("prod", {})
    for make in (lambda: applicationset(found), lambda: projects([found]), lambda: argocd_objects([found])):
        with pytest.raises(ValueError, match=r"environment prod has no argocd\.repoURL"):
            make()


def test_files_lie_where_each_environment_says() -> None:
    one = {"argocd": {"repoURL": REPOSITORY, "write": "deploy/argocd"}}
    two = {"argocd": {"repoURL": REPOSITORY, "write": "elsewhere"}}
    made = argocd_files([tree("one", one), tree("two", two), tree("three", {"argocd": {"repoURL": REPOSITORY}})])
    assert list(made) == [
        "deploy/argocd/appproject-trainc-one.yaml",
        "deploy/argocd/applicationset-trainc-one.yaml",
        "deploy/argocd/argocd-cm/configmap-argocd-cm.yaml",
        "elsewhere/appproject-trainc-two.yaml",
        "elsewhere/applicationset-trainc-two.yaml",
        "elsewhere/argocd-cm/configmap-argocd-cm.yaml",
    ]
    for data in made.values():
        assert data.startswith(b"# Generated by trainc from trainc.yaml and jobs/\n# Do not edit: ")


def test_two_argo_cds_in_one_folder_do_not_meet() -> None:
    options = {"repoURL": REPOSITORY, "project": "same", "write": "argocd"}
    one, two = ({"argocd": {**options, "namespace": place}} for place in ("a", "b"))
    made = argocd_files([tree("one", one), tree("two", two)])
    assert len(made) == 6
    assert "argocd/appproject-a.same.yaml" in made
    assert "argocd/argocd-cm/configmap-b.argocd-cm.yaml" in made


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?", fullmatch=True)


@given(NAMES, st.sets(NAMES, max_size=4), st.booleans(), st.sampled_from(["job", "namespace"]))
def test_what_is_printed_is_plain_yaml(name: str, namespaces: set[str], create: bool, per: str) -> None:
    limited = {"namespaces": sorted(namespaces)} if namespaces else {}
    argocd: JsonObject = {"repoURL": REPOSITORY, "per": per, **limited}
    made = argocd_objects([tree(name, {"argocd": argocd, "createNamespace": create})])
    assert list(yaml.safe_load_all(text(made))) == list(made)
