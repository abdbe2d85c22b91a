"""`trainc flux`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.cli.command import Command
from trainc.cli.compiling import choose, print_objects
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.project.environments import JOBS, compile_for, load_config
from trainc.project.planning import kustomizations, settings
from trainc.project.read import merge, read_platform, read_tree

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
    """Print the Kustomizations by which Flux applies out/, one per job.

    The environments are those with target: flux. jobs/ is compiled to find the
    jobs; after an error nothing is printed. With flux.write in trainc.yaml,
    trainc render writes the same as files.
    """
    config, findings = load_config(root)
    if reporter.fails(findings):
        reporter.findings(findings)
        return reporter.status(findings)
    chosen = choose(config, environment)
    environments = tuple(name for name in chosen if settings(config, name).target == "flux")
    if not environments:
        raise click.UsageError(f"no environment asked for has target: flux ({', '.join(chosen)}): trainc argocd")
    outcome = compile_for(merge([read_tree(root, JOBS), read_platform(root)]), config, environments, findings)
    reporter.findings(outcome.findings)
    if not reporter.fails(outcome.findings):
        print_objects([data for _, data in kustomizations(config, outcome)])
    return reporter.status(outcome.findings)
