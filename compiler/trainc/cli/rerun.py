"""`trainc rerun`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import click

from trainc.basics.about import docs_page
from trainc.basics.jsonvalues import get
from trainc.cli.command import CLEAN, WrongValue, echo, echo_line
from trainc.cli.compiling import executor_of
from trainc.cli.completion import complete_job_or_file
from trainc.cli.limits import LimitedCommand
from trainc.cli.options import root_option
from trainc.cli.reporter import Reporter
from trainc.documents.classify import TRAINJOB, with_namespace
from trainc.documents.edit import Edit, apply
from trainc.documents.load import load
from trainc.findings import Finding, Severity, has_errors, suggest
from trainc.findings.display import counted
from trainc.findings.fixes import Action, Fix
from trainc.findings.text import position
from trainc.gitops.base import RUN_NUMBER, run_of
from trainc.gitops.naming import MODE, free_runs
from trainc.inputs.source import Document, Source
from trainc.pipeline.context import Keep
from trainc.pipeline.jobresults import document_id
from trainc.project.config import Config
from trainc.project.environments import compile_for, load_config
from trainc.project.fixing import EditError, Files, diff_text, read_documents, write_sources
from trainc.project.names import JOBS
from trainc.project.read import Inputs, merge, name_below, read_platform, read_tree
from trainc.upstream import RUN, RUN_PATH, TRAINER_API

ARGUMENT = "JOB"

EPILOG = """\b
Examples:
  trainc rerun team-a/train             then run render and commit
  trainc rerun train                    if no other namespace has a job train
  trainc rerun 'team-a/sweep-*'         all jobs that match
  trainc rerun jobs/team-a/train.yaml   all jobs of a file
  trainc rerun --diff team-a/train      show the change, and write nothing
