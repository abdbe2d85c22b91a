"""Random walks of edits and runs over two copies of one repository: one run with what is remembered, one without.

A step is data: what to do, and a number that decides how. So a walk that fails can be walked again with steps left out
until none can be, and what is left is told.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import unified_diff
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from cache import walktexts as texts
from trainc.cache import run as cache_run
from trainc.cache import store
from trainc.cache.run import RunCache
from trainc.cli.root import trainc
from trainc.documents.classify import TRAINJOB
from trainc.documents.load import load
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.pipeline import job
from trainc.pipeline.content import Job
from trainc.pipeline.context import Context
from trainc.pipeline.runtimes import admit_runtime
from trainc.project import planning, write

TICK = 12_000_000
"""Nanoseconds after which the clock of the file system that tests run on has moved, on a kernel of 100 Hz, too."""


LINK = b"-> "


class Step(NamedTuple):
    """One step of a walk: an edit, ``run``, ``during`` (an edit within a run), ``interrupted`` (a run) or ``pause``."""

    name: str
    seed: int


class Told(NamedTuple):
    """What a run says and leaves."""

    status: int
    stdout: str
    stderr: str
    tree: dict[str, bytes | None]


def tree(root: Path) -> dict[str, bytes | None]:
    """Return all files below a folder, links as where they lead, and folders as None."""
    found: dict[str, bytes | None] = {}
    waiting = [""]
    while waiting:
        start = waiting.pop()
        with os.scandir(f"{root}/{start}") as entries:
            for entry in entries:
                name = start + entry.name
                if entry.is_symlink():
                    found[name] = LINK + bytes(Path(entry).readlink())
                elif entry.is_dir():
                    found[name] = None
                    waiting.append(f"{name}/")
                else:
                    found[name] = Path(entry).read_bytes()
    return found


# Edits. Each gets a root and a source of chance, and does to equal trees the same.


def _files(root: Path, *tops: str) -> list[Path]:
    return sorted(path for top in tops for path in (root / top).rglob("*") if path.is_file() and not path.is_symlink())


def _put(path: Path, text: str | bytes) -> None:
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def put_job(root: Path, rng: Random) -> None:
    name = rng.choice(texts.NAMES)
    suffix = rng.choice(("yaml", "yaml", "yaml", "yml", "json")) if rng.random() < 0.2 else "yaml"
    _put(root / "jobs" / rng.choice(texts.NAMESPACES) / f"{name}.{suffix}", texts.jobs(rng, name))


def put_runtime(root: Path, rng: Random) -> None:
    name = rng.choice(texts.RUNTIMES[:4])
    _put(root / "runtimes" / f"{name}.yaml", texts.runtime(rng, name))


def put_policy(root: Path, rng: Random) -> None:
    name = rng.choice(("p", "q"))
    _put(root / "policies" / f"{name}.yaml", texts.policy(rng, name))


def put_config(root: Path, rng: Random) -> None:
    _put(root / "trainc.yaml", texts.config(rng))


def put_lock(root: Path, rng: Random) -> None:
    _put(root / "images.lock.yaml", texts.lock(rng))


def link_config(root: Path, rng: Random) -> None:
    """Let trainc.yaml lead to another file, or change that file."""
    if (root / "trainc.yaml").is_symlink() or rng.random() < 0.5:
        _put(root / "other.yml", texts.config(rng))
    if not (root / "trainc.yaml").is_symlink():
        _put(root / "other.yml", texts.config(rng))
        (root / "trainc.yaml").unlink(missing_ok=True)
        (root / "trainc.yaml").symlink_to("other.yml")


def remove(root: Path, rng: Random) -> None:
    files = _files(root, "jobs", "runtimes", "policies")
    if (root / "images.lock.yaml").exists():
        files.append(root / "images.lock.yaml")
    if files:
        rng.choice(files).unlink()


def rename(root: Path, rng: Random) -> None:
    if files := _files(root, "jobs", "runtimes"):
        path = rng.choice(files)
        beside = sorted(each for each in path.parent.parent.iterdir() if each.is_dir())
        place = rng.choice((path.parent, *beside))
        path.rename(place / f"{rng.choice(('x', 'y'))}.yaml")


def replace_words(root: Path, rng: Random) -> None:
    """Change a file in place, its size as it was."""
    if files := _files(root, "jobs", "runtimes", "policies", "trainc.yaml", "images.lock.yaml", "out"):
        path = rng.choice(files)
        data = path.read_bytes()
        for old, new in (
            (b"img:1", b"img:2"),
            (b"numNodes: 1", b"numNodes: 2"),
            (b"Warn", b"Deny"),
            (b"img:2", b"img:1"),
        ):
            if old in data:
                _put(path, data.replace(old, new))
                break


def touch(root: Path, rng: Random) -> None:
    if files := _files(root, "jobs", "runtimes", "policies", "out", "trainc.yaml"):
        rng.choice(files).touch()


def same_again(root: Path, rng: Random) -> None:
    """Write what is there, to a new file in its place."""
    if files := _files(root, "jobs", "runtimes", "out"):
        path = rng.choice(files)
        _put(path.with_name(".new"), path.read_bytes())
        path.with_name(".new").replace(path)


def old_times(root: Path, rng: Random) -> None:
    """Set a file's time back after a change of the same size, as an archive does."""
    replace_words(root, rng)
    for path in _files(root, "jobs", "runtimes", "out"):
        os.utime(path, ns=(1_000_000_000_000_000_000, 1_000_000_000_000_000_000))


