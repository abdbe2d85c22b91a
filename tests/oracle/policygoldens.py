# ruff: noqa: T201
"""Asks the API server's code about policies and writes ``policies/``: ``python tests/oracle/policygoldens.py``.

``decisions.jsonl`` and ``creation.jsonl`` hold lines ``{"question": ..., "answer": ...}``. What all questions about
decisions have in common is left out of them: the kinds and namespaces of policygen.py. The recorded questions are
asked again. ``--live N --seed S`` writes nothing and compares N new questions of each kind with trainc.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import celrunner, gotools, policycreation, policygen  # noqa: E402 - the folder above is not on a script's path

BINARY = HERE / "cel" / "policies" / "policies"
GOLDENS = HERE / "policies"
PROCESSES = 8
FEWEST = 10
"""Questions worth a process of their own: it takes as long to start as some ten answers take."""
COMMON = {"kinds": policygen.KINDS, "namespaces": policygen.NAMESPACES}

Json = dict[str, Any]


def build() -> None:
    """Compile the oracle. Raises OracleError."""
    gotools.build(celrunner.HERE, "./policies")


def ask(command: str, questions: list[Json]) -> list[Json]:
    """Return the answers in order. Raises OracleError.

    Several processes share the work, since most of a case is waiting for informers.
    """
    share = max(FEWEST, -(-len(questions) // PROCESSES))
    parts = [questions[start : start + share] for start in range(0, len(questions), share)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        return [
            answer
            for answers in pool.map(lambda part: gotools.ask([BINARY, command], part), parts)
            for answer in answers
        ]


def read(name: str) -> list[tuple[Json, Json]]:
    """Return the questions of a golden with their answers."""
    rows = map(json.loads, (GOLDENS / f"{name}.jsonl").read_text(encoding="ascii").splitlines())
    return [({**row["question"], **(COMMON if name == "decisions" else {})}, row["answer"]) for row in rows]


def agrees(ours: Json, theirs: Json) -> bool:
    """Tell whether two answers about a request are the same.

    The server takes bindings and params in no fixed order, and reports the first denial that it comes to.
    """
    if ours["undecided"]:
        return _within(ours, theirs)
    denial = theirs["error"] in ours["denials"] if theirs["error"] else not ours["denials"]
    status = {"reason": theirs["reason"], "code": theirs["code"]}
    return (
        denial
        and (not theirs["error"] or (theirs["error"], status) in ours["statuses"])
        and sorted(ours["warnings"]) == sorted(theirs["warnings"])
        and _values(ours["annotations"]) == _values(theirs["annotations"])
    )


def _within(ours: Json, theirs: Json) -> bool:
    """Tell whether what is decided, of an object that had to be converted, is not more than the server says."""
    denials = not ours["denials"] or bool(theirs["error"])
    return denials and set(ours["warnings"]) <= set(theirs["warnings"])


def without_syntax(errors: Iterable[str]) -> list[str]:
    """Return errors, sorted, without the words of a syntax error, which are our own."""
    return sorted(text.partition("Syntax error: ")[0] if "Syntax error: " in text else text for text in errors)


def _values(annotations: Iterable[str]) -> list[list[str]]:
    """Return annotations with the values that several params gave in one order."""
    return sorted(sorted(text.partition(": ")[2].split(", ")) for text in annotations)


def _lines(pairs: Iterable[tuple[Json, Json]], drop: Iterable[str] = ()) -> str:
    rows = []
    for question, answer in pairs:
        kept = {key: value for key, value in question.items() if key not in drop}
        rows.append(json.dumps({"question": kept, "answer": answer}, separators=(",", ":")) + "\n")
    return "".join(rows)


def _write() -> None:
    """Ask the recorded questions again."""
    for name, command in (("decisions", "decide"), ("creation", "create")):
        asked = [question for question, _ in read(name)]
        text = _lines(zip(asked, ask(command, asked), strict=True), COMMON if name == "decisions" else ())
        (GOLDENS / f"{name}.jsonl").write_text(text, encoding="ascii")


def live(seed: int, count: int) -> list[str]:
    """Return what trainc answers differently. Raises OracleError."""
    from oracle import policyours

    asked = list(policygen.questions(seed, count))
    pairs = zip(asked, ask("decide", asked), strict=True)
    different = [json.dumps(question) for question, answer in pairs if not agrees(policyours.answer(question), answer)]
    made = list(policycreation.questions(seed, count))
    for document, answer in zip(made, ask("create", made), strict=True):
        if without_syntax(policyours.refusals(document)) != without_syntax(answer["errors"]):
            different.append(json.dumps(document))
    return different


def main() -> int:
    """Write the goldens, or compare live. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if why := celrunner.missing():
        print(why, file=sys.stderr)
        return 2
    build()
    if not options.live:
        _write()
        return 0
    different = live(options.seed, options.live)
    print("\n".join([*different, f"{len(different)} of {2 * options.live} differ"]))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
