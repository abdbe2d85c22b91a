"""`trainc image`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from trainc.cli.command import CLEAN, ENVIRONMENT, ERRORS, STALE, Command
from trainc.cli.echo import echo_line
from trainc.cli.options import root_option
from trainc.cli.reporter import Reporter
from trainc.findings import Finding, has_errors
from trainc.images.definition import FILE as FILE_OF_IMAGE
from trainc.images.definition import PACKAGES, WHEELS
from trainc.images.layout import LayoutError, read_layout
from trainc.inputs.imagelock import DIGEST, FILE, key_of
from trainc.project.config import lock_text, parse_lock
from trainc.project.files import leads_out
from trainc.project.read import name_below, read_lock
from trainc.project.write import replace_file

if TYPE_CHECKING:
    from trainc.images.definition import Inputs

ARGUMENT = "IMAGE"

EPILOG = """\b
Examples:
  trainc image lock ghcr.io/team/train:1=sha256:0f3c...
  trainc image lock build/layout          an OCI layout that names its images
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
    """Build images, and record and verify their digests."""


@command.command("lock", cls=Command, epilog=EPILOG)
@click.option("--check", is_flag=True, help="Write nothing, and exit 3 if images.lock.yaml would change.")
@root_option
@click.argument("images", metavar="[IMAGE]...", nargs=-1)
def lock(*, check: bool, root: Path, images: tuple[str, ...]) -> int:
    """Record image digests in images.lock.yaml, by which render pins images.

    IMAGE is NAME=DIGEST, the folder of an OCI image layout whose index has the full
    names of its images, or NAME=FOLDER. Lines of other images are kept; without an
    IMAGE the file is only sorted. No registry is queried: use the digest that a
    build or a push has printed.
    """
    folder = Path.cwd()
    inputs = read_lock(root)
    known, findings = parse_lock(inputs.sources[0] if inputs.sources else None)
    findings = (*inputs.findings, *findings)
    if has_errors(findings):
        reporter = Reporter("text", "error", quiet=False, verbose=False)
        reporter.findings(findings)
        return reporter.status(findings)
    if not images and not inputs.sources:
        raise click.UsageError(f"{FILE} not found, and no IMAGE given")
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
    """Return the digests of the arguments. Raises BadParameter, also for two digests of one name."""
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
        message = f"{argument!r} has no valid digest (sha256: and 64 hexadecimal digits in lower case)"
        raise click.BadParameter(message, param_hint=ARGUMENT)
    try:
        return read_layout(folder / value, key)
    except LayoutError as error:
        raise click.BadParameter(f"{value}: {error}", param_hint=ARGUMENT) from None


def _key(name: str) -> str:
    key = key_of(name) if "@" not in name else None
    if key is None:
        raise click.BadParameter(f"{name!r} is not a valid image name", param_hint=ARGUMENT)
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
        raise click.UsageError(f"{path.name} is a symbolic link, which trainc does not follow")
    replace_file(str(path), text.encode())


IMAGES: Final = "images"
CACHE: Final = "build/cache"
OUTPUT: Final = "build/images"

BUILD_EPILOG = """\b
Examples:
  trainc image build                       every image of images/
  trainc image build mpi4py --output dist   write to dist/mpi4py
  trainc image build --mirror snapshot.sources
"""

UPDATE_EPILOG = """\b
Examples:
  trainc image update            update the pins of every image in images/
  trainc image update mpi4py
"""

VERIFY_EPILOG = """\b
Examples:
  trainc image verify            every layout of build/images/
  trainc image verify build/images/mpi4py
"""

F = TypeVar("F", bound=Callable[..., Any])


class Impossible(click.ClickException):
    """A tool of a build is missing or has failed."""

    exit_code = ENVIRONMENT


def _shared(function: F) -> F:
    """Add the options and arguments for images, the cache and the package source."""
    for option in (
        root_option,
        click.argument("images", metavar="[IMAGE]...", nargs=-1),
        click.option(
            "--mirror",
            metavar="URI|FILE",
            help="The source of Debian's packages: an archive, or a file as in /etc/apt/sources.list.d."
            "  [default: $TRAINC_MIRROR, or the sources in /etc/apt]",
        ),
        click.option(
            "--cache",
            type=click.Path(path_type=Path, file_okay=False),
            help=f"The folder for layers and wheels; safe to delete.  [default: {CACHE}]",
        ),
    ):
        function = option(function)
    return function


