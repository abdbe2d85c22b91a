"""The simulator's store, authorizer, selectors and API server, asked over TLS."""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulator import certificates
from simulator.authorizer import Request, Tokens, User, authorize
from simulator.errors import ApiError
from simulator.objects import Objects
from simulator.server import ApiServer

ROLE = {
    "rules": [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["keys"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]},
    ]
}
ME = User("n", "me")


def an_object(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    version = "rbac.authorization.k8s.io/v1" if "Role" in kind else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "n"}, **rest}


@pytest.fixture
def objects() -> Objects:
    found = Objects()
    found.add(an_object("Role", "r", **ROLE))
    subjects = [{"kind": "ServiceAccount", "name": "me", "namespace": "n"}]
    found.add(an_object("RoleBinding", "r", roleRef={"kind": "Role", "name": "r"}, subjects=subjects))
    found.add(an_object("Secret", "keys"))
    found.add(an_object("Secret", "others", stringData={"a": "b"}))
    found.add(an_object("Pod", "p", spec={"containers": [{"name": "c"}]}, status={"phase": "Running"}))
    return found


def allowed(objects: Objects, user: User, verb: str, path: str) -> str | None:
    resource, name, below = (*path.split("/"), "", "")[:3]
    try:
        authorize(objects, user, Request(verb, "", resource, below, "n", name))
    except ApiError as error:
        assert error.code == 403
        return error.message
    return None


def test_rights(objects: Objects) -> None:
    assert allowed(objects, ME, "get", "secrets/keys") is None
    assert allowed(objects, ME, "list", "pods") is None
    assert allowed(objects, ME, "get", "pods/p/exec") is None
    assert allowed(objects, ME, "get", "secrets/others") == (
        'secrets "others" is forbidden: User "system:serviceaccount:n:me" cannot get resource "secrets" '
        'in API group "" in the namespace "n"'
    )
    assert allowed(objects, ME, "list", "secrets") == (
        'secrets is forbidden: User "system:serviceaccount:n:me" cannot list resource "secrets" '
        'in API group "" in the namespace "n"'
    )
    assert 'resource "pods/exec"' in str(allowed(objects, ME, "create", "pods/p/exec"))
    assert allowed(objects, ME, "delete", "secrets/keys") is not None
    assert allowed(objects, User("m", "me"), "list", "pods") is not None


def test_versions_and_immutability(objects: Objects) -> None:
    first = objects.get("Secret", "n", "keys")
    assert first is not None
    version = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}}
    objects.merge("Secret", "n", "keys", {**version, "data": {"a": "b"}, "immutable": True})
    with pytest.raises(ApiError, match="the object has been modified") as conflict:
        objects.merge("Secret", "n", "keys", {**version, "data": {"a": "c"}})
    assert (conflict.value.code, conflict.value.reason) == (409, "Conflict")
    with pytest.raises(ApiError, match="data: Forbidden: field is immutable when `immutable` is set") as invalid:
        objects.merge("Secret", "n", "keys", {"data": {"a": "c"}})
    assert invalid.value.code == 422
    objects.merge("Secret", "n", "keys", {"metadata": {"labels": {"x": "y"}}})
    with pytest.raises(ApiError, match='secrets "keys" already exists'):
        objects.add(an_object("Secret", "keys"))
    other = objects.get("Secret", "n", "others")
    assert other is not None
    assert other["data"] == {"a": base64.b64encode(b"b").decode()}


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def server(objects: Objects, tokens: Tokens, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Yield the port of a server and the file of its authority."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    tls, authority = certificates.make(tmp_path, "127.0.0.1")
    (tmp_path / "authority.pem").write_bytes(authority)

    def run(_pod: Any, _container: str, command: list[str], ends: tuple[int, int, int]) -> int:
        stdin, stdout, stderr = ends
        return subprocess.run(command, stdin=stdin, stdout=stdout, stderr=stderr, check=False).returncode

    made = ApiServer(objects, tokens, run, ("127.0.0.1", 0), tls)
    yield made.port, tmp_path / "authority.pem"
    made.close()


def ask(server: tuple[int, Path], token: str, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    context = ssl.create_default_context(cafile=server[1])
    connection = http.client.HTTPSConnection("127.0.0.1", server[0], context=context, timeout=20)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"}
    connection.request(method, f"/api/v1/namespaces/n/{path}", json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def test_requests(server: tuple[int, Path], tokens: Tokens) -> None:
    token = tokens.issue(ME)
    status, secret = ask(server, token, "GET", "secrets/keys")
    assert (status, secret["kind"]) == (200, "Secret")
    version = secret["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": version}, "data": {"k": "dg=="}, "immutable": True}
    assert ask(server, token, "PATCH", "secrets/keys", change)[0] == 200
    assert ask(server, token, "PATCH", "secrets/keys", change)[0] == 409
    assert ask(server, token, "GET", "secrets/others")[0] == 403
    assert ask(server, "nobody's", "GET", "secrets/keys")[1]["message"] == "Unauthorized"
    assert ask(server, token, "GET", "pods/q")[1]["message"] == 'pods "q" not found'
    status, found = ask(server, token, "GET", "pods?fieldSelector=status.phase%3DRunning")
    assert [each["metadata"]["name"] for each in found["items"]] == ["p"]
    assert ask(server, token, "GET", "pods?labelSelector=a")[1]["items"] == []


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
def test_kubectl(server: tuple[int, Path], tokens: Tokens, tmp_path: Path) -> None:
    command = ["kubectl", "--server", f"https://127.0.0.1:{server[0]}", "--certificate-authority", str(server[1])]
    command += ["--token", tokens.issue(ME), "--namespace", "n"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true"}

    def kubectl(*arguments: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [*command, *arguments], input=given, capture_output=True, env=env, timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert kubectl("get", "pods", "-o", "name") == (0, b"pod/p\n", b"")
    assert kubectl("get", "secrets")[0] == 1
    code, out, error = kubectl(
        "exec", "-i", "p", "-c", "c", "--", "sh", "-c", "cat; echo e >&2; exit 3", given=b"x" * 300_000
    )
    assert (code, out) == (3, b"x" * 300_000)
    assert error.startswith(b"e\n")
    assert kubectl("exec", "q", "--", "true")[2] == b'Error from server (NotFound): pods "q" not found\n'
