"""`trainc import`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from trainc.cli.command import Command, echo
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.findings import sort_key
from trainc.project.read import RUNTIMES, merge, name_below, read_given, read_stdin, read_tree
from trainc.project.write import replace_file

EPILOG = """\b
Examples:
  trainc import job.yaml              show the TrainJob and its runtime
  trainc import --write old/          write jobs/ and runtimes/ of the project
  trainc import -o new old/           write new/jobs/ and new/runtimes/
  helm template chart | trainc import -
"""

STDIN = "-"


@click.command("import", cls=Command, epilog=EPILOG)
@click.option("--write", is_flag=True, help="Write the files into jobs/ and runtimes/ of the project.")
@click.option(
    "-o", "--output", "output", metavar="DIR", type=click.Path(file_okay=False), help="Write the files into DIR."
)
@root_option
@findings_options(aside=True)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
def command(*, write: bool, output: str | None, root: Path, reporter: Reporter, paths: tuple[str, ...]) -> int:
    """Turn jobs of other operators in FILEs into TrainJobs and runtimes.

    FILE is a file, a folder with all its YAML and JSON files, or - for standard
    input. Without --write or -o, the new documents are only printed. What has no
    equal is a finding. An existing file is never overwritten.
    """
    from trainc.migrate.importing import import_documents

    folder = Path.cwd()
    read = {path: read_stdin(sys.stdin.buffer) if path == STDIN else read_given(root, folder, path) for path in paths}
    inside = [path for path in read if path != STDIN and write and name_below(root, folder, path) is not None]
    given = merge(read.values())
    own = read_tree(root, RUNTIMES)
    in_place = {source.name for path in inside for source in read[path].sources}
    imported = import_documents(given.sources, own.sources, in_place)
    findings = tuple(sorted((*given.findings, *own.findings, *imported.findings), key=sort_key))
    status = reporter.report(findings)
    if not write and output is None:
        text = "---\n".join(f"# {file.path}\n{file.text}" for file in imported.files)
        echo(text.encode("utf-8"), nl=False)
        return status
    for file in imported.edited:
        replace_file(str(root / file.path), file.text.encode())
        reporter.remark(f"edited {file.path}")
    target = root if output is None else folder / output
    for file in imported.files:
        path = target / file.path
        if path.exists():
            reporter.result(f"{file.path} exists, and is not overwritten")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8", newline="")
        reporter.remark(f"wrote {file.path}")
    return status
