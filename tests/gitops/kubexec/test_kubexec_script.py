"""kubexec.sh and discover_hosts.sh as processes; kubectl's cluster is a file, and the clock moves when they sleep.

One test asks the real kubectl, where there is one, whether the other prints the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fakekubectl
import pytest
from kubexecjob import build

from builders import the
from effort import some
from trainc.basics.jsonvalues import as_object

SHELLS = some((path for path in map(shutil.which, ("dash", "bash")) if path is not None), 2)
FILES = as_object(the(build(as_node=True, nodes=3), "ConfigMap")["data"])
HOST = "job-node-0-1.job"
JOBSET = "jobset.sigs.k8s.io/"
INDEX = "batch.kubernetes.io/job-completion-index"


def pod(
    name: str,
    attempt: int | None = 0,
    *,
    job: str = "node",
    index: int = 1,
    owner: str = "job",
    phase: str = "Running",
    deleted: bool = False,
    started: bool = True,
    created: int = 0,
) -> dict[str, Any]:
    """Return a pod as the API server has it; by default the one that HOST names."""
    labels = {
        f"{JOBSET}jobset-name": owner,
        f"{JOBSET}replicatedjob-name": job,
        f"{JOBSET}job-index": "0",
        INDEX: str(index),
    }
    if attempt is not None:
        labels[f"{JOBSET}restart-attempt"] = str(attempt)
    metadata: dict[str, Any] = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{created:02}Z", "labels": labels}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T01:00:00Z"
    running: dict[str, Any] = {"running": {"startedAt": "2026-01-01T00:30:00Z"}}
    beside = {"name": "proxy", "state": running}
    main = {"name": "node", "state": running if started else {"waiting": {"reason": "ContainerCreating"}}}
    status = {"phase": phase, "containerStatuses": [beside, main]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}


@dataclass
class Launcher:
    """What a launcher's container has: the files of the ConfigMap, and programs."""

    folder: Path
    shell: str

    def answer(self, *answers: Any) -> None:
        (self.folder / "answers.json").write_text(json.dumps(answers))

    def run(self, script: str, *words: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [self.shell, str(self.folder / script), *words],
            env={"PATH": path, "FAKE_KUBECTL": str(self.folder), **env},
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def exec(self, *words: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("kubexec.sh", *words, given=given, **env)

    @property
    def calls(self) -> list[list[str]]:
        noted = self.folder / "calls.jsonl"
        return [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []

    @property
    def used(self) -> str:
        """The pod of the last exec."""
        (call,) = [call for call in self.calls if call[0] == "exec"]
        return next(word for word in call[1:] if not word.startswith("-"))

    @property
    def slept(self) -> list[int]:
        noted = self.folder / "slept"
        return [int(line) for line in noted.read_text().split()] if noted.exists() else []


@pytest.fixture(params=SHELLS, ids=lambda path: Path(path).name)
def launcher(request: pytest.FixtureRequest, tmp_path: Path) -> Launcher:
    programs = {
        "kubectl": f'exec {sys.executable} -I -S {fakekubectl.__file__} "$@"',
        "date": f'[ "$*" = +%s ] && cat {tmp_path}/clock',
        "sleep": f'echo "$1" >>{tmp_path}/slept; echo $(($(cat {tmp_path}/clock) + $1)) >{tmp_path}/clock',
    }
    (tmp_path / "clock").write_text("1000\n")
    for name, text in FILES.items():
        (tmp_path / name).write_text(str(text), encoding="utf-8")
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        program.chmod(0o755)
    made = Launcher(tmp_path, request.param)
    made.answer([pod("first")])
    return made


def test_a_command_runs_in_the_pod_of_the_host(launcher: Launcher) -> None:
    ran = launcher.exec(HOST, "echo", "$((6 * 7))")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "42\n", "")
    found, run = launcher.calls
    labels = f"{JOBSET}jobset-name=job,{JOBSET}replicatedjob-name=node,{JOBSET}job-index=0,{INDEX}=1"
    assert found[found.index("-l") + 1] == labels
    assert run == ["exec", "-i", "first", "-c", "node", "--", "/bin/sh", "-c", "echo $((6 * 7))"]


def test_the_pod_is_found_by_the_table(launcher: Launcher) -> None:
    launcher.answer(
        [pod("zero", index=0), pod("one"), pod("other", owner="job-2"), pod("own", job="launcher", index=0)]
    )
    assert launcher.exec("job-launcher-0-0.job", "true").returncode == 0
    assert launcher.used == "own"


def test_a_host_without_its_domain_is_the_same(launcher: Launcher) -> None:
    assert launcher.exec("job-node-0-1", "true").returncode == 0
    assert launcher.used == "first"


@pytest.mark.parametrize("host", ["job-node-0-2.job", "job-node-0-1.jo", "job-node-0", "*", "job-node-0-?.job", "."])
def test_an_unknown_host(launcher: Launcher, host: str) -> None:
    ran = launcher.exec(host, "true")
    assert ran.returncode == 255
    assert ran.stderr == f"kubexec: host {host} is not in {launcher.folder}/hosts\n"
    assert launcher.calls == []


@pytest.mark.parametrize(
    ("pods", "chosen"),
    [
        ([pod("old", 0), pod("new", 2), pod("middle", 1)], "new"),
        ([pod("ninth", 9), pod("tenth", 10)], "tenth"),
        ([pod("none", None), pod("zero", 0, created=1)], "zero"),
        ([pod("younger", 1, created=9), pod("older", 1, created=1)], "younger"),
        ([pod("leaving", 3, deleted=True), pod("staying", 2)], "staying"),
        ([pod("failed", 3, phase="Failed"), pod("running", 2)], "running"),
        ([pod("pending", 3, phase="Pending", started=False), pod("running", 2)], "running"),
        ([pod("starting", 3, started=False), pod("running", 2)], "running"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_which_pod_of_several(launcher: Launcher, pods: list[Any], chosen: str) -> None:
    launcher.answer(pods)
    assert launcher.exec(HOST, "true").returncode == 0
    assert launcher.used == chosen
    assert launcher.slept == []


HOSTILE = [
    "a b  c",
    "'",
    '"',
    "\\",
    "$HOME `id` $(id)",
    "; exit 9 #",
    "*",
    "-n",
    "line\nline",
    "tab\there",
    "%s%n",
    "é€",
    "&& false ||",
    "~ !x",
]


def test_arguments_arrive_as_with_ssh(launcher: Launcher) -> None:
    """ssh joins its arguments by blanks, and the shell over there reads the whole: who wants more quotes quotes."""
    words = [f"'{word}'".replace("'''", '"\'"') for word in HOSTILE]
    ran = launcher.exec(HOST, "printf", "'<%s>'", *words)
    assert ran.stdout == "".join(f"<{word}>" for word in HOSTILE)
    assert launcher.calls[-1][-1] == " ".join(["printf", "'<%s>'", *words])
    ran = launcher.exec(HOST, "printf '<%s>'", "'a  b'", "c  d")
    assert ran.stdout == "<a  b><c><d>"


def test_what_open_mpi_sends(launcher: Launcher) -> None:
    """One long command with its own variables, as plm_rsh makes it."""
    command = "PATH=/opt/mpi/bin:$PATH ; export PATH ; export X=1; echo $X -mca ess \"env\" --tree '$x'"
    assert launcher.exec(HOST, command).stdout == "1 -mca ess env --tree $x\n"


@pytest.mark.parametrize(
    "options",
    [
        ["-x"],
        ["-q", "-x"],
        ["-o", "ConnectionAttempts=10"],
        ["-oBatchMode=yes", "-p", "2222", "-l", "user"],
        ["-i", "/key", "-F", "/dev/null", "-4A"],
        ["--"],
        ["-x", "--"],
    ],
    ids=" ".join,
)
def test_options_of_ssh_are_passed_over(launcher: Launcher, options: list[str]) -> None:
    ran = launcher.exec(*options, HOST, "echo", "-x")
    assert (ran.returncode, ran.stdout) == (0, "-x\n")
    assert launcher.used == "first"


def test_options_behind_the_host(launcher: Launcher) -> None:
    assert launcher.exec(HOST, "-p", "22", "-n", "echo", "-p").stdout == "-p\n"
    assert launcher.exec(HOST, "--", "echo", "b").stdout == "b\n"


def test_standard_input_goes_to_the_command(launcher: Launcher) -> None:
    assert launcher.exec(HOST, "cat", given="a\nb").stdout == "a\nb"
    assert launcher.exec("-n", HOST, "cat", given="a\nb").stdout == ""
    assert [call[1] for call in launcher.calls if call[0] == "exec"] == ["-i", "first"]


@pytest.mark.parametrize("status", [0, 1, 7, 139, 255])
def test_the_status_is_the_commands(launcher: Launcher, status: int) -> None:
    ran = launcher.exec(HOST, "echo", "out;", "echo", "err", ">&2;", "exit", str(status))
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "out\n", "err\n")


def test_a_pod_is_waited_for(launcher: Launcher) -> None:
    launcher.answer([], [pod("first", started=False)], [pod("first", deleted=True)], "not so fast", [pod("second", 1)])
    ran = launcher.exec(HOST, "echo", "there")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "there\n", "not so fast\n")
    assert launcher.used == "second"
    assert launcher.slept == [1, 2, 4, 8]


def test_it_gives_up(launcher: Launcher) -> None:
    launcher.answer([pod("first", phase="Pending", started=False)])
    ran = launcher.exec(HOST, "true")
    assert ran.returncode == 255
    assert ran.stderr == f"kubexec: gave up on host {HOST} after 300 s: no pod of it runs\n"
    assert sum(launcher.slept) == 300
    assert max(launcher.slept) == 8
    assert {call[0] for call in launcher.calls} == {"get"}


def test_it_gives_up_earlier(launcher: Launcher) -> None:
    launcher.answer("Error from server (Forbidden): pods is forbidden")
    ran = launcher.exec(HOST, "true", TRAINC_KUBEXEC_TIMEOUT="10")
    assert ran.returncode == 255
    assert ran.stderr.splitlines()[-1] == f"kubexec: gave up on host {HOST} after 10 s: kubectl get pods fails"
    assert ran.stderr.count("Forbidden") == len(launcher.slept) + 1
    assert launcher.slept == [1, 2, 4, 3]


def test_it_does_not_wait_at_all(launcher: Launcher) -> None:
    launcher.answer([])
    assert launcher.exec(HOST, "true", TRAINC_KUBEXEC_TIMEOUT="0").returncode == 255
    assert launcher.slept == []


@pytest.mark.parametrize("limit", ["1m", "-1", " "])
def test_a_limit_that_is_none(launcher: Launcher, limit: str) -> None:
    ran = launcher.exec(HOST, "true", TRAINC_KUBEXEC_TIMEOUT=limit)
    assert (ran.returncode, ran.stderr) == (255, f"kubexec: TRAINC_KUBEXEC_TIMEOUT is no number of seconds: {limit}\n")


@pytest.mark.parametrize("words", [[], [HOST], ["-x"], ["-o"], ["--"], ["-x", HOST]], ids=" ".join)
def test_usage(launcher: Launcher, words: list[str]) -> None:
    ran = launcher.exec(*words)
    assert ran.returncode == 255
    assert ran.stderr.startswith("kubexec: usage: ")
    assert launcher.calls == []


@pytest.mark.parametrize("script", ["kubexec.sh", "discover_hosts.sh"])
def test_without_kubectl(launcher: Launcher, script: str) -> None:
    ran = launcher.run(script, HOST, "true", PATH=str(launcher.folder))
    assert ran.returncode == (255 if script == "kubexec.sh" else 1)
    assert "the image has no kubectl: install it, or set transport.image in trainc.yaml" in ran.stderr


@pytest.mark.parametrize("name", ["jobset", "hosts"])
@pytest.mark.parametrize("script", ["kubexec.sh", "discover_hosts.sh"])
def test_without_a_file(launcher: Launcher, script: str, name: str) -> None:
    (launcher.folder / name).unlink()
    ran = launcher.run(script, HOST, "true")
    assert ran.returncode == (255 if script == "kubexec.sh" else 1)
    assert f"{launcher.folder}/{name}" in ran.stderr
    assert (ran.stdout, launcher.calls) == ("", [])


def test_the_hosts_that_run(launcher: Launcher) -> None:
    launcher.answer(
        [
            pod("b", index=1),
            pod("l", job="launcher", index=0),
            pod("a", index=0, deleted=True),
            pod("stranger", job="dataset", index=0),
            pod("x", index=0, owner="other"),
        ]
    )
    ran = launcher.run("discover_hosts.sh")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert sorted(ran.stdout.splitlines()) == ["job-launcher-0-0.job:2", "job-node-0-1.job:2"]


def test_the_hosts_in_the_order_of_the_hostfile(launcher: Launcher) -> None:
    launcher.answer([pod("l", job="launcher", index=0), pod("b", index=1), pod("a", index=0)])
    found = launcher.run("discover_hosts.sh").stdout.splitlines()
    lines = [line.replace(" slots=", ":") for line in str(FILES["hostfile"]).splitlines()]
    assert found == lines
    assert len(found) == 3, "the launcher and two nodes"


@pytest.mark.parametrize(
    "there", [[], [pod("a", phase="Pending", started=False)], [pod("a", started=False)], [pod("a", phase="Failed")]]
)
def test_no_host_runs(launcher: Launcher, there: list[Any]) -> None:
    launcher.answer(there)
    ran = launcher.run("discover_hosts.sh")
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_cluster_does_not_say_which_hosts_run(launcher: Launcher) -> None:
    launcher.answer("connection refused")
    ran = launcher.run("discover_hosts.sh")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "connection refused\ndiscover_hosts: kubectl get pods fails\n"


class Cluster(BaseHTTPRequestHandler):
    """An API server that has pods."""

    pods: tuple[Any, ...] = ()

    def do_GET(self) -> None:
        resource = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}
        answers: dict[str, Any] = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource]},
            "/api/v1/namespaces/team/pods": {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": self.pods},
        }
        answer = answers.get(self.path.partition("?")[0])
        body = json.dumps(answer or {"kind": "Status", "status": "Failure", "code": 404}).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.mark.parametrize("script", ["kubexec.sh", "discover_hosts.sh"])
