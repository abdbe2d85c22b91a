"""`trainc new job` and `trainc new runtime`."""

from __future__ import annotations

import shutil
import sys
from itertools import chain
from pathlib import Path

import click

from trainc.cli.command import CLEAN, Command, echo, echo_line, echo_yaml, is_terminal
from trainc.cli.completion import complete_runtime
from trainc.cli.options import check_name, findings_options, root_option
from trainc.cli.reporter import Reporter
from trainc.cli.runtimes import find, table
from trainc.findings.display import one_line
from trainc.findings.reporting import PRIVATE_KEY, secrets_in_plain_text
from trainc.findings.secrets import private_keys
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Source
from trainc.kube.names import is_dns1035_label, is_dns1123_label, is_dns1123_subdomain
from trainc.project.catalog import Catalog, read_catalog
from trainc.project.environments import check_file, load_config
from trainc.project.names import JOBS, RUNTIMES, is_input
from trainc.project.scaffold import job_text, runtime_text
from trainc.project.write import create

EPILOG = """\b
Examples:
  trainc new job --runtime torch-distributed mnist
  trainc new job --runtime torch-distributed -n team-vision mnist
  trainc new job --runtime torch-distributed -o - mnist    print it only
"""

RUNTIME_EPILOG = """\b
Examples:
  trainc new runtime --from torch-distributed my-torch
"""


@click.group("new", epilog=f"{EPILOG}  trainc new runtime --from torch-distributed my-torch\n")
def command() -> None:
    """Write a new job, with a comment on every field, or a copy of a runtime."""


@command.command("job", cls=Command, epilog=EPILOG)
@click.option(
    "--runtime",
    "runtime_name",
    metavar="RUNTIME",
    shell_complete=complete_runtime,
    help="The runtime of the job. On a terminal, you are asked for it if it is missing.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    help="The namespace: a folder of jobs/.  [default: the only folder of jobs/, or default if there is none]",
)
@click.option("-o", "output", type=click.Choice(("-",)), help="Write to standard output instead of jobs/.")
@root_option
@findings_options(aside=True)
@click.argument("name")
def job(
    *, runtime_name: str | None, namespace: str | None, output: str | None, root: Path, reporter: Reporter, name: str
) -> int:
    """Write jobs/NAMESPACE/NAME.yaml, a TrainJob for a runtime.

    Every field that has an effect with the runtime is there, with a comment; those
    that are optional are commented out. The job is valid as it is, and findings on
    it, such as those of your policies, are reported at once. An existing file is
    never changed.
    """
    config, findings = load_config(root)
    if reporter.fails(findings):
        return reporter.report(findings)
    namespace = _namespace(root) if namespace is None else namespace
    check_name(is_dns1123_label(namespace), namespace, "'--namespace'")
    check_name(is_dns1035_label(name), name, "'NAME'")
    catalog = read_catalog(root, config)
    chosen = find(catalog, _runtime(catalog, runtime_name), namespace, "--runtime")
    if chosen.key[1] not in ("", namespace):
        message = f"runtime {chosen.name!r} can only be used in its own namespace: -n {chosen.key[1]}"
        raise click.BadParameter(message, param_hint="'--runtime'")
    queues = (read_settings(config.data, environment).queue for environment in config.environments)
    text = job_text(chosen, namespace, name, next(filter(None, queues), ""))
    if output is not None:
        echo_yaml(text)
        return CLEAN
    file = f"{JOBS}/{namespace}/{name}.yaml"
    _create(root, file, text)
    reporter.remark(f"created {file}")
    return reporter.report(check_file(root, Source(file, text), config))


@command.command("runtime", cls=Command, epilog=RUNTIME_EPILOG)
@click.option(
    "--from", "base", metavar="RUNTIME", required=True, shell_complete=complete_runtime, help="The runtime to copy."
)
@root_option
@click.argument("name")
def runtime(*, base: str, root: Path, name: str) -> int:
    """Write runtimes/NAME.yaml, a copy of a runtime to change.

    Comments inside the runtime are copied; objects beside it are not. An existing
    file is never changed.
    """
    check_name(is_dns1123_subdomain(name), name, "'NAME'")
    chosen = find(read_catalog(root, load_config(root)[0]), base, option="--from")
    file, text = f"{RUNTIMES}/{name}.yaml", runtime_text(chosen, name)
    keys = (found for found in secrets_in_plain_text(chosen.document) if found.code == PRIVATE_KEY)
    if next(chain(keys, private_keys(text)), None) is not None:
        raise click.UsageError(f"runtime {chosen.name!r} contains a private key in plain text, so it is not copied")
    _create(root, file, text)
    echo_line(f"created {file}", err=True)
    return CLEAN


def _create(root: Path, file: str, text: str) -> None:
    """Create a file. Raises UsageError if it exists, or has a name that trainc does not read."""
    if not is_input(file):
        raise click.UsageError(f"trainc does not read {file}: choose another name")
    if not create(root, file, text):
        raise click.UsageError(f"{file} already exists, and is not overwritten")


def _namespace(root: Path) -> str:
    """Return the default namespace. Raises UsageError if jobs/ has several."""
    found = sorted(each.name for each in (root / JOBS).glob("[!.]*") if each.is_dir())
    if len(found) > 1:
        raise click.UsageError(f"jobs/ has several namespaces, choose one with -n: {', '.join(map(one_line, found))}")
    return found[0] if found else "default"


def _runtime(catalog: Catalog, name: str | None) -> str:
    """Return the runtime that the option names, or ask for it on a terminal. Raises UsageError."""
    if name is not None:
        return name
    if not is_terminal(sys.stdin, sys.stderr):
        raise click.UsageError("--runtime is missing; 'trainc runtimes' lists the runtimes")
    for line in table(catalog.runtimes, shutil.get_terminal_size().columns):
        echo(line, err=True)
    answer: str = click.prompt("Runtime", err=True)
    return answer
