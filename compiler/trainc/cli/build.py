"""`trainc build`."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import click

from trainc.cli.command import CLEAN, Command, Reporter, finding_options
from trainc.cli.work import (
    choose,
    crd_option,
    load_config,
    no_document,
    nothing,
    read_crds,
    read_platform,
    worth_telling,
)
from trainc.diagnostics import Diagnostic, has_errors, sort_key
from trainc.emit import emit
from trainc.kube.fieldorder import ordered_object
from trainc.options import Options
from trainc.pipeline import compile  # noqa: A004 - its public name
from trainc.read import Inputs, find_root, has_config, merge, read_given, read_stdin
from trainc.settings import of_every_job
from trainc.source import JsonObject

EPILOG = """\b
Examples:
  trainc build job.yaml             its objects, as a YAML stream
  trainc build job.yaml runtime.yaml -o json
  trainc build - < job.yaml         from standard input
  trainc build --faithful cluster/  what a cluster would create
"""

STDIN = "-"


def _yaml(objects: Iterable[JsonObject]) -> str:
    return "---\n".join(emit(data) for data in objects)


def _json(objects: Iterable[JsonObject]) -> str:
    items = [ordered_object(data) for data in objects]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2, ensure_ascii=False) + "\n"


OUTPUTS: dict[str, Callable[[Iterable[JsonObject]], str]] = {"yaml": _yaml, "json": _json}


@click.command("build", cls=Command, epilog=EPILOG)
@click.option(
    "-o", "--output", type=click.Choice(tuple(OUTPUTS)), default="yaml", show_default=True, help="How to print."
)
@click.option("--faithful", is_flag=True, help="Exactly what the API server, Trainer and JobSet make of the documents.")
@click.option("--env", "environment", metavar="ENV", help="The environment of trainc.yaml; without it the first one.")
@crd_option
@finding_options
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
def command(
    *,
    output: str,
    faithful: bool,
    crd_dirs: tuple[str, ...],
    environment: str | None,
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
    given = merge(_read(folder, path) for path in paths)
    options, known, findings = _surroundings(folder, faithful, environment)
    crds = read_crds(find_root(folder), folder, crd_dirs)
    result = compile(merge([given, known]).sources, replace(options, crds=crds.sources))
    found = worth_telling([result.findings], known.sources)
    findings = tuple(sorted((*findings, *given.findings, *known.findings, *crds.findings, *found), key=sort_key))
    if not has_errors(findings) and no_document(given):
        findings = (*findings, *(nothing(path, "no document here") for path in paths))
    reporter.findings(findings)
    if reporter.fails(findings):
        return reporter.status(findings)
    text = OUTPUTS[output](found.data for found in result.objects)
    click.echo(text.encode("utf-8"), nl=False)
    return CLEAN


def _require_streams(paths: Iterable[str]) -> None:
    """Raise OSError where the caller closed a stream that is needed: objects must not vanish without a word."""
    for name, stream, needed in (("<stdout>", sys.stdout, True), ("<stdin>", sys.stdin, STDIN in paths)):
        if needed and stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), name)


def _surroundings(
    folder: Path, faithful: bool, environment: str | None
) -> tuple[Options, Inputs, tuple[Diagnostic, ...]]:
    """Return what a repository adds to the documents given: options and runtimes, and what is wrong with its file.

    Without an environment, it is the first one. BadParameter for one that is not there.
    """
    if faithful:
        return Options(faithful=True), Inputs(), ()
    if not has_config(folder):
        return Options(), Inputs(), ()
    config, findings = load_config(folder)
    environment = config.environments[0] if environment is None else choose(config, environment)[0]
    data = of_every_job(config.data, environment)
    options = Options(environment=environment, config=data, config_document=config.document, lock=config.lock)
    return options, read_platform(folder), findings


def _read(folder: Path, path: str) -> Inputs:
    if path == STDIN:
        return read_stdin(sys.stdin.buffer)
    return read_given(find_root(folder), folder, path)
