"""``python -m tests.e2e.simulator [OPTION]... PATH...``: runs the objects below folders of out/ to their end.

Prints what happens on standard error and the result on standard output, with --json all of it. docs/e2e.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .errors import Unsupported
from .events import Scenario
from .images import Image
from .isolate import isolated
from .manifests import read
from .report import Report

_INSIDE = "TRAINC_SIMULATOR_INSIDE"
_IMAGES = "TRAINC_SIMULATOR_IMAGES"


def main() -> int:
    """Return 0 where every JobSet and Job completed, 1 where one did not, 2 where it cannot be run."""
    options = _parser().parse_args()
    if os.environ.get(_INSIDE) != "1":
        given = "" if options.images or options.image else _built()
        _enter({_IMAGES: given})
    try:
        found = _run(options)
    except (Unsupported, ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if options.json:
        json.dump(found.json(), sys.stdout)
        sys.stdout.write("\n")
    else:
        _show(found)
    good = all(each is not None and each["type"] in ("Complete", "Completed") for each in found.conditions.values())
    return 0 if good and not found.timed_out else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.simulator", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a folder below out/, or a YAML file")
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="REFERENCE=FOLDER",
        help="a root folder; without any, images/ is built",
    )
    parser.add_argument(
        "--images",
        type=Path,
        metavar="FILE",
        help="JSON: fields of images by reference (images.py); without any, images/ is built",
    )
    parser.add_argument("--scenario", default="{}", metavar="JSON", help="limit, kills, delays, until: docs/e2e.md")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    parser.add_argument("--quiet", action="store_true", help="do not say what happens")
    return parser


def _built() -> str:
    """Return the images of this repository as JSON, built where they are not. They are no part of the simulator."""
    script = Path(__file__).resolve().parent.with_name("roots.py")
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(2)
    return done.stdout


def _enter(variables: dict[str, str]) -> None:
    """Become process 1's child in namespaces of our own. Returns never."""
    command = [sys.executable, "-m", __package__ or "simulator", *sys.argv[1:]]
    wrapped = isolated(command)
    sys.stdout.flush()
    os.execvpe(wrapped[0], wrapped, {**os.environ, **variables, _INSIDE: "1"})


def _run(options: argparse.Namespace) -> Report:
    from .cluster import Cluster

    began = time.monotonic()

    def log(line: str) -> None:
        if not options.quiet:
            sys.stderr.write(f"{time.monotonic() - began:7.2f} {line}\n")
            sys.stderr.flush()

    manifests = read(options.paths)
    images: dict[str, Path | Image] = {}
    text = options.images.read_text("utf-8") if options.images else os.environ.get(_IMAGES) or "{}"
    for reference, given in json.loads(text).items():
        images[reference] = Image(**{**given, "root": Path(given["root"])})
    images |= {reference: Path(folder) for reference, _, folder in (each.rpartition("=") for each in options.image)}
    scenario = Scenario.of(json.loads(options.scenario))
    cluster = Cluster(images, log, scenario.delays)
    try:
        cluster.add(manifests)
        return cluster.run(scenario)
    finally:
        cluster.close()


def _show(found: Report) -> None:
    for pod in found.pods:
        for container, text in pod.logs.items():
            for line in text.splitlines():
                print(f"{pod.hostname}/{container}: {line}")  # noqa: T201 - a command line
    for pod in found.pods:
        exits = ", ".join(f"{name} {code}" for name, code in pod.exits.items())
        print(f"pod {pod.name}: {pod.phase}{' (deleted)' if pod.deleted else ''}: {exits}")  # noqa: T201
    for name, condition in found.conditions.items():
        what = "has not ended" if condition is None else f"{condition['type']}: {condition['message']}"
        print(f"{name}: {what}")  # noqa: T201
    if found.timed_out:
        print("the time was up")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
