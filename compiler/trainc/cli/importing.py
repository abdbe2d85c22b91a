"""`trainc import`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainc.cli.command import Command, echo_yaml, standard_input
from trainc.cli.completion import names_in
from trainc.cli.options import findings_options, root_option
from trainc.cli.paths import Existing, OutsideGit
from trainc.cli.reporter import Reporter
from trainc.documents.classify import RUNTIMES
from trainc.documents.emit import visible
from trainc.documents.load import load
from trainc.findings import Finding, has_errors, sort_key
from trainc.findings.display import counted
from trainc.inputs.source import Source
from trainc.project.environments import has_no_document, nothing, runtimes_among, with_nothing
from trainc.project.files import about, read_regular
from trainc.project.fixing import write_sources
from trainc.project.names import JOBS
from trainc.project.read import merge, name_below, read_given, read_platform, read_stdin, read_tree
from trainc.project.write import create

if TYPE_CHECKING:
    from trainc.migrate.importing import NewFile

EPILOG = """\b
Examples:
  trainc import job.yaml               print the TrainJob and its runtime
  trainc import --write old/           write to jobs/ and runtimes/
  trainc import -o new old/            write new/jobs/ and new/runtimes/
  trainc import --write jobs runtimes  TrainJobs of Trainer v2.0 to v2.2
  helm template chart | trainc import -
"""

STDIN = "-"
NOTHING = "nothing to import: no document is a job of another operator or of an older release"


@click.command("import", cls=Command, epilog=EPILOG)
@click.option("--write", is_flag=True, help="Write the files into jobs/ and runtimes/ of the project.")
@click.option(
    "-o", "--output", "output", metavar="DIR", type=OutsideGit(file_okay=False), help="Write the files into DIR."
)
@click.option(
    "--incomplete",
    is_flag=True,
    help="Also write jobs of which something cannot be imported, with comments that say what.",
)
@click.option("-n", "--namespace", default="default", show_default=True, help="The namespace of jobs without one.")
@root_option
@findings_options(aside=True)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=Existing(allow_dash=True))
def command(
    *,
    write: bool,
    output: str | None,
    incomplete: bool,
    namespace: str,
    root: Path,
    reporter: Reporter,
    paths: tuple[str, ...],
) -> int:
    """Turn jobs of other operators in FILEs into TrainJobs and runtimes.

    FILE is a file, a folder with all its YAML and JSON files, or - for standard
    input. Reads MPIJobs, PyTorchJobs, TFJobs, XGBoostJobs, JAXJobs and Volcano
    Jobs, and uses the runtimes of the project and the built-in ones where they
    fit. Comments are kept. Without --write or -o, the new files are printed. No
    file is overwritten, except that TrainJobs and runtimes of Trainer v2.0 to v2.2
    in the project are edited in place.
    """
    if write and output is not None:
        raise click.UsageError("--write and -o cannot be combined")
    from trainc.migrate.importing import import_documents

    folder = Path.cwd()
    names = tuple(dict.fromkeys(paths))  # standard input can be read only once
    read = {path: read_stdin(standard_input()) if path == STDIN else read_given(root, folder, path) for path in names}
    given = merge(read.values())
    own = read_platform(root)
    taken = [name for one in runtimes_among(read_tree(root, JOBS)).sources for name in names_in(one, RUNTIMES)]
    inside = [path for path in names if output is None and path != STDIN and name_below(root, folder, path) is not None]
    in_place = {source.name for path in inside for source in read[path].sources}
    imported = import_documents(given.sources, own.sources, namespace, in_place, taken)
    findings = [*given.findings, *own.findings, *imported.findings]
    if not has_errors(findings) and has_no_document(given):
        return reporter.report(with_nothing(findings, (nothing(path, "no document found") for path in names)))
    if not imported.files and not reporter.fails(findings):
        reporter.remark(NOTHING)
    if not write and output is None:
        status = reporter.report(sorted(findings, key=sort_key))
        text = "---\n".join(f"# {visible(file.path)}\n{file.text}" for file in imported.files)
        echo_yaml(text)
        if text:
            first = "correct the findings or add --incomplete, and " if status and not incomplete else ""
            reporter.remark(f"{_counted(imported.files)}; to write the files, {first}add --write or -o DIR")
        return status
    target = root if output is None else folder / output
    new = [file for file in imported.files if file.replaces or not _exists(target / file.path, file)]
    in_the_way = [_in_the_way(file) for file in new if not file.replaces and (target / file.path).exists()]
    status = reporter.report(sorted((*findings, *in_the_way), key=sort_key))
    if in_the_way or (reporter.fails(findings) and not incomplete):
        reporter.remark("nothing was written" if in_the_way else "nothing was written: see --incomplete")
        return status
    _write(target, new, {source.name: source for source in given.sources}, reporter)
    if new:
        reporter.remark(f"wrote {_counted(new)}")
    elif imported.files:
        reporter.remark("nothing to write: every file exists with the same content")
    return status


def _exists(path: Path, file: NewFile) -> bool:
    """Return whether a file exists with the same documents; the comments may differ."""
    if (found := read_regular(path)) is None:
        return False
    present, new = ([document.data for document in load(Source(file.path, text))[0]] for text in (found, file.text))
    return present == new


def _write(target: Path, files: Sequence[NewFile], old: Mapping[str, Source], reporter: Reporter) -> None:
    write_sources(target, old, {file.path: Source(file.path, file.text) for file in files if file.replaces})
    for file in files:
        if not file.replaces and not create(target, file.path, file.text):  # it was created meanwhile
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.path)
        reporter.detail(f"{'edited' if file.replaces else 'wrote'} {file.path}")


def _in_the_way(file: NewFile) -> Finding:
    hint = "move it away, or write to another folder with -o DIR"
    return about(file.path, "the file exists, and is not overwritten", code="TC901", hint=hint)


def _counted(files: Sequence[NewFile]) -> str:
    new = [file.path for file in files if not file.replaces]
    jobs = sum(path.startswith("jobs/") for path in new)
    texts = [f"{counted(jobs, 'TrainJob')} and {counted(len(new) - jobs, 'new runtime')}"] if new else []
    if edited := len(files) - len(new):
        texts.append(counted(edited, "edited file"))
    return ", and ".join(texts)
