"""The ssh between launcher and nodes: the volume with its keys, and whether host keys can be checked."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get
from trainc.findings import report
from trainc.plugins.base import pod_containers
from trainc.plugins.model import Findings, Model
from trainc.plugins.mpi.implementations import SSH_ARGUMENTS
from trainc.plugins.mpi.sshd import OPERATORS, is_sshd, shell_words
from trainc.upstream import NODE

FIX = "ssh-known-hosts"
SSH_VOLUME = "mpi-ssh-auth"
SECRET_KEYS = "keys ssh-privatekey and ssh-publickey, as ssh-keygen makes them"
PRIVATE_KEY = "id_rsa"
KNOWN_HOSTS = "known_hosts"
_SSHD_OPTIONS = "46DdeGiqrtTVc:C:E:f:g:h:k:o:p:u:"
"""The options of OpenSSH's sshd, as getopt has them: a colon follows those with a value."""


def secret_name(model: Model) -> str:
    """Return the name of the Secret with the SSH keys."""
    return f"{model.name}-mpi-ssh-auth"


def secret_keys(model: Model, policy: JsonObject) -> str:
    """Return what the Secret has to hold, for people."""
    return f"{SECRET_KEYS}; key {KNOWN_HOSTS} with that public key" if strict(model, policy) else SECRET_KEYS


def ssh_volume(model: Model, policy: JsonObject, job: str) -> JsonObject:
    """Return the volume with the keys for a replicated job, in upstream's modes (M7)."""
    mode = 0o600 if model.fixed("ssh-key-mode") and roots_alone(model, job) else 0o640
    items: list[Json] = [
        {"key": "ssh-privatekey", "path": PRIVATE_KEY, "mode": mode},
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
    """Return the arguments of the launcher's ssh; the last ones hold, whatever the image's ssh_config says."""
    if not strict(model, policy):
        return SSH_ARGUMENTS
    known = f"{_mount(policy)}/{KNOWN_HOSTS}"
    return f"{SSH_ARGUMENTS} -o StrictHostKeyChecking=yes -o UserKnownHostsFile={known}"


def strict(model: Model, policy: JsonObject) -> bool:
    """Tell whether ssh checks host keys: with the fix, where the nodes' sshd serves the Secret's own key."""
    return model.fixed(FIX) and serves_own_key(model) and not any(map(str.isspace, _mount(policy)))


def check_known_hosts(model: Model, policy: JsonObject) -> Findings:
    """Warn of a Secret among the documents without the item that is mounted: no pod starts before it is there."""
    name = model.options.settings.ssh_keys.secret or secret_name(model)
    secret = model.cluster.get(("v1/Secret", model.namespace, name))
    if secret is None or not strict(model, policy):
        return ()
    if any(KNOWN_HOSTS in as_object(secret.data.get(field)) for field in ("data", "stringData")):
        return ()
    message = f"Secret {model.namespace}/{name} has no key {KNOWN_HOSTS}, which fix {FIX!r} mounts: no pod will start"
    return (report("TC408", secret, ("metadata", "name"), message, hint=secret_keys(model, policy)),)


def _mount(policy: JsonObject) -> str:
    return str(policy.get("sshAuthMountPath")).rstrip("/")


def roots_alone(model: Model, job: str) -> bool:
    """Tell whether container node of a replicated job may run as root, without a group for its volumes.

    ssh refuses root a key that its group may read. With an fsGroup the kubelet makes it readable to that group whatever
    the mode says; another user than root is no owner of the file, and ssh looks at modes of the owner's files only.
    """
    found = _replicated(model, job)
    context = get(found, "template", "spec", "template", "spec", "securityContext")
    if found is None or get(context, "fsGroup") is not None:
        return False
    users = [get(c, "securityContext", "runAsUser") for c in pod_containers(found) if c.get("name") == NODE]
    return any((user if user is not None else get(context, "runAsUser")) in (None, 0) for user in users)


def serves_own_key(model: Model) -> bool:
    """Tell whether the command line of the nodes' sshd names the Secret's private key, or a copy, as its host key."""
    words = [
        str(word)
        for container in pod_containers(_replicated(model, NODE))
        if container.get("name") == NODE
        for word in (*as_list(container.get("command")), *as_list(container.get("args")))
    ]
    return any(key.rpartition("/")[2] == PRIVATE_KEY for key in _host_keys(words))


def _replicated(model: Model, name: str) -> JsonObject | None:
    return next((job for job in model.jobs if job.get("name") == name), None)


def _host_keys(words: list[str]) -> Iterator[str]:
    """Yield the host keys that a command line, or a shell's script in it, gives sshd."""
    import getopt  # loads gettext, which only the arguments of sshd are worth

    tokens = shell_words(words)
    for index, token in enumerate(tokens):
        if not is_sshd(token):
            continue
        end = next((i for i, other in enumerate(tokens) if i > index and not other.strip(OPERATORS)), len(tokens))
        try:
            options, _ = getopt.getopt(tokens[index + 1 : end], _SSHD_OPTIONS)
        except getopt.GetoptError:
            continue
        for name, value in options:
            keyword, _, key = value.replace("=", " ", 1).partition(" ")
            if name == "-h":
                yield value
            elif name == "-o" and keyword.lower() == "hostkey":
                yield key.strip()
