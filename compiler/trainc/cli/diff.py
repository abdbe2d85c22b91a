"""`trainc diff`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec.structs import replace

from trainc.changes import Difference, compare
from trainc.changes.cluster import without_new_runs
from trainc.changes.trees import Files, is_below, select
from trainc.cli.command import CLEAN, ERRORS, STALE, Command
from trainc.cli.echo import echo
from trainc.cli.options import findings_options, project_option
from trainc.cli.project import project_root
from trainc.cli.reporter import Reporter, is_coloured
from trainc.cli.sides import Side, with_sources
from trainc.cli.work import load_config
from trainc.findings import Diagnostic, has_errors
from trainc.foreign import Kind, unmanaged
from trainc.read import OUT, name_below, read_given
from trainc.records import NamedTuple
from trainc.settings import read_settings
from trainc.write import look

if TYPE_CHECKING:
    from trainc.revisions import RevisionError

FORMS: Final = ("text", "markdown", "json")
WORKING_TREE: Final = "the working tree"

EPILOG = """\b
Examples:
  trainc diff                             out/ as it is against HEAD
  trainc diff --base origin/main          against another branch
  trainc diff --base v1 --head v2         two revisions
  trainc diff jobs/team-a/bert.yaml       what one TrainJob's change does
  trainc diff -o markdown > comment.md    for a pull request
  trainc diff --exit-code -q              exit 1 if anything changes
"""


@click.command("diff", cls=Command, epilog=EPILOG)
@click.option("--base", metavar="REV", default="HEAD", show_default=True, help="The git revision to compare with.")
@click.option("--head", metavar="REV", help="The git revision to compare; without it, the working tree.")
@click.option("-o", "--output", type=click.Choice(FORMS), default="text", show_default=True, help="How to write it.")
@click.option("--exit-code", is_flag=True, help="Exit 1 if anything differs, as git diff does.")
@project_option
@findings_options
@click.argument("paths", metavar="[PATH]...", nargs=-1)
def command(
    *,
    base: str,
    head: str | None,
    output: str,
    exit_code: bool,
    project: str | None,
    format_: str,
    fail_on: str,
    quiet: bool,
    verbose: bool,
    paths: tuple[str, ...],
) -> int:
    """Say what a change of out/ does, job by job, and what the cluster will do about it.

    Compared is out/ as it is committed, or as it lies there. Where the working
    tree's out/ is not what its sources give, that is said first, and the exit
    status is 3: run render. With PATHs, only those directories of out/, or what is
    made from those files of jobs/ and runtimes/. Differences are no findings: they
    go to standard output, findings to standard error.
    """
    reporter = Reporter(format_, fail_on, quiet, verbose, aside=True)
    folder = Path.cwd()
    root = project_root(folder, project)
    names = [_below(root, folder, path) for path in paths]
    old = _read(root, base, "'--base'")
    new = _read(root, head, "'--head'")
    _require_paths(root, names, (old.files, new.files))
    config, of_config = load_config(root)
    before, after = select(old.files, new.files, names)
    environments = {name.split("/")[1] for name in (*before, *after)}
    settings = {name: read_settings(config.data, name) for name in sorted(environments)}
    there = {name: kind for name, kind in new.there.items() if not names or is_below(name, names)}
    difference = with_sources(
        compare(before, after, settings, there, unmanaged(config.data)),
        _side(root, base, "'--base'"),
        _side(root, head, "'--head'"),
    )
    if head is None and not has_errors(of_config):
        from trainc.cli.staleness import staleness

        stale, broken = staleness(root, config, names, new.files)
        difference = without_new_runs(replace(difference, stale=stale, broken=broken))
    echo(_rendered(difference, output, base, head or WORKING_TREE), nl=False, color=is_coloured(), form=output)
    findings = (*of_config, *new.findings, *difference.findings)
    reporter.findings(findings)
    return _status(reporter.status(findings), difference, exit_code)


def _status(status: int, difference: Difference, exit_code: bool) -> int:
    """Return the exit status, where ``status`` is what findings mean."""
    if status != CLEAN:
        return status
    if difference.broken:
        return ERRORS
    if difference.stale:
        return STALE
    return ERRORS if exit_code and (difference.jobs or difference.weakened) else CLEAN


def _require_paths(root: Path, names: Iterable[str], trees: Iterable[Files]) -> None:
    """Raise BadParameter for a name that matches nothing; git diff takes revisions there, so it may be one."""
    from trainc.revisions import is_revision

    for name in names:
        if (root / name).exists() or any(any(select({}, tree, [name])) for tree in trees):
            continue
        if is_revision(root, name):
            first, dots, second = name.replace("...", "..").partition("..")
            wanted = f"--base {first or 'HEAD'}" + (f" --head {second or 'HEAD'}" if dots else "")
            raise click.BadParameter(f"{name!r} is a git revision.\nHint: trainc diff {wanted}", param_hint="PATH")
        raise click.BadParameter(f"Path {name!r} does not exist.", param_hint="'[PATH]...'")


def _below(root: Path, folder: Path, path: str) -> str:
    name = name_below(root, folder, path)
    if name is None:
        raise click.BadParameter(f"{path!r} is outside of the repository", param_hint="PATH")
    return name


class _Tree(NamedTuple):
    """out/ of a revision or of the working tree: files that are read, all that lies there, and what was not read."""

    files: dict[str, bytes]
    there: Mapping[str, Kind]
    findings: tuple[Diagnostic, ...] = ()


def _read(root: Path, revision: str | None, option: str) -> _Tree:
    """Read out/ of a revision, or of the working tree; BadParameter for a revision that cannot be read."""
    if revision is None:
        there = look(root, (OUT.rstrip("/"),))
        if not (root / OUT).is_dir():
            return _Tree({}, there)
        found = read_given(root, root, OUT)
        texts = ((source.name, source.text) for source in found.sources)
        files = {name: text if isinstance(text, bytes) else text.encode() for name, text in texts}
        # Links are among what trainc did not write, and said there.
        return _Tree(files, there, tuple(each for each in found.findings if has_errors((each,))))
    from trainc.revisions import RevisionError, output_kinds, read_output

    try:
        return _Tree(read_output(root, revision), output_kinds(root, revision))
    except RevisionError as error:
        raise _unreadable(error, option) from None


def _side(root: Path, revision: str | None, option: str) -> Side:
    """Read the inputs of a revision, or of the working tree; BadParameter for a revision that cannot be read."""
    from trainc.revisions import RevisionError

    try:
        return Side.of(root, revision)
    except RevisionError as error:
        raise _unreadable(error, option) from None


def _unreadable(error: RevisionError, option: str) -> click.BadParameter:
    hint = f"\nHint: {error.hint}." if error.hint else ""
    return click.BadParameter(f"{error.message}.{hint}", param_hint=option)


def _rendered(difference: Difference, output: str, base: str, head: str) -> str:
    if output == "json":
        from trainc.changes.asjson import render as as_json

        return as_json(difference, base, head)
    if output == "markdown":
        from trainc.changes.markdown import render as as_markdown

        return as_markdown(difference)
    from trainc.changes.text import render

    return render(difference, is_coloured())
