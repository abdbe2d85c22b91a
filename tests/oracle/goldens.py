# ruff: noqa: T201
"""Runs the oracle over ``cases/`` and writes ``goldens/``: ``python tests/oracle/goldens.py [--check]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import runner  # noqa: E402 - the folder above is not on the path of a script

CASES = HERE / "cases"
GOLDENS = HERE / "goldens"
# Upstream's own scripts: ours differ (see divergences.py), so the goldens do not hold theirs.
NOT_KEPT = ("entrypoint.sh", "init.sh")


def cases() -> Iterator[tuple[str, str]]:
    """Yield the name (``<group>/<name>``) and the text of every case, sorted."""
    for path in sorted(CASES.rglob("*.yaml")):
        name = path.relative_to(CASES).with_suffix("").as_posix()
        yield name, text(name)


def text(name: str) -> str:
    """Return the text of a case, line ends as they are."""
    return (CASES / f"{name}.yaml").read_bytes().decode()


def read(name: str) -> runner.Verdict:
    """Return the golden of a case."""
    verdict: runner.Verdict = json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))
    return verdict


def render(verdict: runner.Verdict) -> str:
    """Return the text of a golden: sorted keys, two blanks, without the case's name and upstream's scripts."""
    kept = {key: value for key, value in verdict.items() if key != "id"}
    for result in kept["results"]:
        for item in result["objects"]:
            _redact(item)
    return json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _redact(item: dict[str, Any]) -> None:
    if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("-flux-entrypoint"):
        for key in NOT_KEPT:
            if key in item["data"]:
                item["data"][key] = "upstream's script"


def fresh() -> dict[Path, str]:
    """Run the oracle over every case: path of each golden, and its text. Raises runner.OracleError."""
    named = list(cases())
    verdicts = runner.ask(runner.Case(name, text) for name, text in named)
    return {GOLDENS / f"{name}.json": render(verdict) for (name, _), verdict in zip(named, verdicts, strict=True)}


def stale(wanted: dict[Path, str]) -> list[Path]:
    """Return the goldens that are missing, differ or belong to no case."""
    present = set(GOLDENS.rglob("*.json"))
    differ = {path for path, text in wanted.items() if path not in present or path.read_text(encoding="utf-8") != text}
    return sorted(differ | (present - set(wanted)))


def main() -> int:
    """Write the goldens, or with --check say which are not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 3 if a golden is not current")
    check = parser.parse_args().check
    try:
        runner.build()
        wanted = fresh()
    except runner.OracleError as error:
        print(error, file=sys.stderr)
        return 2
    outdated = stale(wanted)
    for path in outdated:
        print(("stale " if check else "write " if path in wanted else "remove ") + path.relative_to(HERE).as_posix())
        if check:
            continue
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    print(f"{len(wanted)} cases, {len(outdated)} goldens {'not current' if check else 'changed'}")
    return 3 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
