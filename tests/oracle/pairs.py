# ruff: noqa: T201
"""Compares what trainc says to changes with the real CRDs and webhooks: ``pairs.py --n 1000 --seed 7``.

A pair is two versions of one generated case: TrainJobs and runtimes, some of them edited, and the JobSets that come of
both. In every other pair the JobSets that were there are edited instead. The real code is asked for each object that is
in both versions and differs, as an update of what it was when it was created. trainc compiles the new version with the
old one as base.

Exit 0: no difference; 1: a difference; 2: the oracle cannot be run.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import runner  # noqa: E402 - the folder above is not on the path of a script
from oracle.compare import error_text, finding_text  # noqa: E402
from oracle.generate import objects  # noqa: E402
from oracle.generator.edits import edit  # noqa: E402
from oracle.generator.rng import Rng  # noqa: E402
from oracle.generator.values import Map  # noqa: E402
from oracle.generator.yamltext import dump  # noqa: E402
from trainc import Build, Finding, Options, Source  # noqa: E402
from trainc import compile as compile_sources  # noqa: E402
from trainc.inputs.options import Revision  # noqa: E402
from trainc.inputs.source import Packed  # noqa: E402

RULE, WEBHOOK = "TC202", "TC204"
OURS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")

Key = tuple[str, str, str]
"""Kind, namespace (``default`` where there is none) and name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of one case. ``edits``: how often the JobSets of the new one are edited to become the old ones."""

    seed: int
    index: int
    old: tuple[Map, ...]
    new: tuple[Map, ...]
    edits: int
    faithful: bool

    @property
    def id(self) -> str:
        """The name under which the pair can be made again."""
        return f"seed {self.seed} pair {self.index}"


def pair(seed: int, index: int) -> Pair:
    """Return the pair of a seed and an index."""
    rng = Rng(seed, index)
    one = list({_key(document): document for document in objects(rng, broken=False)}.values())
    faithful = rng.chance(60)
    other = copy.deepcopy(one)
    if rng.chance(50):
        for document in other:
            if document["kind"] == "TrainJob" and rng.chance(30):
                document["spec"]["suspend"] = True
        return Pair(seed, index, tuple(other), tuple(other), 1 + rng.below(4), faithful)
    ours = [document for document in other if document["kind"] in OURS]
    for _ in range(1 + rng.below(4)):
        edit(rng, rng.pick(ours))
    if rng.chance(40):
        one, other = other, one
    return Pair(seed, index, tuple(one), tuple(other), 0, faithful)


@dataclass(frozen=True, slots=True)
class Question:
    """One object in two versions; ``text`` holds what else is in the cluster."""

    pair: Pair
    key: Key
    text: str
    new: str
    old: str

    def asked(self, what: str) -> runner.Case:
        """Return what the oracle is asked: to create ``new`` or ``old``, or to ``update``."""
        name = f"{self.pair.id} {what} {self.key}"
        request = self.old if what == "old" else self.new
        return runner.Case(name, self.text, request=request, old=self.old if what == "update" else "")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An object of which we say something else than the real code: both sides as texts by code."""

    question: Question
    upstream: Mapping[str, list[str]]
    ours: Mapping[str, list[str]]

    def __str__(self) -> str:
        sides = f"  upstream: {json.dumps(self.upstream, indent=2)}\n  ours:     {json.dumps(self.ours, indent=2)}"
        return f"== {self.question.pair.id} {self.question.key}\n{sides}"


@dataclass
class Report:
    """What a run found. ``judged`` counts objects by kind and by what the real code says to the change."""

    judged: Counter[tuple[str, str]] = field(default_factory=Counter)
    passed_over: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)


def compare_pairs(pairs: Iterable[Pair]) -> Report:
    """Compare every pair, live. Raises runner.OracleError."""
    report = Report()
    asked: list[tuple[Question, list[Finding]]] = [found for made in pairs for found in _questions(made)]
    created = {what: list(runner.ask(q.asked(what) for q, _ in asked)) for what in ("old", "new")}
    rest = [(*both, new) for both, old, new in zip(asked, *created.values(), strict=True) if not _refused(old)]
    report.passed_over = len(asked) - len(rest)
    updates = runner.ask(question.asked("update") for question, _, _ in rest)
    for (question, findings, new), update in zip(rest, updates, strict=True):
        _judge(report, question, findings, new["request"], update["request"])
    return report


def _refused(verdict: runner.Verdict) -> bool:
    return verdict["request"]["stage"] is not None


def _judge(report: Report, question: Question, findings: list[Finding], created: Map, updated: Map) -> None:
    """Compare what is said of one object; what refuses it on create, too, is none of a change."""
    before = {error_text(error) for error in created["errors"]}
    said = sorted({error_text(error) for error in updated["errors"]} - before)
    stage, unmade = str(updated["stage"]), str(created["stage"])
    if stage == "decode" or unmade.endswith("crd"):  # then we have nothing to compare either
        report.judged[question.key[0], "invalid"] += 1
        return
    upstream: dict[str, list[str]] = {RULE: [], WEBHOOK: []}
    if said:
        upstream[RULE if stage.endswith("crd") else WEBHOOK] = said
    ours = {code: sorted({finding_text(f) for f in findings if f.code == code}) for code in upstream}
    if upstream[RULE]:
        del ours[WEBHOOK], upstream[WEBHOOK]  # which was not asked
    report.judged[question.key[0], (stage if said else "allowed")] += 1
    if ours != upstream:
        report.mismatches.append(Mismatch(question, upstream, ours))