@command.command("build", cls=Command, epilog=BUILD_EPILOG)
@_shared
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"The parent folder of the images written.  [default: {OUTPUT}]",
)
def build(*, root: Path, images: tuple[str, ...], mirror: str | None, cache: Path | None, output: Path | None) -> int:
    """Build images as OCI image layouts, and print their digests.

    IMAGE is the name of a folder of images/, or the path of a folder with an
    image.yaml; the default is all of images/. Packages are those of packages.lock,
    so the same files have the same digest on any machine and day.
    """
    from trainc.images.build import build as build_image
    from trainc.images.build import write_layout
    from trainc.images.definition import BuildError

    target = output or root / OUTPUT
    failed: list[Finding] = []
    for inputs in _inputs(root, images, failed):
        try:
            built, findings = build_image(inputs, cache or root / CACHE, mirror)
            if built is not None:
                target.mkdir(parents=True, exist_ok=True)
                write_layout(built, target / inputs.name)
                echo_line(f"{built.image}: {built.digest}")
        except (BuildError, OSError) as error:
            raise Impossible(f"{inputs.name}: {error}") from None
        failed += findings
    return _reported(failed)


@command.command("update", cls=Command, epilog=UPDATE_EPILOG)
@_shared
def update(*, root: Path, images: tuple[str, ...], mirror: str | None, cache: Path | None) -> int:
    """Pin the newest packages and wheels of images.

    Writes packages.lock and wheels.lock beside image.yaml, and prints what
    changed. IMAGE is as for build.
    """
    from trainc.images.build import update as update_image
    from trainc.images.definition import BuildError

    failed: list[Finding] = []
    for inputs in _inputs(root, images, failed):
        try:
            done = update_image(inputs, cache or root / CACHE, mirror)
        except (BuildError, OSError) as error:
            raise Impossible(f"{inputs.name}: {error}") from None
        for line in done.changes:
            echo_line(f"{inputs.name}: {line}")
        if not done.changes:
            echo_line(f"{inputs.name} is up to date", err=True)
    return _reported(failed)


@command.command("verify", cls=Command, epilog=VERIFY_EPILOG)
@root_option
@click.argument("layouts", metavar="[LAYOUT]...", nargs=-1, type=click.Path(path_type=Path))
def verify(*, root: Path, layouts: tuple[Path, ...]) -> int:
    """Verify OCI image layouts, and compare them with images.lock.yaml.

    Every blob that index.json refers to must exist, with the stated size and
    digest. Without a LAYOUT, those of build/images/ are checked.
    """
    from trainc.images.layout import LayoutError, verify_layout
    from trainc.project.config import parse_lock
    from trainc.project.read import read_lock

    given = layouts or tuple(sorted(path.parent for path in (root / OUTPUT).glob("*/oci-layout")))
    if not given:
        raise click.UsageError(f"no LAYOUT given, and none found in {OUTPUT}/")
    known, findings = parse_lock(next(iter(read_lock(root).sources), None))
    failed = False
    for layout in given:
        try:
            names, blobs = verify_layout(layout)
        except LayoutError as error:
            failed = True
            echo_line(f"{layout}: {error}", err=True)
            continue
        for name, digest in names.items():
            locked = known.digests.get(name)
            failed |= locked not in (None, digest)
            state = "not in" if locked is None else "as in" if locked == digest else f"differs from {locked} in"
            echo_line(f"{name}: {digest} ({blobs} blobs, {state} {FILE})")
    return _reported(findings) or (ERRORS if failed else CLEAN)


def _inputs(root: Path, images: Iterable[str], failed: list[Finding]) -> Iterator[Inputs]:
    """Yield the inputs of images; findings are added to ``failed``."""
    from trainc.images.definition import BuildError, read_image

    for folder in list(_folders(root, images)):
        _stay_inside(root, folder)
        try:
            inputs, findings = read_image(folder)
        except BuildError as error:
            raise Impossible(str(error)) from None
        failed += findings
        if inputs is not None:
            yield inputs


def _stay_inside(root: Path, folder: Path) -> None:
    """Raise Impossible if the folder of an image, or a file that is read there, is a link out of the project."""
    name = name_below(root, root, str(folder))
    if name is None:  # a folder outside of the project, which the user named
        return
    for file in ("", FILE_OF_IMAGE, PACKAGES, WHEELS):
        if leads_out(root, folder / file):
            raise Impossible(f"{name}/{file}".rstrip("/") + ": a symbolic link that leads out of the project")


def _folders(root: Path, images: Iterable[str]) -> Iterator[Path]:
    names = tuple(images)
    for name in names:
        places = (root / IMAGES / name, Path.cwd() / name)
        found = next((place for place in places if (place / "image.yaml").is_file()), None)
        if found is None:
            raise click.BadParameter(f"image.yaml not found in {IMAGES}/{name} or {name}", param_hint="IMAGE")
        yield found
    if not names:
        found_all = sorted(path.parent for path in (root / IMAGES).glob("*/image.yaml"))
        if not found_all:
            raise click.UsageError(f"no image.yaml found in the folders of {IMAGES}/")
        yield from found_all


def _reported(findings: Iterable[Finding]) -> int:
    reporter = Reporter("text", "error", quiet=False, verbose=False)
    found = tuple(findings)
    if found:
        reporter.findings(found)
    return reporter.status(found)
