"""What all tests share: --update, which writes expected output anew; hypothesis' settings; a clean environment."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import settings

from effort import THOROUGH, share
from oracle import gotools

for variable in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[variable]  # as in a hook; nor does a repository above the temporary folder count
for variable in ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(variable, None)  # those of `make test` are not for the make that a test runs
os.environ["GIT_CEILING_DIRECTORIES"] = os.path.realpath(tempfile.gettempdir())
os.environ["TRAINC_CACHE_DIR"] = ""  # no run here finds what another has left; tests of the cache choose a folder
gc.set_threshold(250_000, 10, 10)  # as the command line does; the default costs a quarter of the CPU time
settings.register_profile("trainc", deadline=None, max_examples=share(150))  # a busy machine is no fault of the code
settings.load_profile("trainc")

HEAVY = {
    "e2e": "end to end: run by `make e2e`",
    "containerfile": "builds images: run by `make containerfiles`",
    "install": "installs the wheel: run with -m install, as .ci/run does",
}
if not THOROUGH:
    HEAVY |= {"go": "asks programs in Go: run in CI, or with -m go"}
    HEAVY |= {"browser": "opens pages in a browser: run in CI, or with -m browser"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write expected output anew (also TRAINC_UPDATE=1)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests with a mark that needs something heavy, unless ``-m`` names the mark."""
    for name in [name for name in HEAVY if name not in config.option.markexpr]:
        for item in items:
            if item.get_closest_marker(name) is not None:
                item.add_marker(pytest.mark.skip(reason=HEAVY[name]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped, and how many."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests with their parameters, which no later collection need go over


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """Set the limit of Python's recursion, which celpy and other libraries raise for all that follows."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether to write expected output instead of comparing with it."""
    return bool(request.config.getoption("--update") or os.environ.get("TRAINC_UPDATE"))


@pytest.fixture(scope="session")
def go_modules() -> None:
    """Skip where Go or the modules of tests/oracle/go.mod are missing; a program that does not compile is a failure."""
    if (reason := gotools.missing()) is not None:
        pytest.skip(reason)
