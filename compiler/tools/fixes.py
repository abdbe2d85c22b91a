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

trainc makes what Trainer v2.3.0 makes, bugs included, so that a cluster's controller and a rendered tree agree.
Wherever a job meets a known bug, trainc says so with a warning of the code below, in default and in faithful output
alike. Each bug has a fix, which is off until trainc.yaml names it:

```yaml
fixes: [openmpi5-variables, env-to-workers]   # for every environment
defaults:
  fixes: recommended                          # instead, where an environment says nothing
environments:
  prod: {}
  staging:
    fixes: [recommended, env-to-workers]      # instead, for this one
```

`recommended` stands for all that are recommended below: with them the output is what the TrainJob says, and nothing
that only the image knows can make a job fail. A fix that is on silences its warning; where it cannot help the warning
stays. Faithful output (`build --faithful`) has no fixes, whatever trainc.yaml says. A change of `fixes` changes every
job that met a bug, also those that are in a cluster: most of what fixes change in a JobSet cannot be changed while it
is there.

This page is generated from `compiler/trainc/upstream.py` and the examples in `tests/fixes/` by `make schemas`.

"""


DROPPED = """## Not in the table

- `flux-main-host`: upstream's init.sh is given `<job>-0` as the main host, where the host is `<job>-node-0-0`; nothing
  in that script uses it. trainc's Flux scripts are its own and name no host there, so there is nothing to fix.
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
        f"Without it: {fix.wrong}",
        f"With it: {fix.right}" + (f" {fix.limits}" if fix.limits else ""),
        f"{recommended}: {fix.why}",
        f"What changes in [its example](../tests/fixes/{name}.yaml):",
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
