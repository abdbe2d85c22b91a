"""`trainc cmp`: Argo CD runs it as a config management plugin, in the folder of an Application's source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import click

from trainc.cli.command import CLEAN, Command
from trainc.cli.compiling import choose
from trainc.cli.echo import echo
from trainc.cli.options import findings_options
from trainc.cli.reporter import Reporter
from trainc.findings import has_errors
from trainc.gitops.argocd import ENV, JOB, PARAMETERS
from trainc.pipeline.content import Content, bytes_of
from trainc.project.config import Config
from trainc.project.environments import JOBS, compile_for, load_config, nothing
from trainc.project.read import has_config, merge, name_below, read_platform, read_tree

EPILOG = """\b
Examples:
  trainc cmp               in the folder of the Application's source

\b
Environment variables, which Argo CD sets:
  ARGOCD_APP_SOURCE_PATH  jobs/<namespace>, or the folder of trainc.yaml for
                          all namespaces
  ARGOCD_APP_PARAMETERS   spec.source.plugin.parameters: env, job
  ARGOCD_ENV_TRAINC_ENV   and ARGOCD_ENV_TRAINC_JOB: the same from
                          spec.source.plugin.env; parameters take precedence
"""

PATH = "ARGOCD_APP_SOURCE_PATH"
GIVEN = "ARGOCD_APP_PARAMETERS"
VARIABLE = "ARGOCD_ENV_TRAINC_{}"


@click.command("cmp", cls=Command, epilog=EPILOG)
@findings_options(aside=True)
def command(*, reporter: Reporter) -> int:
    """Print the objects of a namespace or a job, as a config management plugin of Argo CD.

    They are the files that trainc render would write. Findings go to standard
    error. It is an error if there is nothing to print: Argo CD would prune
    everything.
    """
    chosen = _parameters(os.environ)
    root, name = _place(os.environ, Path.cwd())
    config, findings = load_config(root)
    if has_errors(findings):
        reporter.findings(findings)
        return reporter.status(findings)
    environment = _environment(config, chosen.get(ENV))
    inputs, platform = read_tree(root, name), read_platform(root)
    outcome = compile_for(
        merge([inputs, platform]), config, (environment,), findings, partly=() if name == JOBS else platform.sources
    )
    text = _stream(outcome.files, chosen.get(JOB))
    findings = outcome.findings
    if not text and not has_errors(findings):
        what = f"job {chosen[JOB]!r}" if JOB in chosen else "TrainJob"
        findings = (*findings, nothing(name, f"no {what} found for environment {environment}"))
    reporter.findings(findings)
    if reporter.fails(findings):
        return reporter.status(findings)
    echo(text, nl=False)
    return CLEAN


def _stream(files: Mapping[str, Content], job: str | None) -> bytes:
    """Return the files of out/<environment>/<namespace>/<job>/ as one YAML stream; all of them without a job."""
    return b"---\n".join(bytes_of(data) for path, data in files.items() if job is None or path.split("/")[3] == job)


def _parameters(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the Application's parameters by name. Raises UsageError for an unknown one."""
    named = ((name, variables.get(VARIABLE.format(name.upper()), "")) for name in PARAMETERS)
    found = {name: value for name, value in named if value}
    try:
        given = json.loads(variables.get(GIVEN) or "[]")
    except ValueError as error:
        raise click.UsageError(f"{GIVEN} is not JSON: {error}") from None
    for item in given if isinstance(given, list) else [given]:
        name = item.get("name") if isinstance(item, dict) else None
        if name not in PARAMETERS:
            raise click.UsageError(f"unknown parameter {name!r}: expected {' or '.join(PARAMETERS)}")
        if not isinstance(value := item.get("string"), str) or not value:
            raise click.UsageError(f"parameter {name!r} must be a non-empty string")
        found[name] = value
    return found


def _place(variables: Mapping[str, str], folder: Path) -> tuple[Path, str]:
    """Return the folder of trainc.yaml, and the folder to compile as a path below it. Raises UsageError.

    Folders above the clone are not searched: its root is where the source path begins.
    """
    path = variables.get(PATH)
    if path is None:
        raise click.UsageError(f"{PATH} is not set: trainc cmp is for Argo CD; use trainc build or trainc render")
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if ".." in steps or list(folder.parts[len(folder.parts) - len(steps) :]) != steps:
        raise click.UsageError(f"the working directory {folder} is not {PATH} ({path}) of the repository")
    places = (folder, *folder.parents[: len(steps)])
    root = next((place for place in places if has_config(place)), places[-1])
    name = name_below(root, folder, ".")
    if name == ".":
        return root, JOBS
    if name is None or name.partition("/")[0] != JOBS or name.count("/") > 1:
        raise click.UsageError(
            f"the Application's path {path} is neither jobs/<namespace> nor the folder of trainc.yaml"
        )
    return root, name


def _environment(config: Config, name: str | None) -> str:
    """Return the selected environment, or the only one. Raises BadParameter if it is not found."""
    if name is None and len(config.environments) > 1:
        names = ", ".join(config.environments)
        raise click.UsageError(f"parameter {ENV!r} is required: trainc.yaml has several environments ({names})")
    (found,) = choose(config, name)
    return found
