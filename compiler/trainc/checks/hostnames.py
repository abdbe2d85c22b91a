"""Host names that plugins hand to the processes of a job, in a JobSet that has none.

Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go: without enableDNSHostnames there is no headless Service,
and pods have no subdomain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.diagnostics import Diagnostic, Severity, report
from trainc.gitops.pods import pod_specs
from trainc.model import NODE, Model, Object
from trainc.origins import blamed
from trainc.plugins.mpi.transport import by_kubexec
from trainc.regex import lazy
from trainc.source import JsonObject, Path, as_list, get, objects

CODE: Final = "TC827"
PLACE: Final[Path] = ("spec", "network", "enableDNSHostnames")
LED: Final = {"torch": "torch", "jax": "JAX", "xgboost": "XGBoost"}
"""The policies whose plugins tell every process of rank 0, and their names."""

_RENDEZVOUS = lazy(r"\b(?:torchrun|torch\.distributed|tune|accelerate|deepspeed)\b")
"""What connects to rank 0 by its name, even where that is the only one."""


def check_hostnames(model: Model, jobset: Object) -> Iterator[Diagnostic]:
    """Yield a finding where the JobSet has no host names, and a plugin says them to processes."""
    if get(jobset.data, *PLACE) is not False or (policy := _by_names(model)) is None:
        return
    subdomain = get(jobset.data, "spec", "network", "subdomain") or jobset.name
    if any(pod.get("subdomain") == subdomain for _, pod in pod_specs(jobset.data)):
        return  # the runtime makes a Service of its own
    alone = policy in LED.values() and _is_alone(model, jobset.data)
    severity = Severity.WARNING if model.options.faithful or alone else None
    message = f"enableDNSHostnames is false, so the host names that {policy} uses do not resolve"
    yield report(CODE, *blamed(model, jobset, PLACE), message, severity=severity)


def _by_names(model: Model) -> str | None:
    """Return what finds other pods by their names, None where nothing does."""
    if model.policy("mpi") is not None:
        return None if by_kubexec(model) else "MPI"
    if model.policy("flux") is not None:
        return "Flux"
    if model.trainer is None and not get(model.ml_policy, "torch", "envInjection", "targets"):
        return None  # no variable is set
    return next((name for policy, name in LED.items() if model.policy(policy) is not None), None)


def _is_alone(model: Model, jobset: JsonObject) -> bool:
    """Tell whether one pod trains, and its command does not look as if it connected to rank 0."""
    trains = model.trainer_set
    for job in objects(get(jobset, "spec", "replicatedJobs")):
        if trains is None or job.get("name") != trains.name:
            continue
        count = get(job, "template", "spec", "parallelism")
        containers = objects(get(job, "template", "spec", "template", "spec", "containers"))
        container = next((one for one in containers if one.get("name") == NODE), {})
        words = [str(word) for key in ("command", "args") for word in as_list(container.get(key))]
        return isinstance(count, int) and count < 2 and bool(words) and not _RENDEZVOUS.search(" ".join(words))
    return False
