"""A difference for a terminal: a gutter as that of `git diff`, colour where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.diagnostics.display import one_line, width
from trainc.difference.model import Difference, JobChange
from trainc.difference.phrases import (
    SIGNS,
    WIDTH,
    effect_of,
    images,
    object_lines,
    object_title,
    refusal_lines,
    summary,
    total_rows,
    words_of,
)

_COLOURS: Final = {"+": "32", "-": "31", "!": "1;31", "~": "33", ">": "35", "@": "36"}


def render(difference: Difference, colour: bool = False) -> str:
    """Return a difference as text, a block for each job, then totals and a line that counts."""
    lines: list[str] = []
    for job in difference.jobs:
        lines += [*_of_job(job), ""]
    if difference.jobs:
        counted = images(difference)
        lines += [*counted, *([""] if counted else []), *_totals(difference), ""]
    lines.append(summary(difference))
    return "".join(f"{_painted(line) if colour else line}\n" for line in lines)


def _of_job(job: JobChange) -> Iterator[str]:
    yield one_line(f"{SIGNS[job.effect]} {job.place}: {effect_of(job)}", WIDTH)
    yield from (f"    {word}" for word in words_of(job))
    yield from (f"    = {one_line(sentence, 2 * WIDTH)}" for sentence in job.cluster)
    if job.remedy is not None:
        yield f"    = add to metadata.annotations of {one_line(job.source, WIDTH)}:"
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
