"""Other ways to start: Horovod's, DeepSpeed's and torch's, the trainer program, initializers, the key Job."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from matrix import Row, rows
from roots import ROOT
from running import Runner, assert_spread, hosts, render

pytestmark = pytest.mark.e2e

CASES = Path(__file__).with_name("cases")
OURS = (
    "deepspeed-distributed",
    "horovod-distributed",
    "mpi-distributed",
    "mpi-distributed-kubexec",
    "torch-distributed",
)
"""Runtimes of runtimes/ that jobs of cases name: the real ones, not copies."""


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what renders a repository of cases/, once, and returns its folder out/prod/team-cases."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp(name) / "repository"
            shutil.copytree(CASES / name, folder)
            (folder / "runtimes").mkdir(exist_ok=True)
            for runtime in OURS:
                shutil.copy(ROOT / "runtimes" / f"{runtime}.yaml", folder / "runtimes")
            made[name] = render(folder) / "team-cases"
        return made[name]

    return of


def test_horovod_with_discovered_hosts(rendered: Callable[[str], Path], runner: Runner) -> None:
    outcome = runner(rendered("launchers") / "elastic-horovod")
    assert outcome.ended("JobSet/elastic-horovod") == ("Completed", "AllJobsCompleted"), outcome
    nodes = [f"elastic-horovod-node-0-{index}" for index in range(3)]
    launcher = "elastic-horovod-launcher-0-0"
    assert f"discovered {','.join(f'{node}.elastic-horovod:1' for node in nodes)}\n" in outcome.log(launcher)
    assert_spread(hosts(outcome, launcher), nodes, 1)


def test_horovod_by_ssh(rendered: Callable[[str], Path], runner: Runner) -> None:
    outcome = runner(rendered("launchers") / "horovod-ssh")
    assert outcome.ended("JobSet/horovod-ssh") == ("Completed", "AllJobsCompleted"), outcome
    names = ["horovod-ssh-launcher-0-0", "horovod-ssh-node-0-0", "horovod-ssh-node-0-1"]
    assert_spread(hosts(outcome, names[0]), names, 1)
    assert all(outcome.pod(name).exits["ssh-keys"] == 0 for name in names)


def test_deepspeed(rendered: Callable[[str], Path], runner: Runner) -> None:
    outcome = runner(rendered("launchers") / "deepspeed")
    assert outcome.ended("JobSet/deepspeed") == ("Completed", "AllJobsCompleted"), outcome
    names = ["deepspeed-launcher-0-0", "deepspeed-node-0-0"]
    pool = {f"{name}.deepspeed": 2 for name in names}
    log = outcome.log(names[0])
    assert json.loads(log.split("resources: ")[1].splitlines()[0].replace("'", '"')) == pool
    assert "\ndeepspeed-node-0-0\n" in log  # what ssh found there
    assert_spread(hosts(outcome, names[0]), names, 2)


def test_training(rendered: Callable[[str], Path], runner: Runner) -> None:
    outcome = runner(rendered("launchers") / "training")
    assert outcome.ended("JobSet/training") == ("Completed", "AllJobsCompleted"), outcome
    line = next(line for line in outcome.log("training-launcher-0-0").splitlines() if line.startswith("{"))
    result = json.loads(line)
    assert (result["ranks"], result["steps"]) == (4, 40)
    assert sorted(set(result["hosts"])) == ["training-node-0-0", "training-node-0-1"]


def test_torch_rendezvous(rendered: Callable[[str], Path], runner: Runner) -> None:
    outcome = runner(rendered("rendezvous") / "torch")
    assert outcome.ended("JobSet/torch") == ("Completed", "AllJobsCompleted"), outcome
    names = [f"torch-node-0-{index}" for index in range(3)]
    seen = [json.loads(outcome.log(name).splitlines()[-1])["every"] for name in names]
    assert seen[0] == seen[1] == seen[2]
    by_rank = sorted(seen[0], key=lambda one: int(one["PET_NODE_RANK"]))
    assert [one["host"] for one in by_rank] == names
    for one in by_rank:
        assert one["PET_NNODES"] == "3"
        assert one["PET_NPROC_PER_NODE"] == "2"
        assert (one["PET_MASTER_ADDR"], one["PET_MASTER_PORT"]) == ("torch-node-0-0.torch", "29500")


def test_nodes_wait_for_an_initializer(rendered: Callable[[str], Path], runner: Runner) -> None:
    outcome = runner(rendered("rendezvous") / "prepared")
    assert outcome.ended("JobSet/prepared") == ("Completed", "AllJobsCompleted"), outcome
    names = [pod.hostname for pod in outcome.pods]
    assert names == ["prepared-dataset-initializer-0-0", "prepared-node-0-0", "prepared-node-0-1"]
    assert outcome.log(names[0]) == "fetching hf://team/numbers\n"
    for index in range(2):
        assert outcome.log(f"prepared-node-0-{index}") == f"node {index} reads hf://team/numbers\n"


def by_ssh() -> Row:
    return next(row for row in rows() if (row.mpi, row.transport, row.user) == ("openmpi4", "ssh", "mpiuser"))


def test_keys_come_from_the_rendered_job(table: Path, runner: Runner) -> None:
    name = by_ssh().name
    outcome = runner(table / name)
    assert outcome.ended(f"JobSet/{name}") == ("Completed", "AllJobsCompleted"), outcome
    (job,) = [key for key in outcome.conditions if key.startswith(f"Job/{name}-mpi-ssh-keys-")]
    assert outcome.ended(job) == ("Complete", "CompletionsReached")
    secret = f"/api/v1/namespaces/team-mpi/secrets/{name}-mpi-ssh-auth"
    asked = [(method, path.partition("?")[0], code) for method, path, code in outcome.requests]
    assert asked == [("GET", secret, 200), ("PATCH", secret, 200)]
    assert "references non-existent secret key: ssh-privatekey" in outcome.events  # the pods waited for it


def test_keys_need_the_rendered_rights(table: Path, runner: Runner, tmp_path: Path) -> None:
    name = by_ssh().name
    shutil.copytree(table / name, tmp_path / name)
    (tmp_path / name / f"rolebinding-{name}-mpi-ssh-keys.yaml").unlink()
    outcome = runner(tmp_path / name, limit=5)
    assert outcome.timed_out
    assert outcome.ended(f"JobSet/{name}") is None
    user = f"system:serviceaccount:team-mpi:{name}-mpi-ssh-keys"
    refused = [pod for pod in outcome.pods if "mpi-ssh-keys" in pod.hostname]
    assert refused
    for pod in refused[:1]:
        assert f'secrets "{name}-mpi-ssh-auth" is forbidden: User "{user}" cannot get resource "secrets"' in "".join(
            pod.logs.values()
        )
    assert {code for _, _, code in outcome.requests} == {403}
