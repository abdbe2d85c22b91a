"""Namespaces of their own for a whole simulated cluster, so that nothing of it stays behind on the machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def isolated(command: Sequence[str]) -> list[str]:
    """Return the command that runs ``command`` in fresh net, mount, pid, uts and ipc namespaces.

    Its process 1 is init.py, which reaps, passes signals on and ends with the exit code of ``command``. When the caller
    dies, even by SIGKILL, the kernel ends all of it: setpriv has unshare die with its parent, unshare has process 1
    die with it, and no process outlives process 1.
    """
    init = str(Path(__file__).with_name("init.py"))
    return [
        *("setpriv", "--pdeathsig", "SIGKILL", "--"),
        *("unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *("--propagation", "private", "--"),
        *(sys.executable, "-I", "-S", init, *command),
    ]
