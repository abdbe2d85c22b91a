"""Volumes: what is in them, whose it is, with which modes, and where containers have it."""

from __future__ import annotations

import base64
from typing import Any

from nodecases.bench import Bench

_STAT = 'stat -c "%A %u:%g %n"'


def mounted(*mounts: dict[str, Any], **security: Any) -> dict[str, Any]:
    """Return the part of a container that mounts a volume `v` at /v, or as given."""
    made = mounts or ({"name": "v", "mountPath": "/v"},)
    return {"volumeMounts": list(made), **({"securityContext": security} if security else {})}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def case_secret(bench: Bench) -> None:
    bench.add("Secret", "s", data={"key": encoded("private"), "pub": encoded("public"), "more": encoded("x")})
    items = [{"key": "key", "path": "id_rsa", "mode": 0o400}, {"key": "pub", "path": "in/id_rsa.pub"}]
    volumes = [{"name": "v", "secret": {"secretName": "s", "defaultMode": 0o640, "items": items}}]
    script = (
        f"cd /v; {_STAT} . ..data/id_rsa in ..data/in in/id_rsa.pub; cat id_rsa in/id_rsa.pub; echo; ls; stat -fc %T ."
    )
    found = bench.run("p", script, container=mounted(), volumes=volumes)
    assert found.splitlines() == [
        "drwxrwxrwt 0:0 .",
        "-r-------- 0:0 ..data/id_rsa",
        "lrwxrwxrwx 0:0 in",
        "drwxr-xr-x 0:0 ..data/in",
        "-rw-r----- 0:0 in/id_rsa.pub",
        "privatepublic",
        *("id_rsa", "in", "tmpfs"),
    ]


def case_fs_group(bench: Bench) -> None:
    bench.add("Secret", "s", data={"key": encoded("private")})
    volumes = [
        {"name": "v", "secret": {"secretName": "s", "defaultMode": 0o600}},
        {"name": "e", "emptyDir": {}},
        {"name": "m", "emptyDir": {"medium": "Memory"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
    ]
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    look = f"{_STAT} /v /v/..data/. /v/..data/key /e /m /c; id; cat /v/key"
    script = f"{look}; for d in e m c; do echo > /$d/f; done; {_STAT} /e/f"
    found = bench.run(
        "p",
        script,
        container=mounted(*mounts),
        volumes=volumes,
        securityContext={"runAsUser": 4711, "fsGroup": 2000},
    )
    assert found.splitlines() == [
        "drwxrwsrwt 0:2000 /v",
        "drwxr-sr-x 0:2000 /v/..data/.",
        "-rw-r----- 0:2000 /v/..data/key",
        "drwxrwsrwx 0:2000 /e",
        "drwxrwsrwt 0:2000 /m",
        "drwxrwsrwx 0:2000 /c",
        "uid=4711 gid=0(root) groups=0(root),2000",
        "private-rw-r--r-- 4711:2000 /e/f",
    ], "a private key of mode 0600 becomes readable to the group, which ssh refuses"


def case_a_secret_that_is_filled_later(bench: Bench) -> None:
    items = [{"key": "key", "path": "key"}]
    volumes = [{"name": "v", "secret": {"secretName": "s", "items": items}}]
    pod = bench.start("p", "cat /v/key", container=mounted(), volumes=volumes)
    bench.until(lambda: any('secret "s" not found' in line for line in bench.lines), "a word about the Secret")
    bench.add("Secret", "s")
    bench.until(lambda: any("references non-existent secret key: key" in line for line in bench.lines), "about the key")
    assert pod.phase == "Pending" and pod.container_statuses[0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    bench.add("Secret", "s", data={"key": encoded("now")})
    bench.succeeds(pod)
    assert bench.log(pod) == "now"
    stuck = bench.start("q", "true", container=mounted(), volumes=[{"name": "v", "secret": {"secretName": "none"}}])
    bench.until(lambda: bool(stuck.ip), "an address")
    stuck.delete()
    bench.until(lambda: stuck.gone, "deletion of a pod that waits")


def case_token(bench: Bench) -> None:
    bench.node.service_account = lambda pod: {
        "token": pod["metadata"]["name"].encode(),
        "ca.crt": b"authority",
        "namespace": b"default",
    }
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f"cd {place}; cat token ca.crt namespace; echo; {_STAT} -L . token; echo x > token"
    pod = bench.start("p", f"({script}) 2>&1; true")
    bench.succeeds(pod)
    lines = bench.log(pod).splitlines()
    assert lines[:3] == ["pauthoritydefault", "drwxrwxrwt 0:0 .", "-rw-r--r-- 0:0 token"]
    assert "Read-only file system" in lines[3]
    found = bench.run("u", f"cd {place}; {_STAT} -L token", securityContext={"runAsUser": 4711})
    assert found == "-rw------- 4711:0 token\n"
    found = bench.run("g", f"cd {place}; {_STAT} -L token ca.crt", securityContext={"runAsUser": 4711, "fsGroup": 2000})
    assert found.splitlines() == ["-rw-r----- 4711:2000 token", "-rw-r--r-- 0:2000 ca.crt"]
    assert bench.run("none", f"test ! -e {place}", automountServiceAccountToken=False) == ""
    bench.add("ServiceAccount", "shy", automountServiceAccountToken=False)
    assert bench.run("shy", f"test ! -e {place}", serviceAccountName="shy") == ""
    assert bench.run("not", f"cat {place}/token", serviceAccountName="shy", automountServiceAccountToken=True) == "not"


def case_machine_is_untouched(bench: Bench) -> None:
    script = "echo x > /etc/simulator-was-here; mkdir -p /var/run/simulator-was-here; echo x > /etc/hosts"
    bench.run("p", script)
    assert bench.run("q", "ls /etc/simulator-was-here /run/simulator-was-here 2>&1 || true").count("cannot access") == 2
