"""The life of a pod: init containers, restarts, probes, hooks, grace periods, deadlines, commands, output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from simulator.node import RunningPod, Unsupported

from nodecases.bench import Bench


def shell(name: str, script: str, **more: Any) -> dict[str, Any]:
    """Return a container that runs a shell script."""
    return {"name": name, "image": "machine", "command": ["/bin/sh", "-c", script], **more}


def ended(pod: RunningPod, container: int = 0) -> dict[str, Any]:
    """Return what the status of a container says of its end."""
    found: dict[str, Any] = pod.container_statuses[container]["state"]["terminated"]
    return found


def case_restarts(bench: Bench) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    script = "echo run >> /v/f; echo x >> /own; wc -l < /own; test $(wc -l < /v/f) = 3 || exit 7"
    pod = bench.start("p", script, container=mount, volumes=volumes, restartPolicy="OnFailure")
    bench.succeeds(pod)
    status = pod.container_statuses[0]
    assert status["restartCount"] == 2 and status["lastState"]["terminated"]["exitCode"] == 7
    assert bench.log(pod) == "1\n1\n1\n", "volumes outlive a restart, a container's own files do not"
    assert any("exit code 7, again in 0.05 s (a kubelet: 10 s and more)" in line for line in bench.lines)
    always = bench.start("q", "exit 0", restartPolicy="Always")
    bench.until(lambda: always.container_statuses[0]["restartCount"] >= 2, "restarts of what succeeds")
    always.delete(0)
    bench.until(lambda: always.gone, "deletion")
    never = bench.start("r", "exit 7")
    assert never.wait(20) and never.phase == "Failed" and never.container_statuses[0]["restartCount"] == 0


def case_grace(bench: Bench) -> None:
    polite = bench.start("polite", "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.02; done")
    deaf = bench.start("deaf", "trap '' TERM; echo up; while :; do sleep 0.02; done")
    own = bench.start("own", "trap '' TERM; echo up; sleep 60 & wait; sleep 60", terminationGracePeriodSeconds=1)
    bench.until(lambda: all(bench.log(pod) == "up\n" for pod in (polite, deaf, own)), "start")
    began = time.monotonic()
    polite.delete()
    bench.until(lambda: polite.gone, "deletion of the polite one")
    assert time.monotonic() - began < 10 and ended(polite)["exitCode"] == 9 and bench.log(polite) == "up\nbye\n"
    began = time.monotonic()
    deaf.delete(0.5)
    own.delete()
    bench.until(lambda: deaf.gone, "deletion of the deaf one")
    assert time.monotonic() - began >= 0.5 and ended(deaf)["exitCode"] == 137
    bench.until(lambda: own.gone, "deletion after its own period")
    assert time.monotonic() - began >= 1 and ended(own)["exitCode"] == 137
    patient = bench.start("patient", "trap '' TERM; echo up; while :; do sleep 0.02; done")
    bench.until(lambda: bench.log(patient) == "up\n", "start")
    patient.delete()
    patient.delete(0)
    bench.until(lambda: patient.gone, "a second deletion shortens the period")
    assert patient not in bench.node.pods and patient.phase == "Failed"


def case_tcp_probes(bench: Bench) -> None:
    serve = "import socket, time; s = socket.create_server(('', 8080)); time.sleep(60)"
    opened, refused = (
        bench.start(
            f"p{port}",
            "",
            container={
                "command": [sys.executable, "-S", "-c", serve],
                "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1, "timeoutSeconds": 5},
            },
        )
        for port in (8080, 8081)
    )
    bench.until(lambda: opened.ready, "readiness")
    time.sleep(1)
    assert not refused.ready


def case_exec(bench: Bench) -> None:
    container = {"env": [{"name": "A", "value": "b"}], "workingDir": "/usr", "securityContext": {"runAsUser": 4711}}
    pod = bench.start("p", "", containers=[shell("c", "sleep 60", **container), shell("d", "sleep 60")])
    bench.until(lambda: pod.phase == "Running", "start")
    assert bench.exec(pod, "sh", "-c", "echo $A; pwd; id -u; hostname; cat /proc/1/cmdline | tr '\\0' ' '; exit 4") == (
        *(4, "b\n/usr\n4711\np\n/bin/sh -c sleep 60 "),
    )
    assert bench.exec(pod, "id", "-u", container="d") == (0, "0\n")
    code, text = bench.exec(pod, "not-there")
    assert code == 126 and 'exec: "not-there": executable file not found in $PATH' in text
    assert bench.exec(pod, "sh", "-c", "kill -9 $$")[0] == 137
    read, write = os.pipe()
    out, output = os.pipe()
    os.write(write, b"through the pipe")
    os.close(write)
    assert pod.exec("c", ["cat"], read, output, output, timeout=20) == 0
    assert os.read(out, 100) == b"through the pipe"
    began = time.monotonic()
    assert pod.exec("c", ["sleep", "60"], read, output, output, timeout=0.2) == 137
    assert time.monotonic() - began < 10


def case_commands_end_with_their_container(bench: Bench) -> None:
    pod = bench.start("p", "sleep 60")
    bench.until(lambda: pod.phase == "Running", "start")
    null = os.open(os.devnull, os.O_RDWR)
    codes: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: codes.append(pod.exec(None, ["sh", "-c", "sleep 60 & sleep 60"], null, null, null))
        )
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    bench.until(lambda: bench.exec(pod, "pgrep", "-c", "sleep")[1].strip() == "11", "all commands")
    pod.kill(signal.SIGKILL)
    for thread in threads:
        thread.join(20)
    assert codes == [137] * 5
    assert pod.wait(20)


def case_what_cannot_start(bench: Bench) -> None:
    for name, container, text in (
        ("a", {"command": ["not-there"]}, 'exec: "not-there": executable file not found in $PATH'),
        ("b", {"command": ["/not/there"]}, 'exec: "/not/there": stat /not/there: no such file or directory'),
        ("c", {"command": ["/etc/passwd"]}, 'exec: "/etc/passwd": permission denied'),
        ("d", {"command": ["/usr"]}, 'exec: "/usr": is a directory'),
    ):
        pod = bench.start(name, "", container=container)
        assert pod.wait(20) and pod.phase == "Failed"
        assert (ended(pod)["exitCode"], ended(pod)["reason"]) == (128, "StartError")
        assert text in ended(pod)["message"], ended(pod)


def case_orphans_and_zombies(bench: Bench) -> None:
    for number in range(10):
        pod = bench.start(
            f"p{number}", "for i in 1 2 3 4 5; do (sleep 60 &) ; sh -c 'exit 1' & done; sleep 0.05; exec false"
        )
        assert pod.wait(20) and ended(pod)["exitCode"] == 1

    def left() -> list[str]:
        found = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
        return [line for line in found.splitlines() if line.startswith("Z") or "sleep 60" in line]

    bench.until(lambda: not left(), "the end of every process")


def case_unsupported(bench: Bench) -> None:
    spec = {"name": "c", "image": "machine", "lifecycle": {"stopSignal": "SIGUSR1"}, "tty": True}
    for changes, text in (
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "spec.volumes[0].hostPath"),
        ({"hostNetwork": True}, "spec.hostNetwork: True"),
        ({"containers": [spec]}, "spec.containers[0].lifecycle, spec.containers[0].tty: True"),
        ({"containers": [shell("c", "true", image="other:1")]}, "image other:1: the node has only echo, machine"),
        (
            {"containers": [shell("c", "true", volumeMounts=[{"name": "x", "mountPath": "/x"}])]},
            "x, which is no volume",
        ),
    ):
        try:
            bench.start("p", "true", **changes)
        except Unsupported as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"taken: {changes}")
    assert bench.node.pods == ()