def test_nothing_is_said_of_the_connection(script: str) -> None:
    """With any such option kubectl does not look for the pod's own account, and asks localhost:8080."""
    text = str(FILES[script])
    assert "kubectl get pods" in text
    options = ("--request-timeout", "--server", "--token", "--certificate-authority", "--context", "--cluster")
    assert [option for option in options if option in text] == []


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_prints_the_same(launcher: Launcher, tmp_path: Path) -> None:
    pods = (pod("b", None, created=2), pod("a", 3, created=1, deleted=True), pod("c", started=False, created=0))
    launcher.exec(HOST, "true", TRAINC_KUBEXEC_TIMEOUT="0")
    launcher.run("discover_hosts.sh")
    asked = [call for call in launcher.calls if call[0] == "get"]
    assert len(asked) == 2
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Cluster", (Cluster,), {"pods": pods}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for call in asked:
        where = ["--server", f"http://127.0.0.1:{server.server_port}", "--namespace", "team"]
        printed = subprocess.run(
            ["kubectl", *where, "--cache-dir", str(tmp_path / "cache"), *call],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": "/dev/null"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        template = call[call.index("-o") + 1].removeprefix("jsonpath=")
        ordered = sorted(pods, key=lambda one: str(one["metadata"]["creationTimestamp"]))
        assert printed == fakekubectl.render(template, ordered if "name}|" in template else list(pods))
        assert printed.count("\n") == len(pods)
    server.shutdown()
    server.server_close()
