# ruff: noqa: T201
"""Coverage-guided fuzzing with atheris: ``driver.py --seconds 600 quantities merge``; README.md says more.

The targets take turns, a slice of time each, one process at a time. Inputs that reach new code, findings and the
progress of all campaigns so far stay in the folder of the campaign, so it can be stopped at any time and goes on with
the same command.

Exit 0: nothing was found; 1: a finding, now or in an earlier run of this campaign; 2: the campaign cannot be run.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
if __name__ == "__main__":
    sys.path[:1] = [str(ROOT / "compiler"), str(HERE.parent)]

from fuzz.target import Case, Choices, Oracle, Target, shortened  # noqa: E402 - the path of a script is set above
from oracle import gotools  # noqa: E402

TARGETS: dict[str, tuple[str, ...]] = {
    "edits": ("trainc.documents.edit", "trainc.documents.rewrite", "trainc.documents.positions"),
    "emitter": ("trainc.documents.emit", "trainc.kube.fieldorder"),
    "merge": ("trainc.kube.merge",),
    "quantities": ("trainc.kube.quantity", "trainc.kube.gojson"),
    "reader": ("trainc.documents",),
    "projects": (),
    "cel_parser": (),
    "cel_evaluator": (),
    "incremental": ("trainc.cache", "trainc.project"),
}
"""Each target, in the module ``fuzz_<name>`` beside this one, and the modules of trainc whose branches guide it.

