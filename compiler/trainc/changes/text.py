"""A difference for a terminal: a gutter as that of `git diff`, colour where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.changes.groups import Group, grouped
from trainc.changes.model import Difference
from trainc.changes.phrases import (
    SIGNS,
    WIDTH,
    advice,
    effect_of,
    images,
    object_lines,
    object_title,
    refusal_lines,
    summary,
    total_rows,
    warnings,
    weakened_lines,
    weakened_title,
    words_of,
)
from trainc.findings.display import one_line, width

_LONG: Final = 2000
_COLOURS: Final = {"+": "32", "-": "31", "!": "1;31", "~": "33", ">": "35", "@": "36"}


def render(difference: Difference, colour: bool = False) -> str:
    """Return a difference as text, a block for each job, then totals and a line that counts."""
    lines = [one_line(warning, _LONG) for warning in warnings(difference)]
    lines += [""] if lines else []
    lines += _weakened(difference)
    for group in grouped(difference.jobs):
        lines += [*_of_group(group), ""]
    if difference.jobs:
        counted = images(difference)
        lines += [*counted, *([""] if counted else []), *_totals(difference), ""]
    lines.append(summary(difference))
    lines += [advice(difference)] if difference.unexplained else []
    return "".join(f"{_painted(line) if colour else line}\n" for line in lines)


def _weakened(difference: Difference) -> Iterator[str]:
    if difference.weakened:
        yield f"! {weakened_title(difference)}:"
        for place, message in weakened_lines(difference):
            yield one_line(f"!   {place}: {message}", 2 * WIDTH)
        yield ""


def _of_group(group: Group) -> Iterator[str]:
    job = group.like
    title = str(job.place) if group.single else group.title
    yield one_line(f"{SIGNS[job.effect]} {title}: {effect_of(job)}", WIDTH)
    if not group.single:
        yield one_line(f"    jobs: {group.names}", 2 * WIDTH)
    yield from (f"    {word}" for word in words_of(job))
    yield from (f"    = {one_line(sentence, 2 * WIDTH)}" for sentence in job.cluster)
    if job.remedy is not None:
        place = one_line(job.source, WIDTH) if group.single else "each TrainJob"
        yield f"    = add to metadata.annotations of {place}:"
        yield f"        {job.remedy}"
    for change in job.objects:
        yield one_line(f"@@ {change.file} @@ {object_title(change)}", 2 * WIDTH)
        yield from object_lines(change)
    yield from refusal_lines(job.refusals)


def _totals(difference: Difference) -> Iterator[str]:
    rows = [("", "jobs", "pods", "GPUs"), *total_rows(difference.totals)]
    widths = [max(width(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = (cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _painted(line: str) -> str:
    code = _COLOURS.get(line[:1])
    return f"\x1b[{code}m{line}\x1b[0m" if code is not None else line
