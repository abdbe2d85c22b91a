# ruff: noqa: E402 - the package is an argument
"""Compiles a repository and prints digests of everything that comes out, in the order it comes out, as JSON.

Arguments: the folder of the package, the repository, a copy of its project to render in, and how: `backwards` hands
over sources and entries of folders in reverse, `thorough` adds the cases of the oracle and other commands, `nobody`
continues as another user, `rendered` leaves out what does not depend on a project folder, and `-j`, `--no-cache` are
options of render.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE, REPOSITORY, PROJECT, *HOW = sys.argv[1:]
sys.path.insert(0, PACKAGE)

from click.testing import CliRunner

from trainc import Build, Options, Source, compile
from trainc.cli.root import trainc
from trainc.documents.emit import emit
from trainc.findings import text as findings_text
from trainc.findings.formats import as_json

NOBODY = 65534
MORE = (
    ("validate", "--format", "json"),
    ("validate", "--format", "sarif"),
    ("report", "-o", "-"),
    ("package", "-q", "-o", f"{PROJECT}/build/package"),
    ("render", "--check", "--no-cache"),
)


def parts(build: Build) -> list[str]:
    """Return all that a build says, as text."""
    return [
        *(f"{job.namespace}/{job.name} {len(job.findings)}" for job in build.jobs),
        *(emit(found.data) for found in build.objects),
        *(f"{name}\n{data.decode()}" for name, data in build.files.items()),
        findings_text.render(build.findings),
        as_json(build.findings),
    ]


def compiled(root: Path) -> Iterator[str]:
    """Yield what is compiled from the repository and the broken documents of tests/errors.

    If thorough, all of the latter, and also without these, faithfully, and each case of the oracle.
    """
    paths = [*sorted(root.glob("jobs/*/*.yaml")), *sorted(root.glob("runtimes/*.yaml"))]
    sources = [Source(path.relative_to(root).as_posix(), path.read_bytes()) for path in paths]
    broken = [
        Source(f"broken/{path.stem}-{number}.yaml", part.partition("\n")[2])
        for path in sorted(root.glob("tests/errors/*.txt"))
        if path.stem != "TC504-work"  # a policy that takes seconds for each job
        for number, part in enumerate(path.read_text(encoding="utf-8").partition("---8<---")[0].split(">>> ")[1:])
    ]
    if "thorough" not in HOW:
        broken = broken[::4]
    if "backwards" in HOW:
        sources.reverse()
        broken.reverse()
    yield from parts(compile([*sources, *broken], Options()))
    if "thorough" in HOW:
        for faithful in (False, True):
            yield from parts(compile(sources, Options(faithful=faithful)))
        for path in sorted(root.glob("tests/oracle/cases/**/*.yaml")):
            for faithful in (False, True):
                yield from parts(compile([Source("case.yaml", path.read_bytes())], Options(faithful=faithful)))
    assert len(sources) > 30


def rendered(root: Path) -> Iterator[str]:
    """Yield what render writes and prints in the current folder of a project; the other commands if thorough."""
    options = [each for each in HOW if each.startswith("-")]
    for command in (("render", *options), *(MORE if "thorough" in HOW else ())):
        done = CliRunner().invoke(trainc, command, prog_name="trainc")
        assert done.exit_code == 0, (command, done.output, done.exception)
        yield done.stdout
    for path in sorted(root.glob("out/**/*")):
        if path.is_file():
            yield f"{path.relative_to(root).as_posix()}\n{path.read_text(encoding='utf-8')}"


@contextmanager
def entries_reversed() -> Iterator[None]:
    """List folders in the reverse of an order by name."""
    listdir, scandir = os.listdir, os.scandir

    class Entries:
        def __init__(self, listed: Iterable[Any]) -> None:
            self.listed = iter(listed)

        def __iter__(self) -> Entries:
            return self

        def __next__(self) -> Any:
            return next(self.listed)

        def __enter__(self) -> Entries:
            return self

        def close(self) -> None:
            """The folder was closed when it was listed."""

        def __exit__(self, *_: object) -> None:
            """As ``close``."""

    def scanned(*args: Any) -> Entries:
        with scandir(*args) as entries:
            return Entries(sorted(entries, key=lambda entry: str(entry.name), reverse=True))

    patched: dict[str, Callable[..., Any]] = {
        "listdir": lambda *args: sorted(listdir(*args), reverse=True),
        "scandir": scanned,
    }
    if "backwards" in HOW:
        vars(os).update(patched)
    yield
    vars(os).update(listdir=listdir, scandir=scandir)


def digest(parts: Iterable[str]) -> str:
    """Return a digest of texts in their order."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() + b"\0")
    return whole.hexdigest()


def main() -> None:
    """Print the digests."""
    found = {} if "rendered" in HOW else {"compiled": digest(compiled(Path(REPOSITORY)))}
    if "nobody" in HOW:
        list(rendered(Path(PROJECT)))  # loads what the other user may not be allowed to read
        shutil.rmtree(Path(PROJECT, "out"))
        shutil.rmtree(Path(PROJECT, "build"), ignore_errors=True)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    with entries_reversed():
        found["rendered"] = digest(rendered(Path(PROJECT)))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
