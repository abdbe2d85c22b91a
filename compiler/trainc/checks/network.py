"""Jobs whose nodes do not find each other: without host names, with the wrong rendezvous endpoint or script.

Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go: without enableDNSHostnames there is no headless Service,
and pods have no subdomain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, get, objects
from trainc.basics.regex import lazy
from trainc.checks.containers import containers, words
from trainc.findings import Finding, Severity, report
from trainc.gitops.pods import pod_specs
from trainc.plugins.model import Model, Object
from trainc.plugins.mpi.implementations import HOSTFILE_DIRECTORY
from trainc.plugins.mpi.transport import DISCOVER, by_kubexec
from trainc.plugins.origins import report_at, source_of
from trainc.upstream import LAUNCHER, NODE

CODE: Final = "TC827"
HOSTNAMES: Final[Path] = ("spec", "network", "enableDNSHostnames")
RANK_0: Final = {"torch": "torch", "jax": "JAX", "xgboost": "XGBoost"}
"""The policies whose plugins pass the host name of rank 0 to every process."""

_RENDEZVOUS = lazy(r"\b(?:torchrun|torch\.distributed|tune|accelerate|deepspeed)\b")
"""Programs that connect to rank 0 by its host name, even if it is the only rank."""


def check_hostnames(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a finding if the JobSet has no host names, but a plugin passes them to processes."""
    if get(jobset.data, *HOSTNAMES) is not False or (policy := _user_of_hostnames(model)) is None:
        return
    subdomain = get(jobset.data, "spec", "network", "subdomain") or jobset.name
    if any(pod.get("subdomain") == subdomain for _, pod in pod_specs(jobset.data)):
        return  # the runtime has a Service of its own
    alone = policy in RANK_0.values() and _is_alone(model, jobset.data)
    severity = Severity.WARNING if alone else model.severity
    message = f"enableDNSHostnames is false, so the host names that {policy} uses do not resolve"
    yield report_at(CODE, model, jobset, HOSTNAMES, message, severity=severity)


def _user_of_hostnames(model: Model) -> str | None:
    """Return what finds other pods by host names, None if nothing does."""
    if model.policy("mpi") is not None:
        return None if by_kubexec(model) else "MPI"
    if model.policy("flux") is not None:
        return "Flux"
    if model.trainer is None and not get(model.ml_policy, "torch", "envInjection", "targets"):
        return None  # no variable is set
    return next((name for policy, name in RANK_0.items() if model.policy(policy) is not None), None)


def _is_alone(model: Model, jobset: JsonObject) -> bool:
    """Tell whether one pod trains, and its command does not seem to connect to rank 0."""
    trainer = model.trainer_set and model.trainer_set.name
    for _, job, container in containers(jobset, kinds=("containers",)):
        if trainer is not None and (job.get("name"), container.get("name")) == (trainer, NODE):
            count = get(job, "template", "spec", "parallelism")
            line = [word for _, word in words(container)]
            return isinstance(count, int) and count < 2 and bool(line) and not _RENDEZVOUS.search(" ".join(line))
    return False


LOCALHOST, SCRIPT = "TC830", "TC835"
NUM_NODES: Final[Path] = ("spec", "trainer", "numNodes")
_OPTION: Final = lazy(r"--rdzv[-_]endpoint")
_ENDPOINT: Final = lazy(r"--rdzv[-_]endpoint[=\s]+[\"']?(?:localhost|127\.0\.0\.1|\[::1\])(?=[:\s\"']|$)")
_ONE_NODE: Final = lazy(r"--(?:standalone\b|nnodes[=\s]+[\"']?1(?![0-9:]))")
_DISCOVERY: Final = f"{HOSTFILE_DIRECTORY}/{DISCOVER}"


def check_rendezvous(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield warnings about localhost as the endpoint of several nodes, and about a script that only kubexec mounts."""
    by_ssh = model.policy("mpi") is not None and not by_kubexec(model)
    for path, _, container in containers(jobset.data):
        text = " ".join(word for _, word in words(container))
        if "rdzv" in text and _ENDPOINT.search(text) and not _ONE_NODE.search(text):
            yield from _at_localhost(model, jobset, path, container)
        if by_ssh and DISCOVER in text and get(jobset.data, *path[:3], "name") == LAUNCHER:
            yield from _no_script(model, jobset, path, container)


def _at_localhost(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Finding]:
    nodes = get(jobset.data, *path[:3], "template", "spec", "parallelism")
    if isinstance(nodes, int) and nodes > 1:
        option = next(at for at, word in words(container) if _OPTION.search(word))
        document, source = source_of(model, jobset, (*path, *option))
        if document is not model.job and model.num_nodes is not None:
            document, source = model.job, NUM_NODES
        message = f"{nodes} nodes, but the rendezvous endpoint in the command is localhost: they never find each other"
        yield report(LOCALHOST, document, source, message)


def _no_script(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Finding]:
    mounts = (str(mount.get("mountPath")) for mount in objects(container.get("volumeMounts")))
    if _DISCOVERY in mounts:
        return
    message = f"{_DISCOVERY} does not exist: Trainer mounts only the hostfile there"
    for at, word in words(container):
        if _DISCOVERY in word:
            yield report_at(SCRIPT, model, jobset, (*path, *at), message)
