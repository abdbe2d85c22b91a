"""Kubernetes' CEL: grammar, types, runner and libraries. Expressions only: rules and policies are in admission/.

``KubernetesEnvironment`` and ``KubernetesRunner`` are for users of cel-python, which is loaded with them (docs/cel.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.cel.celpython import KubernetesEnvironment, KubernetesRunner

__all__ = ["KubernetesEnvironment", "KubernetesRunner"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trainc.cel import celpython

    return getattr(celpython, name)
