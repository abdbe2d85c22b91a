"""The results as text: tables of Markdown, which a terminal shows as well, and the page docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from contest import CHAIN, CHECKERS, CONTROLLER, Bout
from fleet import EVERYTHING, FLAVOURS, LIKE
from floors import FLOORS
from results import Results
from scenes import BUILD, BUILD_EDITED, Row
from stopwatch import Figures

TEMPLATE = Path(__file__).with_name("benchmarks.md.j2")
OTHERS = "Other tools"
GROWTH = "Growth"
NONE = ""
"""What stands in a cell without a figure."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table whose columns line up; the first ``left`` of them to the left, the others right."""
    lines = [list(header), *(list(row) for row in rows)]
    if any(len(line) != len(header) for line in lines):
        raise ValueError("a row has more or fewer cells than the header")
    widths = [max(3, *(len(line[place]) for line in lines)) for place in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ("-" * width if place < left else "-" * (width - 1) + ":" for place, width in enumerate(widths))
    return "\n".join([line(lines[0]), f"| {' | '.join(rule)} |", *map(line, lines[1:])]) + "\n"


def number(value: float) -> str:
    """Write a figure with three digits that count: 0.0123, 0.123, 1.23, 12.3, 1,234."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4}f}"


def seconds(figures: Figures) -> str:
    """Write the least and the median of the seconds by the clock."""
    return f"{number(figures.wall)} / {number(figures.median)}"


def _columns(row: Row | None) -> list[str]:
    if row is None:
        return [NONE] * 4
    figures = row.figures
    each = number(1000 * figures.wall / row.jobs) if row.scene not in (BUILD, BUILD_EDITED) else NONE
    return [seconds(figures), number(figures.cpu), number(figures.peak), each]


def scene_table(rows: Sequence[Row]) -> str:
    """Return the table of the scenes of one size, the flavours side by side."""
    found = {(row.scene, row.cache, row.flavour): row for row in rows}
    keys = dict.fromkeys((row.scene, row.cache) for row in rows)
    flavours = [flavour for flavour in FLAVOURS if any(row.flavour == flavour for row in rows)]
    units = ("wall s", "CPU s", "MiB", "ms a job")
    header = [
        "",
        "cache",
        *(f"{flavour}: {unit}" if not at else unit for flavour in flavours for at, unit in enumerate(units)),
    ]
    lines = [
        [scene, cache, *(cell for flavour in flavours for cell in _columns(found.get((scene, cache, flavour))))]
        for scene, cache in keys
    ]
    return table(header, lines, left=2)


def start_table(rows: Sequence[Row]) -> str:
    """Return the table of what depends on no fleet."""
    lines = [
        [
            row.scene,
            row.cache,
            *(number(1000 * each) for each in (row.figures.wall, row.figures.median, row.figures.cpu)),
            number(row.figures.peak),
        ]
        for row in rows
    ]
    return table(["", "cache", "wall ms", "median ms", "CPU ms", "MiB"], lines, left=2)


def growth_table(results: Results) -> str:
    """Return the table of user CPU from size to size; empty for one size."""
    lines = [
        [
            each.flavour,
            f"{each.before:,}",
            f"{each.after:,}",
            *(number(value) for value in (each.turn.small, each.turn.large, each.turn.times)),
        ]
        for each in results.growths
    ]
    header = ["cold render", "jobs", "jobs", "user CPU s", "user CPU s", "times"]
    return table(header, lines) if lines else ""


def bout_table(bouts: Sequence[Bout]) -> str:
    """Return the table of the peers."""
    lines = [
        [
            bout.peer,
            bout.flavour,
            "validate" if bout.peer in CHECKERS else f"render, out/ {bout.out}",
            f"{bout.jobs:,}",
            *(text for each in (bout.pair.ours, bout.pair.theirs) for text in (seconds(each), number(each.cpu))),
            number(bout.pair.theirs.peak),
            number(bout.pair.wall_ratio),
            number(bout.pair.cpu_ratio),
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


def floor_table(results: Results, whole: bool = True) -> str:
    """Return the table of targets; unless ``whole``, of those that were measured."""
    lines = []
    for floor in FLOORS:
        found = floor.measure(results)
        if found is None and not whole:
            continue
        goal = NONE if floor.goal is None else f", goal {number(floor.goal)}"
        target = f"at most {number(floor.most)} {floor.unit}{goal}"
        measured = NONE if found is None else f"{number(found)} {floor.unit}"
        lines.append([floor.text, target, measured, floor.verdict(results)])
    return table(["", "target", "measured", ""], lines, left=4)


def rule_table(results: Results) -> str:
    """Return the table of the rules of the CRDs; empty if they were not measured."""
    if results.rules is None:
        return ""
    lines = [[f"`{_cell(text)}`", number(took)] for text, took in results.rules.rules.items()]
    lines += [[f"all rules of a {title}", number(took)] for title, took in results.rules.objects.items()]
    lines += [["mean of the rules", number(results.rules.mean)]]
    lines += [["a line of `trainc cel --jsonl`", number(results.rules.question)]]
    return table(["evaluated, warm", "µs"], lines)


def _cell(text: str) -> str:
    short = " ".join(text.split())
    return (short if len(short) <= 70 else short[:67] + "...").replace("|", "\\|")


def sections(results: Results, whole: bool = True) -> Iterator[tuple[str, str]]:
    """Yield title and text of every table there is; unless ``whole``, without targets that were not measured."""
    yield "Targets", floor_table(results, whole)
    if starts := [row for row in results.rows if not row.jobs]:
        yield "From process start", start_table(starts)
    for size in results.sizes():
        if rows := [row for row in results.rows if row.jobs == size]:
            yield f"{size:,} job{'s' if size > 1 else ''}", scene_table(rows)
    if text := growth_table(results):
        yield GROWTH, text
    if results.bouts:
        yield OTHERS, bout_table(results.bouts)
    if text := rule_table(results):
        yield "Rules of the CRDs", text


def page(results: Results, machine: str, versions: Iterable[tuple[str, str]], command: str) -> str:
    """Return the text of docs/benchmarks.md; ``machine`` says what the figures were taken on."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        command=command,
        runs=results.runs,
        machine=machine,
        versions=table(["what", "version"], [list(each) for each in versions], left=2),
        sections=[{"title": title, "text": text} for title, text in sections(results)],
        others=OTHERS,
        growth=GROWTH,
        like=LIKE,
        everything=EVERYTHING,
        chain=CHAIN,
        controller=CONTROLLER,
        build=BUILD,
        build_edited=BUILD_EDITED,
    )
