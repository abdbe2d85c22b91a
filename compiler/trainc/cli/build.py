"""`trainc build`."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import as_object
from trainc.cache.results import key_of, load_result, save_result
from trainc.cache.store import open_store
from trainc.cli.command import CLEAN, OUTPUT, echo, standard_input
from trainc.cli.limits import LimitedCommand, allow
from trainc.cli.options import cache_option, crds_option, environment_option, findings_options, root_option
from trainc.cli.paths import Existing
from trainc.cli.reporter import Report, Reporter
from trainc.findings import Finding, Silenced, has_errors, sort_key
from trainc.project.read import (
    Inputs,
    has_config,
    merge,
    name_below,
    read_beside,
    read_config,
    read_given,
    read_lock,
    read_platform,
    read_stdin,
)

if TYPE_CHECKING:
    from trainc.inputs.options import Options
    from trainc.pipeline.compile import Loaded
    from trainc.plugins.model import Object

EPILOG = """\b
Examples:
  trainc build job.yaml             objects as a YAML stream
  trainc build job.yaml runtime.yaml -o json
  trainc build - < job.yaml         from standard input
  trainc build --faithful cluster/  the objects that a cluster would create
"""

STDIN = "-"
OUTPUTS = ("yaml", "json")


@click.command("build", cls=LimitedCommand, epilog=EPILOG)
@click.option("-o", "--output", type=click.Choice(OUTPUTS), default="yaml", show_default=True, help="Output format.")
@click.option("--faithful", is_flag=True, help="Print exactly what a cluster with Trainer would create.")
@environment_option(help="An environment of trainc.yaml.  [default: the first one]")
@root_option
@crds_option
@cache_option
@findings_options(aside=True)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=Existing(allow_dash=True))
def command(
    *,
    output: str,
    faithful: bool,
    root: Path,
    crd_dirs: tuple[str, ...],
    environment: str | None,
    cache: bool,
    reporter: Reporter,
    paths: tuple[str, ...],
) -> int:
    """Compile the documents in FILEs and print the objects that the Trainer controller would create.

    FILE is a file, a folder with all its YAML and JSON files, or - for standard
    input. Findings go to standard error; after an error, or a finding that
    --fail-on names, no object is printed. In a project, a folder with a trainc.yaml,
    and below it, runtimes/, policies/ and runtimes beside a FILE in jobs/ are used as
    well, except with --faithful.
    """
    paths = tuple(dict.fromkeys(paths))  # standard input can be read only once
    if sys.stdout is None:  # the caller closed it
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), OUTPUT)
    folder = Path.cwd()
    read = _read_all(root, folder, paths, crd_dirs, home=None if faithful else root)
    key = key_of(read.parts, (output, faithful, environment, paths, crd_dirs, read.config is None, reporter.style))
    store = open_store(root) if cache and key is not None and has_config(root) else None
    if store is not None and key is not None and (known := load_result(store, key)) is not None:
        found, counted, text = known
        reporter.write(Report(found, counted))
        echo(text.encode("utf-8"), nl=False)
        return CLEAN
    findings, silenced, objects = _compile(read, paths, faithful, environment)
    report = reporter.text_of(findings, silenced)
    reporter.write(report)
    if reporter.fails(findings):
        return reporter.status(findings)
    text = _written(objects, output)
    echo(text.encode("utf-8"), nl=False)
    if store is not None and key is not None:
        save_result(store, key, (*report, text))
    return CLEAN


class Read(msgspec.Struct, frozen=True, eq=False):
    """The inputs of a build.

    ``named`` are the documents in FILEs, ``folders`` those of --crd-dir. ``config``, ``lock``, ``platform`` and
    ``beside``, the other files in the folders of FILEs in jobs/, come from the repository, and are None and empty
    without it.
    """

    named: Inputs
    config: Inputs | None
    lock: Inputs
    platform: Inputs
    beside: Inputs
    folders: tuple[tuple[str, Inputs], ...]

    @property
    def parts(self) -> tuple[Inputs, ...]:
        """All inputs, in a fixed order."""
        own = (self.config or Inputs(), self.lock, self.platform, self.beside)
        return (self.named, *own, *(part for _, part in self.folders))


def _read_all(root: Path, folder: Path, paths: Iterable[str], crd_dirs: Iterable[str], home: Path | None) -> Read:
    """Read the documents named, and those of the repository at ``home``."""
    named = merge(read_stdin(standard_input()) if path == STDIN else read_given(root, folder, path) for path in paths)
    folders = tuple((name, read_given(root, folder, name)) for name in crd_dirs)
    config = Inputs() if home is None else read_config(home)
    if home is None or config == Inputs():
        return Read(named, None, Inputs(), Inputs(), Inputs(), folders)
    beside = read_beside(home, (name_below(home, folder, path) for path in paths if path != STDIN))
    return Read(named, config, read_lock(home), read_platform(home), beside, folders)


def _compile(
    read: Read, paths: Iterable[str], faithful: bool, environment: str | None
) -> tuple[tuple[Finding, ...], tuple[Silenced, ...], tuple[Object, ...]]:
    """Return the findings, those suppressed, and the objects. Raises BadParameter for an unknown environment."""
    from trainc.findings.settling import ReportRules
    from trainc.pipeline.compile import run
    from trainc.project.environments import crds_in, has_no_document, nothing, unused_everywhere, with_nothing

    options, findings = _options(read, faithful, environment)
    crds = crds_in(read.folders)
    loaded, platform = _loaded(read)
    allow(len(loaded.documents))
    build = run(loaded, replace(options, crds=crds.sources))
    others_exist = len(as_object(options.config.get("environments"))) > 1  # which may use what this one does not
    unused = () if others_exist else unused_everywhere([build], platform.sources)
    rules = ReportRules.of_project(options.config)
    others = rules.settle((*findings, *read.named.findings, *platform.findings, *crds.findings))
    findings = tuple(sorted((*others, *build.findings, *unused), key=sort_key))
    if not has_errors(findings) and not build.jobs:
        what = "no document found" if has_no_document(read.named) else "no TrainJob found"
        findings = with_nothing(findings, (nothing(path, what) for path in paths))
    return findings, build.silenced, build.objects


def _loaded(read: Read) -> tuple[Loaded, Inputs]:
    """Load the documents, without jobs that are beside those named, and return what comes from the repository."""
    from trainc.documents.classify import TRAINJOB
    from trainc.pipeline.compile import load_all, with_neighbours
    from trainc.project.environments import runtimes_among

    beside = runtimes_among(read.beside)
    platform = merge([beside, read.platform])
    loaded = load_all(merge([read.named, platform]).sources)
    others = {source.name for source in beside.sources}
    kept = (one for one in loaded.documents if one.source.name not in others or one.data["kind"] != TRAINJOB)
    loaded = replace(loaded, documents=tuple(kept))
    return with_neighbours(loaded, (*beside.sources, *beside.neighbours)), platform


def _options(read: Read, faithful: bool, environment: str | None) -> tuple[Options, tuple[Finding, ...]]:
    """Return the options that trainc.yaml sets, and its findings."""
    from trainc.inputs.options import Options
    from trainc.inputs.settings import of_every_job
    from trainc.project.environments import parse_config

    if faithful or read.config is None:
        return Options(faithful=faithful), ()
    config, findings = parse_config(read.config, read.lock)
    if environment is None or (config.document is None and has_errors(findings)):  # trainc.yaml is not valid
        environment = config.environments[0]
    else:
        from trainc.cli.compiling import choose

        environment = choose(config, environment)[0]
    return replace(config, data=of_every_job(config.data, environment)).options(environment), findings


def _written(objects: Iterable[Object], output: str) -> str:
    """Return objects as a YAML stream, or as a List in JSON."""
    if output == "yaml":
        from trainc.documents.emit import emit_inert

        return "---\n".join(emit_inert(one.data) for one in objects)
    from trainc.findings.display import escape_json
    from trainc.kube.fieldorder import ordered

    items = [ordered(one.data) for one in objects]
    return escape_json(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2, ensure_ascii=False) + "\n"
    )
