"""Writes docs/fixes.md from the table of fixes and from what each changes in its example, tests/fixes/<name>.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from textwrap import fill

from trainc import Build, Options, Source
from trainc.documents.emit import emit
from trainc.findings import Severity
from trainc.pipeline.compile import compile as compile_sources
from trainc.upstream import FIXES, Fix

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "fixes.md"
EXAMPLES = ROOT / "tests" / "fixes"
WIDTH = 120

INTRODUCTION = """# Known bugs of Trainer v2.3.0, and their fixes

By default, trainc reproduces the output of Trainer v2.3.0 including its bugs, so that rendered files match what a
controller would create. If a job is affected by a known bug, trainc reports a warning with the code below, with and
without `--faithful`. Each bug has a fix that you can enable in trainc.yaml:

```yaml
fixes: [openmpi5-variables, env-to-workers]   # for every environment
defaults:
  fixes: recommended                          # replaces the line above
environments:
  prod: {}
  staging:
    fixes: [recommended, env-to-workers]      # replaces both, for this environment
```

`recommended` enables all fixes marked as recommended below. With them, the output is what the TrainJob asks for, and
whether a job works does not depend on details of its image that trainc cannot see. An enabled fix replaces its warning;
if it cannot help, the warning remains. Faithful output (`build --faithful`) never contains fixes. Changing `fixes`
changes every affected job, including those in a cluster. Most of these changes are to immutable fields of a JobSet, so
such jobs need a new run number ([lifecycle.md](lifecycle.md#change-an-immutable-field)).

This page is generated from `compiler/trainc/upstream.py` and the examples in `tests/fixes/` by `make schemas`.

"""


DROPPED = """## Bugs without a fix

- `flux-main-host`: upstream passes `<job>-0` as the main host to init.sh, although the host is `<job>-node-0-0`. The
  script does not use the value. trainc's own Flux scripts contain no main host, so there is nothing to fix.
"""


def markdown() -> str:
    """Return the page."""
    rows = ["| fix | warning | recommended | what goes wrong |", "|---|---|---|---|"]
    rows += [
        f"| [`{name}`](#{name}) | {fix.code} | {'yes' if fix.recommended else 'no'} | {fix.title} |"
        for name, fix in FIXES.items()
    ]
    sections = (section(name, fix) for name, fix in FIXES.items())
    return INTRODUCTION + "\n".join(rows) + "\n\n" + "\n".join(sections) + "\n" + DROPPED


def section(name: str, fix: Fix) -> str:
    """Return what the page says of one fix."""
    recommended = "Recommended" if fix.recommended else "Not recommended"
    paragraphs = (
        f"Warning {fix.code}; upstream: {fix.issue}.",
        f"Without the fix: {fix.wrong}",
        f"With the fix: {fix.right}" + (f" {fix.limits}" if fix.limits else ""),
        f"{recommended}: {fix.why}",
        f"Effect on [the example](../tests/fixes/{name}.yaml):",
    )
    lines = [f"## {name}", ""]
    for paragraph in paragraphs:
        lines += [fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    return "\n".join([*lines, "```diff", *changes(name), "```", ""])


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
