"""`trainc argocd`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.cli.command import CLEAN, Command
from trainc.cli.compiling import choose, print_objects
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.gitops.argocd import health_checks, plugin_definition
from trainc.pipeline.layout import argocd_objects
from trainc.project.config import Config, without_repository
from trainc.project.environments import JOBS, compile_for, load_config
from trainc.project.planning import settings, trees
from trainc.project.read import merge, read_platform, read_tree

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
    """Print the objects by which Argo CD syncs out/: AppProjects, ApplicationSets, and health checks for argocd-cm.

    An AppProject allows what the jobs of its environment need and no more, so
    jobs/ is compiled for it; after an error nothing is printed. With
    argocd.write in trainc.yaml, trainc render writes them as files.
    """
    if health and plugin:
        raise click.UsageError("--health and --cmp exclude each other")
    if plugin:
        print_objects([plugin_definition()])
        return CLEAN
    config, findings = load_config(root)
    environments = () if reporter.fails(findings) else _synced(config, choose(config, environment))
    if health:
        reporter.findings(findings)
        namespaces = {settings(config, name).argocd.namespace for name in environments}
        print_objects(map(health_checks, sorted(namespaces)))
        return reporter.status(findings)
    findings = (*findings, *without_repository(config, environments))
    if reporter.fails(findings):
        reporter.findings(findings)
        return reporter.status(findings)
    outcome = compile_for(merge([read_tree(root, JOBS), read_platform(root)]), config, environments, findings)
    reporter.findings(outcome.findings)
    if not reporter.fails(outcome.findings):
        print_objects(argocd_objects(trees(config, outcome)))
    return reporter.status(outcome.findings)


def _synced(config: Config, environments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the environments that Argo CD syncs. UsageError where it syncs none."""
    synced = tuple(name for name in environments if settings(config, name).target == "argocd")
    if not synced:
        raise click.UsageError(f"target: flux in every environment asked for ({', '.join(environments)}): trainc flux")
    return synced
