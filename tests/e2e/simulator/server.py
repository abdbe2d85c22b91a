"""The API server: what a pod that talks to the cluster finds at KUBERNETES_SERVICE_HOST.

Of the API it has what the pods of rendered jobs ask for: discovery, objects by name, lists with selectors, merge
patches, exec. Every request is authenticated by the token of a pod and authorized by the Roles of the cluster.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from . import streams, websocket
from .authorizer import Request, Tokens, authorize
from .errors import ApiError, not_found
from .objects import Object, Objects
from .selectors import by_fields, by_labels

Exec = Callable[[Object, str, list[str], tuple[int, int, int]], int]
"""Runs a command in a container of a pod: pod, container, command, three descriptors; returns the exit code."""

KINDS: Final = {
    "configmaps": "ConfigMap",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "pods": "Pod",
    "secrets": "Secret",
    "serviceaccounts": "ServiceAccount",
    "services": "Service",
}
"""The resources of the core group that are served."""

_SHORT: Final = {"configmaps": "cm", "pods": "po", "services": "svc", "serviceaccounts": "sa"}
_VERSION: Final = {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
_LARGEST: Final = 3 * 1024 * 1024


class ApiServer:
    """The server, from its construction to ``close``."""

    def __init__(
        self, objects: Objects, tokens: Tokens, run: Exec, address: tuple[str, int], tls: ssl.SSLContext
    ) -> None:
        self.objects = objects
        self.tokens = tokens
        self.run = run
        self.requests: list[tuple[str, str, int]] = []
        self._server = _Server(address, self, tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], api: ApiServer, tls: ssl.SSLContext) -> None:
        super().__init__(address, _Handler)
        self.api = api
        self.tls = tls

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the thread of the connection, so that a slow client holds up nobody else."""
        request.settimeout(30)
        try:
            wrapped = self.tls.wrap_socket(request, server_side=True)
        except (OSError, ssl.SSLError):
            return
        with wrapped:
            super().finish_request(wrapped, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_PATCH(self) -> None:
        self._answer(self._patch)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, *_: object) -> None:
        """Write no log of requests: ``ApiServer.requests`` has them."""

    @property
    def _api(self) -> ApiServer:
        return self.server.api

    def _answer(self, handle: Callable[[], Object | None]) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self._body = self.rfile.read(size) if 0 < size <= _LARGEST else b""
        try:
            answer = handle()
        except ApiError as error:
            self._send(error.code, _failure(error))
        else:
            if answer is not None:
                self._send(200, answer)

    def _send(self, code: int, answer: Object) -> None:
        data = json.dumps(answer).encode()
        self._api.requests.append((self.command, self.path, code))
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _get(self) -> Object | None:
        path = urlsplit(self.path).path.rstrip("/")
        user = self._api.tokens.user(self.headers.get("Authorization") or "")
        if path in _DISCOVERY:
            return _DISCOVERY[path]
        if (parts := path.split("/"))[:4] == ["", "api", "v1", "namespaces"] and len(parts) == 5:
            authorize(self._api.objects, user, Request("get", "", "namespaces", "", parts[4], parts[4]))
            return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": parts[4]}}
        request, query = self._request("get")
        authorize(self._api.objects, user, request)
        if request.subresource == "exec":
            self._exec(request, query)
            return None
        self._no_subresource(request)
        if request.name:
            return self._object(request)
        return self._list(request, query)

    def _post(self) -> Object | None:
        user = self._api.tokens.user(self.headers.get("Authorization") or "")
        request, _ = self._request("create")
        authorize(self._api.objects, user, request)
        raise ApiError(400, "BadRequest", "the simulator opens streams with a GET request (WebSocket) only")

    def _patch(self) -> Object:
        user = self._api.tokens.user(self.headers.get("Authorization") or "")
        request, _ = self._request("patch")
        authorize(self._api.objects, user, request)
        self._no_subresource(request)
        kind = self.headers.get("Content-Type") or ""
        if kind.split(";")[0].strip() != "application/merge-patch+json":
            raise ApiError(415, "UnsupportedMediaType", f"the simulator takes merge patches only, not {kind}")
        try:
            patch = json.loads(self._body)
        except ValueError as error:
            raise ApiError(400, "BadRequest", f"error decoding patch: {error}") from None
        return self._api.objects.merge(KINDS[request.resource], request.namespace, request.name, patch)

    def _request(self, verb: str) -> tuple[Request, dict[str, list[str]]]:
        """Return what the path asks for. Raises ApiError for a path that is not served (404)."""
        split = urlsplit(self.path)
        query = parse_qs(split.query, keep_blank_values=True)
        parts = split.path.strip("/").split("/")
        if parts[:3] != ["api", "v1", "namespaces"] or not 5 <= len(parts) <= 7 or parts[4] not in KINDS:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        namespace, resource, name, subresource = (*parts[3:], "", "")[:4]
        if verb == "get" and not name:
            verb = "watch" if query.get("watch", [""])[0] in ("1", "true") else "list"
        if verb == "watch":
            raise ApiError(405, "MethodNotAllowed", "the simulator has no watches")
        return Request(verb, "", resource, subresource, namespace, name), query

    def _no_subresource(self, request: Request) -> None:
        if request.subresource:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")

    def _object(self, request: Request) -> Object:
        found = self._api.objects.get(KINDS[request.resource], request.namespace, request.name)
        if found is None:
            raise not_found(request.resource, request.name)
        return found

    def _list(self, request: Request, query: dict[str, list[str]]) -> Object:
        tests = [
            by_labels(query.get("labelSelector", [""])[0]),
            by_fields(query.get("fieldSelector", [""])[0]),
        ]
        kind = KINDS[request.resource]
        every = self._api.objects.list(kind, request.namespace)
        items = [found for found in every if all(test(found) for test in tests)]
        version = str(self._api.objects.version())
        return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}

    def _exec(self, request: Request, query: dict[str, list[str]]) -> None:
        pod = self._object(request)
        container = query.get("container", [pod["spec"]["containers"][0]["name"]])[0]
        if container not in {each["name"] for each in pod["spec"]["containers"]}:
            raise ApiError(400, "BadRequest", f"container {container} is not valid for pod {request.name}")
        offered = [each.strip() for each in (self.headers.get("Sec-WebSocket-Protocol") or "").split(",")]
        protocol = next((each for each in websocket.PROTOCOLS if each in offered), None)
        key = self.headers.get("Sec-WebSocket-Key")
        if protocol is None or key is None:
            raise ApiError(400, "BadRequest", "unable to upgrade: the simulator speaks WebSocket only")
        self._api.requests.append((self.command, self.path, 101))
        self.send_response(101, "Switching Protocols")
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade")):
            self.send_header(name, value)
        self.send_header("Sec-WebSocket-Accept", websocket.accept(key))
        self.send_header("Sec-WebSocket-Protocol", protocol)
        self.end_headers()
        self.close_connection = True
        connection = websocket.Connection(self.connection)
        command = query.get("command", [])
        streams.serve(connection, lambda *ends: self._api.run(pod, container, command, ends))


def _failure(error: ApiError) -> Object:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    details = {"details": error.details} if error.details else {}
    return {**status, "message": error.message, "reason": error.reason, **details, "code": error.code}


def _resources() -> list[Object]:
    verbs = ["get", "list", "patch"]
    found: list[Object] = []
    for plural, kind in KINDS.items():
        short = {"shortNames": [_SHORT[plural]]} if plural in _SHORT else {}
        names = {"name": plural, "singularName": kind.lower(), "kind": kind, **short}
        found.append({**names, "namespaced": True, "verbs": verbs})
    found.append(
        {"name": "pods/exec", "singularName": "", "namespaced": True, "kind": "PodExecOptions", "verbs": ["get"]}
    )
    return found


_DISCOVERY: Final[dict[str, Object]] = {
    "/version": {**_VERSION, "platform": "linux/amd64"},
    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": _resources()},
}
"""What every service account may read (ClusterRole system:discovery)."""
