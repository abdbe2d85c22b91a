"""How far a run is: what is written, when, and where it leads; the clock is the test's."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import RUNTIME, job, on_a_terminal

from folders import put
from trainc.cli.progress import (
    ERASE,
    Progress,
    bar_line,
    duration,
    progress,
)

counts = st.integers(0, 10**6)
rates = st.one_of(st.just(0.0), st.floats(0.001, 1e6))


class Clock:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Broken(Terminal):
    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def frames(text: str) -> list[str]:
    return text.split(ERASE)[1:]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (6.6, "7 s"),
        (59.4, "59 s"),
        (59.6, "1:00 min"),
        (65, "1:05 min"),
        (3599.7, "1:00:00 h"),
        (7389, "2:03:09 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_bar() -> None:
    line = bar_line("compiling", 2500, 10000, 1250.0, 100)
    assert line == "compiling  [#######                       ]  2,500 of 10,000  25%  1,250/s  6 s left"


@given(counts, counts, rates, st.integers(0, 300))
def test_a_line_is_shorter_than_the_terminal(done: int, total: int, rate: float, columns: int) -> None:
    line = bar_line("compiling", done, total, rate, columns)
    assert len(line) <= max(columns - 1, 0)
    assert line.isprintable()


def test_a_bar_shows_after_a_second_ten_times_a_second_and_is_gone_at_the_end() -> None:
    clock, stream = Clock(), Terminal()
    with Progress(1000, "compiling", stream, columns=lambda: 80, clock=clock) as bar:
        for number in range(1000):
            clock.now += 0.01
            bar.advance()
            if number == 98:
                assert stream.getvalue() == ""
    *shown, last = frames(stream.getvalue())
    assert last == ""
    assert 70 <= len(shown) <= 91  # of nine seconds
    assert all(len(frame) < 80 for frame in shown)
    assert re.search(r"10\d of 1,000  10%  100/s  9 s left$", shown[0])
    done = [int(match[1].replace(",", "")) for frame in shown if (match := re.search(r"([\d,]+) of", frame))]
    assert done == sorted(set(done))


def test_a_bar_is_gone_after_an_error_and_closing_twice_erases_once() -> None:
    clock, stream = Clock(), Terminal()
    bar = Progress(10, "compiling", stream, columns=lambda: 80, clock=clock)
    with pytest.raises(KeyError), bar:
        clock.now += 2
        bar.advance()
        raise KeyError
    bar.close()
    assert len(frames(stream.getvalue())) == 2
    assert stream.getvalue().endswith(ERASE)


def test_a_log_has_a_line_every_ten_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress(1000, "compiling", stream, clock=clock) as log:
        for _ in range(1000):
            clock.now += 0.035
            log.advance()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3  # of 35 seconds
    assert lines[0] == "compiling: 286 of 1,000 (28%), 29/s, 25 s left"


def test_the_rate_is_that_of_the_last_seconds() -> None:
    clock, stream = Clock(), Terminal()
    with Progress(10_000, "compiling", stream, columns=lambda: 80, clock=clock) as bar:
        for number in range(3000):
            clock.now += 0.001 if number < 2000 else 0.1
            bar.advance()
    assert "10/s" in frames(stream.getvalue())[-2]


def test_a_stream_that_breaks_does_not_end_the_run() -> None:
    clock = Clock()
    with Progress(10, "compiling", Broken(), columns=lambda: 80, clock=clock) as bar:
        for _ in range(10):
            clock.now += 1
            bar.advance()


@pytest.mark.parametrize(
    ("terminal", "environment", "kind"),
    [
        (True, {}, "bar"),
        (True, {"TERM": "dumb"}, "log"),
        (True, {"CI": "true"}, "log"),
        (True, {"CI": "false"}, "bar"),
        (False, {}, "nothing"),
        (False, {"CI": "1"}, "log"),
        (False, {"CI": ""}, "nothing"),
    ],
)
def test_where_it_leads(terminal: bool, environment: dict[str, str], kind: str) -> None:
    stream = Terminal() if terminal else io.StringIO()
    assert kind_of(progress(9, "compiling", stream=stream, environment=environment)) == kind
    assert kind_of(progress(9, "compiling", stream=stream, environment=environment, quiet=True)) == "nothing"
    assert kind_of(progress(1, "compiling", stream=stream, environment=environment)) == "nothing"


def kind_of(shown: Progress) -> str:
    return "nothing" if shown.stream is None else "log" if shown.columns is None else "bar"


SCRIPT = """\
import sys, time
from trainc.cli import progress as module
module.PATIENCE = module.FRAME = 0.0
with module.progress(3, "compiling") as shown:
    for _ in range(3):
        time.sleep(0.002)
        shown.advance()
sys.stderr.write("done\\n")
"""


def test_on_a_real_terminal() -> None:
    *shown, last = frames(on_a_terminal("-c", SCRIPT, columns=72))
    assert len(shown) == 3
    assert all(len(frame) <= 71 for frame in shown)
    assert shown[-1].startswith("compiling  [") and "3 of 3  100%" in shown[-1]
    assert last == "done\r\n"


def test_a_real_terminal_in_continuous_integration_gets_no_bar() -> None:
    assert on_a_terminal("-c", SCRIPT, columns=72, CI="true") == "done\r\n"


RENDER = """\
import sys
from trainc.cli import progress
from trainc.cli.root import trainc
progress.PATIENCE = progress.FRAME = 0.0
trainc(["render", *sys.argv[1:]])
"""


def test_render_shows_what_it_reads_compiles_and_writes(tmp_path: Path) -> None:
    put(tmp_path, "runtimes/plain.yaml", RUNTIME)
    for name in ("one", "two", "three"):
        put(tmp_path, f"jobs/a/{name}.yaml", job(name))
    shown = frames(on_a_terminal("-c", RENDER, cwd=tmp_path))
    for label, total in (("reading", 4), ("compiling", 3), ("writing", 3)):
        counts = [re.findall(rf"(\d) of {total}", frame)[0] for frame in shown if frame.startswith(f"{label}  [")]
        assert counts == [str(count + 1) for count in range(total)], label
    assert frames(on_a_terminal("-c", RENDER, "-q", "--no-cache", cwd=tmp_path)) == []
