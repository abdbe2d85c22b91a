# ruff: noqa: T201
"""Runs the oracle over ``cases/`` and ``requests/``, writes ``goldens/``: ``python tests/oracle/goldens.py [--check]``.

A case is the text of some documents. A request is a map of ``new``, the object to be sent, and, where there are any, of
``cluster``, the objects that are there, and ``old``, what the new one was before. ``<1000 letters>`` stands in both,
and in goldens, for a thousand times the letter a.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import runner  # noqa: E402 - the folder above is not on the path of a script

CASES = HERE / "cases"
REQUESTS = HERE / "requests"
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
    return _full((CASES / f"{name}.yaml").read_bytes().decode())


@cache
def requests() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the name (``requests/<group>/<name>``) and the content of every request, sorted."""
    load = YAML(typ="safe").load
    return tuple(
        (path.relative_to(HERE).with_suffix("").as_posix(), load(_full(path.read_text("utf-8"))))
        for path in sorted(REQUESTS.rglob("*.yaml"))
    )


def asked() -> Iterator[runner.Case]:
    """Yield what the oracle is asked: every case and every request."""
    for name, documents in cases():
        yield runner.Case(name, documents)
    for name, request in requests():
        cluster = "\n---\n".join(map(json.dumps, request.get("cluster", ())))
        old = json.dumps(request["old"]) if "old" in request else ""
        yield runner.Case(name, cluster, request=json.dumps(request["new"]), old=old)


def _full(short: str) -> str:
    return re.sub(r"<(\d+) letters>", lambda found: "a" * int(found[1]), short)


def read(name: str) -> runner.Verdict:
    """Return the golden of a case or a request."""
    verdict: runner.Verdict = json.loads(_full((GOLDENS / f"{name}.json").read_text(encoding="utf-8")))
    return verdict


def render(verdict: runner.Verdict) -> str:
    """Return the text of a golden: sorted keys, two blanks, without the case's name and upstream's scripts."""
    kept = {key: value for key, value in verdict.items() if key != "id"}
    for result in kept["results"]:
        for item in result["objects"]:
            _redact(item)
    full = json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return re.sub("a{1000,}", lambda found: f"<{len(found[0])} letters>", full)


def _redact(item: dict[str, Any]) -> None:
    if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("-flux-entrypoint"):
        for key in NOT_KEPT:
            if key in item["data"]:
                item["data"][key] = "upstream's script"


def fresh(cases: Iterable[runner.Case]) -> dict[Path, str]:
    """Run the oracle over cases: path of each golden, and its text. Raises runner.OracleError."""
    return {GOLDENS / f"{verdict['id']}.json": render(verdict) for verdict in runner.ask(cases)}


def stale(wanted: dict[Path, str]) -> list[Path]:
    """Return the goldens that are missing, differ or belong to no case."""
    present = set(GOLDENS.rglob("*.json"))
    return sorted({*differing(wanted), *(present - set(wanted))})


def differing(wanted: dict[Path, str]) -> list[Path]:
    """Return the goldens that are missing or differ."""
    return [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    """Write the goldens, or with --check say which are not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 3 if a golden is not current")
    check = parser.parse_args().check
    try:
        runner.build()
        wanted = fresh(asked())
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
