"""Flux: a Flux instance over the nodes of a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, existing, get, objects
from trainc.data import load_text
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document
from trainc.kube.fielderror import invalid
from trainc.kube.gojson import int32, trim_space
from trainc.plugins.base import (
    POD_SPEC,
    Plugin,
    ancestor,
    config_map,
    env_names,
    gpu_count,
    known_bug,
    node_containers,
    node_resources,
    pod_containers,
    refused,
    secret_must_exist,
)
from trainc.plugins.model import Container, Model, Objects, PodSet, replace_named
from trainc.upstream import NODE, TRAINER, TRAINER_VERSION

if TYPE_CHECKING:
    from jinja2 import Template

# The two scripts of a Flux job.
#
# They have the same function as upstream's: the init container installs Flux and writes the
# broker's configuration into a shared volume, the node's container starts the brokers and runs the command.

SHARED = "/mnt/flux"
CONFIG = f"{SHARED}/config"
VIEW = "/opt/view"
SETTINGS = {
    "FLUX_VIEW_IMAGE": "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    "FLUX_NETWORK_DEVICE": "eth0",
    "FLUX_QUEUE_POLICY": "fcfs",
}
"""The variables of the trainer's container that configure Flux, with their defaults."""


def settings(model: Model) -> dict[str, str]:
    """Return the settings from the variables of the TrainJob, else of the runtime, else the defaults."""
    found = dict(SETTINGS)
    container = _node(model)
    for variable in container.env if container else ():
        if variable.get("name") in found and isinstance(variable.get("value"), str):
            found[str(variable["name"])] = str(variable["value"])
    for variable in objects(model.trainer_list("env")):
        if variable.get("name") in found:
            value = variable.get("value")
            found[str(variable["name"])] = value if isinstance(value, str) else ""
    return found


def _node(model: Model) -> Container | None:
    """Return container node of the trainer's pod set, or None."""
    return model.trainer_set.container(NODE) if model.trainer_set else None


def filled(name: str, **values: str) -> str:
    """Render a template of the package. Raises jinja2.UndefinedError for a missing value."""
    return _template(name).render(values)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    return environment.from_string(load_text(f"templates/{name}"))


def index_range(size: int) -> str:
    """Return the indexes from 0 in Flux' notation: 0, or 0-3 for four (F2: 0--1 for none)."""
    return "0" if size == 1 else f"0-{int32(size - 1)}"


def init_script(model: Model, nodes: int) -> str:
    """Return the text of init.sh."""
    hosts = f"{model.name}-{NODE}-0-[{index_range(nodes)}]"
    found = settings(model)
    broker = filled(
        "flux-broker.toml.j2",
        config=CONFIG,
        device=_toml(found["FLUX_NETWORK_DEVICE"]),
        domain=f"{model.subdomain}.{model.namespace}.svc.cluster.local",
        hosts=hosts,
        queue_policy=_toml(found["FLUX_QUEUE_POLICY"]),
    )
    return filled("flux-init.sh.j2", shared=SHARED, config=CONFIG, view=VIEW, hosts=hosts, broker=broker)


def _toml(text: str) -> str:
    """Return the inside of a TOML basic string.

    It has no line breaks, so that no value of a job can end the string, or the here-document in init.sh.
    """
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def entrypoint_script(model: Model, nodes: int, processes: int) -> str:
    """Return the text of entrypoint.sh; counts wrap around at 32 bits, as upstream's do."""
    gpus = gpu_count(node_resources(model))
    tasks = int32(processes * nodes)
    flags = f"-N {nodes} -n {tasks}" + (f" -g {gpus}" if gpus > 0 else "")
    resources = f"--cores={index_range(processes)}" + (f" --gpu={index_range(int32(gpus))}" if gpus > 0 else "")
    return filled(
        "flux-entrypoint.sh.j2",
        shared=SHARED,
        config=CONFIG,
        resources=resources,
        flags=flags,
        main_host=f"{model.name}-{NODE}-0-0",
    )


# The Flux plugin.

FIX = "flux-runtime-args"
INSTALLER = "flux-installer"
CONFIG_DIRECTORY = "/etc/flux-config"
PANIC = "runtime error: invalid memory address or nil pointer dereference"
REPLACED = frozenset(("broker", "certificate", "config", "interpreter", "library", "shared", "state", "view"))
"""The variables of entrypoint.sh that are not upstream's: bash exports those that were in its environment, with the
script's values. Another output of trainc.yaml may rename them."""


