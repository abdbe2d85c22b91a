# ruff: noqa: T201
"""Compares trainc with Kubernetes' API server on generated objects: ``apiserver.py --part pods --n 2000 --seed 7``.

``pods``: odd fields in the Jobs, pods and claims of a runtime. JobSet's and Kubernetes' own code create and judge the
Jobs, pods and claims that come of it. ``companions``: objects beside a runtime. ``changes``: two versions of such an
object, the older one as base. Differences are: what only one of both refuses, fields that are stored otherwise than
trainc writes them, or not at all and without TC101, and Jobs and pods that policies would see otherwise.

Exit 0: no difference but those of API_SERVER in divergences.py; 1: a difference, or (from 20,000 cases on) an entry of
the list that explained nothing; 2: the oracle cannot be run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import gotools  # noqa: E402 - the folder above is not on the path of a script
from oracle.compare import Difference  # noqa: E402
from oracle.divergences import API_SERVER, Ledger  # noqa: E402
from oracle.fuzz import kind_of  # noqa: E402
from oracle.generator import native  # noqa: E402
from oracle.generator.rng import Rng  # noqa: E402
from oracle.generator.values import Map  # noqa: E402
from trainc import Build, Options, Severity, Source  # noqa: E402
from trainc import compile as compile_sources  # noqa: E402
from trainc.basics.jsonvalues import existing  # noqa: E402
from trainc.checks.created_pods import created_claims, created_objects  # noqa: E402
from trainc.inputs.options import Revision  # noqa: E402
from trainc.inputs.source import Packed  # noqa: E402
from trainc.kube.generated import JOBSET_UID  # noqa: E402
from trainc.upstream import SERVER_FIELDS  # noqa: E402

CHUNK = 500
ENOUGH = 20_000
"""From so many cases on, an entry of the list that explains nothing is an error."""
FLUX: Map = {"environments": {"prod": {"target": "flux"}}}
"""The settings: finalizers, which the server accepts, are an error with Argo CD (TC615)."""
OF_PODS = re.compile("TC8(0[3-9]|1[0-2])")
"""The codes of what the API server refuses in Jobs, pods and claims."""
BY_PLUGINS = (("spec", "tolerations"), ("spec", "serviceAccount"), ("spec", "serviceAccountName"))
"""What admission plugins, which the oracle does not run, fill in of a pod's spec."""
LEFT_OUT = {(key,) for key in SERVER_FIELDS}
"""What a server sets in metadata, or what has no meaning in another cluster."""
COMPARED = (("metadata", "labels"), ("metadata", "annotations"), ("metadata", "finalizers"), ("spec",))

Path_ = tuple[str | int, ...]


class Case(NamedTuple):
    """A generated case. ``judged`` is the object of the case, ``old`` its earlier version."""

    name: str
    documents: list[Map]
    judged: Map
    old: Map | None = None


