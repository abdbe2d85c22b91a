"""Writes what Kubernetes' CEL environments declare: types and messages as package data, functions for tests.

The declarations are printed by tests/oracle/cel/declarations, from the modules of the API server that the oracle of
expressions pins, so checker and oracle cannot drift apart. Here they are only laid out, an entry per line. A test
compares the functions with the rows in compiler/trainc/cel/library/.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
ORACLE = REPOSITORY / "tests" / "oracle" / "cel"
NAMES = REPOSITORY / "compiler" / "trainc" / "data" / "cel_names.json"
FUNCTIONS = ORACLE / "declared.json"
ONE_LINE = frozenset({"stored_only", "structs", "values", "macros", "enums"})
IN_CODE = frozenset({"functions", "macros", "stored_only"})
"""What the rows of functions and the macros say, too."""


def compact(value: Any) -> str:
    """Return value as JSON on one line."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def section(name: str, content: Any) -> str:
    """Return one member of the file's object: maps of functions, names and messages have an entry a line."""
    if name in ONE_LINE:
        return f"{compact(name)}:{compact(content)}"
    rows = ",\n".join(f"{compact(key)}:{compact(content[key])}" for key in sorted(content))
    return f"{compact(name)}:{{\n{rows}\n}}"


def generate() -> dict[Path, str]:
    """Return the text of each file; raises CalledProcessError where Go or the modules are missing."""
    command = ["go", "run", "./declarations"]
    done = subprocess.run(command, cwd=ORACLE, check=True, capture_output=True, text=True)
    declared = json.loads(done.stdout)
    return {
        path: "{\n" + ",\n".join(section(name, declared[name]) for name in sorted(names)) + "\n}\n"
        for path, names in ((NAMES, declared.keys() - IN_CODE), (FUNCTIONS, declared.keys() & IN_CODE))
    }


def main() -> int:
    """Write the files, or, with --check, tell whether they are what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check = parser.parse_args().check
    status = 0
    for path, text in generate().items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{path.name} differs from what the pinned modules give\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
