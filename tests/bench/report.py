"""The results as text: tables of Markdown, which a terminal shows as well, and the page docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from contest import CHAIN, CHECKERS, CONTROLLER, Bout
from fleet import EVERYTHING, LIKE
from scenes import BUILD, Row
from stopwatch import Figures
from targets import TARGETS, Results

TEMPLATE = Path(__file__).with_name("benchmarks.md.j2")
OTHERS = "Other tools"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table whose columns line up; the first ``left`` of them to the left, the others right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ("-" * width if column < left else "-" * (width - 1) + ":" for column, width in enumerate(widths))
    return "\n".join([line(lines[0]), f"| {' | '.join(rule)} |", *map(line, lines[1:])]) + "\n"


def number(value: float) -> str:
    """Write a figure with three digits that count: 0.0123, 0.123, 1.23, 12.3, 1,234."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4}f}"


def seconds(figures: Figures) -> str:
    """Write the least and the median of the seconds by the clock."""
    return f"{number(figures.wall)} / {number(figures.median)}"


def scene_table(rows: Sequence[Row]) -> str:
    """Return the table of the scenes of one size; with a base checkout, its seconds and ours over them."""
    based = any(row.base is not None for row in rows)
    header = ["", "cache", "flavour", "wall s", "user s", "MiB", "ms per job", "KB printed"]
    header += ["base wall s", "user s", "MiB", "wall ratio", "user ratio"] if based else []
    lines = []
    for row in rows:
        ours, base = row.figures, row.base
        per_job = number(1000 * ours.wall / row.jobs) if row.jobs and row.scene != BUILD else ""
        printed = number(ours.printed / 1000) if ours.printed else ""
        line = [
            row.scene,
            row.cache,
            row.flavour,
            seconds(ours),
            number(ours.user),
            number(ours.peak),
            per_job,
            printed,
        ]
        if base is not None:
            line += [seconds(base), number(base.user), number(base.peak)]
            line += [number(ours.wall / base.wall), number(ours.user / base.user)]
        lines.append([*line, *[""] * (len(header) - len(line))])
    return table(header, lines, left=3)


def bout_table(bouts: Sequence[Bout]) -> str:
    """Return the table of the peers."""
    lines = [
        [
            bout.peer,
            bout.flavour,
            "validate" if bout.peer in CHECKERS else f"render, out/ {bout.out}",
            f"{bout.jobs:,}",
            *(text for each in (bout.ours, bout.theirs) for text in (seconds(each), number(each.cpu))),
            number(bout.theirs.peak),
            number(bout.wall_ratio),
            number(bout.cpu_ratio),
        ]
        for bout in bouts
    ]
    header = [
        "peer",
        "flavour",
        "ours",
        "jobs",
        "our wall s",
        "CPU s",
        "their wall s",
        "CPU s",
        "MiB",
        "wall ratio",
        "CPU ratio",
    ]
    return table(header, lines, left=3)


def target_table(results: Results, whole: bool = True) -> str:
    """Return the table of targets; unless ``whole``, of those that were measured."""
    lines = []
    for target in TARGETS:
        found = target.measure(results)
        if found is not None or whole:
            goal = "" if target.goal is None else f", goal {number(target.goal)}"
            ratio = "" if found is None else number(found)
            lines.append([target.text, f"at most {number(target.most)}{goal}", ratio, target.verdict(results)])
    return table(["ratio", "target", "measured", ""], lines, left=4)


def sections(results: Results, whole: bool = True) -> Iterator[tuple[str, str]]:
    """Yield title and text of every table; unless ``whole``, without targets that were not measured."""
    yield "Targets", target_table(results, whole)
    for size in sorted({row.jobs for row in results.rows}):
        title = f"{size:,} job{'s' if size > 1 else ''}" if size else "This repository"
        yield title, scene_table([row for row in results.rows if row.jobs == size])
    if results.bouts:
        yield OTHERS, bout_table(results.bouts)


def page(results: Results, machine: str, versions: Iterable[tuple[str, str]], command: str) -> str:
    """Return the text of docs/benchmarks.md; ``machine`` says what the figures were taken on."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        command=command,
        machine=machine,
        versions=table(["what", "version"], [list(each) for each in versions], left=2),
        sections=[{"title": title, "text": text} for title, text in sections(results)],
        others=OTHERS,
        like=LIKE,
        everything=EVERYTHING,
        chain=CHAIN,
        controller=CONTROLLER,
        build=BUILD,
    )
