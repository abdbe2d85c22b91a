"""`trainc explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from trainc.cli.command import CLEAN, Command, WrongValue, echo
from trainc.cli.completion import complete_explained
from trainc.cli.options import environment_option, project_option, project_root
from trainc.findings import CODES, suggest
from trainc.findings.codes import listing, page

FORMS: Final = ("text", "json")

EPILOG = """\b
Examples:
  trainc explain                     all codes
  trainc explain TC101               the meaning of a code
  trainc explain team-a/bert         every field of the job's objects
  trainc explain team-a/bert spec.replicatedJobs[name=node]
  trainc explain team-a/bert PET_NNODES
  trainc explain team-a/bert configmap/bert-mpi-hostfile:data.hostfile
  trainc explain team-a/0-shared     objects shared in a namespace
  trainc explain trainjob.spec.trainer.numNodes
  trainc explain trainingruntime.spec.mlPolicy --recursive
  trainc explain trainc.yaml.environments
"""


@click.command("explain", cls=Command, epilog=EPILOG)
@environment_option(help="The environment.  [default: the first one with the job]")
@click.option("-o", "--output", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("--recursive", is_flag=True, help="All fields below KIND.FIELD, by name and type.")
@project_option()
@click.argument("what", metavar="[CODE|KIND.FIELD|NAMESPACE/JOB]", required=False, shell_complete=complete_explained)
@click.argument("field", metavar="[FIELD]", required=False)
def command(
    *,
    environment: str | None,
    output: str,
    recursive: bool,
    root: str | None,
    what: str | None,
    field: str | None,
) -> int:
    """Explain a code, a field of a document, or where the fields of a job's objects came from.

    CODE is the code of a finding, such as TC101; without arguments, all codes are
    listed. KIND.FIELD is a field of a TrainJob, a runtime, trainc.yaml, image.yaml or
    images.lock.yaml, such as trainjob.spec.trainer: its type, default, allowed
    values and description, and the fields below it. NAMESPACE/JOB is a TrainJob in jobs/: each field of its objects is
    printed with its origin, file and line. FIELD limits that to one field and those
    below it, as a dotted path with list items by number or name. It is a field of
    the JobSet, or with KIND/NAME:FIELD of another object.
    """
    if what is not None and "/" in what:
        from trainc.cli.explainjob import explain_job

        return explain_job(project_root(Path.cwd(), root), what, field or "", environment, output)
    if field is not None:
        raise click.UsageError("FIELD is only allowed after NAMESPACE/JOB")
    if what is None:
        echo(listing(), nl=False)
        return CLEAN
    if what.upper() in CODES:
        echo(page(what.upper()), nl=False)
        return CLEAN
    if _explain_field(what, output, recursive=recursive):
        return CLEAN
    from difflib import get_close_matches

    from trainc.cli.explainjob import jobs_called

    hint = "; codes look like TC101, fields like trainjob.spec.trainer, jobs like NAMESPACE/JOB"
    if near := get_close_matches(what.upper(), CODES, 3, 0.7) or jobs_called(project_root(Path.cwd(), root), what)[:3]:
        hint = f", did you mean {' or '.join(near)}?"
    raise click.BadParameter(f"unknown code {what!r}{hint}", param_hint="CODE")


def _explain_field(what: str, output: str, *, recursive: bool) -> bool:
    """Print the page of a field, and return whether there is a kind of this name. Raises BadParameter."""
    from trainc.schema.field_help import Miss, as_data, as_text, find, roots, split

    found = split(what)
    if found is None:
        name, dot, _ = what.partition(".")
        if not dot:
            return False
        begins = ", ".join(dict.fromkeys(root.lower() for root in roots().values()))
        hint = suggest(name.lower(), tuple(roots())) or f"a field begins with one of {begins}"
        raise WrongValue(f"unknown kind {name!r}.", hint, "KIND.FIELD")
    page = find(*found)
    if isinstance(page, Miss):
        known = f"it contains {', '.join(page.known)}" if page.known else "it is a value without fields"
        hint = suggest(page.step, page.known) or known
        raise WrongValue(f"{page.step} not found in {page.at}.", hint, "KIND.FIELD")
    if output == "json":
        echo(json.dumps(as_data(page), indent=2), form="json")
    else:
        echo(as_text(page, recursive=recursive), nl=False)
    return True
