# ruff: noqa: T201
"""Asks the CEL oracle the questions below ``tests/cel/`` again: ``python tests/oracle/cellibrary.py [--check]``.

The questions were chosen by hand and at random, a few for every overload of every library, and are kept as they are;
only their answers are written anew. A line is a pair as celgoldens.py has them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import celrunner  # noqa: E402 - the folder above is not on the path of a script
from oracle.celgoldens import judge, lines  # noqa: E402

CASES = HERE.parent / "cel"


def main() -> int:
    """Write the answers, or with ``--check`` say which files are out of date. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    if why := celrunner.missing():
        print(why, file=sys.stderr)
        return 2
    celrunner.build()
    stale = []
    for path in sorted(CASES.glob("*/*.jsonl")):
        present = path.read_text(encoding="ascii")
        if not present.startswith('{"question":'):
            continue  # trees of the parser: celtrees.py
        wanted = lines(judge([json.loads(line)["question"] for line in present.splitlines()]))
        if wanted != present:
            stale.append(path.name)
            if not check:
                path.write_text(wanted, encoding="ascii")
    print("\n".join(stale) or "all answers are current")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
