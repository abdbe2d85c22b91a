"""Compiles a repository and prints a digest of everything that comes out, in the order it comes out.

Arguments: the folder of the package, the repository, and `backwards` to hand over the sources in reverse.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from trainc import Build, Options, Source, compile
from trainc.documents.emit import emit
from trainc.findings import text as findings_text
from trainc.findings.formats import as_json


def parts(build: Build) -> list[str]:
    """Return all that a build says, as text."""
    return [
        *(f"{job.namespace}/{job.name} {len(job.findings)}" for job in build.jobs),
        *(emit(found.data) for found in build.objects),
        *(f"{name}\n{data.decode()}" for name, data in build.files.items()),
        findings_text.render(build.findings),
        as_json(build.findings),
    ]


def main() -> None:
    """Compile the repository with and without its broken documents, by default and faithfully."""
    root = Path(sys.argv[2])
    paths = [*sorted(root.glob("jobs/*/*.yaml")), *sorted(root.glob("runtimes/*.yaml"))]
    sources = [Source(path.relative_to(root).as_posix(), path.read_bytes()) for path in paths]
    broken = [
        Source(f"broken/{path.stem}-{number}.yaml", part.partition("\n")[2])
        for path in sorted(root.glob("tests/errors/*.txt"))
        for number, part in enumerate(path.read_text(encoding="utf-8").partition("---8<---")[0].split(">>> ")[1:])
    ]
    if sys.argv[3:] == ["backwards"]:
        sources.reverse()
        broken.reverse()
    whole = hashlib.sha256()
    for given in (sources, [*sources, *broken]):
        for faithful in (False, True):
            for part in parts(compile(given, Options(faithful=faithful))):
                whole.update(part.encode() + b"\0")
    sys.stdout.write(f"{len(sources)} {whole.hexdigest()}\n")


if __name__ == "__main__":
    main()
