"""The objects of the cluster, in memory: what etcd and the storage layer of an API server are."""

from __future__ import annotations

import base64
import copy
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from .errors import ApiError, not_found

Object = dict[str, Any]
"""An object as JSON. What the store gives out is shared: it is replaced, never changed."""

PLURALS: Final = {
    "ConfigMap": "configmaps",
    "Job": "jobs.batch",
    "JobSet": "jobsets.jobset.x-k8s.io",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "Role": "roles.rbac.authorization.k8s.io",
    "RoleBinding": "rolebindings.rbac.authorization.k8s.io",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
}
"""The kinds that the store takes, with the names that messages of the API server have for them."""


class Objects:
    """All objects by kind, namespace and name. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, str], Object] = {}
        self._changed = threading.Condition(threading.RLock())
        self._version = 0

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None."""
        with self._changed:
            return self._held.get((kind, namespace, name))

    def list(self, kind: str, namespace: str | None = None) -> list[Object]:
        """Return the objects of a kind, of one namespace or of all, in the order in which they were made."""
        with self._changed:
            return [
                held for (is_kind, of, _), held in self._held.items() if is_kind == kind and namespace in (None, of)
            ]

    def add(self, given: Object) -> Object:
        """Store a new object and return it with uid, version and time.

        Raises:
            ApiError: One of this name is there (409 AlreadyExists).
        """
        made = copy.deepcopy(given)
        key = identity(made)
        with self._changed:
            if key in self._held:
                resource = PLURALS[key[0]]
                raise ApiError(409, "AlreadyExists", f'{resource} "{key[2]}" already exists')
            metadata = made["metadata"]
            metadata["namespace"] = key[1]
            metadata.setdefault("uid", str(uuid.uuid4()))
            metadata["creationTimestamp"] = now()
            if "stringData" in made:
                plain = {name: _encoded(text) for name, text in made.pop("stringData").items()}
                made["data"] = {**(made.get("data") or {}), **plain}
            return self._store(key, made)

    def change(self, kind: str, namespace: str, name: str, make: Callable[[Object], Object | None]) -> Object:
        """Replace an object by what ``make`` returns of a copy of it; None leaves it.

        Raises:
            ApiError: It is not there (404 NotFound).
        """
        key = (kind, namespace, name)
        with self._changed:
            held = self._held.get(key)
            if held is None:
                raise not_found(PLURALS[kind], name)
            made = make(copy.deepcopy(held))
            return held if made is None or made == held else self._store(key, made)

    def merge(self, kind: str, namespace: str, name: str, patch: Object) -> Object:
        """Apply a JSON merge patch (RFC 7386), as a PATCH request does.

        Raises:
            ApiError: It is not there (404), its version is another than the patch's (409 Conflict), or it is immutable
                and the patch changes its data (422 Invalid).
        """

        def merged(held: Object) -> Object:
            version = held["metadata"]["resourceVersion"]
            wanted = (patch.get("metadata") or {}).get("resourceVersion")
            if wanted is not None and wanted != version:
                message = (
                    f'Operation cannot be fulfilled on {PLURALS[kind]} "{name}": the object has been modified; '
                    "please apply your changes to the latest version and try again"
                )
                raise ApiError(409, "Conflict", message)
            made: Object = merge(copy.deepcopy(held), patch)
            _refuse_frozen(kind, name, held, made)
            return made

        return self.change(kind, namespace, name, merged)

    def remove(self, kind: str, namespace: str, name: str) -> Object | None:
        """Remove an object and return it; None where there is none."""
        with self._changed:
            gone = self._held.pop((kind, namespace, name), None)
            if gone is not None:
                self._version += 1
                self._changed.notify_all()
            return gone

    def version(self) -> int:
        """Return the number of changes so far."""
        with self._changed:
            return self._version

    def wait(self, version: int, seconds: float) -> int:
        """Wait until there are more changes than ``version``, for so long at most. Return their number."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version, timeout=seconds)
            return self._version

    def _store(self, key: tuple[str, str, str], made: Object) -> Object:
        self._version += 1
        made["metadata"]["resourceVersion"] = str(self._version)
        self._held[key] = made
        self._changed.notify_all()
        return made


def identity(found: Object) -> tuple[str, str, str]:
    """Return kind, namespace and name of an object."""
    metadata = found["metadata"]
    return str(found["kind"]), str(metadata.get("namespace") or "default"), str(metadata["name"])


def merge(target: Any, patch: Any) -> Any:
    """Return what RFC 7386 makes of a target and a patch."""
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merge(made.get(name), value)
    return made


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _refuse_frozen(kind: str, name: str, old: Object, new: Object) -> None:
    """Raise what pkg/apis/core/validation says of a change to an immutable Secret or ConfigMap."""
    if kind not in ("Secret", "ConfigMap") or old.get("immutable") is not True:
        return
    found = [*_frozen(old, new)]
    if found:
        details = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        raise ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {details}')


def _frozen(old: Object, new: Object) -> Iterator[str]:
    forbidden = "Forbidden: field is immutable when `immutable` is set"
    if new.get("immutable") is not True:
        yield f"immutable: {forbidden}"
    for field in ("data", "binaryData"):
        if old.get(field) != new.get(field):
            yield f"{field}: {forbidden}"
