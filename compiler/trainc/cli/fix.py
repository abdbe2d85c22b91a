"""`trainc fix`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from trainc.basics.about import docs_page
from trainc.basics.jsonvalues import dotted
from trainc.cli.command import CLEAN, STALE, echo
from trainc.cli.compiling import executor_of, read_paths, reading, revision_of, with_project
from trainc.cli.completion import complete_fixable
from trainc.cli.limits import LimitedCommand
from trainc.cli.options import base_option, crds_option, findings_options, root_option, workers_option
from trainc.cli.paths import Existing
from trainc.cli.reporter import Reporter
from trainc.findings import CODES, Finding
from trainc.findings.display import counted, one_line
from trainc.findings.fixes import FIXABLE, NEW_RUN, Action, Fix, fix_of
from trainc.findings.text import position
from trainc.inputs.source import Source
from trainc.pipeline.context import Keep
from trainc.pipeline.jobresults import DocumentId, document_id
from trainc.project.environments import Outcome, compile_for, parse_config, read_crds, read_others
from trainc.project.fixing import (
    EditError,
    Files,
    Fixed,
    Refused,
    Result,
    check_editable,
    diff_text,
    fix_all,
    fixes,
    write_sources,
)
from trainc.project.names import JOBS, SETTINGS
from trainc.project.read import Inputs, merge, name_below, read_config, read_lock, read_tree

EPILOG = """\b
Examples:
  trainc fix                       jobs/, runtimes/, policies/ and trainc.yaml
  trainc fix --diff                show the changes, and write nothing
  trainc fix --check               exit 3 if a file would change
  trainc fix --code TC101 jobs/a   only misspelt fields of one namespace
  trainc fix --base origin/main    new run numbers for immutable changes
