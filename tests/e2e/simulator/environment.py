"""The environment, command and arguments of a container, as the kubelet makes them (pkg/kubelet/kubelet_pods.go)."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .downward import Facts, field_value
from .images import Image

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))?")
_DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Lookup = Callable[[str, str, str], Mapping[str, Any] | None]
"""Kind, namespace, name to the object, or None."""


class ConfigError(Exception):
    """Something that a container's configuration names is not there (yet); the kubelet tries again."""


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value; one that is unknown stays as it is written, and `$$` is a dollar sign."""

    def replaced(match: re.Match[str]) -> str:
        written, name = match.group(0), match.group(1)
        if written == "$$":
            return "$"
        return written if name is None else values.get(name, written)

    return _REFERENCE.sub(replaced, text)


def service_variables(address: str, port: int) -> dict[str, str]:
    """Return the variables of the one service with an address, that of the API server."""
    url = f"tcp://{address}:{port}"
    return {
        "KUBERNETES_SERVICE_HOST": address,
        "KUBERNETES_SERVICE_PORT": str(port),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
        "KUBERNETES_PORT": url,
        f"KUBERNETES_PORT_{port}_TCP": url,
        f"KUBERNETES_PORT_{port}_TCP_PROTO": "tcp",
        f"KUBERNETES_PORT_{port}_TCP_PORT": str(port),
        f"KUBERNETES_PORT_{port}_TCP_ADDR": address,
    }


def container_variables(container: Mapping[str, Any], facts: Facts) -> dict[str, str]:
    """Return what the kubelet gives a container: env, and the service variables that it leaves."""
    made: dict[str, str] = {}
    for entry in container.get("env") or ():
        if entry.get("valueFrom"):
            made[entry["name"]] = field_value(entry["valueFrom"]["fieldRef"]["fieldPath"], facts)
        else:
            made[entry["name"]] = expand(str(entry.get("value") or ""), {**facts.services, **made})
    return {**facts.services, **made}


def with_image(variables: Mapping[str, str], image: Image, hostname: str) -> dict[str, str]:
    """Return the whole environment: the image's and the runtime's below the kubelet's."""
    return {"PATH": _DEFAULT_PATH, "HOSTNAME": hostname, **image.env, **variables}


def command_line(container: Mapping[str, Any], image: Image, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a container runs: its command and args, each else the image's, whose own arguments go with
    its entrypoint only.

    Raises:
        ConfigError: Neither says anything.
    """
    command = tuple(expand(part, variables) for part in container.get("command") or ())
    args = tuple(expand(part, variables) for part in container.get("args") or ())
    line = (*command, *args) if command else (*image.entrypoint, *(args or image.cmd))
    if not line:
        raise ConfigError("no command specified")
    return line


def config_value(found: Mapping[str, Any], key: str) -> bytes | None:
    """Return a key of a ConfigMap or Secret, None where it lacks it."""
    if found.get("kind") == "Secret":
        plain = (found.get("stringData") or {}).get(key)
        coded = (found.get("data") or {}).get(key)
        return plain.encode() if plain is not None else None if coded is None else base64.b64decode(coded)
    text = (found.get("data") or {}).get(key)
    coded = (found.get("binaryData") or {}).get(key)
    return text.encode() if text is not None else None if coded is None else base64.b64decode(coded)


def config_keys(found: Mapping[str, Any]) -> list[str]:
    """Return the keys of a ConfigMap or Secret, sorted."""
    return sorted({key for part in ("data", "binaryData", "stringData") for key in found.get(part) or {}})
