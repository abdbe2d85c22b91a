"""`trainc cmp`: Argo CD runs it as a config management plugin, in the folder of an Application's source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from trainc.basics.jsonvalues import Json
from trainc.cli.command import Command, echo
from trainc.cli.compiling import choose
from trainc.cli.options import findings_options
from trainc.cli.reporter import Reporter
from trainc.findings import has_errors
from trainc.gitops.argocd import ENV, JOB, PARAMETERS
from trainc.pipeline.content import bytes_of
from trainc.project.environments import compile_for, load_config, nothing, read_others
from trainc.project.names import JOBS
from trainc.project.read import has_config, merge, name_below, read_tree

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
ASSIGNED = "ARGOCD_APP_PARAMETERS"
_VARIABLE: Final = "ARGOCD_ENV_TRAINC_"
"""The beginning of what Argo CD makes of a variable TRAINC_* in spec.source.plugin.env."""

_NONE: Final = "null"
"""What Argo CD sets for an Application without parameters."""


@click.command("cmp", cls=Command, epilog=EPILOG)
@findings_options(aside=True)
def command(*, reporter: Reporter) -> int:
    """Print the objects of a namespace or a job, as a config management plugin of Argo CD.

    They are the files that trainc render would write. Findings go to standard
    error. It is an error if there is nothing to print: Argo CD would prune
    everything.
    """
    chosen = _parameters(os.environ)
    root, name = _location(os.environ, Path.cwd())
    config, findings = load_config(root)
    if has_errors(findings):
        return reporter.report(findings)
    if ENV not in chosen and len(config.environments) > 1:
        raise click.UsageError(
            f"parameter {ENV!r} is required: trainc.yaml has several environments ({', '.join(config.environments)})"
        )
    (environment,) = choose(config, chosen.get(ENV))
    inputs, platform = read_tree(root, name), read_others(root, (name,), config)
    outcome = compile_for(
        merge([inputs, platform]), config, (environment,), findings, partly=None if name == JOBS else platform.sources
    )
    job = chosen.get(JOB)
    files = [bytes_of(data) for path, data in outcome.files.items() if job is None or path.split("/")[3] == job]
    findings = outcome.findings
    if not files and not has_errors(findings):
        what = "TrainJob" if job is None else f"job {job!r}"
        findings = (*findings, nothing(name, f"no {what} found for environment {environment}"))
    status = reporter.report(findings)
    if not reporter.fails(findings):
        echo(b"---\n".join(files), nl=False)
    return status


def _parameters(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the Application's parameters by name. Raises UsageError for an unknown one, and one that it has twice."""
    names = {f"{_VARIABLE}{name.upper()}": name for name in PARAMETERS}
    given = {key: value for key, value in variables.items() if key.startswith(_VARIABLE)}
    for key in sorted(given.keys() - names.keys()):
        raise click.UsageError(f"unknown variable {key}: expected {' or '.join(names)}")
    found = {names[key]: _text(names[key], value) for key, value in given.items()}
    try:
        items = json.loads(variables.get(ASSIGNED) or _NONE)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{ASSIGNED} is not JSON: {error}") from None
    assigned: dict[str, str] = {}
    for item in [] if items is None else items if isinstance(items, list) else [items]:
        name = item.get("name") if isinstance(item, dict) else None
        if name is None:
            raise click.UsageError(f"{ASSIGNED}: each item must be a mapping with a name")
        if name not in PARAMETERS:
            raise click.UsageError(f"unknown parameter {name!r}: expected {' or '.join(PARAMETERS)}")
        if name in assigned:
            raise click.UsageError(f"parameter {name!r} is there twice")
        assigned[name] = _text(name, item.get("string"))
    return found | assigned


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise click.UsageError(f"parameter {name!r} must be a non-empty string")
    return value


def _location(variables: Mapping[str, str], folder: Path) -> tuple[Path, str]:
    """Return the folder of trainc.yaml, and the folder to compile as a path below it. Raises UsageError.

    Folders above the clone are not searched: its root is where the source path begins.
    """
    path = variables.get(PATH)
    if path is None:
        raise click.UsageError(f"{PATH} is not set: trainc cmp is for Argo CD; use trainc build or trainc render")
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if ".." in steps or list(folder.parts[len(folder.parts) - len(steps) :]) != steps:
        raise click.UsageError(f"the working directory {folder} is not {PATH} ({path}) of the repository")
    above = (folder, *folder.parents[: len(steps)])
    root = next((each for each in above if has_config(each)), above[-1])
    name = name_below(root, folder, ".")
    if name == ".":
        return root, JOBS
    if name is None or name.partition("/")[0] != JOBS or name.count("/") > 1:
        raise click.UsageError(
            f"the Application's path {path} is neither jobs/<namespace> nor the folder of trainc.yaml"
        )
    return root, name