def scripts_name(model: Model) -> str:
    """Return the name of the ConfigMap with the scripts, and of its volume."""
    return f"{model.name}-flux-entrypoint"


def certificate_name(model: Model) -> str:
    """Return the name of the Secret with the CURVE certificate."""
    return f"{model.name}-flux-curve"


def wrapped_command(model: Model) -> str:
    """Return the command that Flux runs: the TrainJob's or the runtime's, and the TrainJob's args, joined by spaces.

    With the fix, the args default to the runtime's, as in any container.
    """
    container = _node(model)
    words = model.trainer_value("command")
    command = words if isinstance(words, list) else list(container.command if container else ())
    args = model.trainer_list("args")
    if model.fixed(FIX) and model.trainer_value("args") is None:
        job = model.replicated_job(model.trainer_set.name if model.trainer_set else NODE)
        args = as_list(get(next(iter(node_containers(job)), None), "args"))
    return trim_space(" ".join(str(word) for word in (*command, *args)))


def check(model: Model) -> Iterator[Finding]:
    """Yield findings on jobs that the webhook refuses or for which upstream panics (T2), and on lost args."""
    processes = model.num_proc_per_node
    if processes is not None and processes < 1:  # a rule of the CRD refuses it in a runtime
        detail = "must be greater than or equal to 1 for Flux TrainJob"
        text = invalid("spec.trainer.numProcPerNode", processes, detail)
        where = ("spec", "trainer", "numProcPerNode")
        yield refused("TC405", model.job, where, text, detail, found=str(processes), expected="1 or more")
    node = model.pod_set(NODE)
    if node is not None and any(container.name == INSTALLER for container in node.init_containers):
        detail = f"InitContainer '{INSTALLER}' is reserved"
        text = invalid("spec.trainer.initContainers", INSTALLER, detail)
        yield refused("TC405", model.runtime, ("spec", "template"), text, detail, found=INSTALLER)
    if model.num_nodes is None:
        missing = "spec.trainer" if model.trainer is None else "spec.trainer.numNodes"
        detail = f"Flux needs {missing}: Trainer {TRAINER_VERSION} panics without it"
        path: Path = ("spec",) if model.trainer is None else ("spec", "trainer")
        hint = "set spec.trainer.numNodes; mlPolicy.numNodes does not help"
        yield refused("TC405", model.job, path, PANIC, detail, stage="build", hint=hint)
    yield from _without_scripts(model)
    yield from _replaced_variables(model)
    yield from _split_words(model)
    yield from secret_must_exist(model, certificate_name(model), "it needs the key curve.cert, created by flux keygen")
    if not model.fixed(FIX) and any(container.get("args") for container in node_containers(model.replicated_job(NODE))):
        index = next(index for index, job in enumerate(model.jobs) if job.get("name") == NODE)
        path = ("spec", "template", "spec", "replicatedJobs", index)
        message = "Trainer replaces the command, but the runtime's args remain and are passed to Flux' entrypoint"
        yield known_bug(FIX, model.runtime, path, message)


def _without_scripts(model: Model) -> Iterator[Finding]:
    """Yield a finding on each job of the trainer with another name: Trainer wraps its command, and mounts nothing."""
    for index, job in enumerate(model.jobs):
        if ancestor(job) == TRAINER and job.get("name") != NODE and node_containers(job):
            path = ("spec", "template", "spec", "replicatedJobs", index, "name")
            message = f"job {job.get('name')!r} gets Flux' command, but only job {NODE!r} gets the scripts that it runs"
            where, severity = existing(model.runtime.data, path), model.severity
            yield report("TC405", model.runtime, where, message, severity=severity, hint=f"call the job {NODE}")


def _replaced_variables(model: Model) -> Iterator[Finding]:
    """Yield a warning for each variable of the job that entrypoint.sh replaces."""
    for document, path, name in _variables(model):
        if name in REPLACED:
            message = f"Flux' entrypoint sets variable {name}, so the command gets another value"
            where, hint = existing(document.data, path), "choose another name"
            yield report("TC401", document, where, message, severity=Severity.WARNING, found=name, hint=hint)


