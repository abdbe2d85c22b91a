"""`trainc package`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.checks.images import reference_error
from trainc.cli.command import ENVIRONMENT, Command, echo_line
from trainc.cli.compiling import choose
from trainc.cli.options import environment_option, findings_options, root_option
from trainc.cli.paths import OutsideGit
from trainc.cli.reporter import Reporter
from trainc.images.definition import BuildError
from trainc.images.layout import write_layout
from trainc.images.package import package as package_files
from trainc.pipeline.content import bytes_of
from trainc.project.environments import compile_for, load_config, nothing
from trainc.project.links import real_path
from trainc.project.names import JOBS, OUT, is_text
from trainc.project.read import read_project
from trainc.project.write import check_folder, make_folder

EPILOG = """\b
Examples:
  trainc package                      build/package, named latest
  trainc package --env prod -o build/prod ghcr.io/acme/jobs:2026-11-23
  trainc package --annotation org.opencontainers.image.revision=main@sha1:$SHA
  skopeo copy --preserve-digests oci:build/package:latest \\
      docker://ghcr.io/acme/jobs:latest
"""

OUTPUT = Path("build/package")


@click.command("package", cls=Command, epilog=EPILOG)
@environment_option(help="The environment; required if trainc.yaml has several.")
@click.option(
    "-o",
    "--output",
    type=OutsideGit(path_type=Path, file_okay=False),
    help=f"The folder of the OCI image layout.  [default: {OUTPUT}]",
)
@click.option("--annotation", "annotations", metavar="KEY=VALUE", multiple=True, help="An annotation of the artifact.")
@root_option
@findings_options(aside=True)
@click.argument("name", default="latest")
def command(
    *,
    root: Path,
    environment: str | None,
    output: Path | None,
    annotations: tuple[str, ...],
    name: str,
    reporter: Reporter,
) -> int:
    """Write the objects of an environment as an OCI artifact, for Argo CD and Flux.

    The artifact has the files that trainc render writes to out/<env>, at
    <namespace>/<job>/. It is an OCI image layout with one layer, whose digest depends
    on the files alone. NAME is its tag, or its full name. Nothing is pushed.
    """
    folder = output or root / OUTPUT
    if Path(real_path(folder)).is_relative_to(real_path(root / OUT)):
        raise click.BadParameter(f"{folder} is below {OUT}/, which Argo CD reads", param_hint="'--output'")
    if wrong := reference_error(name if "/" in name or ":" in name else f"tag:{name}"):
        raise click.BadParameter(
            f"{name!r} is neither a tag nor the name of an image: {wrong.message}", param_hint="NAME"
        )
    texts = dict(_annotation(text) for text in annotations)
    config, findings = load_config(root)
    if reporter.fails(findings):
        return reporter.report(findings)
    chosen = choose(config, environment)
    if len(chosen) > 1:
        raise click.UsageError(f"--env is required: trainc.yaml has several environments ({', '.join(chosen)})")
    outcome = compile_for(read_project(root), config, chosen, findings)
    findings = outcome.findings
    if not outcome.files and not reporter.fails(findings):
        findings = (*findings, nothing(JOBS, f"no TrainJob found for environment {chosen[0]}"))
    status = reporter.report(findings)
    if reporter.fails(findings):
        return status
    prefix = f"{OUT}/{chosen[0]}/"
    layer, documents = package_files(
        {path.removeprefix(prefix): bytes_of(data) for path, data in outcome.files.items()}, name, texts
    )
    try:
        check_folder(root, folder)
        make_folder(folder.parent)
        write_layout(documents, [layer], folder)
    except BuildError as error:
        echo_line(f"trainc: error: {error}", err=True)
        return ENVIRONMENT
    echo_line(f"{name}: {documents.digest}")
    reporter.remark(f"written to {output or OUTPUT}; nothing is pushed")
    return status


def _annotation(text: str) -> tuple[str, str]:
    """Return the key and the value of an --annotation. Raises BadParameter."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="'--annotation'")
    if not is_text(text):
        raise click.BadParameter(f"{text!r} is not UTF-8", param_hint="'--annotation'")
    return key, value
