"""`trainc flux`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.command import Command
from trainc.cli.compiling import choose_for, print_compiled
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.project.environments import Outcome, load_config
from trainc.project.planning import kustomizations

EPILOG = """\b
Examples:
  trainc flux              a Kustomization per job, as a YAML stream
  trainc flux --env prod   those of one environment
"""


@click.command("flux", cls=Command, epilog=EPILOG)
@click.option("--env", "environment", metavar="ENV", help="Only this environment of trainc.yaml.")
@root_option
@findings_options(aside=True)
def command(*, environment: str | None, root: Path, reporter: Reporter) -> int:
    """Print the Kustomizations with which Flux applies out/, one per job.

    This is for environments with target: flux. jobs/ is compiled to find the
    jobs; after an error nothing is printed. With flux.write in trainc.yaml,
    trainc render writes the same objects as files.
    """
    config, findings = load_config(root)
    environments = () if reporter.fails(findings) else choose_for(config, environment, "flux", "argocd")

    def objects_of(outcome: Outcome) -> list[JsonObject]:
        return [data for _, data in kustomizations(config, outcome)]

    return print_compiled(root, config, environments, findings, reporter=reporter, objects_of=objects_of)
