"""What the plugins of a Volcano Job add to its pods: variables, ports, host files.

Facts: pkg/controllers/job/plugins (env, svc, ssh, distributed-framework/mpi and pytorch) at v1.16.0-alpha.1-42, and
patchDefaultPlugins of the admission webhook, by which mpi implies ssh and svc, and pytorch implies svc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import LiteralScalarString as Literal

from trainc.basics.jsonvalues import JsonObject, Path, as_list
from trainc.migrate.documents import Old
from trainc.migrate.pods import JOBSET_NAME, completion_index, from_field, global_index, jobset_name, literal
from trainc.migrate.trees import mapping, sequence
from trainc.upstream import JOB_COMPLETION_INDEX

_SUPPORTED: Final = ("env", "svc", "ssh", "mpi", "pytorch")
_PORTS: Final = {"mpi": "mpijob-port", "pytorch": "pytorchjob-port"}
"""The names of the ports that a plugin opens."""
_NUMBERS: Final = {"mpi": ("port", "22"), "pytorch": ("port", "23456"), "ssh": ("ssh-port", "22")}
"""The options for ports, and their defaults."""
_SWITCHES: Final = frozenset(
    ("disable-network-policy", "inject-hosts-env", "no-root", "publish-not-ready-addresses", "wait-master-enabled")
)
"""The options that do not take the next argument as their value."""
_NAME: Final = f"$({JOBSET_NAME})"
_JOB_INDEX: Final = "metadata.labels['jobset.sigs.k8s.io/job-index']"
"""The index of a Job in its replicated job."""
_FILES, _HOSTS, _SSH = "volcano-files", "volcano-hosts", "volcano-ssh"
"""The names of the init container and of its volumes."""
_OPTION: Final = re.compile(r"--?([^=-][^=]*)(?:=(.*))?", re.DOTALL)
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
"""What Go reads as true."""
FOLDER: Final = "/etc/volcano"
KEYS: Final = "/etc/mpi-ssh"
"""The folder in which Trainer mounts the keys, with modes that ssh rejects."""
_CONFIG: Final = r"StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
"""What Volcano writes into the ssh configuration."""


class Plugins:
    """The plugins of a job and their arguments. ``hosts`` are those of each task by its name, if a plugin lists them,
    and ``has_keys`` says whether Trainer makes ssh keys, once the tasks are arranged."""

    def __init__(self, old: Old) -> None:
        self.old = old
        self.has_keys = False
        self.hosts: dict[str, list[str]] = {}
        self.arguments: dict[str, dict[str, str]] = {}
        for name in old.keys("spec", "plugins"):
            path: Path = ("spec", "plugins", name)
            if name in _SUPPORTED:
                self.arguments[name] = _arguments(as_list(old.read(*path)))
            else:
                old.refuse(path, f"plugin {name} has no equal: set what it adds to the pods in their templates")
        if "mpi" in self.arguments:
            self.arguments.setdefault("ssh", {})
        if "mpi" in self.arguments or "pytorch" in self.arguments:
            self.arguments.setdefault("svc", {})
        for name in (name for name in _NUMBERS if name in self):
            option, default = _NUMBERS[name]
            if re.fullmatch("[1-9][0-9]{0,4}", self.arguments[name].setdefault(option, default)) is None:
                old.refuse(self.path(name), f"{option} must be the number of a port")
                self.arguments[name][option] = default
        if "svc" in self and not self._is_set("svc", "disable-network-policy"):
            old.note(self.path("svc"), "there is no NetworkPolicy: pods of other jobs can connect to those of this one")
        if "svc" in self and FOLDER not in str(old.get("spec", "tasks")):
            old.note(self.path("svc"), f"{FOLDER} is left out: no template mentions it")
        if "pytorch" in self and self._is_set("pytorch", "wait-master-enabled"):
            message = "no init container waits for the master: torch.distributed tries again until it answers"
            old.warn(("spec", "plugins", "pytorch"), message)

    def __contains__(self, name: str) -> bool:
        return name in self.arguments

    def _is_set(self, plugin: str, option: str, default: str = "false") -> bool:
        return self.arguments[plugin].get(option, default) in _TRUE

    def role(self, plugin: str, role: str) -> str:
        """Return the task that is master or worker for a plugin."""
        return self.arguments[plugin].get(role, role)

    def variables(self, task: str, *, alone: bool, is_container: bool = True) -> list[CommentedMap]:
        """Return what the plugins set in a container, or in an init container; ``alone``: each pod has its own Job."""
        index = _JOB_INDEX if alone else JOB_COMPLETION_INDEX
        found: list[CommentedMap] = []
        if "svc" in self and self._is_set("svc", "inject-hosts-env", default="true"):
            for name, hosts in self.hosts.items() if any(self.hosts.values()) else ():
                key = name.replace("-", "_").upper()
                found += [literal(f"VC_{key}_HOSTS", ",".join(hosts)), literal(f"VC_{key}_NUM", len(hosts))]
        workers = self.hosts.get(self.role("mpi", "worker")) if "mpi" in self else None
        if workers and task == self.role("mpi", "master"):
            found.append(literal("MPI_HOST", ",".join(workers)))
        if "pytorch" in self and is_container:
            found += self._pytorch(task, alone=alone)
        if "env" in self:
            found += [from_field(name, index) for name in ("VK_TASK_INDEX", "VC_TASK_INDEX")]
        uses_name = any(_NAME in str(each.get("value")) for each in found)
        return [jobset_name(), *found] if uses_name else found

    def names(self, task: str) -> list[str]:
        """Return the names of the variables that the plugins set."""
        return [str(each["name"]) for each in self.variables(task, alone=False) if each["name"] != JOBSET_NAME]

    def _pytorch(self, task: str, *, alone: bool) -> Iterator[CommentedMap]:
        master, worker = self.role("pytorch", "master"), self.role("pytorch", "worker")
        if not self.hosts.get(master):
            return
        yield literal("MASTER_ADDR", self.hosts[master][0])
        yield literal("MASTER_PORT", self.arguments["pytorch"]["port"])
        yield literal("WORLD_SIZE", len(self.hosts[master]) + len(self.hosts.get(worker, ())))
        if task in (master, worker):
            yield global_index("RANK") if alone else completion_index("RANK")

    def ssh_path(self) -> str:
        """Return the folder of the keys."""
        return self.arguments["ssh"].get("ssh-key-file-path", "/root/.ssh")

    def open_ports(self, container: Any) -> None:
        """Add the ports of mpi and pytorch to a container that does not have them."""
        for plugin, name in _PORTS.items():
            if plugin in self:
                number = int(self.arguments[plugin]["port"])
                ports = container.setdefault("ports", sequence())
                if all(port.get("containerPort") != number for port in ports):
                    ports.append(mapping(name=name, containerPort=number))

    def path(self, name: str) -> Path:
        """Return where a plugin is configured, or the plugin that implies it."""
        return (
            "spec",
            "plugins",
            next(key for key in (name, "mpi", "pytorch") if key in self.old.keys("spec", "plugins")),
        )

    def add_files(self, pod: CommentedMap, container: JsonObject, *, hosts: bool) -> None:
        """Let an init container write what ssh and svc mount: the files name the JobSet, and ssh is strict about modes.

        The init container has the image and the security context of ``container``.
        """
        mounts: list[CommentedMap] = []
        containers = (*pod["containers"], *pod.get("initContainers", ()))
        lines = "set -eu\n"
        writer = mapping(name=_FILES, image=container.get("image"))
        volumes = pod.get("volumes", sequence())
        if self.has_keys:
            port = self.arguments["ssh"]["ssh-port"]
            config = _CONFIG if port == "22" else f"{_CONFIG}Port {port}\\n"
            files = " ".join(f"{KEYS}/{name}" for name in ("id_rsa", "id_rsa.pub", "authorized_keys"))
            lines += f"install -d -m 0700 /ssh/.ssh\ninstall -m 0600 {files} /ssh/.ssh/\n"
            lines += f"printf '{config}' > /ssh/.ssh/config\n"
            mounts += [mapping(name="mpi-ssh-auth", mountPath=KEYS), mapping(name=_SSH, mountPath="/ssh")]
            volumes.append(mapping(name=_SSH, emptyDir=mapping()))
            for each in containers:
                mount = mapping(name=_SSH, mountPath=self.ssh_path(), subPath=".ssh")
                each.setdefault("volumeMounts", sequence()).append(mount)
        if hosts:
            for name, names in self.hosts.items():
                words = " ".join(names).replace(_NAME, "$JOBSET_NAME")
                lines += f"printf '%s\\n' {words} > {FOLDER}/{name.replace('-', '_')}.host\n"
            writer["env"] = sequence(jobset_name())
            mounts.append(mapping(name=_HOSTS, mountPath=FOLDER))
            volumes.append(mapping(name=_HOSTS, emptyDir=mapping()))
            for each in containers:
                each.setdefault("volumeMounts", sequence()).append(mapping(name=_HOSTS, mountPath=FOLDER))
        if not mounts:
            return
        pod["volumes"] = volumes
        writer["command"] = sequence("sh", "-c", Literal(lines))
        if (context := container.get("securityContext")) is not None:
            writer["securityContext"] = msgspec.json.decode(msgspec.json.encode(context))
        writer["volumeMounts"] = sequence(*mounts)
        pod.setdefault("initContainers", sequence()).insert(0, writer)


def _arguments(words: Sequence[Any]) -> dict[str, str]:
    """Return the options of a plugin, as Go reads them: up to the first argument that is none."""
    found: dict[str, str] = {}
    rest = [str(word) for word in words]
    while rest and (option := _OPTION.fullmatch(rest.pop(0))) is not None:
        name, value = option.groups()
        if value is None:
            value = "true" if name in _SWITCHES or not rest else rest.pop(0)
        found[name] = value
    return found
