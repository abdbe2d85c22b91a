"""Work grows with the size of the input, not with its square: each kind of input at one size and at four times that.

What is compared is the user CPU time of the command in a process of its own. Four times the input may take up to nine
times as long, where work that grows with the square takes sixteen times. Other processes can only make both longer, so
the least of several measurements count, until these pass or no more are due. Some texts are padded where each document
could be looked up in the whole text, so that small numbers of documents show it.

`make test` runs every twelfth kind, CI all of them. docs/trust.md has the figures for sizes from 1,000 to 64,000, which
growth.py measures.
"""

from __future__ import annotations

import math

import pytest
from growth import KINDS, made, measure, warm_up

from effort import some

MOST = 9
"""Times the work that four times the input may take."""

LEAST = 0.03
"""Seconds below which nothing is compared."""

TRIES = 8


@pytest.mark.parametrize("kind", some(KINDS, 12))
def test_four_times_the_input_takes_about_four_times_the_work(kind: str) -> None:
    size, _ = KINDS[kind]
    warm_up()
    least = [math.inf, math.inf]
    for _ in range(TRIES):
        runs = measure(made(kind, size)), measure(made(kind, 4 * size))
        assert {run.status for run in runs} <= {0, 1, 2, 3}, runs
        assert all("TC902" not in run.codes for run in runs)
        least = [min(seconds, run.seconds) for seconds, run in zip(least, runs, strict=True)]
        if least[1] <= MOST * max(least[0], LEAST):
            return
    pytest.fail(f"{least[0]:.3f} s, and {least[1]:.3f} s for four times the input")
