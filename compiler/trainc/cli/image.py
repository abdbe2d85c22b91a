"""`trainc image`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

import click

from trainc.cli.command import CLEAN, ENVIRONMENT, ERRORS, STALE, Command, echo_line
from trainc.cli.completion import complete_file, complete_image
from trainc.cli.options import root_option
from trainc.cli.paths import OutsideGit
from trainc.cli.reporter import Reporter
from trainc.findings import Finding, has_errors
from trainc.images import build as builder
from trainc.images.definition import FILE as IMAGE_FILE
from trainc.images.definition import PACKAGES, WHEELS, BuildError, Inputs, read_image
from trainc.images.layout import LayoutError, read_layout, verify_layout, write_layout
from trainc.inputs.imagelock import DIGEST, FILE, key_of
from trainc.project.config import lock_text, parse_lock
from trainc.project.files import LINK
from trainc.project.git import index_below
from trainc.project.links import has_link, leads_out
from trainc.project.read import name_below, read_lock
from trainc.project.write import check_folder, make_folder, replace_sources

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
@click.argument("images", metavar="[IMAGE]...", nargs=-1, shell_complete=complete_file)
def lock(*, check: bool, root: Path, images: tuple[str, ...]) -> int:
    """Record image digests in images.lock.yaml, by which render pins images.

    IMAGE is NAME=DIGEST, the folder of an OCI image layout whose index has the full
    names of its images, or NAME=FOLDER. Lines of other images are kept; without an
    IMAGE the file is only sorted. No registry is queried: use the digest that a
    build or a push has printed.
    """
    inputs = read_lock(root)
    source = inputs.sources[0] if inputs.sources else None
    known, findings = parse_lock(source)
    findings = (*inputs.findings, *findings)
    if has_errors(findings):
        return Reporter().report(findings)
    if not images and source is None:
        raise click.UsageError(f"{FILE} not found, and no IMAGE given")
    digests: dict[str, str] = {}
    for argument in images:
        for key, digest in _digests(argument).items():
            if digests.setdefault(key, digest) != digest:
                raise click.BadParameter(f"two digests of {key}: {digests[key]} and {digest}", param_hint=ARGUMENT)
    for key, digest in sorted(digests.items()):
        if key not in known.digests:
            echo_line(f"+ {key}: {digest}")
        elif known.digests[key] != digest:
            echo_line(f"~ {key}: {digest} (was {known.digests[key]})")
    text = lock_text({**known.digests, **digests})
    if source is not None and source.decoded() == text:
        echo_line(f"{FILE} is up to date", err=True)
        return CLEAN
    if check:
        echo_line(f"{FILE} is stale", err=True)
        return STALE
    old = None if source is None else source.encoded()
    replace_sources(str(root), [(str(root / FILE), old, text.encode())])
    return CLEAN


def _digests(argument: str) -> Mapping[str, str]:
    """Return the digests of an argument by the names of images. Raises BadParameter."""
    name, equals, value = argument.rpartition("=")
    key = key_of(name) if equals and "@" not in name else None
    if equals and key is None:
        raise click.BadParameter(f"{name!r} is not a valid image name", param_hint=ARGUMENT)
    if key is not None and DIGEST.fullmatch(value):
        return {key: value}
    if value.startswith("sha256:") or not value:
        message = f"{argument!r} has no valid digest (sha256: and 64 hexadecimal digits in lower case)"
        raise click.BadParameter(message, param_hint=ARGUMENT)
    try:
        return read_layout(Path.cwd() / value, key)
    except LayoutError as error:
        raise click.BadParameter(f"{value}: {error}", param_hint=ARGUMENT) from None


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
    mirror = click.option(
        "--mirror",
        metavar="URI|FILE",
        help="The source of Debian's packages: an archive, or a file as in /etc/apt/sources.list.d."
        "  [default: $TRAINC_MIRROR, or the sources in /etc/apt]",
    )
    cache = click.option(
        "--cache",
        type=click.Path(path_type=Path, file_okay=False),
        help=f"The folder for layers and wheels; safe to delete.  [default: {CACHE}]",
    )
    images = click.argument("images", metavar="[IMAGE]...", nargs=-1, shell_complete=complete_image)
    return cache(mirror(images(root_option(function))))


@command.command("build", cls=Command, epilog=BUILD_EPILOG)
@_shared
@click.option(
    "--output",
    type=OutsideGit(path_type=Path, file_okay=False),
    help=f"The parent folder of the images written.  [default: {OUTPUT}]",
)
def build(*, root: Path, images: tuple[str, ...], mirror: str | None, cache: Path | None, output: Path | None) -> int:
    """Build images as OCI image layouts, and print their digests.

    IMAGE is the name of a folder of images/, or the path of a folder with an
    image.yaml; the default is all of images/. Packages are those of packages.lock,
    so the same files have the same digest on any machine and day.
    """
    target, folder = output or root / OUTPUT, _cache(root, cache)
    written: dict[str, Path] = {}

    def build_one(inputs: Inputs) -> Iterable[Finding]:
        home = inputs.folder.resolve()
        if (other := written.setdefault(inputs.name, home)) != home:
            raise BuildError(f"{target / inputs.name} is for {other}: build {inputs.folder} with another --output")
        built, findings = builder.build(inputs, folder, mirror)
        if built is not None:
            check_folder(root, target / inputs.name)
            make_folder(target)
            write_layout(built.documents, built.layers, target / inputs.name)
            echo_line(f"{built.image}: {built.digest}")
        return findings

    return _for_each(root, images, build_one)


@command.command("update", cls=Command, epilog=UPDATE_EPILOG)
@_shared
def update(*, root: Path, images: tuple[str, ...], mirror: str | None, cache: Path | None) -> int:
    """Pin the newest packages and wheels of images.

    Writes packages.lock and wheels.lock beside image.yaml, and prints what
    changed. IMAGE is as for build.
    """
    folder = _cache(root, cache)

    def update_one(inputs: Inputs) -> Iterable[Finding]:
        changes = builder.update(inputs, folder, mirror)
        for line in changes:
            echo_line(f"{inputs.name}: {line}")
        if not changes:
            echo_line(f"{inputs.name} is up to date", err=True)
        return ()

    return _for_each(root, images, update_one)


@command.command("verify", cls=Command, epilog=VERIFY_EPILOG)
@root_option
@click.argument("layouts", metavar="[LAYOUT]...", nargs=-1, type=click.Path(path_type=Path))
def verify(*, root: Path, layouts: tuple[Path, ...]) -> int:
    """Verify OCI image layouts, and compare them with images.lock.yaml.

    Every blob that index.json refers to must exist, with the stated size and
    digest. Without a LAYOUT, those of build/images/ are checked.
    """
    layouts = layouts or tuple(sorted(path.parent for path in (root / OUTPUT).glob("*/oci-layout")))
    if not layouts:
        raise click.UsageError(f"no LAYOUT given, and none found in {OUTPUT}/")
    inputs = read_lock(root)
    known, findings = parse_lock(next(iter(inputs.sources), None))
    findings = (*inputs.findings, *findings)
    failed = False
    for layout in layouts:
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
    return (Reporter().report(findings) if findings else CLEAN) or (ERRORS if failed else CLEAN)


def _cache(root: Path, given: Path | None) -> Path:
    """Return the folder of the cache. Raises Impossible if git has files in it, or cannot tell.

    A layer in the cache is not compared with the pins, so one that is committed would be what its author wrote.
    """
    folder = given.absolute() if given else root / CACHE  # apt takes relative paths as below its own folders
    tracked = index_below(folder)
    if tracked is None:
        how = "let git read the repository, or choose a cache outside of it with --cache"
        raise Impossible(f"{folder}: git cannot tell whether it has files in this cache: {how}")
    if tracked:
        raise Impossible(f"{folder}: git has files in this cache: delete it, also from the repository")
    return folder


def _for_each(root: Path, images: Iterable[str], work: Callable[[Inputs], Iterable[Finding]]) -> int:
    """Call a function with the inputs of each image, report all findings, and return the exit status."""
    failed: list[Finding] = []
    folders = [_folder(root, image) for image in images]
    if not folders and not (folders := sorted(path.parent for path in (root / IMAGES).glob(f"*/{IMAGE_FILE}"))):
        raise click.UsageError(f"no folder of {IMAGES}/ has an {IMAGE_FILE}")
    for folder in folders:  # before anything is built
        _check_links(root, folder)
    for folder in folders:
        try:
            inputs, findings = read_image(folder)
        except BuildError as error:
            raise Impossible(str(error)) from None
        failed += findings
        if inputs is not None and inputs.definition.project and leads_out(root, folder / inputs.definition.project):
            raise Impossible(f"{folder.resolve().name}: {inputs.definition.project}: not in the project root")
        try:
            failed += work(inputs) if inputs is not None else ()
        except BuildError as error:
            raise Impossible(f"{folder.resolve().name}: {error}") from None
        except OSError as error:
            told = error if error.filename is None else f"{error.filename}: {error.strerror}"
            raise Impossible(f"{folder.resolve().name}: {told}") from None
    return Reporter().report(failed) if failed else CLEAN


def _check_links(root: Path, folder: Path) -> None:
    """Raise Impossible for a link in the project; a folder outside of it was named by the user."""
    if (name := name_below(root, root, str(folder))) is None:
        return
    for path in (PurePosixPath(name, file).as_posix() for file in (IMAGE_FILE, PACKAGES, WHEELS)):
        if has_link(root, path):
            raise Impossible(f"{path}: {LINK}")


def _folder(root: Path, image: str) -> Path:
    for folder in (root / IMAGES / image, Path.cwd() / image):
        if (folder / IMAGE_FILE).is_file():
            return folder
    raise click.BadParameter(f"{IMAGE_FILE} not found in {IMAGES}/{image} or {image}", param_hint=ARGUMENT)
