"""Who may do what: the Roles and RoleBindings of the cluster, as Kubernetes' RBAC authorizer reads them.

Source: Kubernetes 1.34 plugin/pkg/auth/authorizer/rbac and pkg/apis/rbac/v1/evaluation_helpers.go;
apiserver/pkg/endpoints/handlers/responsewriters/errors.go for the words.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import ApiError
from .objects import Object, Objects


@dataclass(frozen=True, slots=True)
class User:
    """A service account that asks."""

    namespace: str
    account: str

    @property
    def name(self) -> str:
        """Its name as a user."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. ``name`` is empty where it is a list."""

    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str


class Tokens:
    """The tokens of pods."""

    def __init__(self) -> None:
        self._users: dict[str, User] = {}
        self._lock = threading.Lock()

    def issue(self, user: User) -> str:
        """Return a new token of an account."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._users[token] = user
        return token

    def user(self, header: str) -> User:
        """Return who sends an Authorization header.

        Raises:
            ApiError: Nobody known (401 Unauthorized).
        """
        scheme, _, token = header.partition(" ")
        with self._lock:
            found = self._users.get(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return found


def authorize(objects: Objects, user: User, request: Request) -> None:
    """Look whether some Role bound to a user allows a request.

    Raises:
        ApiError: None does (403 Forbidden).
    """
    if any(_allows(rule, request) for rule in _rules(objects, user, request.namespace)):
        return
    resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    qualified = f"{request.resource}.{request.group}" if request.group else request.resource
    what = f'{qualified} "{request.name}"' if request.name else qualified
    raise ApiError(
        403,
        "Forbidden",
        f'{what} is forbidden: User "{user.name}" cannot {request.verb} resource "{resource}" '
        f'in API group "{request.group}" in the namespace "{request.namespace}"',
    )


def _rules(objects: Objects, user: User, namespace: str) -> Iterator[Object]:
    for binding in objects.list("RoleBinding", namespace):
        if any(_is(subject, user) for subject in binding.get("subjects") or []):
            role = objects.get("Role", namespace, binding["roleRef"]["name"])
            yield from (role or {}).get("rules") or []


def _is(subject: Object, user: User) -> bool:
    """Say whether a subject is a user; a service account without a namespace is nobody."""
    return (subject["kind"], subject["name"], subject.get("namespace")) == (
        "ServiceAccount",
        user.account,
        user.namespace,
    )


def _allows(rule: Object, request: Request) -> bool:
    names = rule.get("resourceNames") or []
    return (
        bool({"*", request.verb} & set(rule.get("verbs") or []))
        and bool({"*", request.group} & set(rule.get("apiGroups") or []))
        and _covers(rule.get("resources") or [], request)
        and (not names or request.name in names)
    )


def _covers(resources: list[str], request: Request) -> bool:
    combined = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    if "*" in resources or combined in resources:
        return True
    return bool(request.subresource) and f"*/{request.subresource}" in resources
