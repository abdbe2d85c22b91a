"""How mpirun reaches the nodes of a job: by ssh, with its keys, or by kubectl exec, with its scripts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects
from trainc.basics.regex import lazy
from trainc.data import load_text
from trainc.findings import Finding, report
from trainc.plugins.base import POD_SPEC, ancestor, config_map, node_containers, pod_containers
from trainc.plugins.model import Model, Object
from trainc.plugins.mpi.implementations import HOSTFILE, SSH_ARGUMENTS, addresses
from trainc.plugins.mpi.implementations import KUBEXEC as KUBEXEC_SCRIPT
from trainc.upstream import LAUNCHER, NODE, TRAINER, TRANSPORT

SSH: Final = "ssh"
KUBEXEC: Final = "kubexec"
TRANSPORTS: Final = (SSH, KUBEXEC)
ANNOTATIONS: Final[Path] = ("metadata", "annotations")


def by_kubexec(model: Model) -> bool:
    """Return whether the job is an MPI job whose launcher runs kubectl exec.

    The runtime's annotation decides, else the environment. In faithful output no launcher does.
    """
    if model.options.faithful or not model.uses("mpi"):
        return False
    annotation = get(model.runtime.data, *ANNOTATIONS, TRANSPORT)
    return (annotation if annotation in TRANSPORTS else model.options.settings.transport.mode) == KUBEXEC


def command_line(container: JsonObject) -> tuple[str, ...]:
    """Return the command and the arguments of a container."""
    return tuple(str(word) for key in ("command", "args") for word in as_list(container.get(key)))


def node_command_line(model: Model, name: str) -> tuple[str, ...]:
    """Return the command line of container node of a replicated job: in the trainer's job, that of the TrainJob."""
    job = model.replicated_job(name)
    given = {"command": model.command, "args": model.args} if ancestor(job) == TRAINER else {}
    own: JsonObject = {key: [*words] for key, words in given.items() if words is not None}
    return tuple(word for container in node_containers(job) for word in command_line({**container, **own}))


def sshd_path(model: Model) -> Path | None:
    """Return the path in the JobSet of the first container of job node whose command line runs sshd, or None."""
    for index, job in enumerate(model.jobs):
        for number, container in enumerate(pod_containers(job) if job.get("name") == NODE else ()):
            if runs_sshd(command_line(container)):
                return ("spec", "replicatedJobs", index, *POD_SPEC, "containers", number)
    return None


# ssh: the volume with its keys, and whether host keys can be checked.

FIX = "ssh-known-hosts"
SSH_VOLUME = "mpi-ssh-auth"
SECRET_KEYS = "it needs the keys ssh-privatekey and ssh-publickey, created by ssh-keygen"
PRIVATE_KEY = "id_rsa"
KNOWN_HOSTS = "known_hosts"
_FLAGS: Final = frozenset("46DdeGiqrtTV")
_WITH_VALUE: Final = frozenset("cCEfghkopu")
"""The options of OpenSSH's sshd, without and with a value."""
_REPLACED: Final = lazy(r"[\s\"'\\%$]")
"""What ssh or the kubelet does not take literally in an argument: ssh_config(5), TOKENS and ENVIRONMENT VARIABLES."""


def secret_name(model: Model) -> str:
    """Return the name of the Secret with the SSH keys."""
    return f"{model.name}-mpi-ssh-auth"


def secret_keys(model: Model, policy: JsonObject) -> str:
    """Return the hint with the keys of the Secret."""
    return f"{SECRET_KEYS}, and the key {KNOWN_HOSTS} with the public key" if strict(model, policy) else SECRET_KEYS


