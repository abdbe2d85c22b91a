# ruff: noqa: T201
"""Compares trainc with the real Trainer and JobSet on generated cases: ``fuzz.py --n 2000 --seed 7``.

Upstream runs its plugins in random order. Here they run in byte order of their names, which is our order, too, so
every list must agree; each case is also run in the reverse order, to count what depends on it.

Exit 0: no difference but those of the list in divergences.py; 1: a difference; 2: the oracle cannot be run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import runner  # noqa: E402 - the folder above is not on the path of a script
from oracle.compare import Difference, compare, compile_case, order_free  # noqa: E402
from oracle.divergences import MEMORY, Ledger  # noqa: E402
from oracle.generate import Generated, case  # noqa: E402


@dataclass
class Report:
    """What a run found."""

    ledger: Ledger = field(default_factory=Ledger)
    stages: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[Generated, list[Difference]]] = field(default_factory=list)
    order_of_env: int = 0
    order_of_more: list[Generated] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of cases."""
        return sum(self.stages.values())


def fuzz(cases: list[Generated]) -> Report:
    """Compare every case, live. Raises runner.OracleError."""
    report = Report()
    for generated, verdict, backwards in _judged(cases):
        report.stages[verdict["stage"] or "accepted"] += 1
        differences = compare(verdict, compile_case(generated.text))
        if backwards is not None and not _same(verdict, backwards):
            if order_free(verdict) == order_free(backwards):
                report.order_of_env += 1
            else:
                report.order_of_more.append(generated)
        if unexplained := report.ledger.unexplained(differences):
            report.failures.append((generated, unexplained))
    return report


def _judged(cases: list[Generated]) -> Iterator[tuple[Generated, runner.Verdict, runner.Verdict | None]]:
    """Yield each case with upstream's verdict, and that with its plugins in reverse order."""
    asked = [generated for generated in cases if not generated.oversized]
    for start in range(0, len(asked), runner.CHUNK):
        part = asked[start : start + runner.CHUNK]
        with ThreadPoolExecutor(2) as pool:
            forwards, backwards = pool.map(_ask, (part, part), (False, True))
        yield from zip(part, forwards, backwards, strict=True)
    for generated in cases:
        if generated.oversized:
            yield generated, _out_of_memory(), None


def _ask(cases: list[Generated], turned: bool) -> list[runner.Verdict]:
    return list(runner.ask(runner.Case(generated.id, generated.text, turned) for generated in cases))


def _same(one: runner.Verdict, other: runner.Verdict) -> bool:
    return {**one, "id": ""} == {**other, "id": ""}


def _out_of_memory() -> runner.Verdict:
    """Return the verdict on an oversized case, on which upstream itself must not be asked."""
    result: dict[str, Any] = {"kind": "TrainJob", "namespace": "default", "name": "j", "warnings": [], "objects": []}
    result |= {"stage": "build", "errors": [{"field": "", "type": MEMORY, "detail": "", "message": "out of memory"}]}
    return {"stage": "build", "errors": result["errors"], "documents": [], "results": [result]}


def groups(report: Report) -> list[tuple[str, int, Generated]]:
    """Return the kinds of difference, most frequent first, with one case each."""
    counts: Counter[str] = Counter()
    examples: dict[str, Generated] = {}
    for generated, differences in report.failures:
        for kind in {kind_of(difference) for difference in differences}:
            counts[kind] += 1
            examples.setdefault(kind, generated)
    return [(kind, count, examples[kind]) for kind, count in counts.most_common()]


def kind_of(difference: Difference) -> str:
    """Return what differences of one cause have in common: stage, path without indexes, start of the texts."""
    path = re.sub(r"\[\d+\]", "[]", difference.path)
    path = re.sub(r"^([A-Za-z0-9.-]+)/[^/]+", r"\1", path)
    return f"{difference.stage} {path}: {_brief(difference.upstream)} | {_brief(difference.ours)}"


def _brief(value: Any) -> str:
    text = str(value[0] if isinstance(value, list) and value else value)
    return re.sub(r"\[\d+\]|\d+|\"[^\"]*\"", "…", text)[:90]


def describe(generated: Generated, differences: list[Difference], most: int = 8) -> str:
    """Return a failure as text: the differences, the case, how to run it again."""
    again = f"fuzz.py --seed {generated.seed} --only {generated.index}"
    spots = "\n".join(map(str, differences[:most]))
    more = f"\n... and {len(differences) - most} more" if len(differences) > most else ""
    return f"== {generated.id} (again: {again}, with --shrink a smaller one)\n{spots}{more}\n\n{generated.text}"


def summary(report: Report) -> str:
    """Return the run in a few lines."""
    lines = [f"{report.count} cases: " + ", ".join(f"{stage} {count}" for stage, count in report.stages.most_common())]
    lines.append("divergences: " + ", ".join(f"{name} {count}" for name, count in report.ledger.counts.items()))
    more = [generated.id for generated in report.order_of_more]
    lines.append(
        f"depend on the order of upstream's plugins: {report.order_of_env} in the order of env, {more} in more"
    )
    if unused := report.ledger.unused():
        lines.append(f"entries that explained nothing: {', '.join(unused)}")
    lines += [f"{count:5} x {kind}  [{example.id}]" for kind, count, example in groups(report)]
    lines.append(f"{len(report.failures)} cases differ")
    return "\n".join(lines)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2000, help="how many cases (default 2000)")
    parser.add_argument("--seed", type=int, default=7, help="the seed of all of them (default 7)")
    parser.add_argument("--only", type=int, help="one case, by its index")
    parser.add_argument("--show", type=int, default=3, help="how many failures to print in full (default 3)")
    parser.add_argument("--shrink", action="store_true", help="make the failures that are shown as small as can be")
    options = parser.parse_args()
    indexes = range(options.n) if options.only is None else [options.only]
    try:
        runner.build()
        report = fuzz([case(options.seed, index) for index in indexes])
        for generated, differences in report.failures[: options.show]:
            if options.shrink and not generated.oversized:
                from oracle.shrink import shrink

                generated, differences = shrink(generated, differences)  # noqa: PLW2901 - the same, smaller
            print(describe(generated, differences))
    except runner.OracleError as error:
        print(error, file=sys.stderr)
        return 2
    print(summary(report))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
