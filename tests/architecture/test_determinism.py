"""Same input, same bytes: whatever the hash seed, folder, locale, time zone, and order of the sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from syntax import ROOT

from trainc import Options, Source, compile

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


def digest(seed: str, cwd: Path, order: str, **environment: str) -> tuple[int, str]:
    """Compile the repository in a process of its own; return the number of sources, and a digest of all results."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")}
    done = subprocess.run(
        [sys.executable, str(HERE / "digest.py"), str(ROOT), str(REPOSITORY), order],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**kept, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    count, value = done.stdout.split()
    return int(count), value


def sources(pattern: str) -> list[Source]:
    """Return the files of this repository that match a pattern."""
    paths = sorted(REPOSITORY.glob(pattern))
    return [Source(path.relative_to(REPOSITORY).as_posix(), path.read_bytes()) for path in paths]


def test_the_surroundings_do_not_matter() -> None:
    one = digest("1", REPOSITORY, "forwards", LC_ALL="C", TZ="Pacific/Kiritimati", PYTHONUTF8="0")
    other = digest("2", HERE, "backwards", LC_ALL="tr_TR.UTF-8", TZ="America/St_Johns", COLUMNS="20")
    assert one == other
    assert one[0] > 30


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
