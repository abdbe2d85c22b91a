"""A render after few changes: only what they touch is compiled, compared and written (``trainc.cache.abridged``)."""

from __future__ import annotations

import gc
from collections.abc import Collection
from pathlib import Path

from trainc.cache.abridged import Abridged, Unusual
from trainc.cache.jobs import is_stub
from trainc.cache.snapshot import Snapshot
from trainc.cache.store import append, is_long
from trainc.cache.whole import Whole
from trainc.cli.caching import shown
from trainc.cli.carrying import Mode, carry_out
from trainc.cli.command import CLEAN
from trainc.cli.deployment import deployment_files, deployment_folders
from trainc.cli.executing import executor_of
from trainc.cli.reading import read_platform
from trainc.cli.work import Outcome, compile_for, load_config
from trainc.config import Config
from trainc.contents import Content, digest_of
from trainc.findings import Diagnostic, has_errors, sort_key
from trainc.foreign import Kind, unmanaged
from trainc.read import CONFIG, LOCK, merge
from trainc.records import replace
from trainc.write import OUT, Plan, Seen, foreign_files, kind_of, plan


def render_changes(root: Path, known: Whole, mode: Mode) -> int | None:
    """Render what has changed since the last run; return the exit status, or None where all has to be looked at."""
    snapshot, changes = known.snapshot, known.changes
    if snapshot is None or changes is None or is_long(known.path.with_suffix(".jobs")):
        return None
    config, findings = load_config(root)
    if findings or not _is_known(config, snapshot):
        return None
    try:
        abridged = Abridged(root, snapshot, changes)
        gc.freeze()  # what is there now stays to the end: none of it is looked at for cycles
        return _rendered(root, config, known, abridged, mode)
    except Unusual:
        return None
    finally:
        gc.unfreeze()


def _rendered(root: Path, config: Config, known: Whole, abridged: Abridged, mode: Mode) -> int | None:
    """Compile, compare, write and tell; return as ``render_changes`` does. Raises Unusual before anything is told."""
    inputs = merge([read_platform(root), abridged.read(abridged.present)])
    execute = executor_of(mode.workers, mode.ranks, quiet=mode.reporter.quiet)
    outcome = compile_for(inputs, config, config.environments, (), memory=abridged, execute=execute)
    if has_errors(outcome.findings) or not outcome.job_count or any(map(is_stub, shown(outcome.findings))):
        return None
    abridged.check(outcome.jobs, outcome.made)
    digests: dict[str, bytes] = {}
    todo, others = _planned(root, config, outcome, abridged, digests)
    findings = tuple(sorted((*outcome.findings, *others), key=sort_key))
    if mode.reporter.fails(findings):
        return carry_out(findings, None, mode)
    status = carry_out(findings, todo, mode)
    if status == CLEAN:
        written = {file.name: digests.get(file.name) or digest_of(file.data) for file in (*todo.create, *todo.change)}
        known.renew(abridged.digests, written, findings, todo, abridged.facts())
        append(known.path.with_suffix(".jobs"), known.tool, abridged.learnt(written))
    return status


def _is_known(config: Config, snapshot: Snapshot) -> bool:
    """Tell whether trainc.yaml and images.lock.yaml are those of the snapshot, now that they were read."""
    read = {CONFIG: config.document, LOCK: config.lock.document}
    texts = {name: document.source.text for name, document in read.items() if document is not None}
    digests = {name: digest_of(text) for name, text in texts.items() if isinstance(text, bytes)}
    return all(snapshot.files.look(name)[1] == digests.get(name) for name in read)


def _planned(
    root: Path, config: Config, outcome: Outcome, abridged: Abridged, digests: dict[str, bytes]
) -> tuple[Plan, tuple[Diagnostic, ...]]:
    """Return the plan for the folders that anything changed may change, and notes on files that trainc did not write.

    ``digests`` gets those of files compared. Raises Unusual where others are in the plan's way.
    """
    extra = deployment_files(config, outcome)
    beside = deployment_folders(config, config.environments)
    wanted: dict[str, Content] = {**outcome.files, **extra}
    kept = abridged.kept()
    others, seen = _standing(root, abridged, kept)
    scopes = {name.rpartition("/")[0] for name in (*seen.own, *wanted)}.difference(kept)

    def is_same(name: str, content: Content) -> bool:
        digest = digests[name] = digest_of(content)
        return abridged.files.look(name)[1] == digest

    todo = plan(root, wanted, (*sorted(scopes), *beside), (OUT, *beside), is_same, seen=seen)
    if todo.blocked or (todo.create and _meets(todo, abridged.snapshot)):
        raise Unusual("something in the way")
    strangers = {name: kind for name, kind in seen.there.items() if name in abridged.others}
    notes = foreign_files(root, strangers, todo, unmanaged(config.data))
    if has_errors(notes):
        raise Unusual("files that trainc did not write")
    return replace(todo, unchanged=tuple(sorted((*todo.unchanged, *others)))), notes


def _standing(root: Path, abridged: Abridged, kept: Collection[str]) -> tuple[list[str], Seen]:
    """Return the files made in folders that are kept, and what there is beside those: nothing else has come or gone."""
    snapshot, kinds = abridged.snapshot, dict[str, Kind]()
    others = []
    for name in snapshot.made:
        if name.rpartition("/")[0] in kept:
            others.append(name)
        else:
            kinds[name] = Kind.FILE
    own = frozenset(kinds)
    kinds |= dict.fromkeys(set(snapshot.folders.names[snapshot.inputs :]).difference(kept), Kind.FOLDER)
    tops = tuple(f"{top}/" for top in snapshot.tops)
    strangers = (name for name in abridged.others if name.startswith(tops))
    kinds |= {name: kind for name in strangers if (kind := kind_of(f"{root}/{name}")) is not None}
    return others, Seen(kinds, own)


def _meets(todo: Plan, snapshot: Snapshot) -> bool:
    """Tell whether a file to be made has the name of one that is there, but for case."""
    tops = tuple(f"{top}/" for top in todo.tops)
    there = {name.casefold() for name in snapshot.files.names if name.startswith(tops)}
    return any(file.name.casefold() in there for file in todo.create)