def spoil_out(root: Path, rng: Random) -> None:
    if files := _files(root, "out"):
        path = rng.choice(files)
        choice = rng.random()
        if choice < 0.4:
            _put(path, path.read_bytes() + b"# more\n")
        elif choice < 0.7:
            path.unlink()
        elif choice < 0.8:
            _put(path, b"mine\n")
        elif choice < 0.9:
            shutil.rmtree(path.parent)
        else:
            path.rename(path.with_name("moved.yaml"))


def stranger(root: Path, rng: Random) -> None:
    """Put a file into out/ that no run makes: trainc's by its look, or not, or a rest of a killed run."""
    place = rng.choice(("out", "out/prod", "out/prod/a", "out/dev/gone", "out/prod/a/one"))
    name = rng.choice(("stranger.yaml", "note.txt", ".trainc-1-1.tmp", "JOBSET-one.yaml"))
    text = rng.choice((b"# Generated by trainc from jobs/x.yaml\n", b"# Generated by nobody from jobs/x.yaml\n", b""))
    if not any((root / Path(*Path(place).parts[:end])).is_file() for end in range(1, 5)):
        _put(root / place / name, text)


def link(root: Path, rng: Random) -> None:
    path = root / rng.choice(("jobs/a/link.yaml", "jobs/linked", "out/link.yaml", "runtimes/linked"))
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    elif not path.exists():
        path.symlink_to(rng.choice(("one.yaml", "nowhere", "a", "b")))


def unlink_links(root: Path, _: Random) -> None:
    for path in sorted(root.rglob("*")):
        if path.is_symlink() and path.parent != root:
            path.unlink()


def misplace(root: Path, rng: Random) -> None:
    path = root / rng.choice(("jobs/deep.yaml", "jobs/a/b/deep.yaml", "jobs/a/.hidden.yaml", "policies/tests/t.yaml"))
    if path.exists():
        path.unlink()
    else:
        _put(path, texts.job(rng, "deep"))


def change_type(root: Path, rng: Random) -> None:
    """Let a file that no run reads become a folder or a link of the same name, or the other way round."""
    path = root / rng.choice(("jobs/notes", "policies/notes"))
    was_file = path.is_file() and not path.is_symlink()
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not was_file:
        _put(path, b"notes\n")
    elif rng.random() < 0.5:
        path.symlink_to(rng.choice(("a", "b", "../jobs", "nowhere")))
    else:
        name = rng.choice(texts.NAMES)
        _put(path / f"{name}.yaml", texts.policy(rng, name) if path.parent.name == "policies" else texts.job(rng, name))


def calm(root: Path, rng: Random) -> None:
    """Make everything fine again: a walk that is all errors shows little."""
    seeds = iter(range(100))
    for path in _files(root, "jobs", "runtimes", "policies"):
        path.unlink()
    unlink_links(root, rng)
    _put(root / "trainc.yaml", "environments:\n  prod: {}\n" + rng.choice(("", "", "  dev: {}\n")))
    for space, name in (("a", "one"), ("b", "two")):
        text = next(text for seed in seeds if _is_fine(text := texts.job(Random(f"{rng.random()}{seed}"), name)))
        _put(root / "jobs" / space / f"{name}.yaml", text)
    for name in ("plain", "torch"):
        _put(root / "runtimes" / f"{name}.yaml", texts.runtime(Random(3), name))


def _is_fine(text: str) -> bool:
    return not any(word in text for word in ("missing", "nonsense", "again", "yes", "broken", "own", "mpi", "run: x"))


