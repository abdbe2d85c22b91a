"""The rules of the node that need no pod: expansion, quantities, DNS messages, images, security, allowed fields."""

from __future__ import annotations

import hashlib
import json
import stat
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from simulator import allowed
from simulator.changes import Changes
from simulator.dns import PTR, A, Query, address_of, answer
from simulator.downward import Facts, field_value
from simulator.endpoints import Endpoints
from simulator.environment import ConfigError, expand
from simulator.errors import Unsupported
from simulator.images import Image, resolve
from simulator.payload import File, write
from simulator.process import CAPABILITIES
from simulator.security import DEFAULT_CAPABILITIES, identity


# The cases of k8s.io/kubernetes/third_party/forked/golang/expansion/expand_test.go that a reader would ask about.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(VAR_A)", "A"),
        ("___$(VAR_B)___", "___B___"),
        ("$(VAR_A)_$(VAR_B)", "A_B"),
        ("$$(VAR_B)_$(VAR_A)", "$(VAR_B)_A"),
        ("$$$(VAR_A)", "$A"),
        ("$$$$(VAR_A)", "$$(VAR_A)"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$VAR_A", "$VAR_A"),
        ("$(VAR_A", "$(VAR_A"),
        ("$", "$"),
        ("a$", "a$"),
        ("$$", "$"),
        ("$()", "$()"),
        ("$((VAR_A))", "$((VAR_A))"),
        ("\n$(VAR_A)", "\nA"),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert expand(text, {"VAR_A": "A", "VAR_B": "B"}) == expected


@drawn(st.text())
def test_expand_leaves_what_was_escaped(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "x"}) == text


def question(name: str, kind: int = A) -> bytes:
    labels = b"".join(bytes((len(label),)) + label.encode() for label in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def test_dns_answers() -> None:
    packet = question("Name.Example")
    asked: list[Query] = []

    def resolver(query: Query) -> list[str]:
        asked.append(query)
        return ["10.0.0.1", "10.0.0.2"]

    reply = answer(packet, resolver)
    assert asked == [Query("name.example", A)]
    assert struct.unpack_from(">HHHHHH", reply) == (7, 0x8580, 1, 2, 0, 0)
    assert reply[12 : len(packet)] == packet[12:], "the question comes back as it was written"
    assert reply[-4:] == bytes((10, 0, 0, 2))
    assert struct.unpack_from(">HHHHHH", answer(packet, lambda _: None)) == (7, 0x8583, 1, 0, 0, 0)
    assert struct.unpack_from(">HHHHHH", answer(packet, lambda _: [])) == (7, 0x8580, 1, 0, 0, 0)
    name = answer(question("1.0.0.10.in-addr.arpa", PTR), lambda _: ["a.b"])
    assert name.endswith(b"\x01a\x01b\x00")
    assert answer(packet[2:5], resolver) == b""
    assert answer(reply, resolver) == b"", "an answer is no question"


@drawn(st.binary(max_size=80))
def test_dns_takes_anything(packet: bytes) -> None:
    assert isinstance(answer(packet, lambda _: ["10.0.0.1"]), bytes)


def test_reverse_names() -> None:
    assert address_of("4.3.2.1.in-addr.arpa") == "1.2.3.4"
    assert [address_of(name) for name in ("3.2.1.in-addr.arpa", "x.3.2.1.in-addr.arpa", "1.2.3.4", "")] == [None] * 4


def test_endpoints_know_nothing_else() -> None:
    said: list[str] = []
    services = {"plain": {"spec": {"selector": {"a": "b"}}}}
    endpoints = Endpoints(tuple, lambda _kind, _namespace, name: services.get(name), {}, said.append)
    assert endpoints.resolve(Query("kubernetes.default.svc.cluster.local", A)) == ["10.96.0.1"]
    assert endpoints.resolve(Query("kubernetes.default.svc.cluster.local", 28)) == [], "it is there, without AAAA"
    for name in (
        "example.com",
        "svc.cluster.local",
        "a.svc.cluster.local",
        "a.b.svc.cluster.local",
        "",
        "a.b.c.d.svc.cluster.local",
    ):
        assert endpoints.resolve(Query(name, A)) is None
    assert not said
    assert endpoints.resolve(Query("plain.b.svc.cluster.local", A)) is None
    assert said == ["Service b/plain: only headless ones with a selector have names here"]


def test_images() -> None:
    given: dict[str, Path | Image] = {
        "a/b:1@sha256:x": Path("/digest"),
        "a/b:1": Path("/tag"),
        "host:5000/c": Image(Path("/plain"), ("run",)),
    }
    assert resolve(given, "a/b:1@sha256:x").root == Path("/digest")
    assert resolve(given, "a/b:1@sha256:y").root == Path("/tag")
    assert resolve(given, "host:5000/c:2").entrypoint == ("run",)
    with pytest.raises(Unsupported, match=r"image a/b:2: the node has only a/b:1, a/b:1@sha256:x, host:5000/c"):
        resolve(given, "a/b:2")


def test_image_of_a_layout(tmp_path: Path) -> None:
    config = {
        "Entrypoint": ["/usr/bin/tini", "--"],
        "Cmd": ["run"],
        "Env": ["A=b=c", "PATH=/bin"],
        "WorkingDir": "/opt/app",
        "User": "1000:1000",
        "StopSignal": "SIGUSR1",
    }

    def blob(content: object) -> str:
        data = json.dumps(content).encode()
        name = hashlib.sha256(data).hexdigest()
        (tmp_path / "blobs" / "sha256" / name).write_bytes(data)
        return f"sha256:{name}"

    (tmp_path / "blobs" / "sha256").mkdir(parents=True)
    manifest = {"config": {"digest": blob({"config": config})}, "layers": []}
    (tmp_path / "index.json").write_text(json.dumps({"manifests": [{"digest": blob(manifest)}]}))
    root = tmp_path / "root"
    variables = {"A": "b=c", "PATH": "/bin"}
    full = Image(root, ("/usr/bin/tini", "--"), ("run",), variables, "/opt/app", "1000:1000", "SIGUSR1")
    assert Image.from_layout(tmp_path, root) == full
    bare = {"config": {"digest": blob({})}}
    (tmp_path / "index.json").write_text(json.dumps({"manifests": [{"digest": blob(bare)}]}))
    assert Image.from_layout(tmp_path, root) == Image(root)


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}


