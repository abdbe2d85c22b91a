"""Whether this machine can run the simulator, found out by trying: namespaces, overlay, bridge, device nodes."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from .isolate import isolated

TOOLS: Final = {"setpriv": "util-linux", "unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2"}
"""The programs that it needs, with the packages that have them."""
_TIMEOUT: Final = 60


@functools.cache
def reason() -> str | None:
    """Return why pods cannot be simulated here, None if they can. Runs a pod the first time, in half a second."""
    if sys.platform != "linux":
        return f"needs Linux, this is {sys.platform}"
    if os.geteuid() != 0:
        return "needs root"
    missing = [f"{tool} ({package})" for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    package = Path(__file__).parent
    start = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
        f"from {package.name}.possible import attempt; sys.exit(attempt())"
    )
    try:
        run = subprocess.run(
            isolated([sys.executable, "-I", "-S", "-c", start]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a first pod did not come up within {_TIMEOUT} s"
    if run.returncode == 0:
        return None
    return f"a first pod fails: {(run.stderr.strip() or run.stdout.strip() or 'without a word').splitlines()[-1]}"


class _Nothing:
    def get(self, _kind: str, _namespace: str, _name: str) -> None:
        return None


def attempt() -> str | None:
    """Run one pod with a tmpfs volume on the machine's own programs; return what is wrong. Runs isolated."""
    from .node import Node

    node = Node({"machine": Path("/")}, _Nothing(), lambda _: None)
    try:
        shell = {
            "name": "shell",
            "image": "machine",
            "command": ["/bin/sh", "-c", ": > /dev/null && : > /volume/file"],
            "volumeMounts": [{"name": "volume", "mountPath": "/volume"}],
        }
        spec = {
            "restartPolicy": "Never",
            "containers": [shell],
            "volumes": [{"name": "volume", "emptyDir": {"medium": "Memory"}}],
        }
        pod = node.start({"metadata": {"name": "possible", "namespace": "default"}, "spec": spec})
        pod.wait(_TIMEOUT / 2)
        return None if pod.phase == "Succeeded" else f"{pod.phase}: {pod.message or pod.container_statuses}"
    finally:
        node.close()
