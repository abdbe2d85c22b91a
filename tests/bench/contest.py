"""trainc and other tools on the same fleet, in turns; what they make is compared before anything is timed.

A renderer takes part if its objects equal ours, field by field; a checker if it accepts our output and refuses it
with a mistake in it. ``ContestError`` otherwise: a comparison with a tool that does something else is none.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fleet
import peerinputs
import yaml
from scenes import ROOT, Site
from skeletons import Skeleton
from stopwatch import BenchError, Command, Effort, Figures, Sample, in_turns, run

ORACLE = ROOT / "tests" / "oracle"
LARGEST = {"kustomize": 1000, "kubectl-validate": 1000}
"""Most jobs for tools that take minutes for more."""

RENDERERS = ("helm", "kustomize")
CHECKERS = ("kubeconform", "conftest", "kubectl-validate")
CHAIN = "helm, kubeconform and conftest"
CONTROLLER = "the controllers' code"
NAMES = (*RENDERERS, *CHECKERS, CHAIN, CONTROLLER)

ABSENT = "absent"
PRESENT = "present"

Objects = dict[tuple[str, str, str], dict[str, Any]]


class ContestError(BenchError):
    """A tool that does not do the same work."""


@dataclass(frozen=True)
class Bout:
    """One line of the table of peers: ours ran without cache, with out/ ``absent`` or ``present``."""

    flavour: str
    peer: str
    jobs: int
    out: str
    ours: Figures
    theirs: Figures

    @property
    def wall_ratio(self) -> float:
        """Our least seconds of wall clock over theirs: below 1 we are faster."""
        return self.ours.wall / self.theirs.wall

    @property
    def cpu_ratio(self) -> float:
        return self.ours.cpu / self.theirs.cpu


def read_objects(texts: Iterator[str]) -> Objects:
    """Return the objects of YAML streams by kind, namespace and name. ContestError for two of one name."""
    found: Objects = {}
    for text in texts:
        for data in yaml.load_all(text, yaml.CSafeLoader):
            if data is None:
                continue
            metadata = data["metadata"]
            key = (data["kind"], metadata.get("namespace", ""), metadata["name"])
            if key in found:
                raise ContestError(f"two objects {key}")
            found[key] = data
    return found


def require_equal(peer: str, theirs: Objects, ours: Objects) -> None:
    """ContestError, with the first difference, unless a peer's objects are ours."""
    if missing := sorted(ours.keys() ^ theirs.keys()):
        raise ContestError(f"{peer} makes {len(theirs)} objects, we {len(ours)}; one of them only has {missing[0]}")
    for key, data in ours.items():
        for path, mine, other in differences(data, theirs[key]):
            raise ContestError(f"{peer}: {' '.join(key)}: {path or '/'} is {other!r}, ours {mine!r}")


