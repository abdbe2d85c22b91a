"""`trainc diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from trainc.cli.clicked import Command, with_options
from trainc.cli.command import CLEAN, ERRORS, FINDINGS, Reporter, is_coloured
from trainc.cli.echo import echo
from trainc.cli.project import ROOT, project_root
from trainc.cli.sides import Side, with_sources
from trainc.cli.work import load_config
from trainc.diagnostics import Diagnostic
from trainc.difference import Difference, compare
from trainc.difference.selection import select
from trainc.read import OUT, name_below, read_given
from trainc.settings import read_settings

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
@with_options(ROOT, *FINDINGS)
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

    Compared is out/ as it is committed, or as it lies there: nothing is rendered, so
    run render first. With PATHs, only those directories of out/, or what is made
    from those files of jobs/ and runtimes/. Differences are no findings: they go to
    standard output, findings to standard error.
    """
    reporter = Reporter(format_, fail_on, quiet, verbose, aside=True)
    folder = Path.cwd()
    root = project_root(folder, project)
    names = [_below(root, folder, path) for path in paths]
    old, _ = _read(root, base, "'--base'")
    new, findings = _read(root, head, "'--head'")
    config, of_config = load_config(root)
    before, after = select(old, new, names)
    environments = {name.split("/")[1] for name in (*before, *after)}
    settings = {name: read_settings(config.data, name) for name in sorted(environments)}
    difference = with_sources(
        compare(before, after, settings), _side(root, base, "'--base'"), _side(root, head, "'--head'")
    )
    echo(_rendered(difference, output, base, head or WORKING_TREE), nl=False, color=is_coloured(), form=output)
    findings = (*of_config, *findings, *difference.findings)
    reporter.findings(findings)
    status = reporter.status(findings)
    differs = difference.jobs or difference.weakened
    return ERRORS if status == CLEAN and exit_code and differs else status


def _below(root: Path, folder: Path, path: str) -> str:
    name = name_below(root, folder, path)
    if name is None:
        raise click.BadParameter(f"{path!r} is outside of the repository", param_hint="PATH")
    return name


def _read(root: Path, revision: str | None, option: str) -> tuple[dict[str, bytes], tuple[Diagnostic, ...]]:
    """Read out/ of a revision, or of the working tree; BadParameter for a revision that cannot be read."""
    if revision is None:
        if not (root / OUT).is_dir():
            return {}, ()
        found = read_given(root, root, OUT)
        texts = ((source.name, source.text) for source in found.sources)
        return {name: text if isinstance(text, bytes) else text.encode() for name, text in texts}, found.findings
    from trainc.revisions import RevisionError, read_output

    try:
        return read_output(root, revision), ()
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
        from trainc.difference.asjson import render as as_json

        return as_json(difference, base, head)
    if output == "markdown":
        from trainc.difference.markdown import render as as_markdown

        return as_markdown(difference)
    from trainc.difference.text import render

    return render(difference, is_coloured())