def _questions(made: Pair) -> Iterator[tuple[Question, list[Finding]]]:
    """Yield the objects of a pair with our findings on their changes."""
    options = Options(faithful=made.faithful)
    new = Source("new.yaml", _text(made.new))
    old_build = compile_sources([Source("old.yaml", _text(made.old))], options)
    emitted = _emitted(made, compile_sources([new], options), old_build)
    base = [
        Source(f"jobs/{_namespace(d)}/{n}.yaml", dump(d)) for n, d in enumerate(made.old) if d["kind"] == "TrainJob"
    ]
    base += [Source(f"runtimes/{n}.yaml", dump(d)) for n, d in enumerate(made.old) if d["kind"] in OURS[1:]]
    output = tuple(Packed.of(source.name, source.decoded().encode()) for source, _, _ in emitted.values())
    revision = Revision("base", tuple(base), output=output)
    build = compile_sources([new], Options(faithful=made.faithful, base=revision))
    around = _text(document for document in made.old if document["kind"] != "TrainJob")
    was = {_key(document): document for document in made.old if document["kind"] in OURS}
    for document in made.new:
        key = _key(document)
        if key in was and was[key] != document:
            others = around if key[0] == "TrainJob" else ""
            yield Question(made, key, others, dump(document), dump(was[key])), list(_of_input(build, key))
    for key, (_, old, data) in emitted.items():
        if old == data:
            continue
        yield Question(made, key, "", dump(data), dump(old)), list(_of_made(build, key))


def _emitted(made: Pair, new: Build, old: Build) -> dict[Key, tuple[Source, Map, Map]]:
    """Return each JobSet of both versions: the file that was there, what is in it, and the new one."""
    rng = Rng(made.seed + 1, made.index)
    before = {(job.namespace, job.name): made for job in old.jobs for made in job.objects if made.kind == "JobSet"}
    found = {}
    for job in new.jobs:
        for item in job.objects:
            was = before.get((job.namespace, job.name))
            if item.kind != "JobSet" or (was is None and not made.edits):
                continue
            data: Map = copy.deepcopy(item.data if made.edits or was is None else was.data)
            for _ in range(made.edits):
                edit(rng, data)
            path = f"out/prod/{job.namespace}/{job.name}/jobset-{job.name}.yaml"
            source = Source(path, dump(data))
            found["JobSet", job.namespace, job.name] = source, data, item.data
    return found


def _of_input(build: Build, key: Key) -> Iterator[Finding]:
    for finding in (*build.findings, *(found for job in build.jobs for found in job.findings)):
        if finding.code in (RULE, WEBHOOK) and finding.stage is None and _key(finding.document.data) == key:
            yield finding


def _of_made(build: Build, key: Key) -> Iterator[Finding]:
    for job in build.jobs:
        if (job.namespace, job.name) == key[1:]:
            yield from (f for f in job.findings if f.code in (RULE, WEBHOOK) and f.stage is not None)


def _text(documents: Iterable[Map]) -> str:
    return "---\n".join(map(dump, documents))


def _key(document: Mapping[str, Any]) -> Key:
    return document["kind"], _namespace(document), str(document["metadata"].get("name"))


def _namespace(document: Mapping[str, Any]) -> str:
    return str(document["metadata"].get("namespace") or "default")


def summary(report: Report) -> str:
    """Return the run in a few lines."""
    kinds = sorted({kind for kind, _ in report.judged})
    lines = []
    for kind in kinds:
        counts = {what: count for (of, what), count in sorted(report.judged.items()) if of == kind}
        lines.append(f"{kind}: " + ", ".join(f"{what} {count}" for what, count in counts.items()))
    total = sum(report.judged.values())
    lines.append(f"{total} changes judged, {report.passed_over} of objects that were never there passed over")
    lines.append(f"{len(report.mismatches)} changes differ")
    return "\n".join(lines)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="how many pairs of cases (default 1000)")
    parser.add_argument("--seed", type=int, default=7, help="the seed of all of them (default 7)")
    parser.add_argument("--only", type=int, help="one pair, by its index")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print in full (default 3)")
    options = parser.parse_args()
    indexes = range(options.n) if options.only is None else [options.only]
    try:
        runner.build()
        report = compare_pairs(pair(options.seed, index) for index in indexes)
    except runner.OracleError as error:
        print(error, file=sys.stderr)
        return 2
    for mismatch in report.mismatches[: options.show]:
        print(mismatch)
        if options.only is not None:
            print(f"{mismatch.question.old}---\n{mismatch.question.new}")
    print(summary(report))
    return 1 if report.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
