"""authorizer: who may do what is known to a cluster only, so every function of it is undecided.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/authz.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from trainc.cel.values import Undecided, Value

REASON = "authorizer: only a cluster knows who may do what"


def undecided(*_: Value) -> NoReturn:
    """Raise Undecided."""
    raise Undecided(REASON)


OVERLOADS: Mapping[str, Callable[..., Value]] = dict.fromkeys(
    (
        "authorizer_path",
        "authorizer_group",
        "authorizer_serviceaccount",
        "authorizer_fieldselector",
        "authorizer_labelselector",
        "groupcheck_resource",
        "resourcecheck_subresource",
        "resourcecheck_namespace",
        "resourcecheck_name",
        "resourcecheck_check",
        "pathcheck_check",
        "decision_errored",
        "decision_error",
        "decision_allowed",
        "decision_reason",
    ),
    undecided,
)
