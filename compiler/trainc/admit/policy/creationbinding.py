"""What a server refuses of a binding that is created.

Source: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.admit.policy.creationmatch import matching_problems, path_segment, selector_problems
from trainc.admit.policy.documents import Stored
from trainc.admit.policy.fieldchecks import (
    Problem,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    unsupported,
)
from trainc.kube.names import is_dns1123_subdomain
from trainc.source import JsonObject, Path

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Deny", "Allow")
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and"
    " headers serves no purpose)"
)


def binding_problems(binding: Stored) -> Iterator[Problem]:
    """Yield what is refused of a binding, in the server's order."""
    name = binding.policy_name
    if not name:
        yield required(("spec", "policyName"))
    else:
        yield from each_invalid(("spec", "policyName"), name, is_dns1123_subdomain(name))
    if isinstance(reference := binding.spec.get("paramRef"), dict):
        yield from _reference(reference, ("spec", "paramRef"))
    if isinstance(resources := binding.spec.get("matchResources"), dict):
        yield from matching_problems(resources, ("spec", "matchResources"))
    yield from _actions(binding.actions, ("spec", "validationActions"))


def _reference(reference: JsonObject, path: Path) -> Iterator[Problem]:
    name, selector = str(reference.get("name") or ""), reference.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name:
        yield from each_invalid((*path, "name"), name, path_segment(name))
        if isinstance(selector, dict):
            yield forbidden((*path, "name"), exclusive, name)
    if isinstance(selector, dict):
        yield from selector_problems(selector, (*path, "selector"))
        if name:
            yield forbidden((*path, "selector"), exclusive, selector)
    elif not name:
        yield required(path, "one of name or selector must be specified")
    action = str(reference.get("parameterNotFoundAction") or "")
    if not action:
        yield required((*path, "parameterNotFoundAction"))
    elif action not in _NOT_FOUND:
        yield unsupported((*path, "parameterNotFoundAction"), action, _NOT_FOUND)


def _actions(actions: tuple[str, ...], path: Path) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield unsupported((*path, index), action, _ACTIONS)
        if action in seen:
            yield duplicate((*path, index), action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        yield invalid(path, list(actions), _BOTH)
    if not seen:
        yield required(path, "at least one validation action is required")
