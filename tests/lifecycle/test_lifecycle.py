"""The steps of docs/lifecycle.md, with its YAML, in a git repository: what becomes of out/, and what is said."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from folders import put
from gitrepo import commit, needs_git
from trainc.cli.root import trainc

pytestmark = needs_git

PAGE = (Path(__file__).parents[2] / "docs" / "lifecycle.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
RUNTIME: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "plain"},
    "spec": {
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {
                                "template": {"spec": {"containers": [{"name": "node", "image": "example.com/img:1"}]}}
                            },
                        },
                    }
                ]
            }
        }
    },
}


def block(section: str) -> dict[str, Any]:
    """Return the YAML of a section."""
    (text,) = re.findall(r"^```yaml\n(.*?)^```", SECTIONS[section], re.M | re.S)
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


def merged(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}


@dataclass(frozen=True)
class Repository:
    """A repository whose first commit holds jobs and what trainc made of them."""

    root: Path

    def write(self, name: str, data: Any) -> None:
        put(self.root, name, yaml.safe_dump(data, sort_keys=False))

    def job(self, name: str, change: dict[str, Any] | None = None, runtime: str = "plain") -> None:
        own = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": name},
            "spec": {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": 2}},
        }
        self.write(f"jobs/team/{name}.yaml", merged(own, change or {}))

    def run(self, *args: str, code: int = 0) -> str:
        result = CliRunner().invoke(trainc, args, prog_name="trainc")
        assert result.exit_code == code, result.output
        return result.output

    def findings(self, code: int = 0) -> list[str]:
        """Return the codes of the errors that validate --base HEAD has, and their hints."""
        output = self.run("validate", "--base", "HEAD", code=code)
        return re.findall(r"error\[(TC\d+)\]", output)

    def tree(self) -> dict[str, Any]:
        """Return the objects of out/ by path."""
        out = self.root / "out"
        return {
            path.relative_to(out).as_posix(): yaml.safe_load(path.read_text(encoding="utf-8"))
            for path in sorted(out.rglob("*.yaml"))
        }

    def jobset(self, name: str) -> Any:
        return self.tree()[f"prod/team/{name}/jobset-{name}.yaml"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.chdir(root)
    made = Repository(root)
    made.write("trainc.yaml", {"environments": {"prod": {}}})
    made.write("runtimes/plain.yaml", RUNTIME)
    made.job("bert")
    made.job("resnet")
    made.job("ocean", runtime="mlx-distributed")
    made.run("render")
    commit(root)
    return made


def test_stop_a_job(repository: Repository) -> None:
    before = repository.tree()
    repository.job("bert", block("Stop a job"))
    repository.run("render")
    assert repository.findings() == [], "an update in place"
    assert repository.jobset("bert")["spec"].pop("suspend") is True
    changed = {path for path, data in repository.tree().items() if data != before[path]}
    assert changed == {"prod/team/bert/jobset-bert.yaml"}
    commit(repository.root)
    repository.job("bert")
    repository.run("render")
    assert repository.findings() == []
    assert repository.tree() == before
    assert "suspend" not in repository.jobset("bert")["spec"]
    queued = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    repository.job("bert", merged(queued, block("Stop a job")))
    assert "TC601" in repository.findings(code=1)


@pytest.mark.parametrize("name", ["bert", "ocean"])
def test_run_a_job_again(repository: Repository, name: str) -> None:
    before = repository.tree()
    repository.job(name, block("Run a job again"), runtime=before_runtime(name))
    repository.run("render")
    assert repository.findings() == [], "all are new objects"
    after = repository.tree()
    assert list(after) == list(before), "files keep their names"
    own = [path for path in after if path.startswith(f"prod/team/{name}/")]
    assert own
    for path in own:
        assert after[path]["metadata"]["name"].startswith(f"{name}-2")
        assert before[path]["metadata"]["name"] != after[path]["metadata"]["name"]
    assert {path for path in after if after[path] != before[path]} == set(own)


def before_runtime(name: str) -> str:
    return "mlx-distributed" if name == "ocean" else "plain"


def test_change_an_immutable_field(repository: Repository) -> None:
    change: dict[str, Any] = {"spec": {"trainer": {"numNodes": 4}}}
    repository.job("bert", change)
    repository.run("render")
    output = repository.run("validate", "--base", "HEAD", code=1)
    assert set(re.findall(r"error\[(TC\d+)\]", output)) == {"TC204"}
    line = 'trainc.dev/run: "2"'
    assert f"add {line} to metadata.annotations of the TrainJob" in output
    assert yaml.safe_load(line) == block("Change an immutable field")["metadata"]["annotations"]
    repository.job("bert", merged(change, block("Change an immutable field")))
    repository.run("render")
    assert repository.findings() == []
    assert "TC202" not in repository.run("validate", "--base", "HEAD"), "the TrainJob may change with its number"
    assert repository.jobset("bert")["metadata"]["name"] == "bert-2"
    commit(repository.root)
    repository.job("bert", merged({"spec": {"trainer": {"numNodes": 8}}}, block("Run a job again")))
    assert 'add trainc.dev/run: "3" to' in repository.run("validate", "--base", "HEAD", code=1)


def test_a_hostfile_does_not_change_under_a_running_job(repository: Repository) -> None:
    change: dict[str, Any] = {"spec": {"trainer": {"numProcPerNode": 4}}}
    repository.job("ocean", change, runtime="mlx-distributed")
    assert set(repository.findings(code=1)) >= {"TC205"}
    repository.job("ocean", merged(change, block("Run a job again")), runtime="mlx-distributed")
    assert repository.findings() == []


@pytest.mark.parametrize("before", ["job", "external-secrets"])
def test_the_keys_of_a_job_are_not_deleted_in_silence(repository: Repository, before: str) -> None:
    warning = "warning[TC205]: Secret ocean-mpi-ssh-auth is deleted"
    repository.write("trainc.yaml", {"environments": {"prod": {"sshKeys": before}}})
    repository.run("render")
    commit(repository.root)
    if before == "job":
        repository.write("trainc.yaml", {"environments": {"prod": {"sshKeys": "external-secrets"}}})
        assert warning in repository.run("validate", "--base", "HEAD")
        assert "fixed[" not in repository.run("fix", "--base", "HEAD"), "the job may have ended"
        repository.write("trainc.yaml", {"environments": {"prod": {"sshKeys": before}}})
    metadata = {"name": "ocean-mpi-ssh-auth", "namespace": "team"}
    repository.write("runtimes/secret.yaml", {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    assert warning in repository.run("validate", "--base", "HEAD")
    repository.job("ocean", block("Run a job again"), runtime="mlx-distributed")
    assert "TC205" not in repository.run("validate", "--base", "HEAD")


def test_keys_with_a_hash_in_their_name_are_not_deleted_in_silence(repository: Repository) -> None:
    repository.write("trainc.yaml", {"environments": {"prod": {"naming": "content"}}})
    repository.run("render")
    commit(repository.root)
    repository.write("trainc.yaml", {"environments": {"prod": {"naming": "content", "sshKeys": "external-secrets"}}})
    assert re.search(r"warning\[TC205\]: Secret ocean-\w{8}-mpi", repository.run("validate", "--base", "HEAD"))


def test_keys_are_not_deleted_in_silence_because_another_cluster_has_them(repository: Repository) -> None:
    west, east = ({"destination": {"name": name}} for name in ("west", "east"))
    repository.write("trainc.yaml", {"environments": {"west": west, "east": east}})
    repository.run("render")
    commit(repository.root)
    repository.write("trainc.yaml", {"environments": {"west": {**west, "sshKeys": "external-secrets"}, "east": east}})
    assert "warning[TC205]: Secret ocean-mpi-ssh-auth is deleted" in repository.run("validate", "--base", "HEAD")


ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "params"}, "data": {"seed": "1"}}


def with_companions(
    repository: Repository, runtime: str, *companions: dict[str, Any], volume: dict[str, Any] | None = None
) -> None:
    volumes = volume or {"name": "params", "configMap": {"name": "params"}}
    pod = {"serviceAccountName": "trainer", "volumes": [volumes]}
    changed = deepcopy(RUNTIME)
    changed["metadata"]["name"] = runtime
    spec = changed["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    spec.update(pod)
    put(repository.root, f"runtimes/{runtime}.yaml", yaml.safe_dump_all([changed, *companions]))


def with_two_jobs(repository: Repository) -> None:
    """Commit jobs of two runtimes; both use the companions of the first."""
    with_companions(repository, "first", ACCOUNT, MAP)
    with_companions(repository, "second")
    repository.job("one", runtime="first")
    repository.job("two", runtime="second")
    repository.run("render")
    commit(repository.root)


def test_a_companion_is_not_deleted_under_a_job_in_silence(repository: Repository) -> None:
    lost = "warning[TC205]: {} is deleted, but JobSet {} stays, and its pods use it"
    with_two_jobs(repository)
    assert "TC205" not in repository.run("validate", "--base", "HEAD")

    repository.write("trainc.yaml", {"environments": {"prod": {"serviceAccounts": ["trainer"]}}})
    with_companions(repository, "first", MAP)
    found = repository.run("validate", "--base", "HEAD")
    assert lost.format("ServiceAccount trainer", "one (and 1 more)") in found
    assert found.count("TC205") == 1, "the ConfigMap stays"

    with_companions(repository, "first", ACCOUNT, MAP)
    (repository.root / "jobs/team/one.yaml").unlink()
    found = repository.run("validate", "--base", "HEAD")
    assert lost.format("ConfigMap params", "two") in found
    assert lost.format("ServiceAccount trainer", "two") in found
    assert "is deleted, but" not in repository.run("validate", "--base", "HEAD", "jobs/team/two.yaml"), "it has not all"

    (repository.root / "jobs/team/two.yaml").unlink()
    assert "TC205" not in repository.run("validate", "--base", "HEAD")


@pytest.mark.parametrize(("options", "is_lost"), [({}, False), ({"sync-options": "Prune=true"}, True)])
def test_a_claim_that_argocd_may_prune(repository: Repository, options: dict[str, str], is_lost: bool) -> None:
    annotations = {f"argocd.argoproj.io/{key}": value for key, value in options.items()}
    amount = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "data", "annotations": annotations}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": amount}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    with_companions(repository, "first", ACCOUNT, MAP, claim, volume=volume)
    repository.job("one", runtime="first")
    repository.run("render")
    commit(repository.root)
    with_companions(repository, "first", ACCOUNT, MAP, volume=volume)
    lost = "PersistentVolumeClaim data is deleted, but JobSet one stays"
    assert (lost in repository.run("validate", "--base", "HEAD")) is is_lost


@pytest.mark.parametrize(("option", "first", "last"), [("A=b, Prune=false", 0, 1), ("Delete=false", 1, 0)])
def test_a_companion_that_argocd_keeps(repository: Repository, option: str, first: int, last: int) -> None:
    """Argo CD reads ``Delete`` when it deletes the application of the folder, too, and otherwise ``Prune``."""
    annotated = {"metadata": {"annotations": {"argocd.argoproj.io/sync-options": option}}}
    with_companions(repository, "first", merged(ACCOUNT, annotated), merged(MAP, annotated))
    repository.job("one", runtime="first")
    repository.run("render")
    commit(repository.root)
    repository.write("trainc.yaml", {"environments": {"prod": {"serviceAccounts": ["trainer"]}}})
    for companions, expected in (([MAP], first), ([], 2 * last)):
        with_companions(repository, "first", *companions)
        assert repository.run("validate", "--base", "HEAD").count("is deleted, but JobSet one stays") == expected


def test_a_folder_of_companions_that_stays_in_the_cluster(repository: Repository) -> None:
    """With ``onDelete: keep`` nobody deletes what the folder has, but an application that remains prunes."""
    repository.write("trainc.yaml", {"defaults": {"argocd": {"onDelete": "keep"}}, "environments": {"prod": {}}})
    with_two_jobs(repository)
    with_companions(repository, "first", ACCOUNT)
    assert "ConfigMap params is deleted" in repository.run("validate", "--base", "HEAD")
    (repository.root / "jobs/team/one.yaml").unlink()
    assert "TC205" not in repository.run("validate", "--base", "HEAD")
    stop: dict[str, Any] = {"environments": {"prod": {}}}
    repository.write("trainc.yaml", stop)
    assert "TC205" not in repository.run("validate", "--base", "HEAD"), "what the cluster has is still to be kept"
    repository.job("one", runtime="first")
    repository.run("render")
    commit(repository.root)
    repository.write("trainc.yaml", {"defaults": {"argocd": {"onDelete": "keep"}}, **stop})
    (repository.root / "jobs/team/one.yaml").unlink()
    assert "ServiceAccount trainer is deleted" in repository.run("validate", "--base", "HEAD")


@pytest.mark.parametrize(
    ("options", "is_left"),
    [
        ({}, False),
        ({"namespaces": ["team", "other"]}, False),
        ({"namespaces": ["te*", "o*"]}, False),
        ({"namespaces": ["other"]}, True),
        ({"onDelete": "keep"}, False),
        ({"project": "default"}, False),
        ({"write": None}, False),
    ],
)
def test_the_last_job_of_a_namespace(repository: Repository, options: dict[str, Any], is_left: bool) -> None:
    argocd = {"repoURL": "https://git.example/repository", "write": "deploy/argocd", **options}
    argocd = {key: value for key, value in argocd.items() if value}
    before = {"namespaces": ["team"]} if options == {"namespaces": ["other"]} else {}
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": argocd | before}}})
    repository.run("render")
    commit(repository.root)
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": argocd}}})
    (repository.root / "jobs/team").rename(repository.root / "jobs/other")
    found = repository.run("validate", "--base", "HEAD")
    left = "AppProject trainc-prod no longer allows namespace team: Argo CD may leave its removed jobs running"
    assert (left in found) is is_left


@pytest.mark.parametrize(
    ("before", "after", "is_left"),
    [
        ({"destination": {"name": "old"}}, {"destination": {"name": "new"}}, True),
        ({"destination": {"name": "in-cluster"}}, {}, False),
    ],
)
def test_a_job_that_is_removed_when_its_cluster_changes(
    repository: Repository, before: dict[str, Any], after: dict[str, Any], is_left: bool
) -> None:
    argocd = {"repoURL": "https://git.example/repository", "write": "deploy/argocd"}
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": argocd, **before}}})
    with_two_jobs(repository)
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": argocd, **after}}})
    (repository.root / "jobs/team/one.yaml").unlink()
    left = "AppProject trainc-prod no longer allows namespace team: "
    assert (left in repository.run("validate", "--base", "HEAD")) is is_left
    repository.run("render")
    assert (left in repository.run("diff")) is is_left


@pytest.mark.parametrize(("project", "effect"), [({}, "continue"), ({"project": "ours"}, "are deleted")])
def test_a_folder_that_leaves_the_namespaces_of_a_project(
    repository: Repository, project: dict[str, str], effect: str
) -> None:
    """An AppProject that is replaced stays until the Applications of the folder are gone."""
    argocd = {"repoURL": "https://git.example/repository", "write": "deploy/argocd", "namespaces": ["team"]}
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": argocd}}})
    with_two_jobs(repository)
    moved = {"argocd": {**argocd, "namespaces": ["new"], **project}, "namespaces": {"team": "new"}}
    repository.write("trainc.yaml", {"environments": {"prod": moved}})
    assert f"and those in team {effect}" in repository.run("validate", "--base", "HEAD")


@pytest.mark.parametrize("on_delete", ["stop", "keep"])
def test_the_last_role_binding_of_a_namespace(repository: Repository, on_delete: str) -> None:
    argocd = {"repoURL": "https://git.example/repository", "write": "deploy/argocd", "onDelete": on_delete}
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": argocd}}})
    path = repository.root / "runtimes/plain.yaml"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "trainer", "namespace": "team"}],
    }
    there = {**binding, "metadata": {"name": "metrics", "namespace": "monitoring"}}
    text = path.read_text()
    path.write_text("---\n".join([text, *(yaml.safe_dump(each) for each in (binding, there))]))
    repository.run("render")
    commit(repository.root)
    repository.write("trainc.yaml", {"environments": {"prod": {"argocd": {**argocd, "namespaces": ["team"]}}}})
    path.write_text("---\n".join([text, yaml.safe_dump(binding)]))
    left = "AppProject trainc-prod no longer allows namespace monitoring: "
    found = repository.run("validate", "--base", "HEAD")
    assert (f"{left}Argo CD may leave its removed RoleBindings" in found) is (on_delete == "stop")
    repository.run("render")
    assert (f"{left}if Argo CD applies it" in repository.run("diff")) is (on_delete == "stop")


@pytest.mark.parametrize("project", ["", "shared"])
def test_what_another_cluster_still_has(repository: Repository, project: str) -> None:
    argocd = {
        "repoURL": "https://git.example/repository",
        "write": "deploy/argocd",
        **({"project": project} if project else {}),
    }
    prod: dict[str, Any] = {"destination": {"name": "prod"}}
    settings = {"defaults": {"argocd": argocd}, "environments": {"prod": prod, "lab": {"destination": {"name": "lab"}}}}
    repository.write("trainc.yaml", settings)
    with_two_jobs(repository)
    prod["jobs"] = ["team/two"]
    repository.write("trainc.yaml", settings)
    assert "ConfigMap params is deleted, but JobSet two stays" in repository.run("validate", "--base", "HEAD")
    prod |= {"jobs": ["!*"], "argocd": {**argocd, "namespaces": ["other"]}}
    repository.write("trainc.yaml", settings)
    left = f"AppProject {project or 'trainc-prod'} no longer allows namespace team"
    assert left in repository.run("validate", "--base", "HEAD")


def test_rename_a_job(repository: Repository) -> None:
    (repository.root / "jobs/team/bert.yaml").unlink()
    repository.job("bert-large")
    repository.run("render")
    assert repository.findings() == []
    assert not (repository.root / "out/prod/team/bert").exists()
    assert repository.jobset("bert-large")["metadata"]["name"] == "bert-large"


def test_delete_a_job(repository: Repository) -> None:
    before = repository.tree()
    (repository.root / "jobs/team/bert.yaml").unlink()
    repository.run("render")
    assert repository.findings() == []
    assert not (repository.root / "out/prod/team/bert").exists()
    assert repository.tree() == {path: data for path, data in before.items() if "/bert/" not in path}


def test_remove_a_runtime(repository: Repository) -> None:
    path = repository.root / "runtimes/plain.yaml"
    path.unlink()
    output = repository.run("validate", "--base", "HEAD", code=1)
    assert re.findall(r"^(jobs/\S+?):.*error\[TC301\].*was removed", output, re.M) == [
        "jobs/team/bert.yaml",
        "jobs/team/resnet.yaml",
    ]
    for name in ("bert", "resnet"):
        repository.job(name, runtime="torch-distributed")
    repository.write("runtimes/plain.yaml", RUNTIME)
    assert "note[TC314]: no job uses ClusterTrainingRuntime plain" in repository.run("validate")
    path.unlink()
    assert "TC314" not in repository.run("validate")


def test_upgrade_the_compiler(repository: Repository) -> None:
    repository.write("trainc.yaml", merged({"environments": {"prod": {}}}, block("Upgrade the compiler")))
    repository.run("render", "--check")  # exits 3 if the number changed anything by itself
    # An older release, which froze no ConfigMap, has rendered what is committed.
    path = repository.root / "out/prod/team/ocean/configmap-ocean-mpi-hostfile.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("immutable: true\n", ""), encoding="utf-8")
    commit(repository.root)
    listed = repository.run("render", "--check", code=3)
    assert "out/prod/team/ocean/configmap-ocean-mpi-hostfile.yaml" in listed
    repository.run("render")
    assert repository.findings() == [], "an update in place: nothing runs again"
    repository.write("trainc.yaml", {"output": 2, "environments": {"prod": {}}})
    assert "error[TC013]" in repository.run("render", code=1)


def test_names_by_content(repository: Repository) -> None:
    config = block("Names by content")
    repository.write("trainc.yaml", config)
    repository.run("render")
    assert repository.findings(code=1) == ["TC611"], "all three get other names, and one may"
    config["environments"]["prod"]["naming"]["maxReruns"] = 3
    repository.write("trainc.yaml", config)
    assert repository.findings() == []
    repository.write("trainc.yaml", block("Names by content"))
    before = repository.tree()
    commit(repository.root)
    repository.job("bert", {"spec": {"trainer": {"numNodes": 4}}})
    repository.run("render")
    assert repository.findings() == [], "one job may"
    after = repository.tree()
    assert list(after) == list(before)
    assert [path for path in after if after[path] != before[path]] == ["prod/team/bert/jobset-bert.yaml"]
    assert re.fullmatch("bert-[0-9a-f]{8}", repository.jobset("bert")["metadata"]["name"])
    repository.job("resnet", {"spec": {"trainer": {"numNodes": 4}}})
    output = repository.run("validate", "--base", "HEAD", code=1)
    assert "2 jobs of environment prod would run again: team/bert, team/resnet" in output
    (repository.root / "jobs/team/resnet.yaml").unlink()
    assert repository.findings() == [], "a job that is gone runs not again"


def test_a_deadline(repository: Repository) -> None:
    repository.job("bert", block("A deadline"))
    repository.run("render")
    (job,) = repository.jobset("bert")["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["activeDeadlineSeconds"] == 3600
    repository.job("ocean", block("A deadline"), runtime="mlx-distributed")
    assert repository.run("validate", code=1).count("error[TC312]") == 1
    repository.write("trainc.yaml", {"environments": {"prod": {}}, "severities": {"TC312": "warning"}})
    repository.run("render")
    assert "activeDeadlineSeconds" not in str(repository.jobset("ocean"))


def test_a_job_that_removes_itself(repository: Repository) -> None:
    ttl = merged(RUNTIME, {"spec": {"template": {"spec": {"ttlSecondsAfterFinished": 60}}}})
    repository.write("runtimes/plain.yaml", ttl)
    assert "error[TC610]" in repository.run("validate", code=1)
    for options in ({"argocd": {"automated": False}}, {"argocd": {"automated": False}, "target": "flux"}):
        repository.write("trainc.yaml", {"environments": {"prod": options}})
        repository.run("validate", code=1 if "target" in options else 0)


def test_every_section_is_taken() -> None:
    tested = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    assert {section.lower() for section in SECTIONS} <= tested