Without modules its features do (``Target``)."""

BATCH = 256  # cases per round trip to the oracle
NOTE = 5.0  # seconds between notes of the progress, and the longest time of a batch
CPU_SECONDS = 5  # more for one case is a finding
SHRINKING = 20.0  # seconds
DEFAULT = ROOT / "build" / "fuzz"


def load(name: str) -> Target:
    """Import a target."""
    target: Target = importlib.import_module(f"fuzz.fuzz_{name}").TARGET
    return target


class Progress:
    """What all runs of a campaign have done: a JSON object per target in a file, which each save replaces."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the state of each target."""
        return json.loads(self.file.read_text()) if self.file.exists() else {}  # type: ignore[no-any-return]

    def add(self, name: str, executions: int, seconds: float, **now: Any) -> None:
        """Add executions and seconds (of wall time) to a target, and set other figures."""
        state = self.read()
        row = state.setdefault(name, {"executions": 0, "seconds": 0.0})
        row["executions"] += executions
        row["seconds"] = round(row["seconds"] + seconds, 1)
        row |= {**now, "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps(state, indent=1) + "\n")
        temporary.replace(self.file)


class Findings:
    """The findings of a target, a file for each kind of mistake with the shortest case seen."""

    def __init__(self, folder: Path, target: Target, oracle: Oracle | None) -> None:
        self.folder, self.target, self.oracle = folder, target, oracle
        self.known = {path.stem for path in folder.glob("*.json")}

    def add(self, case: Case, message: str) -> None:
        """Keep a case, made smaller, unless one of its kind is known."""
        kind = message.split("\n", 1)[0]
        stem = (
            f"{re.sub('[^a-z0-9]+', '-', kind.lower()).strip('-')[:60]}-{hashlib.sha256(kind.encode()).hexdigest()[:6]}"
        )
        if stem in self.known:
            return
        self.known.add(stem)
        case, message, theirs = self.shrunk(case, message, kind)
        row = {"kind": kind, "message": message, "case": case, "theirs": theirs}
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{stem}.json").write_text(json.dumps(row, indent=1) + "\n")

    def shrunk(self, case: Case, message: str, kind: str) -> tuple[Case, str, Any]:
        """Return the smallest case found with the same kind of mistake, its message and the oracle's answer."""
        end = time.monotonic() + SHRINKING
        theirs, smaller = (self.judged([case]) or [(None, None)])[0][0], True
        while smaller and time.monotonic() < end:
            smaller = False
            candidates = iter(shortened(case))
            while not smaller and (some := list(islice(candidates, 64))):
                for candidate, (answer, found) in zip(some, self.judged(some), strict=True):
                    if found is not None and found.split("\n", 1)[0] == kind:
                        case, message, theirs, smaller = candidate, found, answer, True
                        break
        return case, message, theirs

    def judged(self, cases: list[Case]) -> list[tuple[Any, str | None]]:
        """Return the oracle's answer to each case, and what is wrong with trainc's."""
        ours = [answered(self.target, case) for case in cases]
        questions: dict[int, Any] = {}
        for index, (case, (answer, _)) in enumerate(zip(cases, ours, strict=True)):
            with suppress(Exception):  # a case with a part less may be none
                questions[index] = self.target.question(case, answer)
        answers = self.oracle.ask([*questions.values()]) if self.oracle else [None] * len(questions)
        theirs = dict(zip(questions, answers, strict=True))
        found: list[tuple[Any, str | None]] = []
        for index, (case, (answer, message)) in enumerate(zip(cases, ours, strict=True)):
            is_answered = message is None and index in theirs
            wrong = compared(self.target, case, answer, theirs[index]) if is_answered else message
            found.append((theirs.get(index), wrong))
        return found


def answered(target: Target, case: Case) -> tuple[Any, str | None]:
    """Return trainc's answer to a case, or the exception or the time limit that prevents one."""
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        return target.ours(case), None
    except Exception as error:  # noqa: BLE001 - every exception is a finding
        return None, raised(error)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def compared(target: Target, case: Case, ours: Any, theirs: Any) -> str | None:
    """Return what is wrong with an answer, given the oracle's."""
    try:
        return target.compare(case, ours, theirs)
    except Exception as error:  # noqa: BLE001
        return raised(error)


def raised(error: Exception) -> str:
    """Name an exception and where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name} {frame.name}\n{error}"


def too_slow(*_: object) -> None:
    """Raise for a case that takes too long."""
    raise TimeoutError(f"more than {CPU_SECONDS} s of CPU time")


class Run:
    """One slice of time for one target, in a process of its own."""

    def __init__(self, name: str, folder: Path, executions: int, seconds: float) -> None:
        self.name, self.folder = name, folder
        self.left, self.end = executions, time.monotonic() + seconds
        self.target = load(name)
        command = self.target.oracle() if self.target.oracle else None
        self.oracle = Oracle(command, escaped=self.target.escaped) if command else None
        self.findings = Findings(folder / "findings" / name, self.target, self.oracle)
        self.progress = Progress(folder / "progress.json")
        self.batch: list[tuple[Case, Any]] = []
        self.seen = folder / f"{name}.features.json"
        self.features: set[int] = set(json.loads(self.seen.read_text())) if self.seen.exists() else set()
        self.count, self.pending, self.since = 0, 0, time.monotonic()

    def start(self, atheris: Any) -> None:
        """Fuzz until the time or the executions are used up, and end the process."""
        inputs = self.folder / "inputs" / self.name
        if not inputs.is_dir():
            inputs.mkdir(parents=True)
            chance = random.Random(self.name)
            for index, seed in enumerate([*self.target.seeds(), *(chance.randbytes(8 << (n % 6)) for n in range(64))]):
                (inputs / f"seed-{index}").write_bytes(seed)
        self.log = self.folder / f"{self.name}.log"
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 2)
        signal.signal(signal.SIGVTALRM, too_slow)
        if self.target.features is not None:
            self.vary(inputs, self.target.features)
        options = [
            "-max_len=512",
            "-len_control=0",
            "-timeout=600",
            "-report_slow_units=600",
            "-rss_limit_mb=3072",
            "-reload=0",
            "-detect_leaks=0",
        ]
        atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={self.folder}/{self.name}-", str(inputs)], self.one)
        self.since = time.monotonic()
        atheris.Fuzz()

    def vary(self, inputs: Path, features: Callable[[Case, Any], Iterable[str]]) -> None:
        """Fuzz like start(), guided by the features of trainc's answers instead of branches."""
        pool = [path.read_bytes() for path in sorted(inputs.iterdir())]
        again, chance = [] if self.features else list(pool), random.Random()
        self.since = time.monotonic()
        gc.freeze()  # most of what is collected is trainc itself
        gc.set_threshold(20_000)
        while True:
            if again:
                data = again.pop()
            elif chance.randrange(3):
                data = mutated(chance, chance.choice(pool), chance.choice(pool))
            else:
                data = chance.randbytes(8 << chance.randrange(6))
            new = {zlib.crc32(each.encode()) for each in features(*self.one(data))} - self.features
            if new and not again:
                pool.append(data)
                (inputs / hashlib.sha256(data).hexdigest()[:20]).write_bytes(data)
            self.features |= new

    def one(self, data: bytes) -> tuple[Case, Any]:
        """Run one input. Return the case and trainc's answer."""
        case = self.target.make(Choices(data))
        ours, message = answered(self.target, case)
        if message is None:
            self.batch.append((case, ours))
        else:
            self.findings.add(case, message)
        self.count += self.target.weight(case)
        if self.count >= BATCH or time.monotonic() - self.since > NOTE:
            self.settle()
        return case, ours

    def settle(self) -> None:
        """Compare a batch with the oracle, and note the progress; at the end of the slice, end the process."""
        try:
            questions = [self.target.question(case, ours) for case, ours in self.batch]
            answers = self.oracle.ask(questions) if self.oracle else [None] * len(questions)
            for (case, ours), theirs in zip(self.batch, answers, strict=True):
                if (message := compared(self.target, case, ours, theirs)) is not None:
                    self.findings.add(case, message)
        except gotools.OracleError as error:  # the batch is lost
            with (self.folder / "oracle.txt").open("a") as log:
                log.write(f"{self.name}: {error}\n")
        self.batch.clear()
        self.left -= self.count
        now = time.monotonic()
        is_over = self.left <= 0 or now >= self.end
        self.pending += self.count
        self.count = 0
        if is_over or now - self.since > NOTE:
            self.note(now)
        if is_over:
            if self.oracle:
                self.oracle.close()
            os._exit(0)  # libFuzzer would not return

    def note(self, now: float) -> None:
        """Write the progress since the last note."""
        edges = re.findall(r"cov: (\d+)", self.log.read_text(errors="replace")[-5000:])
        figures = {"edges": int(edges[-1])} if edges else {"features": len(self.features)} if self.features else {}
        if self.features:
            self.seen.write_text(json.dumps(sorted(self.features)))
        inputs = sum(1 for _ in (self.folder / "inputs" / self.name).iterdir())
        found = len(self.findings.known)
        self.progress.add(self.name, self.pending, now - self.since, inputs=inputs, findings=found, **figures)
        self.pending, self.since = 0, now


def mutated(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """Return an input with bytes changed, removed or inserted, or with the end of another, up to four times."""
    for _ in range(chance.randrange(1, 5)):
        kind, at = chance.randrange(5), chance.randrange(len(data) + 1)
        if kind == 0:
            data = data[:at] + chance.randbytes(chance.randrange(1, 5)) + data[at:]
        elif kind == 1:
            data = data[:at] + data[at + chance.randrange(1, 9) :]
        elif kind == 2:
            data = data[:at] + other[chance.randrange(len(other) + 1) :]
        else:
            data = data[:at] + chance.randbytes(1) + data[at + 1 :]
    return data[:512]


def slices(names: list[str], folder: Path, options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the command of each slice of time, the targets in turn, until all have their executions or time is up."""
    end = time.monotonic() + options.seconds
    progress = Progress(folder / "progress.json")
    while True:
        state = progress.read()
        left = {name: options.executions - state.get(name, {}).get("executions", 0) for name in names}
        for name in (name for name in names if left[name] > 0):
            if (seconds := min(options.slice, end - time.monotonic())) <= 0:
                return
            yield [name, "--executions", str(left[name]), "--seconds", str(seconds), "--folder", str(folder), "--child"]
        if max(left.values()) <= 0:
            return


def others(guides: tuple[str, ...]) -> list[str]:
    """Return the modules of trainc that do not guide the fuzzer; atheris includes only whole packages."""
    files = (ROOT / "compiler" / "trainc").rglob("*.py")
    names = (".".join(path.relative_to(ROOT / "compiler").with_suffix("").parts) for path in files)
    return [name.removesuffix(".__init__") for name in names if not name.startswith(guides)]


def main() -> int:
    """Run the campaign, or with --child one slice of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(";", maxsplit=1)[0])
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; by default all")
    parser.add_argument("--executions", type=int, default=1_000_000, help="stop a target after so many in all runs")
    parser.add_argument("--seconds", type=float, default=600, help="stop after this time (default 600)")
    parser.add_argument("--slice", type=float, default=60, help="seconds per turn of a target (default 60)")
    parser.add_argument("--folder", type=Path, default=DEFAULT, help="progress and findings (default build/fuzz)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.targets or list(TARGETS)
    folder = options.folder.resolve()
    if unknown := set(names) - TARGETS.keys():
        parser.error(f"unknown target {', '.join(sorted(unknown))}; one of {', '.join(TARGETS)}")
    try:
        import atheris  # type: ignore[import-not-found]  # installed by hand: README.md
    except ImportError:
        print("atheris is missing: pip install --require-hashes -r tests/fuzz/requirements.txt", file=sys.stderr)
        return 2
    if options.child:
        guides = TARGETS[names[0]]
        with atheris.instrument_imports(["trainc"], others(guides)) if guides else nullcontext():
            run = Run(names[0], folder, options.executions, options.seconds)
        run.start(atheris)
    for command in slices(names, folder, options):
        done = subprocess.run([sys.executable, __file__, *command], check=False)
        if done.returncode:
            print(
                f"{command[0]}: the process ended with {done.returncode}; see {folder}/{command[0]}.log",
                file=sys.stderr,
            )
            return 1
    found = sorted((folder / "findings").glob("*/*.json"))
    for name, row in Progress(folder / "progress.json").read().items():
        print(
            f"{name}: {row['executions']:,} executions in {row['seconds'] / 3600:.2f} hours, {row['findings']} findings"
        )
    for path in found:
        print(path)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
