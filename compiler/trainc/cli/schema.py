"""`trainc schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.command import CLEAN, Command, WrongValue, echo
from trainc.cli.completion import complete_kind
from trainc.cli.paths import OutsideGit
from trainc.findings.display import aligned
from trainc.schema.editors import RUNTIMES, catalog, catalog_names, editor_schema, schema_url

EPILOG: Final = """\b
Examples:
  trainc schema                                 all kinds with a schema
  trainc schema trainjob                        the schema of TrainJobs
  trainc schema --all -o schemas                all schemas, as files
  trainc schema --vscode                        settings for VS Code
  trainc schema --all -o schemas --vscode       settings that use these files
"""

GLOBS: Final = {
    "TrainJob": ["jobs/**/*.yaml", "jobs/**/*.yml"],
    RUNTIMES: ["runtimes/**/*.yaml", "runtimes/**/*.yml"],
    "trainc.yaml": ["trainc.yaml"],
    "image.yaml": ["images/*/image.yaml"],
    "images.lock.yaml": ["images.lock.yaml"],
}
"""The files of a repository, by the name of their schema."""


@click.command("schema", cls=Command, epilog=EPILOG)
@click.option("--all", "every", is_flag=True, help="Write all schemas to the folder of -o.")
@click.option("-o", "--output", metavar="DIR", type=OutsideGit(file_okay=False), help="The folder for --all.")
@click.option("--vscode", is_flag=True, help="Print settings for VS Code that select a schema for each file.")
@click.argument("kind", required=False, shell_complete=complete_kind)
def command(*, every: bool, output: str | None, vscode: bool, kind: str | None) -> int:
    """Print the JSON schema of a KIND, for editors: completion, descriptions and checks as you type.

    Without KIND, all kinds are listed. With --all, a folder is written in the form
    of the catalog of CRDs: a folder per API group, a file per kind and version.
    """
    if every != (output is not None):
        raise click.UsageError("--all and -o DIR belong together")
    if kind is not None and (every or vscode):
        raise click.UsageError("KIND cannot be combined with --all or --vscode")
    if output is not None:
        from trainc.project.write import write_output

        for name, schema in catalog().items():
            write_output(Path.cwd(), Path(output, name), _text(schema))
    if vscode:
        folder = None if output is None else f"./{Path(output).as_posix()}/"
        urls = {name: schema_url(name) if folder is None else folder + catalog_names()[name] for name in GLOBS}
        settings: JsonObject = {"yaml.schemas": {urls[name]: list(globs) for name, globs in GLOBS.items()}}
        echo(_text(settings), nl=False, form="json")
    elif kind is not None:
        echo(_text(editor_schema(_name(kind))), nl=False, form="json")
    elif output is None:
        echo("".join(f"{line}\n" for line in aligned([*catalog_names().items()])), nl=False)
    return CLEAN


def _text(data: JsonObject) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _name(kind: str) -> str:
    """Return the name of the schema of a kind or file, in any case, singular or plural. Raises BadParameter."""
    from trainc.findings import suggest
    from trainc.schema.field_help import roots

    known = {**roots(), RUNTIMES: RUNTIMES}
    if (found := known.get(kind.lower())) is not None:
        return found
    hint = suggest(kind.lower(), tuple(known)) or f"there are {', '.join(catalog_names())}"
    raise WrongValue(f"unknown kind {kind!r}.", hint, "KIND")
