"""Command lines by which the nodes of a job do not find each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.checks.containers import containers
from trainc.diagnostics import Diagnostic, report
from trainc.model import LAUNCHER, Model, Object
from trainc.origins import blamed
from trainc.plugins.mpi.implementations import HOSTFILE_DIRECTORY
from trainc.plugins.mpi.kubexec import DISCOVER
from trainc.plugins.mpi.transport import by_kubexec
from trainc.regex import lazy
from trainc.source import JsonObject, Path, as_list, get, objects

LOCALHOST, SCRIPT = "TC830", "TC835"
NUM_NODES: Final[Path] = ("spec", "trainer", "numNodes")
_OPTION: Final = lazy(r"--rdzv[-_]endpoint")
_ENDPOINT: Final = lazy(r"--rdzv[-_]endpoint[=\s]+[\"']?(?:localhost|127\.0\.0\.1|\[::1\])(?=[:\s\"']|$)")
_ONE_NODE: Final = lazy(r"--(?:standalone\b|nnodes[=\s]+[\"']?1(?![0-9:]))")
_DISCOVERY: Final = f"{HOSTFILE_DIRECTORY}/{DISCOVER}"


def check_rendezvous(model: Model, jobset: Object) -> Iterator[Diagnostic]:
    """Yield warnings of an endpoint at localhost for several nodes, and of a script that only kubexec mounts."""
    by_ssh = model.policy("mpi") is not None and not by_kubexec(model)
    for path, container in containers(jobset.data):
        text = " ".join(word for _, word in _words(container))
        if "rdzv" in text and _ENDPOINT.search(text) and not _ONE_NODE.search(text):
            yield from _at_localhost(model, jobset, path, container)
        if by_ssh and DISCOVER in text and get(jobset.data, *path[:3], "name") == LAUNCHER:
            yield from _no_script(model, jobset, path, container)


def _words(container: JsonObject) -> Iterator[tuple[Path, str]]:
    for key in ("command", "args"):
        for index, word in enumerate(as_list(container.get(key))):
            yield (key, index), str(word)


def _at_localhost(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Diagnostic]:
    nodes = get(jobset.data, *path[:3], "template", "spec", "parallelism")
    if isinstance(nodes, int) and nodes > 1:
        place = next(place for place, word in _words(container) if _OPTION.search(word))
        document, where = blamed(model, jobset, (*path, *place))
        if document is not model.job and model.num_nodes is not None:
            document, where = model.job, NUM_NODES
        message = f"{nodes} nodes, but the rendezvous endpoint in the command is localhost: they never find each other"
        yield report(LOCALHOST, document, where, message)


def _no_script(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Diagnostic]:
    mounts = (str(mount.get("mountPath")) for mount in objects(container.get("volumeMounts")))
    if _DISCOVERY in mounts:
        return
    for place, word in _words(container):
        if _DISCOVERY in word:
            document, where = blamed(model, jobset, (*path, *place))
            yield report(
                SCRIPT, document, where, f"{_DISCOVERY} does not exist: Trainer mounts only the hostfile there"
            )
