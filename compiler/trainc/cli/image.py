"""`trainc image`; the commands that build and check are in imagebuild.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from trainc.cli.command import CLEAN, STALE, Command
from trainc.cli.echo import echo_line
from trainc.cli.imagebuild import COMMANDS
from trainc.cli.options import project_option
from trainc.cli.project import project_root
from trainc.cli.reporter import Reporter
from trainc.findings import has_errors
from trainc.images.layout_reader import LayoutError, read_layout
from trainc.images.lockfile import lock_text, parse_lock
from trainc.inputs.imagelock import DIGEST, FILE, key_of
from trainc.project.atomic_write import replace_file
from trainc.project.read import read_lock

ARGUMENT = "IMAGE"

EPILOG = """\b
Examples:
  trainc image lock ghcr.io/team/train:1=sha256:0f3c...
  trainc image lock build/layout          an OCI layout, by its names
  trainc image lock ghcr.io/team/train:1=build/layout
  trainc image lock --check build/layout  exit 3 if it is not up to date
"""

GROUP_EPILOG = """\b
Examples:
  trainc image build                      every image of images/
  trainc image update mpi4py              pin the newest packages and wheels
  trainc image verify build/images/mpi4py
  trainc image lock build/images/mpi4py   its digest, for render
"""


@click.group("image", epilog=GROUP_EPILOG)
def command() -> None:
    """Work on the images of jobs."""


for each in COMMANDS:
    command.add_command(each)


@command.command("lock", cls=Command, epilog=EPILOG)
@click.option("--check", is_flag=True, help="Write nothing, and exit 3 if images.lock.yaml would change.")
@project_option
@click.argument("images", metavar="[IMAGE]...", nargs=-1)
def lock(*, check: bool, project: str | None, images: tuple[str, ...]) -> int:
    """Write the digests of images to images.lock.yaml, by which render pins them.

    IMAGE is NAME=DIGEST, the folder of an OCI image layout whose index names its
    images in full, or NAME=FOLDER. Lines of other images stay; without any IMAGE
    the file is only put in order. No registry is asked: the digest is the one
    that a build or a push has printed.
    """
    folder = Path.cwd()
    root = project_root(folder, project)
    inputs = read_lock(root)
    known, findings = parse_lock(inputs.sources[0] if inputs.sources else None)
    findings = (*inputs.findings, *findings)
    if has_errors(findings):
        reporter = Reporter("text", "error", quiet=False, verbose=False)
        reporter.findings(findings)
        return reporter.status(findings)
    if not images and not inputs.sources:
        raise click.UsageError(f"no {FILE} here, and no image given")
    given = _given(folder, images)
    text = lock_text({**known.digests, **given})
    old = inputs.sources[0].decoded() if inputs.sources else None
    for line in _changes(known.digests, given):
        echo_line(line)
    if old == text:
        echo_line(f"{FILE} is up to date", err=True)
        return CLEAN
    if check:
        echo_line(f"{FILE} is stale", err=True)
        return STALE
    _write(root / FILE, text)
    return CLEAN


def _given(folder: Path, images: Iterable[str]) -> Mapping[str, str]:
    """Return the digests of the arguments. BadParameter for what cannot be read, and for two digests of one name."""
    found: dict[str, str] = {}
    for argument in images:
        for key, digest in _read(folder, argument).items():
            if found.setdefault(key, digest) != digest:
                raise click.BadParameter(f"two digests of {key}: {found[key]} and {digest}", param_hint=ARGUMENT)
    return found


def _read(folder: Path, argument: str) -> Mapping[str, str]:
    name, equals, value = argument.rpartition("=")
    key = _key(name) if equals else None
    if key is not None and DIGEST.fullmatch(value):
        return {key: value}
    if value.startswith("sha256:") or not value:
        message = f"{argument!r} has no digest: sha256: and 64 hexadecimal digits in lower case"
        raise click.BadParameter(message, param_hint=ARGUMENT)
    try:
        return read_layout(folder / value, key)
    except LayoutError as error:
        raise click.BadParameter(f"{value}: {error}", param_hint=ARGUMENT) from None


def _key(name: str) -> str:
    key = key_of(name) if "@" not in name else None
    if key is None:
        raise click.BadParameter(f"{name!r} is not the name of an image", param_hint=ARGUMENT)
    return key


def _changes(known: Mapping[str, str], given: Mapping[str, str]) -> Iterator[str]:
    for key, digest in sorted(given.items()):
        old = known.get(key)
        if old is None:
            yield f"+ {key}: {digest}"
        elif old != digest:
            yield f"~ {key}: {digest} (was {old})"


def _write(path: Path, text: str) -> None:
    if path.is_symlink():
        raise click.UsageError(f"{path.name} is a symbolic link: not followed")
    replace_file(str(path), text.encode())
