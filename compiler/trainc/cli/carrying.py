"""The end of a render: files written, and what is told of them. It loads nothing of the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainc.cli.command import CLEAN, ERRORS, STALE
from trainc.cli.reporter import Reporter
from trainc.findings import Diagnostic, Silenced, has_errors, sort_key
from trainc.records import NamedTuple
from trainc.write import Plan, apply

if TYPE_CHECKING:
    from trainc.executors.mpi import Ranks


class Mode(NamedTuple):
    """How a run goes; ``check``: it writes nothing; ``cache``: it may use what the last one left.

    ``workers``: so many processes compile; None: as many as there are cores, where there is work for them. ``ranks``:
    MPI ranks do instead.
    """

    reporter: Reporter
    check: bool
    cache: bool
    workers: int | None = None
    ranks: Ranks | None = None


def carry_out(
    findings: tuple[Diagnostic, ...], todo: Plan | None, mode: Mode, silenced: tuple[Silenced, ...] = ()
) -> int:
    """Do what is to be done, nothing where a finding fails the run; tell it, and return the exit status."""
    reporter, check = mode.reporter, mode.check
    if todo is None:
        reporter.findings(findings, silenced)
        return reporter.status(findings)
    findings = (*findings, *todo.blocked)
    if has_errors(findings):
        reporter.findings(sorted(findings, key=sort_key))
        return ERRORS
    if not check:
        apply(todo)
    reporter.findings(findings, silenced)
    for line in todo.differences():
        if check:
            reporter.result(line)
        else:
            reporter.detail(line)
    count = f"{len(todo.create)} created, {len(todo.change)} changed, {len(todo.remove)} removed"
    places = " and ".join(f"{top}/" for top in todo.tops)
    if not check:
        reporter.remark(f"{places}: {count}, {len(todo.unchanged)} unchanged")
    elif todo.stale:
        reporter.remark(f"{places} {'is' if len(todo.tops) == 1 else 'are'} stale; trainc render brings: {count}")
    return STALE if check and todo.stale else CLEAN
