"""The pod network: one bridge in the simulator's own network namespace, an address a pod, the files of /etc."""

from __future__ import annotations

import ipaddress
import itertools
import subprocess
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

API_ADDRESS: Final = "10.96.0.1"
DNS_ADDRESS: Final = "10.96.0.10"
API_PORT: Final = 443
CLUSTER: Final = "cluster.local"
_GATEWAY: Final = "10.244.0.1"
_PODS: Final = ipaddress.ip_network("10.244.0.0/16")
_BRIDGE: Final = "cni0"
_TIMEOUT: Final = 30.0


class Network:
    """Addresses and links. The node, the API server and DNS are at addresses of the bridge, as behind kube-proxy."""

    host_ip: Final = _GATEWAY

    def __init__(self) -> None:
        # A fixed hardware address: a bridge takes the lowest of its ports otherwise, and pods would hold a stale one.
        _ip(
            "link set lo up",
            f"link add {_BRIDGE} address 0a:58:0a:f4:00:01 type bridge",
            f"address add {_GATEWAY}/{_PODS.prefixlen} dev {_BRIDGE}",
            f"address add {API_ADDRESS}/32 dev {_BRIDGE}",
            f"address add {DNS_ADDRESS}/32 dev {_BRIDGE}",
            f"link set {_BRIDGE} up",
        )
        self._numbers = itertools.count(2)
        self._lock = threading.Lock()

    def address(self) -> str:
        """Return an address that no pod has had yet."""
        with self._lock:
            return str(_PODS.network_address + next(self._numbers))

    def attach(self, pid: int, address: str) -> None:
        """Give the network namespace of a process the link eth0 with an address.

        Raises:
            OSError: The ip tool refuses.
        """
        name = f"veth{int(ipaddress.ip_address(address)) & 0xFFFF:x}"
        _ip(
            f"link add {name} type veth peer name eth0 netns {pid}",
            f"link set {name} master {_BRIDGE} up",
        )
        _ip(
            "link set lo up",
            f"address add {address}/{_PODS.prefixlen} dev eth0",
            "link set eth0 up",
            f"route add default via {_GATEWAY}",
            inside=pid,
        )


def host_name(pod: Mapping[str, Any]) -> tuple[str, str]:
    """Return a pod's host name and domain, empty without a subdomain (pkg/kubelet, GeneratePodHostNameAndDomain)."""
    spec = pod["spec"]
    name = spec.get("hostname") or pod["metadata"]["name"][:63].rstrip("-.")
    subdomain = spec.get("subdomain")
    namespace = pod["metadata"].get("namespace") or "default"
    return name, f"{subdomain}.{namespace}.svc.{CLUSTER}" if subdomain else ""


def hosts(pod: Mapping[str, Any], address: str) -> str:
    """Return /etc/hosts (pkg/kubelet, managedHostsFileContent)."""
    name, domain = host_name(pod)
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
        f"{address}\t{name}.{domain}\t{name}" if domain else f"{address}\t{name}",
    ]
    return "\n".join(lines) + "\n"


def resolv_conf(pod: Mapping[str, Any]) -> str:
    """Return /etc/resolv.conf (pkg/kubelet/network/dns)."""
    namespace = pod["metadata"].get("namespace") or "default"
    searches = f"{namespace}.svc.{CLUSTER} svc.{CLUSTER} {CLUSTER}"
    return f"search {searches}\nnameserver {DNS_ADDRESS}\noptions ndots:5\n"


def _ip(*commands: str, inside: int | None = None) -> None:
    """Run commands of the ip tool in one process, in the network namespace of another process if one is given."""
    enter: Iterable[str] = ("nsenter", "--net", "--target", str(inside), "--") if inside else ()
    run = subprocess.run(
        [*enter, "ip", "-batch", "-"],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if run.returncode != 0:
        said = "; ".join(run.stderr.split("\n")).strip("; ") or f"exit code {run.returncode}"
        raise OSError(f"ip {', '.join(commands)}: {said}")
