"""`trainc explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from trainc.cli.command import CLEAN, Command, echo
from trainc.cli.completion import complete_code_or_job
from trainc.cli.options import environment_option, project_option, project_root
from trainc.findings import CODES
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
"""


@click.command("explain", cls=Command, epilog=EPILOG)
@environment_option(help="The environment.  [default: the first one with the job]")
@click.option("-o", "--output", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
@project_option()
@click.argument("what", metavar="[CODE|NAMESPACE/JOB]", required=False, shell_complete=complete_code_or_job)
@click.argument("field", metavar="[FIELD]", required=False)
def command(*, environment: str | None, output: str, root: str | None, what: str | None, field: str | None) -> int:
    """Explain the code of a finding, or where the fields of a job's objects came from.

    CODE is the code of a finding, such as TC101; without arguments, all codes are
    listed. NAMESPACE/JOB is a TrainJob in jobs/: each field of its objects is
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
    if what.upper() not in CODES:
        from difflib import get_close_matches

        near = get_close_matches(what.upper(), CODES, 3, 0.7)
        hint = f", did you mean {' or '.join(near)}?" if near else "; codes look like TC101, jobs like NAMESPACE/JOB"
        raise click.BadParameter(f"unknown code {what!r}{hint}", param_hint="CODE")
    echo(page(what.upper()), nl=False)
    return CLEAN
