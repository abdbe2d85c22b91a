"""Updates docs/fixes.md: what each fix changes in its example, tests/fixes/<name>.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

from trainc import Build, Options, Source
from trainc.documents.emit import emit
from trainc.findings import Severity
from trainc.pipeline.compile import compile as compile_sources
from trainc.upstream import FIXES

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "fixes.md"
EXAMPLES = ROOT / "tests" / "fixes"


def markdown() -> str:
    """Return the page with current changes; all else on it is written by hand."""
    page = TARGET.read_text(encoding="utf-8")
    for name in FIXES:
        start = f"Effect on [the example](../tests/fixes/{name}.yaml):\n\n```diff\n"
        before, _, rest = page.partition(start)
        page = "".join((before, start, *(f"{line}\n" for line in changes(name)), "```", rest.partition("```")[2]))
    return page


def changes(name: str) -> Iterator[str]:
    """Yield the lines that a fix adds to and takes from the objects of its example, or the refusal that it changes."""
    before, after = (built(name, fixes) for fixes in ((), (name,)))
    if refusals(before) or refusals(after):
        yield from (f"-{line}" for line in refusals(before))
        yield from (f"+{line}" for line in refusals(after) or ["(compiles)"])
        return
    old, new = (
        {(made.kind, made.name): emit(made.data).splitlines() for made in build.objects} for build in (before, after)
    )
    for kind, made in sorted({**old, **new}):
        lines = list(unified_diff(old.get((kind, made), []), new.get((kind, made), []), n=2, lineterm=""))[2:]
        if lines:
            yield f" # {kind} {made}"
        yield from (" ..." if line.startswith("@@") else line for line in lines)


def refusals(build: Build) -> list[str]:
    """Return the errors of an example."""
    return [f"error[{f.code}]: {f.message}" for f in build.findings if f.severity is Severity.ERROR]


def built(name: str, fixes: tuple[str, ...]) -> Build:
    """Compile an example."""
    path = EXAMPLES / f"{name}.yaml"
    source = Source(path.name, path.read_text(encoding="utf-8"))
    return compile_sources([source], Options(fixes=fixes))


def main() -> None:
    """Write the page."""
    TARGET.write_text(markdown(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