@dataclass
class Report:
    """What a run found, by part; ``outcomes`` counts cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[Case, Difference]] = field(default_factory=list)
    ledger: Ledger = field(default_factory=lambda: Ledger(API_SERVER))

    def add(self, case: Case, part: str, path: str, theirs: Any, ours: Any) -> None:
        """Add a difference, unless an entry of the list explains it."""
        one = Difference(case.name, part, path, theirs, ours, case.judged)
        self.differences += [(case, each) for each in self.ledger.unexplained([one])]


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    folders = (gotools.ORACLE, gotools.ORACLE / "kinds", gotools.ORACLE / "pods")
    return next((reason for folder in folders if (reason := gotools.missing(folder)) is not None), None)


def case(part: str, seed: int, index: int) -> Case:
    """Return the case of a part, a seed and an index."""
    rng, name = Rng(seed, index), f"{part} seed {seed} case {index}"
    if part == "pods":
        job, runtime = native.job_and_runtime(rng)
        return Case(name, [job, runtime], runtime["spec"]["template"]["spec"])
    if part == "companions":
        judged = native.companion(rng)
        return Case(name, [*native.around(), judged], judged)
    old, new = native.change(rng)
    return Case(name, [*native.around(), new], new, old)


def compiled(documents: list[Map], **options: Any) -> Build:
    """Compile a TrainJob, its runtime and the objects beside it. Errors of trainc itself name them."""
    try:
        build = compile_sources(_sources(documents), Options(config=FLUX, **options))
        assert not any(f.code in ("TC901", "TC902") for f in build.findings), build.findings
    except Exception as error:
        error.add_note(json.dumps(documents))
        raise
    return build


def _sources(documents: list[Map]) -> list[Source]:
    first, *rest = map(json.dumps, documents)
    return [Source("jobs/default/job.yaml", first), Source("runtimes/rt.yaml", "\n---\n".join(rest))]


def _errors(build: Build) -> list[str]:
    return [f"{f.code} {f.message}" for f in build.findings if f.severity is Severity.ERROR]


def _judged(questions: list[Map]) -> list[Map]:
    folder = gotools.ORACLE / "kinds"
    return gotools.ask([gotools.build(folder)], questions)


def _refusal(answer: Map) -> list[str]:
    """Return why an object is refused, or which of its fields are unknown."""
    undecodable = [answer["undecodable"]] if "undecodable" in answer else []
    return [*undecodable, *answer.get("unknown", ()), *answer.get("errors", ())]


def of_pods(cases: list[Case], report: Report) -> None:
    """Compare what becomes of runtimes. Raises OracleError."""
    asked = []
    for each in cases:
        build = compiled(each.documents)
        errors = [f for f in build.findings if f.severity is Severity.ERROR]
        if errors and all(OF_PODS.fullmatch(f.code) and f.upstream for f in errors):
            jobset = compiled(each.documents, faithful=True).objects
        else:
            jobset = build.objects if not errors else ()
        report.outcomes["pods: " + ("accepted" if not errors else "refused" if jobset else "refused before")] += 1
        asked += [(each, build, _plain(item.data)) for item in jobset if item.kind == "JobSet"]
    for (each, build, jobset_data), (jobs, pods, claims) in zip(
        asked, _created([row[2] for row in asked]), strict=True
    ):
        answers = [*jobs, *pods, *claims]
        dropped = _dropped(build)
        for _, answer in answers:
            answer["unknown"] = [text for text in answer.get("unknown", ()) if not dropped(text)]
        refused = [f"{sent['kind']}: {text}" for sent, answer in answers for text in _refusal(answer)]
        if ours := _errors(build):
            if not refused:
                report.add(each, "pods", "accepted", [], ours)
        elif refused:
            report.add(each, "pods", "refused", refused, [])
        else:
            _stored(each, "pods", build, answers, report)
            _seen_by_policies(each, jobset_data, jobs, pods, report)


Answers = list[tuple[Map, Map]]


def _created(jobsets: list[Map]) -> Iterator[tuple[Answers, Answers, Answers]]:
    """Yield the Jobs, pods and claims of each JobSet as controllers send them, with the API server's answers."""
    given = [{**data, "metadata": {**data["metadata"], "uid": JOBSET_UID}} for data in jobsets]
    made = gotools.ask([gotools.build(package="./created")], given)
    jobs = [[{"apiVersion": "batch/v1", "kind": "Job", **_plain(job)} for job in each] for each in made]
    claims = [[_plain(claim.data) for claim in created_claims(data)] for data in jobsets]
    answers = iter(_judged([one for pair in zip(jobs, claims, strict=True) for part in pair for one in part]))
    judged = [tuple([(one, next(answers)) for one in part] for part in pair) for pair in zip(jobs, claims, strict=True)]
    accepted = [job for of, _ in judged for job, answer in of if "stored" in answer]
    pods = [answer["sent"] for answer in gotools.ask([gotools.build(gotools.ORACLE / "pods", "./made")], accepted)]
    sent = [{"apiVersion": "v1", "kind": "Pod", **_plain(pod)} for pod in pods]
    for pod in sent:
        pod["metadata"]["name"] = pod["metadata"].get("generateName", "a-") + "abcde"
    of_pods = iter(zip(sent, _judged(sent), strict=True))
    for of, claimed in judged:
        yield of, [next(of_pods) for _, answer in of if "stored" in answer], claimed