def differences(mine: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the places where JSON differs, types included, as JSON pointers with both values."""
    if isinstance(mine, dict) and isinstance(other, dict):
        for key in (*mine, *(key for key in other if key not in mine)):
            yield from differences(mine.get(key, "absent"), other.get(key, "absent"), f"{path}/{key}")
    elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
        for number, (first, second) in enumerate(zip(mine, other, strict=True)):
            yield from differences(first, second, f"{path}/{number}")
    elif type(mine) is not type(other) or mine != other:
        yield path, mine, other


class Arena:
    """A fleet in its flavour ``LIKE`` and the inputs of the peers beside it."""

    def __init__(self, site: Site, skeletons: Mapping[str, Skeleton], binaries: Mapping[str, Path]) -> None:
        self.site, self.binaries = site, binaries
        self.inputs = site.scratch / "peers"
        shutil.rmtree(self.inputs, ignore_errors=True)
        jobs = list(fleet.jobs(site.size))
        fleet.write_files(self.inputs / "chart", peerinputs.chart(skeletons, jobs))
        if "kustomize" in binaries and site.size <= LARGEST["kustomize"]:
            fleet.write_files(self.inputs / "kustomize", peerinputs.overlays(skeletons, jobs))
        fleet.write_files(self.inputs / "schemas", peerinputs.schemas())
        fleet.write_files(self.inputs / "rules", [("policy.rego", fleet.file_text("three-rules.rego"))])
        if "kubectl-validate" in binaries and shutil.which("go"):
            fleet.write_files(self.inputs / "crds", [("jobset.yaml", crd())])
        fleet.write_files(self.inputs, [("cases.jsonl", "".join(peerinputs.cases(jobs)))])
        self.stream = self.inputs / "rendered.yaml"

    def command(self, peer: str, tree: Path | None = None, expected: int = 0) -> Command:
        """Return the command of a peer; ``tree`` is what a checker looks at, else our out/."""
        here, out = self.inputs, tree or self.site.root / "out"
        binary = self.binaries.get(peer, Path(peer))
        words: Mapping[str, tuple[str | Path, ...]] = {
            "helm": (binary, "template", "fleet", here / "chart"),
            "kustomize": (binary, "build", here / "kustomize"),
            "kubeconform": (binary, "-strict", "-schema-location", f"{here}/schemas/{{{{ .ResourceKind }}}}.json", out),
            "conftest": (binary, "test", "--no-color", "--policy", here / "rules", out),
            "kubectl-validate": (binary, out, "--local-crds", here / "crds"),
            CONTROLLER: (ORACLE / "oracle",),
        }
        source = here / "cases.jsonl" if peer == CONTROLLER else None
        return Command(words[peer], here, {}, expected, source, self.stream)

    def runs(self, peer: str) -> Callable[[int], Sample]:
        """Return what runs a peer once."""
        names = ("helm", "kubeconform", "conftest") if peer == CHAIN else (peer,)
        commands = [self.command(name) for name in names]

        def once(_turn: int) -> Sample:
            samples = [run(command, self.site.scratch) for command in commands]
            wall, user, system, _ = (sum(each) for each in zip(*samples, strict=True))
            return Sample(wall, user, system, max(each.peak for each in samples))

        return once

    def check(self, peer: str) -> None:
        """Let a peer work once and look at what it says or makes. ContestError if that is not the same work."""
        if peer in RENDERERS or peer == CONTROLLER:
            run(self.command(peer), self.site.scratch)
        if peer in RENDERERS:
            require_equal(peer, read_objects(iter([self.stream.read_text(encoding="utf-8")])), self.ours())
        elif peer == CONTROLLER:
            require_accepted(self.stream.read_text(encoding="utf-8"), self.ours())
        elif peer == CHAIN:
            for name in ("helm", "kubeconform", "conftest"):
                self.check(name)
        else:
            run(self.command(peer), self.site.scratch)
            self._refuses(peer)

    def ours(self) -> Objects:
        """Return our objects of the whole fleet."""
        paths = sorted((self.site.root / "out").rglob("*.yaml"))
        return read_objects(path.read_text(encoding="utf-8") for path in paths)

    def _refuses(self, peer: str) -> None:
        """ContestError unless a checker refuses a JobSet of ours with a mistake."""
        path = next(iter(sorted((self.site.root / "out").rglob("jobset-*.yaml"))))
        tree = self.inputs / "mistaken"
        for mistake in mistakes(yaml.safe_load(path.read_text(encoding="utf-8")), peer):
            fleet.write_files(tree, [("jobset.yaml", yaml.safe_dump(mistake))])
            try:
                run(self.command(peer, tree, expected=1), self.site.scratch)
            except BenchError as error:
                raise ContestError(f"{peer} takes a mistake for right: {error}") from error


def mistakes(data: dict[str, Any], peer: str) -> Iterator[dict[str, Any]]:
    """Yield a JobSet with one mistake each of those that a checker is there for."""
    if peer != "conftest":
        yield {**data, "spec": {**data["spec"], "replicatedJobz": []}}
        yield {**data, "spec": {**data["spec"], "suspend": "no"}}
        return
    yield {**data, "metadata": {key: value for key, value in data["metadata"].items() if key != "labels"}}
    for path, value in (("image", "registry.example.com/train/torch:latest"), ("resources", {})):
        changed = json.loads(json.dumps(data))
        pod = changed["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod["containers"][0][path] = value
        yield changed


def require_accepted(text: str, ours: Objects) -> None:
    """ContestError unless the oracle accepted every job and made the objects that we have, under the same names.

    Contents are not compared here: that is what the goldens and ``make fuzz`` do, with every difference explained.
    """
    names = set()
    for line in text.splitlines():
        verdict = json.loads(line)
        for result in verdict["results"]:
            if result["stage"] is not None:
                raise ContestError(f"the controllers refuse {result['name']}: {result['errors']}")
            for each in result["objects"]:
                metadata = each["metadata"]
                names.add((each["kind"], metadata.get("namespace", ""), metadata["name"]))
    if missing := {key for key in ours if key not in names}:
        raise ContestError(f"the controllers make no {sorted(missing)[0]}")


def crd() -> str:
    """Return JobSet's CRD of the Go module cache, without the one rule that kubectl-validate's CEL cannot compile.

    (``has(t.metadata.namespace)``; its API server is older than JobSet.) ContestError where there is no such module.
    """
    words = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset"]
    done = subprocess.run(words, cwd=ORACLE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ContestError(f"no CRD of JobSet: {done.stderr.strip()[-300:]}")
    path = Path(done.stdout.strip()) / "config" / "components" / "crd" / "bases" / "jobset.x-k8s.io_jobsets.yaml"
    data = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    removed = peerinputs.remove_rules(data, "has(t.metadata.namespace)")
    if removed != 1:
        raise ContestError(f"JobSet's CRD has {removed} rules that look at t.metadata.namespace")
    return json.dumps(data)


def available(binaries: Mapping[str, Path]) -> dict[str, str]:
    """Return the names of contests that this machine can hold, with why not for the others ("" where it can)."""
    found = {name: "" if name in binaries else "not installed" for name in (*RENDERERS, *CHECKERS)}
    lacking = [name for name in ("helm", "kubeconform", "conftest") if found[name]]
    found[CHAIN] = f"{', '.join(lacking)} not installed" if lacking else ""
    if found["kubectl-validate"] == "" and shutil.which("go") is None:
        found["kubectl-validate"] = "no Go toolchain, whose module cache has the CRD of JobSet"
    found[CONTROLLER] = _oracle()
    return found


def _oracle() -> str:
    sys.path.append(str(ORACLE))
    import runner

    if (reason := runner.missing()) is not None:
        return reason
    try:
        runner.build()
    except runner.OracleError as error:
        return str(error)
    return ""


def bouts(arena: Arena, peers: list[str], effort: Effort) -> Iterator[Bout]:
    """Compare, then measure: renderers against render, checkers against validate; never with trainc's cache.

    In the flavour ``EVERYTHING`` we do more than a peer, so there is nothing to compare.
    """
    site = arena.site
    site.write()  # scenes have changed jobs
    site.afresh()

    def render_absent(_turn: int) -> Sample:
        return site.afresh()

    def render_present(_turn: int) -> Sample:
        site.forget()
        site.spoil()
        return site.trainc("render", "--jobs", "1")

    def validate(_turn: int) -> Sample:
        site.forget()
        return site.trainc("validate")

    for peer in peers:
        if site.size > LARGEST.get(peer, site.size):
            continue
        if site.flavour == fleet.LIKE:
            arena.check(peer)
        scenes = {PRESENT: validate} if peer in CHECKERS else {ABSENT: render_absent, PRESENT: render_present}
        for out, ours in scenes.items():
            yield Bout(site.flavour, peer, site.size, out, *in_turns((ours, arena.runs(peer)), effort))
