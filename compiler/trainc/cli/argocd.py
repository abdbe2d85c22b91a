"""`trainc argocd`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.command import CLEAN, Command
from trainc.cli.compiling import choose_for, print_compiled, print_objects
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.gitops.argocd import health_checks, plugin_definition
from trainc.pipeline.layout import argocd_objects
from trainc.project.config import without_repository
from trainc.project.environments import Outcome, load_config
from trainc.project.planning import settings, trees

EPILOG = """\b
Examples:
  trainc argocd             all objects, for kubectl apply --server-side -f -
  trainc argocd --env prod  those of one environment
  trainc argocd --health    the health checks alone
  trainc argocd --cmp       plugin.yaml for the sidecar that runs trainc cmp
"""


@click.command("argocd", cls=Command, epilog=EPILOG)
@click.option("--env", "environment", metavar="ENV", help="Only this environment of trainc.yaml.")
@click.option("--health", is_flag=True, help="Only the health checks, a part of ConfigMap argocd-cm.")
@click.option("--cmp", "plugin", is_flag=True, help="Only the definition of the config management plugin.")
@root_option
@findings_options(aside=True)
def command(
    *,
    environment: str | None,
    health: bool,
    plugin: bool,
    root: Path,
    reporter: Reporter,
) -> int:
    """Print the objects with which Argo CD syncs out/: AppProjects, ApplicationSets, and health checks for argocd-cm.

    An AppProject allows only what the jobs of its environment need, so jobs/ is
    compiled; after an error nothing is printed. With argocd.write in
    trainc.yaml, trainc render writes the same objects as files.
    """
    if health and plugin:
        raise click.UsageError("--health and --cmp cannot be combined")
    if plugin:
        print_objects([plugin_definition()])
        return CLEAN
    config, findings = load_config(root)
    environments = () if reporter.fails(findings) else choose_for(config, environment, "argocd", "flux")
    if health:
        reporter.findings(findings)
        namespaces = {settings(config, name).argocd.namespace for name in environments}
        print_objects(map(health_checks, sorted(namespaces)))
        return reporter.status(findings)
    findings = (*findings, *without_repository(config, environments))

    def objects_of(outcome: Outcome) -> tuple[JsonObject, ...]:
        return argocd_objects(trees(config, outcome))

    return print_compiled(root, config, environments, findings, reporter=reporter, objects_of=objects_of)
