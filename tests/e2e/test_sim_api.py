"""The simulator's store, authorizer, selectors and API server, asked over TLS."""

from __future__ import annotations

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
from simulator.authorizer import Tokens, User
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