def _variables(model: Model) -> Iterator[tuple[Document, Path, str]]:
    """Yield the variables of the command, of the TrainJob and of the runtime, with the paths of their names."""
    for index, name in enumerate(env_names(model)):
        yield model.job, ("spec", "trainer", "env", index, "name"), name
    for path, container in _containers(model):
        for index, variable in enumerate(objects(container.get("env"))):
            yield model.runtime, (*path, "env", index, "name"), str(variable.get("name"))


def _containers(model: Model) -> Iterator[tuple[Path, JsonObject]]:
    """Yield each container of the runtime that runs the command, with its path."""
    for number, job in enumerate(model.jobs):
        for index, container in enumerate(pod_containers(job) if job.get("name") == NODE else ()):
            if container.get("name") == NODE:
                path = ("spec", "template", "spec", "replicatedJobs", number, *POD_SPEC, "containers", index)
                yield path, container


def _split_words(model: Model) -> Iterator[Finding]:
    """Yield a warning on the first word that entrypoint.sh splits, drops or expands; a line in one word is meant so."""
    root, container = next(_containers(model), ((), {}))
    words: list[tuple[Document, Path, str]] = []
    for key in ("command", "args"):
        given = model.trainer_value(key)
        document, path = (model.runtime, root) if given is None else (model.job, ("spec", "trainer"))
        found = as_list(container.get(key) if given is None else given)
        words += [(document, (*path, key, position), str(word)) for position, word in enumerate(found)]
    split = (each for each in words if each[2].split() != [each[2]] or "*" in each[2] or "?" in each[2])
    if len(words) > 1 and (first := next(split, None)) is not None:
        message = "Flux' script splits the command line at blanks, drops empty words, and expands * and ?"
        yield report("TC837", *first[:2], message, hint="write a script into the image, and name it here")


def shape(model: Model) -> Model:
    """Wrap the command, and add the installer, volumes and mounts to job node."""
    command = ("/bin/bash", f"{CONFIG_DIRECTORY}/entrypoint.sh", wrapped_command(model))
    shaped = (_pod_set(model, p) if p.name == NODE else p for p in model.pod_sets)
    args = () if model.fixed(FIX) else None  # None keeps the runtime's
    return replace(model, command=command, args=args, pod_sets=tuple(shaped))


def build(model: Model) -> Objects:
    """Return the ConfigMap with the scripts."""
    nodes = model.num_nodes or 0
    processes = model.num_proc_per_node
    if processes is None:
        default = as_object(model.policy("flux"))["numProcPerNode"]
        assert isinstance(default, int)
        processes = default
    scripts = {
        "entrypoint.sh": entrypoint_script(model, nodes, processes),
        "init.sh": init_script(model, nodes),
    }
    return (config_map(model, scripts_name(model), scripts),)


def _pod_set(model: Model, pod_set: PodSet) -> PodSet:
    scripts = scripts_name(model)
    scripts_mount: JsonObject = {"name": scripts, "mountPath": CONFIG_DIRECTORY, "readOnly": True}
    install_mount: JsonObject = {"name": "flux-install", "mountPath": SHARED}
    installer = Container(
        name=INSTALLER,
        image=settings(model)["FLUX_VIEW_IMAGE"],
        command=("/bin/bash", f"{CONFIG_DIRECTORY}/init.sh"),
        volume_mounts=(install_mount, scripts_mount),
    )
    mounts: tuple[JsonObject, ...] = (
        install_mount,
        {"name": "spack-install", "mountPath": "/opt/software"},
        scripts_mount,
        {"name": "flux-curve", "mountPath": "/curve", "readOnly": True},
        {"name": "shared-memory", "mountPath": "/dev/shm", "readOnly": True},
    )
    pod_set = pod_set.with_volumes(
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": scripts, "configMap": {"name": scripts, "defaultMode": 0o755}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        {"name": "flux-curve", "secret": {"secretName": certificate_name(model), "defaultMode": 0o400}},
    )
    init_containers = replace_named(pod_set.init_containers, installer)
    if installer not in init_containers:
        init_containers = (*init_containers, installer)
    containers = tuple(c.with_mounts(*mounts) if c.name == NODE else c for c in pod_set.containers)
    return replace(pod_set, init_containers=init_containers, containers=containers)


PLUGIN = Plugin("Flux", ("mlPolicy", "flux"), check=check, shape=shape, build=build)
