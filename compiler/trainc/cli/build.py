"""`trainc build`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from trainc.cli.caching import open_result
from trainc.cli.command import CLEAN, Command
from trainc.cli.echo import echo
from trainc.cli.options import cache_option, crds_option, findings_options, project_option
from trainc.cli.project import project_root
from trainc.cli.reading import Read, read_platform
from trainc.cli.reporter import Reporter, Words
from trainc.read import Inputs, has_config, merge, read_config, read_given, read_lock, read_stdin

EPILOG = """\b
Examples:
  trainc build job.yaml             its objects, as a YAML stream
  trainc build job.yaml runtime.yaml -o json
  trainc build - < job.yaml         from standard input
  trainc build --faithful cluster/  what a cluster would create
"""

STDIN = "-"
OUTPUTS = ("yaml", "json")


@click.command("build", cls=Command, epilog=EPILOG)
@click.option("-o", "--output", type=click.Choice(OUTPUTS), default="yaml", show_default=True, help="How to print.")
@click.option("--faithful", is_flag=True, help="Exactly what the API server, Trainer and JobSet make of the documents.")
@click.option("--env", "environment", metavar="ENV", help="The environment of trainc.yaml; by default the first one.")
@project_option
@crds_option
@cache_option
@findings_options
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
def command(
    *,
    output: str,
    faithful: bool,
    project: str | None,
    crd_dirs: tuple[str, ...],
    environment: str | None,
    cache: bool,
    format_: str,
    fail_on: str,
    quiet: bool,
    verbose: bool,
    paths: tuple[str, ...],
) -> int:
    """Compile the documents of FILEs and print the objects that the Trainer controller would create of them.

    FILE is a file, a folder with all its YAML and JSON files, or - for standard
    input. Findings go to standard error; after an error, or what --fail-on
    names, nothing is printed to standard output. In a folder with a trainc.yaml, the runtimes of runtimes/
    and the policies of policies/ are known, too, unless --faithful says otherwise.
    """
    reporter = Reporter(format_, fail_on, quiet, verbose, aside=True)
    paths = tuple(dict.fromkeys(paths))  # standard input can be read only once
    _require_streams(paths)
    folder = Path.cwd()
    root = project_root(folder, project)
    home = None if faithful else folder if project is None else root
    read = _read_all(root, folder, paths, crd_dirs, home)
    asked = (output, faithful, environment, paths, crd_dirs, read.config is None, reporter.manner)
    known = open_result(root, read.parts, asked, use=cache)
    if known is not None and known.result is not None:
        *words, text = known.result
        reporter.tell(Words(*words))
        echo(text.encode("utf-8"), nl=False)
        return CLEAN
    from trainc.cli.building import build

    findings, silenced, make = build(read, paths, output, faithful, environment)
    told = reporter.worded(findings, silenced)
    reporter.tell(told)
    if reporter.fails(findings):
        return reporter.status(findings)
    text = make()
    echo(text.encode("utf-8"), nl=False)
    if known is not None:
        known.keep((*told, text))
    return CLEAN


def _require_streams(paths: Iterable[str]) -> None:
    """Raise OSError where the caller closed a stream that is needed: objects must not vanish without a word."""
    for name, stream, needed in (("<stdout>", sys.stdout, True), ("<stdin>", sys.stdin, STDIN in paths)):
        if needed and stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), name)


def _read_all(root: Path, folder: Path, paths: Iterable[str], crd_dirs: Iterable[str], home: Path | None) -> Read:
    """Read what is given, and what the repository at ``home`` adds to it."""
    given = merge(_read(root, folder, path) for path in paths)
    folders = tuple((name, read_given(root, folder, name)) for name in crd_dirs)
    if home is None or not has_config(home):
        return Read(given, None, Inputs(), Inputs(), folders)
    return Read(given, read_config(home), read_lock(home), read_platform(home), folders)


def _read(root: Path, folder: Path, path: str) -> Inputs:
    if path == STDIN:
        return read_stdin(sys.stdin.buffer)
    return read_given(root, folder, path)
