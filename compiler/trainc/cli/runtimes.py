"""`trainc runtimes`."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from trainc.basics.jsonvalues import as_object, without_nulls
from trainc.cli.command import Command, echo, is_terminal
from trainc.cli.completion import complete_runtime
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.documents.emit import emit_inert
from trainc.findings import has_errors, suggest
from trainc.findings.display import aligned, escape_json, one_line, width
from trainc.findings.redaction import masked_object
from trainc.project.catalog import Catalog, Runtime, read_catalog
from trainc.project.environments import load_config

EPILOG = """\b
Examples:
  trainc runtimes                      all runtimes, and what they are for
  trainc runtimes torch-distributed    one, as YAML
  trainc runtimes -o json              for programs
"""

FORMS: Final = ("table", "yaml", "json")
HEAD: Final = ("NAME", "ORIGIN", "FRAMEWORK", "NODES", "JOBS")
ROOM: Final = 40
"""The fewest columns for a description beside the others; with less room it has lines of its own."""


@click.command("runtimes", cls=Command, epilog=EPILOG)
@click.option(
    "-o",
    "--output",
    type=click.Choice(FORMS),
    help="Output format.  [default: table; yaml for one runtime]",
)
@root_option
@findings_options(aside=True)
@click.argument("name", required=False, shell_complete=complete_runtime)
def command(*, output: str | None, root: Path, reporter: Reporter, name: str | None) -> int:
    """List the runtimes that jobs can use, or print one.

    The list has the runtimes in runtimes/ and those built into trainc, with the
    framework, the default number of nodes, the number of jobs that use each, its
    image and a description. With NAME, such as torch-distributed or
    team-a/detector, the runtime itself is printed, in the lines that findings on a
    built-in runtime point to.
    """
    config, findings = load_config(root)
    catalog = read_catalog(root, config)
    output = output or ("table" if name is None else "yaml")
    if name is None:
        shown = _listed(catalog.runtimes, output)
    else:
        runtime = find(catalog, name)
        shown = _listed((runtime,), output) if output == "table" else _whole(runtime, output)
    echo(shown if output == "table" else shown.encode("utf-8"), nl=False)
    return reporter.report((*findings, *catalog.findings))


def find(catalog: Catalog, name: str, namespace: str = "", option: str = "NAME") -> Runtime:
    """Return the runtime with a name. Raises BadParameter, with the nearest name, if it is not found."""
    found = catalog.find(name, namespace)
    if found is None:
        hint = suggest(name, [one.name for one in catalog.runtimes], by_words=True)
        errors = (
            f"{one.file}:{one.line}:{one.column}: {one.message}" for one in catalog.findings if has_errors((one,))
        )
        more = hint or next(errors, "'trainc runtimes' lists them")
        raise click.BadParameter(f"runtime {name!r} not found; {more}", param_hint=f"'{option}'")
    return found


def _whole(runtime: Runtime, output: str) -> str:
    data = masked_object(as_object(runtime.data))
    if output == "yaml":
        return emit_inert(as_object(without_nulls(data)))
    return escape_json(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _listed(runtimes: Sequence[Runtime], output: str) -> str:
    records = [one.record() for one in runtimes]
    if output == "json":
        return escape_json(json.dumps(records, indent=2, ensure_ascii=False) + "\n")
    if output == "yaml":
        return "---\n".join(emit_inert(as_object(without_nulls(record))) for record in records)
    columns = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    return "".join(f"{line}\n" for line in table(runtimes, columns))


def table(runtimes: Sequence[Runtime], columns: int | None) -> Iterator[str]:
    """Yield the lines of the table, none wider than ``columns``; None means no limit, and one line per runtime."""
    rows = [HEAD, *(_row(one) for one in runtimes)]
    texts = ["DESCRIPTION", *(one_line(one.description) for one in runtimes)]
    images = ["IMAGE", *(one_line(next(iter(one.images), "")) for one in runtimes)]
    if columns is None:
        yield from aligned([(*row, image, text) for row, image, text in zip(rows, images, texts, strict=True)])
        return
    widths = [max(map(width, cells)) for cells in zip(*rows, strict=True)]
    start = sum(widths) + 2 * len(widths)
    if columns - start < ROOM:  # the description has lines of its own
        start, texts[0], images[0] = 2, "", ""
    for row, text, image in zip(rows, texts, images, strict=True):
        line = "  ".join(cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True))
        below = textwrap.wrap(text, max(columns - start, 20), break_on_hyphens=False) + [image] * (row is not HEAD)
        yield f"{line}  {below.pop(0) if start > 2 and below else ''}".rstrip()
        yield from (f"{' ' * start}{part}" for part in below if part)


def _row(runtime: Runtime) -> tuple[str, ...]:
    origin = "built-in" if runtime.is_built_in else "own"
    return one_line(runtime.name), origin, one_line(runtime.label), str(runtime.nodes), str(len(runtime.jobs))
