"""An API server for one Secret over TLS: the storage and RBAC of the e2e simulator, and faults of the network."""

from __future__ import annotations

import base64
import binascii
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

from e2e.simulator.authorizer import Request, User, authorize
from e2e.simulator.errors import ApiError, not_found
from e2e.simulator.objects import Objects

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
    """The objects of the e2e simulator and who may read them; faults that wait for their request; the requests."""

    def __init__(self) -> None:
        self.objects = Objects()
        self.tokens: dict[str, User] = {}
        self.faults: list[Fault] = []
        self.asked: list[tuple[str, int]] = []

    def apply(self, objects: Iterable[dict[str, Any]]) -> None:
        """Create what Argo CD would apply, and a token for each ServiceAccount."""
        for each in objects:
            created = self.objects.add(each)
            if created["kind"] == "ServiceAccount":
                namespace, name = created["metadata"]["namespace"], created["metadata"]["name"]
                self.tokens[f"token-of-{namespace}-{name}"] = User(namespace, name)

    def secret(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a Secret, which may be changed in place."""
        return self.objects.get("Secret", namespace, name) or {}

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer a request; a waiting fault goes first."""
        fault = self.faults.pop(0) if self.faults else None
        reply = fault(self, method, body) if fault is not None else None
        return reply or self.serve(method, path, headers, body)

    def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Authenticate, authorize and carry out a request for a Secret."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            return status(401, "Unauthorized")
        namespace, resource, name = [*path.partition("?")[0].strip("/").split("/"), ""][3:6]
        verb = VERBS[method] if name or method == "POST" else "list"
        try:
            authorize(self.objects, self.tokens[token], Request(verb, "", resource, "", namespace, name))
            return ok(self._patch(namespace, name, headers, body) if verb == "patch" else self._get(namespace, name))
        except ApiError as error:
            return status(error.code, error.message)

    def _get(self, namespace: str, name: str) -> dict[str, Any]:
        if (found := self.objects.get("Secret", namespace, name)) is None:
            raise not_found("secrets", name)
        return found

    def _patch(self, namespace: str, name: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
        if headers.get("content-type") != "application/merge-patch+json":
            raise ApiError(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
        change = json.loads(body)
        try:
            for value in change.get("data", {}).values():
                base64.b64decode(value, validate=True)
        except binascii.Error:
            raise ApiError(400, "BadRequest", "illegal base64 data") from None
        return self.objects.merge("Secret", namespace, name, change)


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