"""

AFTER = (
    "Next: run 'trainc render' and commit. The sync then deletes the objects of the old run and creates those of the"
    f" new one, and the job starts from the beginning: {docs_page('lifecycle')}"
)


class Target(NamedTuple):
    """A TrainJob of jobs/: its ``namespace/name`` and its document."""

    title: str
    document: Document


@click.command("rerun", cls=LimitedCommand, epilog=EPILOG)
@click.option("--diff", is_flag=True, help="Print the changes as a unified diff, and write nothing.")
@root_option
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=complete_job_or_file)
def command(*, diff: bool, root: Path, jobs: tuple[str, ...]) -> int:
    """Run jobs again: raise the run number of their TrainJobs.

    JOB is NAMESPACE/NAME, a NAME that is unique, a pattern of either, or a file
    or folder of jobs/. The annotation trainc.dev/run becomes "2", then "3", and so
    on; comments and layout stay. Either all files are written, or none: if one of
    the jobs would have an error, its findings are printed.
    """
    config, findings = load_config(root)
    inputs = read_tree(root, JOBS)
    known = list(_targets(inputs.sources))
    try:
        targets = _select(root, jobs, known)
    except click.BadParameter:
        unread = (*inputs.findings, *chain.from_iterable(load(source)[1] for source in inputs.sources))
        if has_errors(unread):  # the job may be in a file that cannot be read
            return Reporter(aside=True).report([each for each in unread if each.severity is Severity.ERROR])
        raise
    old = {source.name: source for source in inputs.sources}
    settings = [config.options(name).settings for name in config.environments]
    following = free_runs((target.document for target in known), settings)
    runs = {target.title: _next(target, following) for target in targets}
    new = _raised(old, targets, runs)
    errors = _errors(Inputs(tuple(new.values()), inputs.findings), root, config, findings, targets)
    if has_errors(errors):
        status = Reporter(aside=True).report(errors)
        Reporter().remark("no run number was changed")
        return status
    if diff:
        echo(diff_text(old, new), nl=False)
        return CLEAN
    write_sources(root, old, new)
    suffix = "-HASH" if any(each.naming.mode == MODE for each in settings) else ""
    for target in targets:
        run, name = runs[target.title], _name(target)
        was = run_of(target.document)
        line = f"{target.title}: run {run} (was {was}): its objects are called {name}-{run}{suffix}"
        echo_line(line)
    Reporter().remark(AFTER)
    return CLEAN


def _targets(sources: Iterable[Source]) -> Iterator[Target]:
    for source in sources:
        for document in (with_namespace(each)[0] for each in load(source)[0]):
            if (document.data["apiVersion"], document.data["kind"]) == (TRAINER_API, TRAINJOB):
                names = (get(document.data, "metadata", field) for field in ("namespace", "name"))
                yield Target("/".join(map(str, names)), document)


def _select(root: Path, jobs: Iterable[str], known: list[Target]) -> list[Target]:
    """Return the targets that the arguments name, each once. Raises BadParameter."""
    chosen: dict[str, Target] = {}
    below, named = _indexes(known)
    for job in jobs:
        path = name_below(root, Path.cwd(), job)
        if path is not None and (path == JOBS or path.startswith(f"{JOBS}/")) and Path(job).exists():
            found = below.get(path, [])
            if job in named and named[job] != found:
                hint = f"write ./{job} for the file or folder, or {named[job][0].title} for the job"
                raise WrongValue(f"{job!r} is the name of a job, and a file or folder with jobs.", hint, ARGUMENT)
        else:
            found = named.get(job, [])
            if len(found) > 1:
                names = ", ".join(each.title for each in found)
                raise click.BadParameter(f"{job!r} is the name of {len(found)} jobs: {names}", param_hint=ARGUMENT)
            found = found or [each for each in known if fnmatchcase(each.title if "/" in job else _name(each), job)]
        if not found:
            titles = [each.title for each in known]
            hint = (
                suggest(job, titles if "/" in job else map(_name, known), len(known))
                or f"{JOBS}/ has {counted(len(titles), 'job')}"
            )
            raise WrongValue(f"TrainJob {job!r} not found in {JOBS}/.", hint, ARGUMENT)
        chosen |= {each.title: each for each in found}
    return list(chosen.values())


def _indexes(known: Iterable[Target]) -> tuple[Mapping[str, list[Target]], Mapping[str, list[Target]]]:
    """Return targets by their file and its folders, and by their names with and without namespace."""
    below, named = defaultdict[str, list[Target]](list), defaultdict[str, list[Target]](list)
    for each in known:
        file = PurePosixPath(each.document.source.name)
        for path in (file, *file.parents):
            below[str(path)].append(each)
        for name in (each.title, _name(each)):
            named[name].append(each)
    return below, named


def _name(target: Target) -> str:
    return target.title.partition("/")[2]


def _next(target: Target, following: Callable[[Document], int]) -> int:
    """Return the next run number of a job. Raises BadParameter for an invalid one."""
    value = get(target.document.data, *RUN_PATH)
    if value is not None and not (isinstance(value, str) and RUN_NUMBER.fullmatch(value)):
        where = position(target.document, RUN_PATH)
        hint = f"write {RUN}: followed by a positive integer in quotes"
        raise WrongValue(f"{where}: {value!r} is not a valid run number.", hint, ARGUMENT)
    return following(target.document)


def _raised(files: Files, targets: Iterable[Target], runs: Mapping[str, int]) -> dict[str, Source]:
    """Return the files with the new run number of each target. Raises EditError if one cannot be edited."""
    edits: dict[str, dict[Edit, str]] = {}
    for target in targets:
        edit = Edit(target.document.index, Fix(Action.SET_RUN, RUN_PATH, str(runs[target.title])))
        edits.setdefault(target.document.source.name, {})[edit] = target.title
    new = dict(files)
    for name, titles in edits.items():
        new[name], applied = apply(new[name], tuple(titles), read_documents)
        for edit in titles.keys() - {*applied}:
            line = f'{RUN}: "{edit.fix.value}"'
            raise EditError(name, f"trainc cannot edit the annotations of {titles[edit]}: add {line} by hand")
    return new


def _errors(
    inputs: Inputs, root: Path, config: Config, findings: tuple[Finding, ...], targets: Iterable[Target]
) -> tuple[Finding, ...]:
    """Return the errors of the targets, with their new run numbers, and those of trainc.yaml."""
    platform = read_platform(root)
    merged = merge([inputs, platform])
    outcome = compile_for(
        merged, config, config.environments, findings, keep=Keep.SUMMARIES, execute=executor_of(None, quiet=False)
    )
    errors = tuple(each for each in outcome.findings if each.severity is Severity.ERROR)
    if has_errors(findings):
        return errors
    wanted = {document_id(target.document) for target in targets}
    unread = {each.file for each in platform.findings}
    return tuple(
        each
        for each in errors
        if each.file in unread
        or not wanted.isdisjoint(map(document_id, (each.document, *(other.document for other in each.related))))
    )
