"""What a container is: environment, command, user and rights, namespaces, and what it shares with its pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodecases.bench import Bench

_STATUS = "grep -E '^(Cap(Eff|Bnd|Inh|Amb)|NoNewPrivs)' /proc/self/status | tr -s '\\t\\n' ' '"
_CONTAINERD = "00000000a80425fb"
"""The bits of containerd's default capabilities, as every container in a real cluster shows them."""


def case_environment(bench: Bench) -> None:
    field = {
        "NAME": "metadata.name",
        "NS": "metadata.namespace",
        "POD_UID": "metadata.uid",
        "ROLE": "metadata.labels['role']",
        "NOTE": "metadata.annotations['example.com/note']",
        "IP": "status.podIP",
        "NODE": "spec.nodeName",
        "ACCOUNT": "spec.serviceAccountName",
        "HOST": "status.hostIP",
        "NONE": "metadata.labels['none']",
    }
    env: list[dict[str, Any]] = [
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in field.items()),
        {"name": "REF", "value": "$(NAME)-$(LATER)-$$(NAME)-$(KUBERNETES_SERVICE_PORT)-$HOME"},
        {"name": "LATER", "value": "x"},
        {"name": "EMPTY"},
    ]
    pod = bench.start("p", "", container={"env": env, "command": ["env"]}, serviceAccountName="me", hostname="h")
    bench.succeeds(pod)
    found = dict(line.split("=", 1) for line in bench.log(pod).splitlines())
    assert found == {
        "NAME": "p",
        "NS": "default",
        "POD_UID": "uid-of-p",
        "ROLE": "test",
        "NOTE": 'a "note"',
        "NONE": "",
        "IP": pod.ip,
        "NODE": "simulator",
        "ACCOUNT": "me",
        "HOST": "10.244.0.1",
        "LATER": "x",
        "EMPTY": "",
        "REF": "p-$(LATER)-$(NAME)-443-$HOME",
        "HOSTNAME": "h",
        "HOME": "/root",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "443",
        "KUBERNETES_PORT": "tcp://10.96.0.1:443",
        "KUBERNETES_PORT_443_TCP": "tcp://10.96.0.1:443",
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_443_TCP_PORT": "443",
        "KUBERNETES_PORT_443_TCP_ADDR": "10.96.0.1",
    }


def case_user(bench: Bench) -> None:
    assert bench.run("root", "id -u; id -g; id -G") == "0\n0\n0\n"
    context = {"runAsUser": 4711, "runAsGroup": 4712, "fsGroup": 4713}
    found = bench.run(
        "pod",
        "id; echo $HOME; touch /x",
        securityContext=context,
        container={"command": ["sh", "-c", "id; echo $HOME; touch /x || true"]},
    )
    assert found.splitlines()[:2] == ["uid=4711 gid=4712 groups=4712,4713", "/"]
    assert "Permission denied" in found
    own = {"securityContext": {"runAsUser": 4715}}
    assert (
        bench.run("own", "id -u; id -g; echo hi > /dev/stdout", container=own, securityContext=context)
        == "4715\n4712\nhi\n"
    )


def case_run_as_non_root(bench: Bench) -> None:
    pod = bench.start("p", "true", securityContext={"runAsNonRoot": True})
    said = 'container has runAsNonRoot and image will run as root (pod: "p_default(uid-of-p)", container: c)'
    bench.until(lambda: any(said in line for line in bench.lines), said)
    assert pod.phase == "Pending"
    assert pod.container_statuses[0]["state"] == {"waiting": {"reason": "CreateContainerConfigError", "message": said}}
    assert bench.run("q", "id -u", securityContext={"runAsNonRoot": True, "runAsUser": 4711}) == "4711\n"


def case_capabilities(bench: Bench) -> None:
    def found(name: str, **security: Any) -> dict[str, str]:
        words = bench.run(name, _STATUS, container={"securityContext": security}).split()
        return dict(zip((word.rstrip(":") for word in words[::2]), words[1::2], strict=True))

    none = "0" * 16
    bits = {"CapInh": none, "CapAmb": none, "CapEff": _CONTAINERD, "CapBnd": _CONTAINERD}
    assert found("root") == {**bits, "NoNewPrivs": "0"}
    assert found("user", runAsUser=4711)["CapEff"] == none
    assert found("user2", runAsUser=4711)["CapBnd"] == _CONTAINERD
    assert found("none", capabilities={"drop": ["ALL"]})["CapEff"] == none
    assert found("one", capabilities={"drop": ["ALL"], "add": ["SYS_CHROOT"]})["CapEff"] == f"{1 << 18:016x}"
    assert found("more", capabilities={"drop": ["MKNOD"], "add": ["NET_ADMIN"]})["CapEff"] == (
        f"{int(_CONTAINERD, 16) - (1 << 27) + (1 << 12):016x}"
    )
    assert found("strict", allowPrivilegeEscalation=False)["NoNewPrivs"] == "1"


def case_read_only_root(bench: Bench) -> None:
    refused = "for f in /file /etc/hosts /tmp/a-file /dev/file; do (echo > $f) 2>&1 | grep -c Read-only || true; done"
    script = f"{refused}; echo > /v/file; echo > /dev/shm/file; echo > /dev/null"
    container = {
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    assert bench.run("p", script, container=container, volumes=[{"name": "v", "emptyDir": {}}]) == "1\n1\n1\n0\n"


def case_own_namespaces(bench: Bench) -> None:
    script = "echo $$$$; ls -d /proc/[0-9]* | wc -l; cd /proc/self/ns; readlink net uts ipc pid mnt"
    script += "; sleep 1"  # the kernel gives the numbers of namespaces that are gone to new ones
    other = {"name": "d", "image": "machine", "command": ["sh", "-c", script]}
    first = {"name": "c", "image": "machine", "command": ["sh", "-c", script]}
    pod = bench.start("p", "", containers=[first, other])
    bench.succeeds(pod)
    (own, count, *mine), (_, _, *its) = bench.log(pod).splitlines(), bench.log(pod, "d").splitlines()
    assert own == "1" and int(count) <= 3
    assert mine[:3] == its[:3], "containers of a pod share network, host name and IPC"
    assert mine[3] != its[3] and mine[4] != its[4], "but neither processes nor files"
    assert not set(mine) & {
        str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "uts", "ipc", "pid", "mnt")
    }
