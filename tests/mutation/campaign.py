"""Runs tests against mutants of the modules of a room, each in a process of its own.

``profile`` runs each test once and notes its time and the lines that it executes, and the lines that run while modules
are imported. A mutant is tested by the tests that execute its lines, until one fails: first those that killed other
mutants of its function, then the quickest. If none of its lines runs while modules are imported, the process is a copy
of one that has collected all tests, in which the code of the mutated functions is replaced; else of one that has not
imported trainc, which imports the mutated module.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import mutants
import pytest
from hypothesis import HealthCheck, settings
from mutants import Mutant

OTHER_SECONDS = 1.0
"""The time of other tests, which run if those pass: what they use may have been computed before in the profile."""

MORE_SECONDS = 10.0
"""The CPU time after which a test is ended, besides four times what it took in the profile."""

ADDRESS_SPACE = 6 * 2**30
LONGEST = 3600.0
"""Seconds after which a process that waits for something is killed: many, since other programs may use the cores."""


LOG = os.fdopen(os.dup(2), "w", encoding="utf-8")
"""Standard error, also where a process that runs tests has no output."""

TIMEOUT = "(timeout)"
NOT_REPLACED = "(not replaced)"


class Place(NamedTuple):
    """A package to mutate, and the folder of its tests with the arguments that choose them."""

    package: Path
    root: Path
    tests: tuple[str, ...]

    def path(self, file: str) -> str:
        return str(self.package / file)

    def text(self, file: str) -> str:
        return (self.package / file).read_text(encoding="utf-8")


class Outcome(NamedTuple):
    """``status``: killed, timeout, survived, or uncovered if no test executes the lines."""

    status: str
    by: str = ""
    tests: int = 0


Note = Callable[[Mutant, Outcome, float], None]


class Driver:
    """A plugin of pytest which hands the collected tests over instead of running them."""

    def __init__(self, use: Callable[[list[pytest.Item]], None]) -> None:
        self.use = use

    def pytest_sessionstart(self) -> None:
        settings.register_profile(
            "mutation", parent=settings(), derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # else no search finds the functions
        self.use(session.items)
        return True


class Failures:
    """A plugin which notes the first test that fails."""

    def __init__(self) -> None:
        self.first = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.first:
            self.first = report.nodeid


def collect(place: Place, tests: Sequence[str], use: Callable[[list[pytest.Item]], None]) -> int:
    """Collect tests and use them; return pytest's exit code, which is not 0 if modules cannot be imported."""
    folder = tempfile.mkdtemp(prefix="mutation-")
    try:
        options = [
            "-m",
            "not go",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            "--rootdir",
            str(place.root),
            "--basetemp",
            f"{folder}/t",
            "--capture=sys",
        ]
        return int(pytest.main([*options, *tests], plugins=[Driver(use)]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(items: Sequence[pytest.Item], seconds: Callable[[str], float] | None = None) -> str:
    """Run tests in this process until one fails; return the name of that, or nothing.

    A test that takes more CPU time than ``seconds`` of its name ends the process.
    """
    failures = Failures()
    manager = items[0].config.pluginmanager
    manager.register(failures)
    for item, following in zip(items, [*items[1:], None], strict=True):
        if seconds is not None:
            limit(seconds(item.nodeid))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.first:
            break
    return failures.first


def limit(seconds: float) -> None:
    """End this process if it takes so much more CPU time."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, resource.RLIM_INFINITY))


def forked(work: Callable[[], Any], longest: float = LONGEST) -> Any:
    """Return what ``work`` returns in a copy of this process, or a text in parentheses on how that ended."""
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        status = 1
        try:
            os.close(reading)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            os.setpgrp()
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            with os.fdopen(writing, "w") as stream_out:
                json.dump(work(), stream_out)
            status = 0
        except BaseException:  # noqa: BLE001 - also those that end pytest
            traceback.print_exc(file=LOG)
            LOG.flush()
        finally:
            os._exit(status)
    os.close(writing)
    end = time.monotonic() + longest
    text = b""
    while (rest := end - time.monotonic()) > 0 and select.select([reading], [], [], rest)[0]:
        if not (piece := os.read(reading, 2**16)):
            break
        text += piece
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL) if rest <= 0 else None
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return TIMEOUT
    return json.loads(text) if status == 0 else f"(ended with {status})"


def profile(place: Place, files: Sequence[str], cache: Path) -> dict[str, Any]:
    """Return what each test executes of the files: ``imported`` lines by file, and ``tests`` by name.

    The tests run in one process, which forgets what they compiled: else the lines that compile would be those of the
    first test only. ``cache`` has the tests of the last time; those whose folder is the same run again only if one of
    the files is not.
    """
    digest = _digest([Path(place.path(file)) for file in files])
    known = json.loads(cache.read_text(encoding="utf-8")) if cache.exists() else {}
    if known.get("digest") != digest:
        known = {"digest": digest, "tests": {}}
    paths = {place.path(file): file for file in files}
    watch = coverage.Coverage(data_file=None, include=list(paths), config_file=False)

    def use(items: list[pytest.Item]) -> None:
        sources = {item.path: _source(item.path) for item in items}
        memory = Memory(paths.keys())
        tests = {}
        for item in items:
            test = known["tests"].get(item.nodeid)
            if test is None or test["source"] != sources[item.path]:
                memory.forget()
                watch.switch_context(item.nodeid)
                start = time.process_time()
                passed = not run([item])
                seconds = time.process_time() - start if passed else None
                test = {"source": sources[item.path], "seconds": seconds, "lines": {}}
            tests[item.nodeid] = test
        watch.stop()
        data = watch.get_data()
        imported: dict[str, list[int]] = {}
        for path in sorted(data.measured_files() & paths.keys()):
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    lines = tests[context]["lines"] if context else imported
                    lines.setdefault(paths[path], []).append(line)
        known.update(imported=imported, tests=tests)
        cache.write_text(json.dumps(known), encoding="utf-8")

    watch.start()
    if (code := collect(place, place.tests, use)) not in (0, 1):  # 1: a test fails, which then tests no mutant
        raise SystemExit(f"pytest ends with {code}: tests cannot be collected")
    return known


def _source(test: Path) -> str:
    """Return a digest of a module of tests and what is in its folder."""
    return _digest(
        [test] if test.parent.name == "tests" else sorted(p for p in test.parent.rglob("*.*") if p.is_file())
    )


def _digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths if path.suffix != ".pyc")).hexdigest()[:16]


class Plan(NamedTuple):
    """The tests of a mutant, quickest first: those that execute it, and others. ``imported``: by an import."""

    tests: list[str]
    others: list[str]
    imported: bool


class Profile:
    """What ``profile`` found: the seconds of the tests that pass, quickest first, and which of them execute a line."""

    def __init__(self, profiled: dict[str, Any]) -> None:
        passing = {name: test for name, test in profiled["tests"].items() if test["seconds"] is not None}
        order = sorted(passing, key=lambda name: (passing[name]["seconds"], name))
        self.seconds = {name: float(passing[name]["seconds"]) for name in order}
        self.imported = {file: frozenset(lines) for file, lines in profiled["imported"].items()}
        self.executing: dict[tuple[str, int], set[str]] = {}
        for name, test in passing.items():
            for file, lines in test["lines"].items():
                for line in lines:
                    self.executing.setdefault((file, line), set()).add(name)

    def quickest(self, names: set[str], most: float) -> list[str]:
        """Return the quickest of some tests: those that take so many seconds, or 20."""
        total, found = 0.0, []
        for name in filter(names.__contains__, self.seconds):
            total += self.seconds[name]
            if total > most and len(found) > 20:
                break
            found.append(name)
        return found


def planned(mutant: Mutant, profiled: Profile, texts: dict[str, str], most: float) -> Plan:
    """Choose the tests of a mutant; ``most``: the time of those that execute it, as measured in the profile."""
    own = set(range(mutant.lines[0], mutant.lines[1] + 1))
    lines = {mutant.file: own}
    imported = not own.isdisjoint(profiled.imported.get(mutant.file, ()))
    if imported:
        for file, those in mutants.users(texts, mutant).items():
            lines[file] = lines.get(file, set()) | those
    nobody: set[str] = set()
    executing = nobody.union(
        *(profiled.executing.get((file, line), nobody) for file, those in lines.items() for line in those)
    )
    if imported and not executing:  # files outside the room use it
        executing = set(profiled.seconds)
    others = profiled.seconds.keys() - executing if executing else nobody
    return Plan(profiled.quickest(executing, most), profiled.quickest(others, OTHER_SECONDS), imported)


class Memory:
    """The functions of some files, and what is remembered of their results: found once, since that takes long."""

    def __init__(self, paths: Collection[str]) -> None:
        self.functions: dict[CodeType, list[FunctionType]] = {}
        self.caches: list[Callable[[], object]] = []
        for item in gc.get_objects():
            if type(item) is FunctionType and item.__code__.co_filename in paths:
                self.functions.setdefault(item.__code__, []).append(item)
            elif isinstance(item, _lru_cache_wrapper) and item.cache_parameters()["maxsize"] is not None:
                wrapped = inspect.unwrap(item)
                if isinstance(wrapped, FunctionType) and wrapped.__code__.co_filename in paths:
                    self.caches.append(item.cache_clear)
            elif _is_schema(item):
                self.caches.append(item.compiled.clear)

    def forget(self) -> None:
        """Forget what has been compiled from schemas, and the results in caches of a limited size."""
        for clear in self.caches:
            clear()
        for item in gc.get_objects():
            if _is_schema(item):
                item.compiled.clear()
                self.caches.append(item.compiled.clear)
        gc.freeze()  # what exists by now need not be searched again

    def replace(self, original: CodeType, mutated: CodeType) -> bool:
        """Replace the code of all functions that differ; return whether that was possible."""
        before, after = _functions(original), _functions(mutated)
        if before.keys() != after.keys():
            return False
        replaced = False
        for key, code in before.items():
            for function in self.functions.get(code, ()) if code != after[key] else ():
                try:
                    function.__code__ = after[key]
                except ValueError:  # another number of free variables
                    return False
                replaced = True
        return replaced


def _is_schema(item: object) -> bool:
    return type(item).__name__ == "Structural"


def _functions(code: CodeType, outer: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], CodeType]:
    found = {}
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    for number, constant in enumerate(inner):
        key = (*outer, number, constant.co_name)
        found[key] = constant
        found.update(_functions(constant, key))
    return found


class _Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from other code."""

    def __init__(self, path: str, code: CodeType) -> None:
        self.path, self.code, self.used = path, code, False

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> Any:
        for folder in path or sys.path:
            plain = str(Path(folder, name.rpartition(".")[2]))
            if self.path in (plain + ".py", plain + "/__init__.py"):
                inner = [plain] if self.path.endswith("__init__.py") else None
                return importlib.util.spec_from_file_location(
                    name, self.path, loader=self, submodule_search_locations=inner
                )
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        self.used = True
        exec(self.code, module.__dict__)


def anew(place: Place, path: str, seconds: Callable[[str], float], code: CodeType, names: Sequence[str]) -> str:
    """Run tests on a module with other code, in a process that has not imported it; return the first that fails."""
    importer = _Importer(path, code)
    sys.meta_path.insert(0, importer)
    failed: list[str] = []

    def use(items: list[pytest.Item]) -> None:
        tests = {item.nodeid: item for item in items}
        failed.append(run([tests[name] for name in names if name in tests], seconds))

    collect(place, list(dict.fromkeys(str(place.root / name.partition("::")[0]) for name in names)), use)
    if not importer.used:
        raise RuntimeError(f"{path} has not been imported")
    return failed[0] if failed else "(import)"


def campaign(
    place: Place,
    texts: dict[str, str],
    sampled: Sequence[Mutant],
    profiled: Profile,
    note: Note,
    *,
    most: float,
    end: float = float("inf"),
) -> None:
    """Test mutants until a time and ``note`` each one with its outcome and its seconds; ``most`` as in planned."""
    plans = {mutant.name: planned(mutant, profiled, texts, most) for mutant in sampled}
    killers: Counter[tuple[str, str, str]] = Counter()

    def seconds(name: str) -> float:
        return MORE_SECONDS + 4 * profiled.seconds[name]

    def test(mutant: Mutant, work: Callable[[CodeType, list[str]], str]) -> bool:
        plan = plans[mutant.name]
        start = time.monotonic()
        code = mutants.compiled(mutant, texts[mutant.file], place.path(mutant.file))
        likely = sorted(plan.tests, key=lambda name: -killers[mutant.file, mutant.function, name])
        failed = ""
        for names in filter(None, (likely, plan.others)):
            failed = failed or forked(lambda names=names: work(code, names))
        if failed == NOT_REPLACED:
            return False
        if failed == "(ended with 1)":
            return True  # an error of this program, which it has printed: the mutant has no outcome
        killers[mutant.file, mutant.function, failed] += 1
        status = "timeout" if failed == TIMEOUT else "killed" if failed else "survived"
        note(mutant, Outcome(status, failed, len(plan.tests)), time.monotonic() - start)
        return True

    def copies() -> list[str]:
        """Test in copies of this process, once it has collected all tests; return the mutants that need another."""
        impossible: list[str] = []
        parent = os.getppid()

        def use(items: list[pytest.Item]) -> None:
            tests = {item.nodeid: item for item in items}
            codes = {file: compile(text, place.path(file), "exec", dont_inherit=True) for file, text in texts.items()}
            memory = Memory({place.path(file) for file in texts})
            memory.forget()

            def work(original: CodeType, code: CodeType, names: list[str]) -> str:
                if not memory.replace(original, code):
                    return NOT_REPLACED
                return run([tests[name] for name in names], seconds)

            for mutant in sampled:
                plan = plans[mutant.name]
                if os.getppid() != parent or time.monotonic() > end:
                    return
                if not plan.tests:
                    note(mutant, Outcome("uncovered"), 0.0)
                elif not plan.imported and not test(mutant, partial(work, codes[mutant.file])):
                    impossible.append(mutant.name)

        collect(place, place.tests, use)
        return impossible

    late = forked(copies, 10**6)
    for mutant in sampled:
        if time.monotonic() > end:
            return
        if plans[mutant.name].tests and (plans[mutant.name].imported or mutant.name in late):
            test(mutant, partial(anew, place, place.path(mutant.file), seconds))
