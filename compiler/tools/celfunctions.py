"""Writes what Kubernetes' CEL environments declare as package data.

The declarations are printed by tests/oracle/cel/declarations, from the modules of the API server that the oracle of
expressions pins, so checker and oracle cannot drift apart. Here they are only laid out, an entry a line.
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
OUTPUT = REPOSITORY / "compiler" / "trainc" / "data" / "cel_functions.json"
ONE_LINE = frozenset({"stored_only", "structs", "values", "macros", "enums"})


def compact(value: Any) -> str:
    """Return value as JSON on one line."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def section(name: str, content: Any) -> str:
    """Return one member of the file's object: maps of functions, names and messages have an entry a line."""
    if name in ONE_LINE:
        return f"{compact(name)}:{compact(content)}"
    rows = ",\n".join(f"{compact(key)}:{compact(content[key])}" for key in sorted(content))
    return f"{compact(name)}:{{\n{rows}\n}}"


def generate() -> str:
    """Return the file's text; raises CalledProcessError where Go or the modules are missing."""
    command = ["go", "run", "./declarations"]
    done = subprocess.run(command, cwd=ORACLE, check=True, capture_output=True, text=True)
    declared = json.loads(done.stdout)
    return "{\n" + ",\n".join(section(name, declared[name]) for name in sorted(declared)) + "\n}\n"


def main() -> int:
    """Write the file, or, with --check, tell whether it is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file differs")
    check = parser.parse_args().check
    text = generate()
    if not check:
        OUTPUT.write_text(text, encoding="utf-8")
        return 0
    if OUTPUT.is_file() and OUTPUT.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{OUTPUT.name} differs from what the pinned modules give\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
