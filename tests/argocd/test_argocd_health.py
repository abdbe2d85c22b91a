"""The health checks of argocd-cm on statuses as the controllers of JobSet v0.12.0 and Trainer v2.3.0 write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lupa import lua51

from trainc.basics.jsonvalues import get
from trainc.gitops.argocd import CHECKS, health_checks

STATUSES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "statuses.json").read_text(encoding="utf-8"))
STATES = ("Healthy", "Progressing", "Degraded", "Suspended")
CLOSED = ("string", "math", "io", "debug", "coroutine", "require", "dofile", "loadstring", "load", "loadfile")
"""What Argo CD does not open to a health check, so what ours must do without."""


def script(kind: str) -> str:
    (key,) = (key for key in CHECKS if key.endswith(f"_{kind}"))
    found = get(health_checks("argocd"), "data", f"resource.customizations.health.{key}")
    assert isinstance(found, str)
    return found


def ask(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Run a check as Argo CD does: Lua 5.1, the object as global obj."""
    runtime = lua51.LuaRuntime(unpack_returned_tuples=True, register_eval=False, register_builtins=False)
    for name in CLOSED:
        runtime.globals()[name] = None
    runtime.globals()["obj"] = runtime.table_from(plain(data), recursive=True)
    return dict(runtime.execute(script(kind)))


def plain(value: Any) -> Any:
    """Return a value without nulls: Lua's tables have none."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", STATUSES, ids=lambda case: f"{case['kind']}: {case['name']}")
def test_status(case: dict[str, Any]) -> None:
    found = ask(case["kind"], {"metadata": {"name": "j"}, "spec": case["spec"], "status": case["status"]})
    assert found == {"status": case["health"], "message": case["message"]}


@pytest.mark.parametrize("kind", ["JobSet", "TrainJob"])
def test_every_state_is_shown(kind: str) -> None:
    assert {case["health"] for case in STATUSES if case["kind"] == kind} == set(STATES)


@pytest.mark.parametrize("kind", ["JobSet", "TrainJob"])
def test_a_job_that_failed_is_never_healthy(kind: str) -> None:
    """Whatever else holds: the order of conditions is not fixed."""
    types = ["Completed", "Complete", "Suspended", "RestartingJobSet", "Failed", "StartupPolicyCompleted"]
    for turn in range(len(types)):
        conditions = [{"type": name, "status": "True", "message": name} for name in types[turn:] + types[:turn]]
        assert ask(kind, {"spec": {}, "status": {"conditions": conditions}})["status"] == "Degraded"


def test_conditions_that_do_not_hold_say_nothing() -> None:
    conditions = [
        {"type": name, "status": status} for name in ("Failed", "Completed") for status in ("False", "Unknown")
    ]
    assert ask("JobSet", {"spec": {}, "status": {"conditions": conditions}})["status"] == "Progressing"
