"""What goes wrong in the simulator, as opposed to in a pod."""

from __future__ import annotations

from collections.abc import Mapping


class Unsupported(Exception):
    """A field or value that the simulator does not carry out. Its text names it; it is never passed over."""


class ApiError(Exception):
    """An answer of the API server that is not success: HTTP status, reason and message as Kubernetes has them."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})


def not_found(resource: str, name: str) -> ApiError:
    """Return the answer for an object that is not there, as k8s.io/apimachinery's NewNotFound words it."""
    plural, _, group = resource.partition(".")
    details = {"name": name, "kind": plural} | ({"group": group} if group else {})
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', details)