EDITS: dict[str, Callable[[Path, Random], None]] = {
    function.__name__: function
    for function in (
        put_job,
        put_runtime,
        put_policy,
        put_config,
        put_lock,
        link_config,
        remove,
        rename,
        replace_words,
        touch,
        same_again,
        old_times,
        spoil_out,
        stranger,
        link,
        unlink_links,
        misplace,
        change_type,
        calm,
    )
}
WEIGHTS = {
    "put_job": 6,
    "put_lock": 2,
    "put_runtime": 2,
    "put_config": 2,
    "remove": 2,
    "replace_words": 3,
    "spoil_out": 3,
    "calm": 3,
    "change_type": 3,
}

POINTS: tuple[tuple[Any, str], ...] = (
    (planning, "read_others"),
    (planning, "compile_for"),
    (planning, "look"),
    (planning, "plan"),
    (write, "apply"),
    (planning, "plan_request"),
    (RunCache, "read"),
    (RunCache, "save_jobs"),
    (RunCache, "save_files"),
    (cache_run, "complete"),
)
"""Where in a run an edit may come, before or after."""


class Walk:
    """Two copies of a repository below a folder, and what one of them remembers."""

    def __init__(self, folder: Path) -> None:
        """Begin with an empty repository."""
        self.warm, self.cold = folder / "warm" / "r", folder / "cold" / "r"
        for root in (self.warm, self.cold):
            root.mkdir(parents=True)
        self.memory = folder / "memory"
        self.good: dict[str, bytes | None] = {}
        self.failed = False

    def step(self, step: Step) -> None:
        """Take a step. AssertionError where what is remembered makes a difference."""
        if step.name == "pause":
            time.sleep(1.3 * TICK / 1e9)
        elif step.name == "run":
            self.compare(self.arguments(Random(step.seed)))
        elif step.name == "during":
            self.during(Random(step.seed))
        elif step.name == "interrupted":
            self.interrupted(Random(step.seed))
        elif step.name == "undo":
            self.undo()
        else:
            for root in (self.warm, self.cold):
                EDITS[step.name](root, Random(step.seed))

    def compare(self, args: list[str]) -> None:
        """Run with and without what is remembered."""
        found, wanted = self.run(self.warm, args), self.run(self.cold, [*args, "--no-cache"])
        assert found == wanted, difference(args, found, wanted)
        self.failed = found.status not in (0, 3)
        if not self.failed:
            self.good = {name: data for name, data in found.tree.items() if _is_input(name) and data is not None}

    def undo(self) -> None:
        """Bring back the inputs of the last run that did not fail, if this one did."""
        if not (self.failed and self.good):
            return
        for root in (self.warm, self.cold):
            now = {name: data for name, data in tree(root).items() if _is_input(name)}
            for name in sorted(now, reverse=True):
                if self.good.get(name) != now[name] and now[name] is not None:
                    (root / name).unlink()
            for name, data in self.good.items():
                if data != now.get(name) and data is not None:
                    _restore(root / name, data)

    def arguments(self, rng: Random) -> list[str]:
        """Choose a command."""
        args = ["render", "--format", rng.choice(("text", "json"))]
        if rng.random() < 0.3:
            args.append("--check")
        if rng.random() < 0.01:  # starting a process takes as long as all else
            args += ["--jobs", "2"]
        if rng.random() < 0.1:
            args += ["--env", rng.choice(("prod", "dev"))]
        if rng.random() < 0.1:
            args.append(rng.choice(("-q", "-v", "--fail-on=warning")))
        if rng.random() < 0.1 and (files := _files(self.warm, "jobs")):
            path = rng.choice(files)
            args.append(rng.choice((path, path.parent)).relative_to(self.warm).as_posix())
        elif rng.random() < 0.15:
            args = ["validate", *args[1:3]]
        return args

    def run(self, root: Path, args: Sequence[str]) -> Told:
        """Run in one of the copies."""
        os.chdir(root)
        result = CliRunner().invoke(trainc, list(args), prog_name="trainc")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        time.sleep(TICK / 3e9)  # a run of its own process takes longer than a tick
        return Told(result.exit_code, result.stdout, result.stderr, tree(root))

    def during(self, rng: Random) -> None:
        """Change something while a run is at work, and begin with equal copies again."""
        edit = rng.choice(("put_job", "replace_words", "spoil_out", "stranger", "put_runtime", "put_config", "remove"))
        place, name = rng.choice(POINTS)
        seed, after = rng.random(), rng.random() < 0.5
        with _between(place, name, lambda: EDITS[edit](self.warm, Random(seed)), after=after):
            self.run(self.warm, ["render"])
        self.begin_again()

    def interrupted(self, rng: Random) -> None:
        """End a run in the middle, as Ctrl+C does, and begin with equal copies again."""

        def interrupt() -> None:
            raise KeyboardInterrupt

        place, name = rng.choice(POINTS)
        with _between(place, name, interrupt, after=rng.random() < 0.5):
            self.run(self.warm, ["render"])
        self.begin_again()

    def begin_again(self) -> None:
        """Make the copies equal."""
        shutil.rmtree(self.cold)
        shutil.copytree(self.warm, self.cold, symlinks=True)


