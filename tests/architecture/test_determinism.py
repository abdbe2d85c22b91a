"""Same input, same bytes: whatever the interpreter, user, hash seed, folder, locale, time zone, cache and workers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from syntax import ROOT

from effort import THOROUGH
from trainc import Options, Source, compile

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PROJECT = ("trainc.yaml", "images.lock.yaml", "jobs", "runtimes", "policies")
INTERPRETERS = [f"python3.{minor}" for minor in range(11, 15)]
NEEDED = "import click, msgspec, ruamel.yaml, jinja2, _ruamel_yaml"
DEEP = "a folder with spaces/of another name/Ä"
KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")


class Run(NamedTuple):
    """How a digest is made. ``folder`` is where the project is, ``inside`` the current folder in it."""

    how: tuple[str, ...] = ("--no-cache",)
    environment: tuple[tuple[str, str], ...] = ()
    folder: str = "project"
    inside: str = "."
    umask: int = 0o022
    times: int | None = None
    python: str = sys.executable


FIRST = Run(environment=(("LC_ALL", "C"), ("TZ", "Pacific/Kiritimati"), ("PYTHONUTF8", "0"), ("PYTHONHASHSEED", "1")))
OTHER = Run(
    ("backwards", "-j3"),
    (("LC_ALL", "tr_TR.UTF-8"), ("TZ", "America/St_Johns"), ("COLUMNS", "20"), ("PYTHONHASHSEED", "2"), ("HOME", "/")),
    DEEP,
    "jobs",
    0o077,
    1,
)


def pythons() -> dict[str, str]:
    """Return the interpreters with trainc's dependencies: this one, those of TRAINC_PYTHONS, and those on the PATH."""
    code = f"{NEEDED}, sys; print(*sys.version_info[:2], sep='.')"
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    named = os.environ.get("TRAINC_PYTHONS", "").split(os.pathsep)
    for python in filter(None, [*named, *map(shutil.which, INTERPRETERS)]):
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), python)
    return found


@cache
def turkish(folder: Path) -> dict[str, str]:
    """Return the variables for a locale in which i and I are two letters, if it can be generated."""
    if (localedef := shutil.which("localedef")) is not None:
        done = subprocess.run(
            [localedef, "-i", "tr_TR", "-f", "UTF-8", str(folder / "tr_TR.UTF-8")], capture_output=True, check=False
        )
        if done.returncode == 0:
            return {"LOCPATH": str(folder)}
    return {}


@cache
def runs() -> dict[str, Run]:
    """Return the runs that a thorough test compares with the first one."""
    found = {"all different": OTHER, "cold cache": OTHER._replace(how=("rendered", "backwards"))}
    found["warm cache"] = found["cold cache"]  # in the same folder
    for workers in range(1, 9):
        how = ("rendered", "--no-cache", f"-j{workers}")
        found[f"{workers} workers"] = FIRST._replace(how=how, folder=f"workers{workers}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        how = ("rendered", "nobody", "backwards", "--no-cache")
        found["another user"] = OTHER._replace(how=how, folder="nobody")
    for version, python in pythons().items():
        found[f"Python {version}"] = OTHER._replace(python=python, folder=f"python{version}")
    return found


def digests(folder: Path, run: Run) -> dict[str, str]:
    """Compile the repository, and render a copy, in a process of its own; return a digest of the results of each."""
    root = folder / run.folder
    if not root.exists():
        root.mkdir(parents=True)
        for name in PROJECT:
            source = REPOSITORY / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, root / name)
    for path in (root, *root.rglob("*")):
        if run.times is not None:
            os.utime(path, (run.times, run.times))
        if "nobody" in run.how:
            os.chown(path, 65534, 65534)
    how = (*run.how, "thorough") if THOROUGH else run.how
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    done = subprocess.run(
        [run.python, str(HERE / "digest.py"), str(ROOT), str(REPOSITORY), str(root), *how],
        capture_output=True,
        text=True,
        check=False,
        cwd=root / run.inside,
        env={
            **kept,
            "PYTHONDONTWRITEBYTECODE": "1",
            "TRAINC_CACHE_DIR": str(folder / "cache"),
            **(turkish(folder) if OTHER.environment[0] in run.environment else {}),
            **dict(run.environment),
        },
        umask=run.umask,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that another user may enter: pytest makes its own private whenever it starts."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_the_surroundings_do_not_matter(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = digests(folder, FIRST)
    chosen = runs() if THOROUGH else {"all different": OTHER}
    found = {name: digests(folder, run) for name, run in chosen.items()}
    with capsys.disabled():
        if THOROUGH:
            print(f"\n{first}: {', '.join(found)}")  # noqa: T201 - which interpreters there are
    assert found == {name: {part: first[part] for part in parts} for name, parts in found.items()}


def sources(pattern: str) -> list[Source]:
    """Return the files of this repository that match a pattern."""
    paths = sorted(REPOSITORY.glob(pattern))
    return [Source(path.relative_to(REPOSITORY).as_posix(), path.read_bytes()) for path in paths]


def test_one_process_gives_the_same_twice() -> None:
    read = sources("jobs/*/*.yaml") + sources("runtimes/*.yaml")
    first, second = (compile(iter(read), Options()) for _ in range(2))
    assert first.files == second.files
    assert list(first.files) == list(second.files)
    assert [found.data for found in first.objects] == [found.data for found in second.objects]


def test_a_job_does_not_depend_on_its_neighbours() -> None:
    jobs, runtimes = sources("jobs/*/*.yaml"), sources("runtimes/*.yaml")
    whole = compile([*jobs, *runtimes]).files
    alone: dict[str, bytes] = {}
    for job in jobs:
        alone |= compile([job, *runtimes]).files
    assert alone == dict(whole)