def _seen_by_policies(each: Case, jobset: Map, jobs: Answers, pods: Answers, report: Report) -> None:
    theirs = [answer["stored"] for pair in zip(jobs, pods, strict=True) for _, answer in pair]
    ours = iter(created_objects(jobset))
    child = next(ours, None)
    for stored in theirs:
        if child is None or child.data["kind"] != stored["kind"]:
            continue  # a pod that is never created
        unknown = (*child.unknown, *BY_PLUGINS) if stored["kind"] == "Pod" else child.unknown
        for path, one, other in _differing(_plain(child.data), _plain(stored)):
            if any(path[: len(of)] == of for of in COMPARED) and not any(path[: len(of)] == of for of in unknown):
                report.add(each, "pods", f"seen/{stored['kind']}/{_spelt(path)}", other, one)
        child = next(ours, None)


def _dropped(build: Build) -> Callable[[str], bool]:
    """Return whether a TC101 names a part of a path, or of a message on an unknown field."""
    said = {str(f.path[-1]) for f in build.findings if f.code == "TC101" and f.path}
    return lambda path: any(step in said for step in re.split(r'[."]', path))


def _stored(each: Case, part: str, build: Build, answers: Answers, report: Report) -> None:
    """Add fields that the server drops, if no TC101 says so, or stores otherwise than trainc writes them."""
    dropped = _dropped(build)
    for sent, answer in answers:
        for path, one, other in _differing(sent, _plain(answer["stored"])):
            added = one is None or (one in ({}, [], "", False, 0) and other is None) or path[0] == "status"
            rewritten = part == "pods" and other is not None  # which policies see (_seen_by_policies)
            if not added and not rewritten and not dropped(_spelt(path)):
                report.add(each, part, f"stored/{sent['kind']}/{_spelt(path)}", other, one)


def _emitted(each: Case, build: Build) -> Map | None:
    """Return the object of a case as trainc writes it, or None if trainc refuses it."""
    kind = each.judged["kind"]
    return None if _errors(build) else next((_plain(o.data) for o in build.objects if o.kind == kind), None)


def of_companions(cases: list[Case], report: Report) -> None:
    """Compare what is said of objects beside a runtime, and how they are stored. Raises OracleError."""
    builds = [compiled(each.documents) for each in cases]
    asked = [_emitted(each, build) or each.judged for each, build in zip(cases, builds, strict=True)]
    accepted: list[tuple[Case, Build, Map]] = []
    for each, build, sent, answer in zip(cases, builds, asked, _judged(asked), strict=True):
        refused, ours = _refusal(answer), _errors(build)
        report.outcomes[f"companions: {'refused' if ours else 'accepted'}"] += 1
        if ours and not refused:
            report.add(each, "companions", f"accepted/{sent['kind']}", [], ours)
        elif refused and not ours:
            report.add(each, "companions", f"refused/{sent['kind']}", refused, [])
        elif not refused:
            _stored(each, "companions", build, [(sent, answer)], report)
            accepted.append((each, build, sent))
    answers = _judged([each.judged for each, _, _ in accepted])
    for (each, build, sent), answer in zip(accepted, answers, strict=True):
        _lost(each, build, sent, answer, report)


def _lost(each: Case, build: Build, sent: Map, answer: Map, report: Report) -> None:
    """Add values of the case that the server stores, and that trainc does not write. Mappings may be defaults."""
    dropped = _dropped(build)
    for path, one, other in _differing(sent, _plain(answer.get("stored", {}))):
        lost = one is None and isinstance(other, str | int) and existing(each.judged, path) == path
        if lost and path[1:2] not in LEFT_OUT and not dropped(_spelt(path)):
            report.add(each, "companions", f"lost/{sent['kind']}/{_spelt(path)}", other, None)


