"""The command `trainc`: loads a command's module when it is called, and returns every result as an exit status."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from trainc import __version__
from trainc.cli.command import INTERRUPTED, allow_all_text, echo, echo_line, failure
from trainc.findings import suggest
from trainc.findings.display import escaped
from trainc.upstream import JOBSET_VERSION, TRAINER_VERSION

COMMANDS = {
    "init": "Set up a repository of your own.",
    "new": "Write a new job with comments, or a copy of a runtime.",
    "render": "Compile jobs/ to out/.",
    "build": "Compile the given documents and print the objects.",
    "validate": "Check jobs/ and runtimes/ without writing anything.",
    "fix": "Apply the suggestions of findings to the sources.",
    "rerun": "Run jobs again: raise their run numbers.",
    "import": "Turn PyTorchJobs, MPIJobs and other jobs into TrainJobs.",
    "diff": "Show what a change to out/ does, and what the cluster will do.",
    "explain": "Explain a code, a field, or where a job's fields came from.",
    "runtimes": "List the runtimes, or print one.",
    "schema": "Print JSON schemas for editors.",
    "report": "Write one HTML page of all jobs, their resources and findings.",
    "policy": "Test the admission policies in policies/.",
    "cel": "Evaluate a Kubernetes CEL expression.",
    "image": "Build images, and record their digests in images.lock.yaml.",
    "package": "Write out/ as an OCI artifact for Argo CD and Flux.",
    "argocd": "Print the Argo CD objects that sync out/.",
    "flux": "Print the Flux objects that apply out/.",
    "cmp": "Print objects as an Argo CD config management plugin.",
}
"""The commands, in the order of --help, with their short help."""

COMPLETE = "_TRAINC_COMPLETE"
"""The variable with which a shell asks for completions: a message would end up in the user's line."""

MODULES = {"argocd": "gitops", "flux": "gitops", "import": "importing"}
"""The modules that do not have the name of their command, or have several."""

EPILOG = """\b
Examples:
  trainc render                       compile jobs/ to out/
  trainc render --check               fail if out/ is not what render would write
  trainc build job.yaml               print the objects of one TrainJob

\b
Exit status:
  0  clean
  1  findings of severity error (or warning, with --fail-on warning)
  2  wrong usage, nothing to compile, or a system error
  3  out/ is stale (render --check)

\b
Completion (bash; zsh and fish likewise):
  eval "$(_TRAINC_COMPLETE=bash_source trainc)"
"""


class Root(click.Group):
    """A group whose commands are modules beside this one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of --help."""
        return list(COMMANDS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, or an option, without importing any command."""
        names = [CompletionItem(name, help=short) for name, short in COMMANDS.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None for an unknown command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"trainc.cli.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name, None) or module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that args begin with. Raises UsageError, with the nearest spelling."""
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = suggest(name, COMMANDS)
        raise click.UsageError(f"no such command {name!r}" + (f", {hint}" if hint else ""), ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run, and exit with the status of the command or of its failure."""
        allow_all_text()
        try:
            status = super().main(args, prog_name, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            text = io.StringIO()
            if not isinstance(error, click.exceptions.NoArgsIsHelpError):
                error.message = escaped(error.message)  # type: ignore[misc]  # it may quote an input
            error.show(text)
            echo(text.getvalue(), err=True, nl=False)
            if hint := getattr(error, "hint", None):
                echo_line(f"Hint: {hint}", err=True)
            status = error.exit_code
        except click.Abort:
            status = INTERRUPTED
        except Exception as error:  # noqa: BLE001 - nothing else catches it
            status = 0 if COMPLETE in os.environ else failure(error, verbose=False)
        sys.exit(status or 0)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    echo(f"trainc {__version__} (Trainer {TRAINER_VERSION}, JobSet {JOBSET_VERSION})")
    ctx.exit()


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version and exit."
)
def trainc() -> None:
    """Compile Kubeflow TrainJobs into the Kubernetes objects that the Trainer controller would create."""