def ssh_volume(model: Model, policy: JsonObject, job: str) -> JsonObject:
    """Return the volume with the keys for a replicated job, in upstream's modes (M7)."""
    items: list[Json] = [
        {"key": "ssh-privatekey", "path": PRIVATE_KEY, "mode": key_mode(model, pod_of(model, job))},
        {"key": "ssh-publickey", "path": f"{PRIVATE_KEY}.pub", "mode": 0o644},
        {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
    ]
    if strict(model, policy):
        items.append({"key": KNOWN_HOSTS, "path": KNOWN_HOSTS, "mode": 0o644})
    return {
        "name": SSH_VOLUME,
        "secret": {"secretName": secret_name(model), "defaultMode": 0o400, "items": items},
    }


def ssh_arguments(model: Model, policy: JsonObject) -> str:
    """Return the arguments of the launcher's ssh, which take precedence over the image's ssh_config."""
    if not strict(model, policy):
        return SSH_ARGUMENTS
    known = f"{_mount(policy)}/{KNOWN_HOSTS}"
    return f"{SSH_ARGUMENTS} -o StrictHostKeyChecking=yes -o UserKnownHostsFile={known}"


def strict(model: Model, policy: JsonObject) -> bool:
    """Return whether ssh checks host keys: with the fix, if the nodes' sshd uses the key of the Secret."""
    return model.fixed(FIX) and serves_own_key(node_command_line(model, NODE)) and is_literal(policy)


def is_literal(policy: JsonObject) -> bool:
    """Return whether the path of the key is the same in ssh's arguments, of which ssh and the kubelet replace signs."""
    return _REPLACED.search(_mount(policy)) is None


def check_known_hosts(model: Model, policy: JsonObject) -> Iterator[Finding]:
    """Warn about a Secret among the documents without a mounted item, without which no pod starts."""
    name = model.options.settings.ssh_keys.secret or secret_name(model)
    secret = model.in_cluster("v1/Secret", name)
    if secret is None or not strict(model, policy):
        return
    if not any(KNOWN_HOSTS in as_object(secret.data.get(field)) for field in ("data", "stringData")):
        message = f"Secret {model.namespace}/{name} has no key {KNOWN_HOSTS}, which fix {FIX!r} mounts"
        hint = secret_keys(model, policy)
        yield report("TC408", secret, ("metadata", "name"), f"{message}: no pod will start", hint=hint)


def _mount(policy: JsonObject) -> str:
    return str(policy.get("sshAuthMountPath")).rstrip("/")


def key_mode(model: Model, pod: JsonObject) -> int:
    """Return the mode of the private key in a pod spec: Trainer's, or with the fix one that ssh accepts for root."""
    return 0o600 if model.fixed("ssh-key-mode") and may_be_root(pod) else 0o640


def pod_of(model: Model, job: str) -> JsonObject:
    """Return the pod spec of a replicated job in the model; empty if there is no such job."""
    return as_object(get(model.replicated_job(job), *POD_SPEC))


def may_be_root(pod: JsonObject) -> bool:
    """Return whether container node of a pod spec may run as root, without a group for its volumes.

    For root, ssh refuses a key that its group may read. With an fsGroup, the kubelet makes it readable for the group
    regardless of the mode. Other users do not own the file, and ssh checks only the modes of the owner's files.
    """
    context, containers = pod.get("securityContext"), objects(pod.get("containers"))
    if get(context, "fsGroup") is not None:
        return False
    nodes = (one for one in containers if one.get("name") == NODE)
    contexts = ({**as_object(context), **as_object(one.get("securityContext"))} for one in nodes)
    return any(one.get("runAsUser") in (None, 0) and one.get("runAsNonRoot") is not True for one in contexts)


def serves_own_key(words: tuple[str, ...]) -> bool:
    """Return whether a command line gives sshd the Secret's private key, or a copy, as its first host key.

    Of several keys of one type, sshd presents the first one to ssh.
    """
    names = {key.rpartition("/")[2] for key in _host_keys(words)}
    return names == {PRIVATE_KEY}


@lru_cache(maxsize=256)
def _host_keys(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first host key of each sshd with one in a command line, or in a shell script in it."""
    found, position = [], 0
    tokens = _shell_words(words)
    while position < len(tokens):
        position += 1
        if _is_sshd(tokens[position - 1]):
            options, position = _sshd_options(tokens, position)
            found += list(_keys_in(options))[:1]
    return tuple(found)


def _keys_in(options: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the host keys in options of sshd."""
    for name, value in options:
        keyword, _, key = value.replace("=", " ", 1).partition(" ")
        if name == "h":
            yield value
        elif name == "o" and keyword.lower() == "hostkey":
            yield key.strip()


def _sshd_options(tokens: Sequence[str], position: int) -> tuple[list[tuple[str, str]], int]:
    """Return the options of sshd with a value from a position on, and the end of all options.

    There are none if getopt would refuse them.
    """
    found: list[tuple[str, str]] = []
    while position < len(tokens) and len(word := tokens[position]) > 1 and word[0] == "-":
        position += 1
        if word == "--":
            break
        for index, name in enumerate(word[1:], 2):
            if name in _WITH_VALUE:
                value = word[index:]
                if not value:
                    if position == len(tokens) or not tokens[position].strip(OPERATORS):
                        return [], position
                    value, position = tokens[position], position + 1
                found.append((name, value))
                break
            if name not in _FLAGS:
                return [], position
    return found, position


# Detection of sshd in command lines, also in shell scripts in them.

OPERATORS = ";&|()\n"
"""The operators that end a command in a shell script."""

_BEFORE_COMMANDS = ("exec", "--", "then", "do", "else", "{")


@lru_cache(maxsize=256)
def runs_sshd(words: tuple[str, ...]) -> bool:
    """Return whether a command line, or a shell script in it, runs sshd, with or without its path."""
    tokens = _shell_words(words)
    for before, word in zip(("", *tokens), tokens, strict=False):
        folder, slash, _ = word.rpartition("/")
        if _is_sshd(word) and slash:
            found = folder.endswith("bin")  # not /run/sshd, its folder
        else:
            found = _is_sshd(word) and (before in _BEFORE_COMMANDS or not before.strip(OPERATORS))
        if found:
            return True
    return False


def _is_sshd(word: str) -> bool:
    """Return whether a word is the name of OpenSSH's server, or a path of it."""
    return word.rpartition("/")[2] == "sshd"


def _shell_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a command line, those of shell scripts in it one by one."""
    if words and _is_sshd(words[0]):
        return words
    return [token for word in words for token in _tokens(word)]


def _tokens(word: str) -> list[str]:
    """Return the words and operators of a shell script; a word without white space is not a script."""
    if not any(map(str.isspace, word)):
        return [word]
    # A comment of shlex includes the end of its line.
    script = word.replace("\\\n", " ").replace("\n", "\n\n")
    lexer = shlex.shlex(script, posix=True, punctuation_chars=OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # an unclosed quote
        return []


# kubectl exec: scripts and a table of hosts, without keys and sshd.
#
# mpirun calls kubexec.sh like ssh, with a host and a command. The name of a pod ends with random characters, so the
# script finds it by labels, which the table has for each line of the hostfile. Folder and file name are those of
# mpi-operator's v1 jobs, which Horovod expects.

KUBEXEC_VOLUME: Final = "mpi-kubexec"
DISCOVER: Final = "discover_hosts.sh"
JOBSET: Final = "jobset"
TABLE: Final = "hosts"
_MODES: Final = {HOSTFILE: 0o444, TABLE: 0o444, JOBSET: 0o444, KUBEXEC_SCRIPT: 0o555, DISCOVER: 0o555}


def kubexec_name(model: Model) -> str:
    """Return the name of ConfigMap, service account and role for kubectl exec."""
    return f"{model.name}-mpi-kubexec"


def kubexec_volume(model: Model, job: str) -> JsonObject:
    """Return the volume of a replicated job's pods.

    Except in the launcher, it has only the script, which is never run: Open MPI's daemon checks that its agent exists.
    """
    keys = tuple(_MODES) if job == LAUNCHER else (KUBEXEC_SCRIPT,)
    items: list[Json] = [{"key": key, "path": key, "mode": _MODES[key]} for key in keys]
    return {"name": KUBEXEC_VOLUME, "configMap": {"name": kubexec_name(model), "items": items}}


def kubexec_map(model: Model, hostfile: str, slots: int) -> Object:
    """Return the ConfigMap. A line of the table: host, replicated job, job index, completion index, slots."""
    table = "".join(f"{' '.join(map(str, address))} {slots}\n" for address in addresses(model))
    scripts = {name: load_text(f"scripts/{name}") for name in (KUBEXEC_SCRIPT, DISCOVER)}
    return config_map(
        model, kubexec_name(model), {HOSTFILE: hostfile, TABLE: table, JOBSET: f"{model.name}\n", **scripts}
    )
