"""`trainc argocd` and `trainc flux`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.command import CLEAN, Command, echo
from trainc.cli.compiling import choose
from trainc.cli.options import environment_option, findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.documents.emit import emit_inert
from trainc.findings import Finding
from trainc.gitops.argocd import health_checks, plugin_definition
from trainc.inputs.settings import read_settings
from trainc.pipeline.layout import argocd_objects
from trainc.project.config import Config, sharing_projects, without_repository
from trainc.project.environments import Outcome, compile_for, load_config
from trainc.project.planning import in_another_folder, kustomizations, trees
from trainc.project.read import read_project

ARGOCD_EPILOG = """\b
Examples:
  trainc argocd             all objects, for kubectl apply --server-side -f -
  trainc argocd --env prod  those of one environment
  trainc argocd --health    the health checks alone
  trainc argocd --cmp       plugin.yaml for the sidecar that runs trainc cmp
"""

FLUX_EPILOG = """\b
Examples:
  trainc flux              a Kustomization per job, as a YAML stream
  trainc flux --env prod   those of one environment
"""


@click.command("argocd", cls=Command, epilog=ARGOCD_EPILOG)
@environment_option(help="Only this environment of trainc.yaml.")
@click.option("--health", is_flag=True, help="Only the health checks, a part of ConfigMap argocd-cm.")
@click.option("--cmp", "plugin", is_flag=True, help="Only the definition of the config management plugin.")
@root_option
@findings_options(aside=True)
def argocd(*, environment: str | None, health: bool, plugin: bool, root: Path, reporter: Reporter) -> int:
    """Print the objects with which Argo CD syncs out/: AppProjects, ApplicationSets, and health checks for argocd-cm.

    An AppProject allows only what the jobs of its environment need, so jobs/ is
    compiled; after an error nothing is printed. With argocd.write in
    trainc.yaml, trainc render writes the same objects as files.
    """
    if health and plugin:
        raise click.UsageError("--health and --cmp cannot be combined")
    if plugin:
        _print([plugin_definition()])
        return CLEAN
    config, findings = load_config(root)
    environments = () if reporter.fails(findings) else _with_target(config, environment, "argocd", "flux")
    if health:
        namespaces = {read_settings(config.data, name).argocd.namespace for name in environments}
        status = reporter.report(findings)
        _print(map(health_checks, sorted(namespaces)))
        return status
    sharing = () if reporter.fails(findings) else sharing_projects(config, environments)
    findings = (*findings, *without_repository(config, sharing))
    status, outcome = _compile(root, config, sharing, findings, reporter)
    if outcome is not None:
        _print(argocd_objects(trees(config, outcome), environments))
    return status


@click.command("flux", cls=Command, epilog=FLUX_EPILOG)
@environment_option(help="Only this environment of trainc.yaml.")
@root_option
@findings_options(aside=True)
def flux(*, environment: str | None, root: Path, reporter: Reporter) -> int:
    """Print the Kustomizations with which Flux applies out/, one per job.

    This is for environments with target: flux. jobs/ is compiled to find the
    jobs; after an error nothing is printed. With flux.write in trainc.yaml,
    trainc render writes the same objects as files.
    """
    config, findings = load_config(root)
    environments = () if reporter.fails(findings) else _with_target(config, environment, "flux", "argocd")
    status, outcome = _compile(root, config, environments, findings, reporter)
    if outcome is not None:
        _print(data for _, data in kustomizations(config, outcome))
    return status


def _with_target(config: Config, environment: str | None, target: str, other: str) -> tuple[str, ...]:
    """Return the chosen environments with a target. Raises UsageError, which names the ``other`` command, for none."""
    chosen = choose(config, environment)
    found = tuple(name for name in chosen if read_settings(config.data, name).target == target)
    if not found:
        names = ", ".join(chosen)
        raise click.UsageError(f"no selected environment has target: {target} ({names}); see trainc {other}")
    return found


def _compile(
    root: Path, config: Config, environments: tuple[str, ...], findings: tuple[Finding, ...], reporter: Reporter
) -> tuple[int, Outcome | None]:
    """Compile jobs/, and return the exit status, and the outcome unless findings fail the run."""
    findings = (*findings, *in_another_folder(root, config))
    if reporter.fails(findings):
        return reporter.report(findings), None
    outcome = compile_for(read_project(root), config, environments, findings)
    return reporter.report(outcome.findings), None if reporter.fails(outcome.findings) else outcome


def _print(objects: Iterable[JsonObject]) -> None:
    """Print objects as a YAML stream."""
    echo("---\n".join(emit_inert(data) for data in objects).encode("utf-8"), nl=False)
