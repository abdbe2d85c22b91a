"""Writes docs/fixes.md from the table of fixes."""

from __future__ import annotations

from pathlib import Path

from trainc.options import FIXES

TARGET = Path(__file__).parents[2] / "docs" / "fixes.md"

INTRODUCTION = """# Known bugs of Trainer v2.3.0, and their fixes

trainc makes what Trainer v2.3.0 makes, bugs included, so that a cluster's controller and a rendered tree agree.
Wherever a job meets a known bug, trainc says so with a warning of the code below, in default and in faithful output
alike. Each bug has a fix with a name; the switches (`fixes:` in trainc.yaml) come with the GitOps work and are not
there yet.

This page is generated from `compiler/trainc/options.py` by `make schemas`.

"""


DROPPED = """
## Not in the table

- `flux-main-host`: upstream's init.sh is given `<job>-0` as the main host, where the host is `<job>-node-0-0`; nothing
  in that script uses it. trainc's Flux scripts are its own and name no host there, so there is nothing to fix.
"""


def markdown() -> str:
    """Return the page."""
    rows = ["| fix | warning | upstream | what goes wrong | what the fix does |", "|---|---|---|---|---|"]
    rows += [f"| `{name}` | {f.code} | {f.issue} | {f.wrong} | {f.right} |" for name, f in FIXES.items()]
    return INTRODUCTION + "\n".join(rows) + "\n" + DROPPED


def main() -> None:
    """Write the page."""
    TARGET.write_text(markdown(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
