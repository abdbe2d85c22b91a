"""Names and addresses: /etc/hosts, /etc/resolv.conf, cluster DNS, the pod network."""

from __future__ import annotations

import time

from nodecases.bench import Bench

_HOSTS = """\
# Kubernetes-managed hosts file.
127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
fe00::0	ip6-mcastprefix
fe00::1	ip6-allnodes
fe00::2	ip6-allrouters
"""


def case_files_of_etc(bench: Bench) -> None:
    pod = bench.start(
        "p-0-x1", "cat /etc/hosts /etc/hostname; hostname; echo $HOSTNAME", hostname="p-0", subdomain="sub"
    )
    bench.succeeds(pod)
    assert bench.log(pod) == f"{_HOSTS}{pod.ip}\tp-0.sub.default.svc.cluster.local\tp-0\np-0\np-0\np-0\n"
    assert bench.run("l" * 62 + "-x", "hostname") == "l" * 62 + "\n", "63 characters, and no hyphen at the end"


def case_names_of_pods(bench: Bench) -> None:
    bench.service("sub", publishNotReadyAddresses=True)
    pods = [bench.start(f"p-{i}-x", "sleep 60", hostname=f"p-{i}", subdomain="sub") for i in range(2)]
    bench.until(lambda: all(pod.phase == "Running" for pod in pods), "start")
    one, two = (pod.ip for pod in pods)
    full = "p-1.sub.default.svc.cluster.local"
    for name in ("p-1.sub", "p-1.sub.default", "p-1.sub.default.svc", full):
        assert bench.exec(pods[0], "getent", "ahostsv4", name)[1].split()[0] == two, name
    found = bench.exec(pods[1], "getent", "ahostsv4", "sub")[1]
    assert {line.split()[0] for line in found.splitlines()} == {one, two}
    assert bench.exec(pods[0], "getent", "hosts", two)[1].split() == [two, full], "the address back to its name"
    for name in ("p-1", "p-2.sub", "p-1.other", "p-1.sub.other", "other", "x.p-1.sub", "example.com", "p-1-x.sub"):
        code, found = bench.exec(pods[0], "getent", "ahostsv4", name)
        assert (code, found) == (2, ""), name
    assert bench.exec(pods[0], "getent", "ahostsv4", "kubernetes.default.svc")[1].split()[0] == "10.96.0.1"
    pods[1].delete(0)
    bench.until(lambda: pods[1].gone, "deletion")
    assert bench.exec(pods[0], "getent", "ahostsv4", "p-1.sub")[0] == 2


def case_only_ready_pods_have_names(bench: Bench) -> None:
    bench.service("sub")
    probe = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1}
    pod = bench.start(
        "p", "rm -f /tmp/ready; sleep 60", container={"readinessProbe": probe}, hostname="p", subdomain="sub"
    )
    asks = bench.start("asks", "sleep 60")
    bench.until(lambda: pod.phase == asks.phase == "Running", "start")
    assert bench.exec(asks, "getent", "ahostsv4", "p.sub")[0] == 2
    assert bench.exec(pod, "touch", "/tmp/ready") == (0, "")
    bench.until(lambda: pod.ready, "readiness")
    assert bench.exec(asks, "getent", "ahostsv4", "p.sub")[1].split()[0] == pod.ip
    bench.add("Service", "sub", spec={"clusterIP": "None", "selector": {"app": "another"}})
    assert bench.exec(asks, "getent", "ahostsv4", "p.sub")[0] == 2, "the Service selects it no more"


def case_names_that_come_late(bench: Bench) -> None:
    bench.service("sub", publishNotReadyAddresses=True)
    bench.node.delay_name("late.*", 2.0)
    began = time.monotonic()
    pods = [bench.start(name, "sleep 60", hostname=name, subdomain="sub") for name in ("late", "early")]
    bench.until(lambda: all(pod.phase == "Running" for pod in pods), "start")
    assert bench.exec(pods[1], "getent", "ahostsv4", "early.sub")[0] == 0
    script = "until getent ahostsv4 late.sub >/dev/null; do sleep 0.05; done"
    assert bench.exec(pods[1], "sh", "-c", script) == (0, "")
    assert time.monotonic() - began >= 2.0
