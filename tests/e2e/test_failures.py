"""What goes wrong, and what the rendered objects make of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from running import Outcome, Runner, assert_spread, hosts, render

pytestmark = pytest.mark.e2e

CASES = Path(__file__).with_name("cases")


@pytest.fixture(scope="session")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder out/ of cases/failures."""
    return rendered(tmp_path_factory, "failures")


@pytest.fixture(scope="session")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder out/ of cases/silent."""
    return rendered(tmp_path_factory, "silent")


def rendered(factory: pytest.TempPathFactory, name: str) -> Path:
    folder = factory.mktemp(name) / "repository"
    shutil.copytree(CASES / name, folder)
    return render(folder).parent


def nodes(name: str) -> list[str]:
    return [f"{name}-node-0-{index}" for index in range(2)]


def failed(outcome: Outcome, name: str, job: str) -> None:
    """Look whether a JobSet failed because of this Job."""
    key = f"JobSet/{name}"
    assert outcome.ended(key) == ("Failed", "FailedJobs"), outcome
    assert f"(first failed job: {name}-{job}-0)" in (outcome.conditions[key] or {})["message"]


def killed(name: str) -> list[dict[str, object]]:
    launcher = f"{name}-launcher-0-0"
    return [{"pod": f"{name}-node-0-1", "signal": 9, "log_of": launcher, "pattern": '^{"hosts"'}]


def test_a_worker_is_killed(failures: Path, runner: Runner) -> None:
    name = "worker-killed"
    outcome = runner(failures / "prod" / "team-cases" / name, kills=killed(name))
    assert outcome.pod(f"{name}-node-0-1").exits == {"node": 137}
    assert_spread(hosts(outcome, f"{name}-launcher-0-0"), nodes(name), 1)
    assert "the end" not in outcome.log(f"{name}-launcher-0-0")
    ended = outcome.conditions[f"JobSet/{name}"]
    assert ended is not None
    assert (ended["type"], ended["reason"]) == ("Failed", "FailedJobs"), outcome


def test_a_worker_is_killed_and_all_begin_anew(failures: Path, runner: Runner) -> None:
    name = "worker-killed-once"
    outcome = runner(failures / "prod" / "team-cases" / name, kills=killed(name))
    assert outcome.ended(f"JobSet/{name}") == ("Completed", "AllJobsCompleted"), outcome
    assert outcome.restarts[f"JobSet/{name}"] == 1
    first, second = outcome.pods_of(f"{name}-launcher-0-0")
    assert "the end" not in first.logs["node"]
    assert second.logs["node"].endswith("the end\n")
    again = Outcome(False, {}, {}, [second], [], "")
    assert_spread(hosts(again, f"{name}-launcher-0-0"), nodes(name), 1)


def test_a_rank_raises(failures: Path, runner: Runner) -> None:
    outcome = runner(failures / "prod" / "team-cases" / "rank-raises")
    failed(outcome, "rank-raises", "launcher")
    launcher = outcome.pod("rank-raises-launcher-0-0")
    assert launcher.exits["node"] not in (0, None)
    assert "MPI_ABORT" in launcher.logs["node"] or "MPI_Abort" in launcher.logs["node"], outcome


def test_a_name_comes_late(failures: Path, runner: Runner) -> None:
    """ssh tries a connection again, but not a name: the job fails at once, and a failurePolicy is what helps."""
    name = "name-late"
    outcome = runner(failures / "prod" / "team-cases" / name, delays={f"{name}-node-0-1.*": 60})
    failed(outcome, name, "launcher")
    assert "Could not resolve hostname" in outcome.log(f"{name}-launcher-0-0")


def test_a_name_comes_late_and_all_begin_anew(failures: Path, runner: Runner) -> None:
    name = "name-late-restarting"
    outcome = runner(failures / "prod" / "team-cases" / name, delays={f"{name}-node-0-1.*": 60})
    assert outcome.ended(f"JobSet/{name}") == ("Completed", "AllJobsCompleted"), outcome
    assert outcome.restarts[f"JobSet/{name}"] == 1
    assert "Could not resolve hostname" in outcome.pods_of(f"{name}-launcher-0-0")[0].logs["node"]


def test_a_late_name_is_nothing_to_kubexec(failures: Path, runner: Runner) -> None:
    name = "name-late-kubexec"
    outcome = runner(failures / "prod" / "team-cases" / name, delays={f"{name}-node-0-1.*": 60})
    assert outcome.ended(f"JobSet/{name}") == ("Completed", "AllJobsCompleted"), outcome
    assert_spread(hosts(outcome, f"{name}-launcher-0-0"), nodes(name), 1)


def test_the_launcher_is_there_before_sshd(failures: Path, runner: Runner) -> None:
    name = "sshd-late"
    outcome = runner(failures / "prod" / "team-cases" / name)
    assert outcome.ended(f"JobSet/{name}") == ("Completed", "AllJobsCompleted"), outcome
    assert_spread(hosts(outcome, f"{name}-launcher-0-0"), nodes(name), 1)


def test_upstreams_key_mode_is_refused_for_root(failures: Path, runner: Runner) -> None:
    outcome = runner(failures / "upstream" / "team-cases" / "root-by-ssh")
    failed(outcome, "root-by-ssh", "node")  # sshd is the first to refuse it, as its host key
    log = outcome.log("root-by-ssh-node-0-0")
    assert "Permissions 0640 for '/root/.ssh/id_rsa' are too open." in log
    assert "sshd: no hostkeys available -- exiting." in log


def test_the_fix_makes_root_work(failures: Path, runner: Runner) -> None:
    outcome = runner(failures / "prod" / "team-cases" / "root-by-ssh")
    assert outcome.ended("JobSet/root-by-ssh") == ("Completed", "AllJobsCompleted"), outcome
    assert_spread(hosts(outcome, "root-by-ssh-launcher-0-0"), nodes("root-by-ssh"), 1)


def test_open_mpi_5_runs_all_in_the_launcher_without_the_fix(silent: Path, runner: Runner) -> None:
    """As Trainer v2.3.0 (kubeflow/trainer#4028): the job succeeds, and the nodes did nothing."""
    outcome = runner(silent / "upstream" / "team-cases" / "five")
    assert outcome.ended("JobSet/five") == ("Completed", "AllJobsCompleted"), outcome
    found = hosts(outcome, "five-launcher-0-0")
    assert found == dict.fromkeys(range(2), "five-launcher-0-0")
    with pytest.raises(AssertionError, match="ranks ran elsewhere"):
        assert_spread(found, nodes("five"), 1)


def test_open_mpi_5_spreads_with_the_fix(silent: Path, runner: Runner) -> None:
    outcome = runner(silent / "prod" / "team-cases" / "five")
    assert outcome.ended("JobSet/five") == ("Completed", "AllJobsCompleted"), outcome
    assert_spread(hosts(outcome, "five-launcher-0-0"), nodes("five"), 1)


def test_a_wrong_hostfile_variable_does_not_pass(silent: Path, runner: Runner) -> None:
    """A test of the tests: all ranks run in the launcher, the exit code is 0, and the assertion on hosts fails."""
    outcome = runner(silent / "prod" / "team-cases" / "wrong-variable")
    assert outcome.ended("JobSet/wrong-variable") == ("Completed", "AllJobsCompleted"), outcome
    with pytest.raises(AssertionError, match="ranks ran elsewhere"):
        assert_spread(hosts(outcome, "wrong-variable-launcher-0-0"), nodes("wrong-variable")[:1], 2)
