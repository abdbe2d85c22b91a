"""The two scripts of a Flux job.

They are our own and do the same work as upstream's: the init container installs Flux and writes the
broker's configuration into a shared volume, the node's container starts the brokers and runs the command.
"""

from __future__ import annotations

import json

from trainc.kube.digits import int32
from trainc.model import NODE, Model
from trainc.plugins.base import gpu_count, node_resources
from trainc.plugins.templates import filled

SHARED = "/mnt/flux"
CONFIG = f"{SHARED}/config"
VIEW = "/opt/view"
SETTINGS = {
    "FLUX_VIEW_IMAGE": "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    "FLUX_NETWORK_DEVICE": "eth0",
    "FLUX_QUEUE_POLICY": "fcfs",
}
"""What the environment of the trainer's container may set, with the defaults."""


def settings(model: Model) -> dict[str, str]:
    """Return the settings: the TrainJob's variables over the runtime's over the defaults."""
    found = dict(SETTINGS)
    trainer_set = model.trainer_set
    container = trainer_set.container(NODE) if trainer_set else None
    for variable in container.env if container else ():
        if variable.get("name") in found and isinstance(variable.get("value"), str):
            found[str(variable["name"])] = str(variable["value"])
    for given in model.trainer_list("env"):
        if isinstance(given, dict) and given.get("name") in found:
            value = given.get("value")
            found[str(given["name"])] = value if isinstance(value, str) else ""
    return found


def index_range(size: int) -> str:
    """Return the indexes from 0 as Flux spells them: 0, or 0-3 for four (F2: also 0--1 for none)."""
    return "0" if size == 1 else f"0-{int32(size - 1)}"


def host_list(model: Model, nodes: int) -> str:
    """Return the hosts in Flux' notation: <job>-node-0-[0-3]."""
    return f"{model.name}-{NODE}-0-[{index_range(nodes)}]"


def init_script(model: Model, nodes: int) -> str:
    """Return the text of init.sh."""
    hosts = host_list(model, nodes)
    found = settings(model)
    broker = filled(
        "flux-broker.toml.j2",
        config=CONFIG,
        device=_toml(found["FLUX_NETWORK_DEVICE"]),
        domain=f"{model.name}.{model.namespace}.svc.cluster.local",
        hosts=hosts,
        queue_policy=_toml(found["FLUX_QUEUE_POLICY"]),
    )
    return filled("flux-init.sh.j2", shared=SHARED, config=CONFIG, view=VIEW, hosts=hosts, broker=broker)


def _toml(text: str) -> str:
    """Return the inside of a TOML basic string.

    It stays on one line, so no value of a job can end the string, or the here-document in which init.sh has it.
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
