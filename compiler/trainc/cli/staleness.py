"""Which jobs' output is not what their sources give: `trainc diff` compares what lies in out/ and says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from trainc.changes.model import Place
from trainc.changes.trees import is_below, sources
from trainc.cli.caching import open_memory, open_whole, recalled
from trainc.cli.carrying import Mode
from trainc.cli.rendering import Run
from trainc.cli.reporter import Reporter
from trainc.cli.work import JOBS
from trainc.config import Config
from trainc.findings import has_errors
from trainc.foreign import is_placed
from trainc.records import NamedTuple


class Staleness(NamedTuple):
    """``places`` are the stale directories of out/, sorted; None where that is not known. ``broken``: by errors."""

    places: tuple[Place, ...] | None
    broken: bool = False


def staleness(root: Path, config: Config, names: Collection[str], output: Mapping[str, bytes]) -> Staleness:
    """Render the working tree without writing, and tell which directories of ``output`` would change.

    ``names`` are paths from root: only what lies there, or is made from there, is looked for; everything for none.
    """
    known = open_whole(root, use=True, by_bytes=False)
    if known is not None and known.last() is not None:
        return Staleness(())
    mode = Mode(Reporter("text", "error", quiet=True, verbose=False), check=True, cache=True)
    run = Run(root, [JOBS], config, config.environments, whole=True)
    memory = open_memory(root, use=True, compares=True)
    done = recalled(lambda memory: run.planned(mode, (), memory), lambda done: done.findings, memory)
    if done.todo is None:
        codes = {finding.code for finding in done.findings if has_errors((finding,))}
        return Staleness(None, broken=bool(codes - {"TC014", "TC903"}))
    files = [(file.name, file.data) for file in (*done.todo.create, *done.todo.change)]
    files += [(name, output.get(name, b"")) for name in done.todo.remove]
    return Staleness(tuple(sorted({_place(name) for name, data in files if _is_meant(name, data, names)})))


def _is_meant(name: str, data: bytes, names: Collection[str]) -> bool:
    return is_placed(name) and (not names or any(is_below(each, names) for each in (name, *sources(data))))


def _place(name: str) -> Place:
    _, environment, namespace, job, _ = name.split("/")
    return Place(environment, namespace, job)