"""


@click.command("fix", cls=LimitedCommand, epilog=EPILOG)
@click.option("--diff", is_flag=True, help="Print the changes as a unified diff, and write nothing.")
@click.option("--check", is_flag=True, help="Write nothing, and exit 3 if a file would change.")
@click.option("--unsafe", is_flag=True, help="Also apply fixes that may change the meaning of a document.")
@click.option(
    "--code",
    "codes",
    metavar="CODE",
    multiple=True,
    shell_complete=complete_fixable,
    help="Fix only findings of this code. May be repeated.",
)
@root_option
@crds_option
@base_option
@workers_option
@findings_options()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=Existing())
def command(
    *,
    diff: bool,
    check: bool,
    unsafe: bool,
    codes: tuple[str, ...],
    root: Path,
    crd_dirs: tuple[str, ...],
    base: str | None,
    workers: int | None,
    reporter: Reporter,
    paths: tuple[str, ...],
) -> int:
    """Apply the suggestions of findings that have exactly one right answer.

    Only the words that a finding is about change; comments, quotes and layout
    stay. With PATHs, only files there are edited. With --base, a TrainJob with an
    immutable change gets the next run number. Findings that remain are printed
    as validate prints them.
    """
    _check(root, codes, paths)
    configuration, lock = read_config(root), read_lock(root)
    # What is wrong in trainc.yaml and images.lock.yaml depends on all jobs.
    given = [path for path in paths if name_below(root, Path.cwd(), path) not in SETTINGS]
    platform = read_others(
        root, (name_below(root, Path.cwd(), path) for path in given), parse_config(configuration, lock)[0]
    )
    whole = [read_tree(root, JOBS), platform, *(Inputs(own.sources) for own in (configuration, lock))]
    chosen = read_paths(root, paths)
    inputs, crds = merge(chosen if given else whole), read_crds(root, crd_dirs)
    before = revision_of(root, base, paths, "'--base'")

    def compiled(files: Files) -> Outcome:
        config, findings = parse_config(_with(configuration, files), _with(lock, files))
        return compile_for(
            _documents(merge([_with(platform, files), _with(inputs, files)])),
            config,
            config.environments,
            findings,
            partly=platform.sources if given else None,
            crds=crds,
            base=before,
            keep=Keep.SUMMARIES,
            execute=executor_of(workers, quiet=reporter.quiet),
            watch=reading(quiet=reporter.quiet),
        )

    def is_wanted(finding: Finding, fix: Fix) -> bool:
        return (unsafe or fix.safe) and (not codes or finding.code in codes)

    editable, protected = _editable(root, merge(chosen or whole).sources)
    result = fix_all(editable, compiled, is_wanted)
    changed = sum(editable[name] != result.files[name] for name in editable)
    if diff:
        echo(diff_text(editable, result.files), nl=False)
    elif not check:
        write_sources(root, editable, result.files)
    reporter = replace(reporter, aside=diff, advises=False)
    _show(reporter, result, protected)
    config, of_config = parse_config(_with(configuration, result.files), _with(lock, result.files))
    findings = with_project(result.outcome, root, config, of_config, paths=given, inputs=_documents(inputs))
    status = reporter.report(findings, result.outcome.silenced)
    reporter.remark(_summary(result, changed, dry=diff or check, unsafe=unsafe))
    return status or (STALE if changed and (diff or check) else CLEAN)


def _check(root: Path, codes: Iterable[str], paths: Iterable[str]) -> None:
    """Raise BadParameter for a code without a fix, and a path outside of the project."""
    for code in codes:
        if code not in FIXABLE and code not in NEW_RUN:
            reason = f"has no fix: see {docs_page('fix')}" if code in CODES else "is not a code"
            raise click.BadParameter(f"{code!r} {reason}", param_hint="'--code'")
    for path in paths:
        if name_below(root, Path.cwd(), path) is None:
            raise click.BadParameter(f"{path!r} is outside of the project {root}", param_hint="'PATH'")


def _with(inputs: Inputs, files: Files) -> Inputs:
    """Return the inputs with the edited sources."""
    return replace(inputs, sources=tuple(files.get(source.name, source) for source in inputs.sources))


def _documents(inputs: Inputs) -> Inputs:
    """Return the inputs without trainc.yaml and images.lock.yaml."""
    return replace(inputs, sources=tuple(each for each in inputs.sources if each.name not in SETTINGS))


def _editable(root: Path, sources: Iterable[Source]) -> tuple[dict[str, Source], dict[str, str]]:
    """Return the sources that may be edited, and why the others may not, by name."""
    editable: dict[str, Source] = {}
    protected: dict[str, str] = {}
    for source in sources:
        try:
            check_editable(root, source.name)
            editable[source.name] = source
        except EditError as error:
            protected[source.name] = str(error.strerror)
    return editable, protected


_DONE = {
    Action.RENAME: "{name} renamed to {value}",
    Action.REPLACE: "{name} replaced by {value}",
    Action.QUOTE: "{name} quoted",
    Action.UNQUOTE: "{name} written as {value}",
    Action.REMOVE: "{name} removed",
    Action.RENAME_COMMENT: "comment renamed to {value}",
    Action.REMOVE_IGNORE: "{value} removed from the comment",
    Action.SET_RUN: "run number {value}",
}


def _line(fixed: Fixed, environments: Sequence[str]) -> str:
    """Return the line of a fix; ``environments`` are those of its document, all of which have a new run number."""
    _, _, fix = fixed
    is_item = bool(fix.path) and isinstance(fix.path[-1], int)
    name = dotted(fix.path[-2:] if is_item else fix.path[-1:])
    text = _DONE[fix.action].format(name=one_line(name), value=one_line(fix.value or ""))
    if fix.action is Action.SET_RUN:
        text += f" in environments {', '.join(environments)}" * (len(environments) > 1)
    return _at(fixed, f"fixed[{fixed.finding.code}]: {text}")


def _line_of_refused(refused: Refused) -> str:
    finding, _, fix = refused.fixed
    reason = "needs an edit by hand"
    if refused.error is not None:
        what = f"run number {fix.value}" if fix.action is Action.SET_RUN else "the fix"
        reason = f"{what} would cause {refused.error.code}: {one_line(refused.error.message)}"
    return _at(refused.fixed, f"not fixed[{finding.code}]: {reason}")


def _at(fixed: Fixed, text: str) -> str:
    """Return a text after the position of a fix: that of its finding, or the TrainJob that gets a run number."""
    finding, document, fix = fixed
    return f"{position(document, ('metadata',) if fix.action is Action.SET_RUN else finding.path)}: {text}"


def _show(reporter: Reporter, result: Result, protected: Mapping[str, str]) -> None:
    """Write a line for each fix, each finding whose fix is not possible, and each file that is not edited."""
    environments = defaultdict[DocumentId, list[str]](list)
    for name, jobs in result.outcome.jobs.items():
        for job in jobs:
            environments[document_id(job.document)].append(name)
    for each in result.fixed:
        reporter.remark(_line(each, environments[document_id(each.document)]))
    for refused in result.refused:
        reporter.remark(_line_of_refused(refused))
    fixable = {each.document.source.name for each in fixes(result.outcome)}
    for name in sorted(fixable & protected.keys()):
        reporter.remark(f"{name}: not edited: {protected[name]}")


def _summary(result: Result, files: int, *, dry: bool, unsafe: bool) -> str:
    fixes = [] if unsafe else [fix_of(each) for each in result.outcome.findings]
    more = sum(fix is not None and not fix.safe for fix in fixes)
    if not result.fixed:
        return f"nothing to fix without --unsafe ({counted(more, 'finding')})" if more else "nothing to fix"
    text = f"{counted(len(result.fixed), 'finding')} {'would be ' * dry}fixed in {counted(files, 'file')}"
    return f"{text}; {more} more with --unsafe" if more else text