def _is_input(name: str) -> bool:
    return name.partition("/")[0] in ("jobs", "runtimes", "policies", "trainc.yaml", "images.lock.yaml", "other.yml")


def _restore(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    if data.startswith(LINK):
        path.symlink_to(os.fsdecode(data.removeprefix(LINK)))
    else:
        path.write_bytes(data)


# Reading a text and compiling a job are pure, so both copies share the results. What to compile, each run decides.

_load = lru_cache(4096)(load)
_admitted = lru_cache(4096)(partial(admit_runtime, options=Options()))


def _compiled_once() -> Callable[[Context, Document], Job]:
    compile_job, contexts, known = job.compile_job, dict[Context, tuple[object, ...]](), dict[object, Job]()

    def compiled(context: Context, document: Document) -> Job:
        if (common := contexts.get(context)) is None:
            options, others = context.options, context.documents.cluster.values()
            texts = {each.source for each in others if each.data["kind"] != TRAINJOB}
            settings = {each.source for each in (options.config_document, options.lock.document) if each is not None}
            common = options.environment, context.keep, frozenset(texts), frozenset(settings), frozenset(context.placed)
            contexts[context] = common
        key = common, document.source, document.index
        if (found := known.get(key)) is None:
            found = known[key] = compile_job(context, document)
        return found

    return compiled


@contextmanager
def _between(place: Any, name: str, edit: Callable[[], None], *, after: bool) -> Iterator[None]:
    real = getattr(place, name)
    pending = [edit]

    def wrapped(*args: Any, **named: Any) -> Any:
        if pending and not after:
            pending.pop()()
        result = real(*args, **named)
        if pending:
            pending.pop()()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, wrapped)
        yield


def difference(args: Sequence[str], found: Told, wanted: Told) -> str:
    """Say how two runs differ, what a clean one tells first."""
    lines = [f"trainc {' '.join(args)}: {wanted.status} clean, {found.status} with what is remembered"]
    for part in ("stdout", "stderr"):
        both = [getattr(told, part).splitlines() for told in (wanted, found)]
        lines += unified_diff(*both, f"{part} clean", f"{part} remembered", lineterm="", n=1)
    for name in sorted({*found.tree, *wanted.tree}):
        if (one := found.tree.get(name, b"(absent)")) != (other := wanted.tree.get(name, b"(absent)")):
            lines.append(f"{name}: {other!r} clean, {one!r} remembered")
    return "\n".join(lines)


def steps(rng: Random, count: int) -> list[Step]:
    """Choose the steps of a walk: edits, few at a time, and runs between them."""
    names, weights = list(EDITS), [WEIGHTS.get(name, 1) for name in EDITS]
    found = [Step("calm", rng.getrandbits(32))]
    for _ in range(count):
        edits = rng.choices(names, weights, k=rng.choice((0, 0, 1, 1, 1, 2, 3)))
        if rng.random() < 0.7:
            found.append(Step("undo", 0))
        found += [Step(name, rng.getrandbits(32)) for name in edits]
        if rng.random() < 0.12:
            found.append(Step(rng.choice(("during", "interrupted")), rng.getrandbits(32)))
        if rng.random() < 0.5:
            found.append(Step("pause", 0))
        found.append(Step("run", rng.getrandbits(32)))
    return found


def fault(path: Sequence[Step], folder: Path) -> str | None:
    """Walk in an empty folder and return what is wrong, if anything is."""
    here = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(store.VARIABLE, str(folder / "memory"))
        patch.setattr("trainc.cache.snapshot.FINE", TICK)
        patch.setattr(job, "compile_job", _compiled_once())
        for module in ("trainc.pipeline.compile", "trainc.cache.run"):
            patch.setattr(f"{module}.load", _load)
        patch.setattr("trainc.pipeline.runtimes.admit_runtime", lambda document, _: _admitted(document))
        walk = Walk(folder)
        try:
            for number, step in enumerate(path):
                try:
                    walk.step(step)
                except AssertionError as error:
                    return f"at step {number}: {error}"
        finally:
            os.chdir(here)
            shutil.rmtree(folder)
    return None
