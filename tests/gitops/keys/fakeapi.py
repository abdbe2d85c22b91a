"""An API server for Secrets over TLS: it knows who asks by the token, and lets them do what the Roles applied say.

What it answers is what kube-apiserver 1.34 does, as far as one client of one Secret can tell.
"""

from __future__ import annotations

import base64
import binascii
import copy
import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

VERBS = {"GET": "get", "PATCH": "patch", "PUT": "update", "DELETE": "delete", "POST": "create"}
REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    422: "Invalid",
    429: "TooManyRequests",
}


@dataclass
class Reply:
    """What goes over the wire: more bytes may be announced than are sent."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None


def status(code: int, message: str, **headers: str) -> Reply:
    """Return an error as the API server words it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}
    body["reason"] = REASONS.get(code, "InternalError")
    return Reply(code, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


Fault = Callable[["FakeApi", str, bytes], "Reply | None"]
"""Is given the method and the body of a request, and may answer in the server's place."""


class FakeApi:
    """The state of a cluster: Secrets, RBAC, tokens; the faults that wait for their request, and what was asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.secrets: dict[tuple[str, str], dict[str, Any]] = {}
        self.roles: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.bindings: list[dict[str, Any]] = []
        self.tokens: dict[str, tuple[str, str]] = {}
        self.faults: list[Fault] = []
        self.asked: list[tuple[str, int]] = []
        self.version = 1000

    def apply(self, objects: Iterable[dict[str, Any]]) -> None:
        """Take what Argo CD would apply: Secrets, Roles, bindings; a token for each ServiceAccount."""
        for made in copy.deepcopy(list(objects)):
            namespace, name = made["metadata"]["namespace"], made["metadata"]["name"]
            if made["kind"] == "Secret":
                self.version += 1
                made["metadata"]["resourceVersion"] = str(self.version)
                self.secrets[namespace, name] = made
            elif made["kind"] == "Role":
                self.roles[namespace, name] = made["rules"]
            elif made["kind"] == "RoleBinding":
                self.bindings.append(made)
            elif made["kind"] == "ServiceAccount":
                self.tokens[f"token-of-{namespace}-{name}"] = (namespace, name)

    def touch(self, namespace: str, name: str) -> None:
        """Change a Secret as somebody else's label would."""
        self.version += 1
        self.secrets[namespace, name]["metadata"]["resourceVersion"] = str(self.version)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Authenticate, authorize, and do what is asked; a fault that waits goes first."""
        with self.lock:
            fault = self.faults.pop(0) if self.faults else None
        if fault is not None and (reply := fault(self, method, body)) is not None:
            return reply
        with self.lock:
            return self._answer(method, path, headers, body)

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        who = self.tokens.get(token) if scheme == "Bearer" else None
        if who is None:
            return status(401, "Unauthorized")
        parts = path.partition("?")[0].strip("/").split("/")
        namespace, resource = parts[3], parts[4]
        name = parts[5] if len(parts) > 5 else ""
        verb = VERBS[method] if name or method == "POST" else "list"
        if not self.allows(who, verb, namespace, resource, name):
            user = "system:serviceaccount:" + ":".join(who)
            text = f'{resource} "{name}" is forbidden: User "{user}" cannot {verb} resource "{resource}"'
            return status(403, f'{text} in API group "" in the namespace "{namespace}"')
        found = self.secrets.get((namespace, name))
        if found is None:
            return status(404, f'secrets "{name}" not found')
        return self._patch(found, headers, body) if verb == "patch" else ok(found)

    def allows(self, who: tuple[str, str], verb: str, namespace: str, resource: str, name: str) -> bool:
        """Tell whether a Role bound to the account has a rule for this, as RBAC does for the core group."""
        for binding in self.bindings:
            bound = [(each.get("namespace"), each["name"]) for each in binding["subjects"]]
            if binding["metadata"]["namespace"] != namespace or who not in bound:
                continue
            for rule in self.roles.get((namespace, binding["roleRef"]["name"]), []):
                names = rule.get("resourceNames", [])
                fits = verb in rule["verbs"] and resource in rule["resources"] and "" in rule["apiGroups"]
                if fits and (not names or name in names):
                    return True
        return False

    def _patch(self, secret: dict[str, Any], headers: dict[str, str], body: bytes) -> Reply:
        name = secret["metadata"]["name"]
        if headers.get("content-type") != "application/merge-patch+json":
            return status(415, "the body of the request was in an unknown format")
        change = json.loads(body)
        version = change.get("metadata", {}).get("resourceVersion", secret["metadata"]["resourceVersion"])
        if version != secret["metadata"]["resourceVersion"]:
            text = "the object has been modified; please apply your changes to the latest version and try again"
            return status(409, f'Operation cannot be fulfilled on secrets "{name}": {text}')
        try:
            for value in change.get("data", {}).values():
                base64.b64decode(value, validate=True)
        except binascii.Error:
            return status(400, "illegal base64 data")
        if secret.get("immutable") and change.get("data", secret.get("data")) != secret.get("data"):
            return status(
                422, f'Secret "{name}" is invalid: data: Forbidden: field is immutable when `immutable` is set'
            )
        secret["data"] = {**secret.get("data", {}), **change.get("data", {})}
        secret["immutable"] = change.get("immutable", secret.get("immutable", False))
        self.version += 1
        secret["metadata"]["resourceVersion"] = str(self.version)
        return ok(secret)


def ok(body: dict[str, Any]) -> Reply:
    """Return an object."""
    return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def certificates(folder: Path) -> None:
    """Write ca.crt and, signed by it for 127.0.0.1, server.crt and server.key. Needs openssl."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test-ca", "-days", "2")
    openssl("req", "-new", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=kube-apiserver")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n", encoding="ascii")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "san")
    openssl("x509", "-req", "-in", "server.csr", *signed, "-out", "server.crt")


def missing_tools() -> list[str]:
    """Return what these tests need and the machine lacks."""
    return [tool for tool in ("openssl", "ssh-keygen") if shutil.which(tool) is None]


@contextmanager
def serving(api: FakeApi, folder: Path) -> Iterator[int]:
    """Serve over TLS with the certificate in a folder, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = api.answer(self.command, self.path, headers, body)
            api.asked.append((self.command, reply.status))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            length = len(reply.body) if reply.announced is None else reply.announced
            self.send_header("Content-Length", str(length))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = True

        do_GET = do_PATCH = do_PUT = do_POST = do_DELETE = _do  # noqa: N815 - names of the library

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
            """Keep quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Keep quiet: a client that mistrusts the certificate hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