def test_security_of_containers_and_pods() -> None:
    image = Image(Path("/"), user="1000:1001")
    assert identity(pod({}), {}, image).user == "1000:1001"
    both = identity(
        pod({"securityContext": {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3}}),
        {"securityContext": {"runAsUser": 0}},
        image,
    )
    assert (both.user, both.group, both.groups) == ("0", 2, (3,))
    assert both.capabilities == {CAPABILITIES.index(name) for name in DEFAULT_CAPABILITIES}
    assert sum(1 << number for number in both.capabilities) == 0xA80425FB
    with pytest.raises(Unsupported, match="capability FLY"):
        identity(pod({}), {"securityContext": {"capabilities": {"add": ["FLY"]}}}, image)


@pytest.mark.parametrize(
    ("user", "context", "text"),
    [
        ("", {}, "image will run as root"),
        ("0:0", {}, "image will run as root"),
        ("nobody", {}, r"non-numeric user \(nobody\)"),
        ("1000", {"runAsUser": 0}, "runAsUser breaks non-root policy"),
    ],
)
def test_root_is_refused(user: str, context: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        identity(pod({"securityContext": {"runAsNonRoot": True, **context}}), {}, Image(Path("/"), user=user))


def test_fields_of_the_downward_api() -> None:
    facts = Facts(pod({"nodeName": "n"}), "default", "n", "h", "i", {})
    assert field_value("spec.nodeName", facts) == "n"
    with pytest.raises(Unsupported, match=r"fieldRef status\.startTime"):
        field_value("status.startTime", facts)


def test_what_is_passed_over_has_a_reason() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": 1}}, "imagePullPolicy": "Always"}
    found = allowed.check(
        pod({"containers": [container], "tolerations": [{"key": "x"}], "affinity": {}, "nodeSelector": None})
    )
    assert found == (
        "containers.resources (no control groups)",
        "containers.imagePullPolicy (images are there)",
        "tolerations (there is one node)",
    )


def test_every_field_passed_over_is_allowed() -> None:
    for path in allowed.PASSED_OVER:
        shape: Any = allowed.SPEC
        for name in path.split("."):
            shape = (shape[0] if isinstance(shape, list) else shape)[name]


def test_what_is_not_carried_out_is_named() -> None:
    container = {"name": "c", "image": "i", "resizePolicy": [], "ports": [{"containerPort": 1, "hostPort": 2}]}
    spec = {"containers": [container], "hostPID": True, "resourceClaims": [], "restartPolicy": "Sometimes"}
    with pytest.raises(Unsupported) as error:
        allowed.check(pod(spec))
    names = ("containers[0].resizePolicy", "containers[0].ports[0].hostPort", "hostPID: True", "resourceClaims")
    assert str(error.value) == (
        f"Pod p: not carried out: {', '.join(f'spec.{name}' for name in names)}, spec.restartPolicy: Sometimes"
    )


def test_files_are_links_to_versioned_data(tmp_path: Path) -> None:
    write(tmp_path, {"a": File(b"3", 0o440), "in/b": File(b"4", 0o444)})
    assert (tmp_path / "a").read_bytes() == b"3" and (tmp_path / "a").readlink() == Path("..data/a")
    assert (tmp_path / "in").readlink() == Path("..data/in")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o440


def test_changes() -> None:
    changes = Changes()
    seen = changes.version
    assert changes.after(seen, 0) == seen
    changes.tell()
    assert changes.after(seen, 60) == seen + 1
    assert changes.until(lambda: True, 0) and not changes.until(lambda: False, 0)