def of_changes(cases: list[Case], report: Report) -> None:
    """Compare what is said of changes. Raises OracleError."""
    asked: list[tuple[Case, list[str], Map, Map]] = []
    for each in cases:
        before = [*each.documents[:-1], each.old]
        builds = [compiled(documents) for documents in (before, each.documents)]
        old, new = (_emitted(each, build) for build in builds)
        if old is None or new is None:
            report.outcomes["changes: refused before"] += 1
            continue
        output = Packed.of(f"out/prod/default/rt/{old['kind'].lower()}-trainer.yaml", json.dumps(old).encode())
        base = Revision("base", tuple(_sources(before)), output=(output,))
        asked.append((each, _errors(compiled(each.documents, base=base)), old, new))
    # What the server refuses to create is a difference of the other part.
    created = zip(asked, _judged([old for _, _, old, _ in asked]), strict=True)
    pairs = [(row, answer["stored"]) for row, answer in created if "stored" in answer]
    for _, old in pairs:
        if old["kind"] == "PersistentVolumeClaim":  # of one in use, which alone may grow
            spec = old["spec"]
            old["status"] = {"phase": "Bound", "capacity": spec["resources"]["requests"]}
            old["status"]["currentVolumeAttributesClassName"] = spec.get("volumeAttributesClassName") or None
    answers = _judged([{"object": row[3], "old": old} for row, old in pairs])
    for ((each, ours, old, _), _), answer in zip(pairs, answers, strict=True):
        refused = _refusal(answer)
        report.outcomes[f"changes: {'refused' if refused else 'allowed'}"] += 1
        if bool(ours) != bool(refused):
            report.add(each, "changes", f"{'accepted' if ours else 'refused'}/{old['kind']}", refused, ours)


PARTS: dict[str, Callable[[list[Case], Report], None]] = {
    "pods": of_pods,
    "companions": of_companions,
    "changes": of_changes,
}


def _plain(value: Any) -> Any:
    """Return what a server would send: Go's null is nothing."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _differing(ours: Any, theirs: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any, Any]]:
    """Yield the least parts in which two values differ."""
    if isinstance(ours, dict) and (isinstance(theirs, dict) or (ours and theirs is None)):
        theirs = theirs or {}
        for key in sorted({*ours, *theirs}):
            yield from _differing(ours.get(key), theirs.get(key), (*path, key))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _differing(*pair, (*path, index))
    elif ours != theirs:
        yield path, ours, theirs


def _spelt(path: Path_) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in path)


def run(parts: Iterable[str], seed: int, indexes: range | list[int]) -> Report:
    """Compare the cases of some parts. Raises OracleError."""
    report = Report()
    for part in parts:
        for start in range(0, len(indexes), CHUNK):
            PARTS[part]([case(part, seed, index) for index in indexes[start : start + CHUNK]], report)
    return report


def summary(report: Report, show: int) -> str:
    """Return the run as text: what was found, each kind of difference with some cases."""
    kinds: dict[str, list[tuple[Case, Difference]]] = {}
    for each, difference in report.differences:
        kinds.setdefault(kind_of(difference), []).append((each, difference))
    lines = []
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        lines.append(f"{len(found):5} x {kind}")
        lines += [f"{difference}\n  {json.dumps(each.judged)}" for each, difference in found[:show]]
    lines += [f"{outcome} {count}" for outcome, count in sorted(report.outcomes.items())]
    lines.append("known: " + ", ".join(f"{name} {count}" for name, count in report.ledger.counts.items()))
    lines.append(f"{len(report.differences)} differences")
    return "\n".join(lines)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="one part (default: all)")
    parser.add_argument("--n", type=int, default=2000, help="how many cases of each part (default 2000)")
    parser.add_argument("--seed", type=int, default=7, help="the seed of all of them (default 7)")
    parser.add_argument("--only", type=int, help="one case, by its index")
    parser.add_argument("--show", type=int, default=1, help="how many cases of a kind to print in full (default 1)")
    options = parser.parse_args()
    parts = [options.part] if options.part else list(PARTS)
    try:
        report = run(parts, options.seed, range(options.n) if options.only is None else [options.only])
    except gotools.OracleError as error:
        print(error, file=sys.stderr)
        return 2
    print(summary(report, options.show))
    unused = {entry.name for entry in API_SERVER if entry.stage in parts} & {*report.ledger.unused()}
    if enough := options.n >= ENOUGH and options.only is None and bool(unused):
        print(f"entries that explained nothing: {', '.join(sorted(unused))}")
    return 1 if report.differences or enough else 0


if __name__ == "__main__":
    sys.exit(main())
