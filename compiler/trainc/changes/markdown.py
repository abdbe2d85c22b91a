"""A difference as a comment of a pull request: Markdown as GitHub reads it, never longer than a comment may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from trainc.changes.groups import Group, grouped
from trainc.changes.model import Difference, Effect, JobChange, Pods
from trainc.changes.phrases import (
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
from trainc.findings.display import one_line

LIMIT: Final = 65_535
"""The most characters of a comment on GitHub, in UTF-16."""

MARK: Final = "<!-- trainc diff -->"
"""The first line, by which whoever posts the comment finds it again."""

_SPARE: Final = 200
"""Characters kept free for what says that something is left out."""

_ROWS: Final = 40_000
"""The most characters of the table of jobs."""

_WEAKENED: Final = 30
"""So many changes to what checks the jobs are shown."""

_RUN: Final = re.compile("`+")


def render(difference: Difference, limit: int = LIMIT) -> str:
    """Return a difference as Markdown of at most ``limit`` characters (4,000 or more)."""
    head = [MARK, *_alerts(difference), f"### {_text(f'trainc: {summary(difference)}')}", ""]
    head += [*_weakened(difference), *([_text(advice(difference)), ""] if difference.unexplained else [])]
    if not difference.jobs:
        return _joined(head)
    groups = grouped(difference.jobs)
    page = _Page(limit - _SPARE, _joined(head))
    rows = ["| job | in the cluster | changes |\n|---|---|---|\n", *map(_row, groups)]
    page.add(rows, min(_ROWS, limit // 2), "\nRows that are not in this table: {}.\n")
    page.add(["\n", *(f"- {_code(line)}\n" for line in images(difference))], limit, "")
    totals = ["\n| | jobs | pods | GPUs |\n|---|---|---|---|\n"]
    totals += [f"| {' | '.join(map(_text, row))} |\n" for row in total_rows(difference.totals)]
    page.add(totals, limit, "\nTotals that are not in this table: {}.\n")
    if graph := _replicated_jobs(group.like for group in groups if group.single):
        page.add([f"\n<details><summary>Replicated jobs</summary>\n\n```mermaid\n{graph}```\n</details>\n"], limit, "")
    page.add([_details(group) for group in groups], limit, "\nJobs or groups whose fields are not shown here: {}.\n")
    return page.text


def _weakened(difference: Difference) -> Iterator[str]:
    """Yield what judges less than before: it leads the comment, and a part of it always fits."""
    if not difference.weakened:
        return
    yield f"**{_text(weakened_title(difference))}**"
    yield ""
    lines = [f"- {_code(place)}: {_text(message)}" for place, message in weakened_lines(difference)]
    yield from lines[:_WEAKENED]
    if (rest := len(lines) - _WEAKENED) > 0:
        yield f"- {rest:,} more"
    yield ""


def _alerts(difference: Difference) -> Iterator[str]:
    for warning in warnings(difference):
        yield from ("> [!CAUTION]", f"> {_text(warning)}", "")


class _Page:
    """Text that grows as long as there is room."""

    __slots__ = ("limit", "room", "text")

    def __init__(self, limit: int, text: str) -> None:
        self.text = text
        self.limit = limit
        self.room = limit - _size(text)

    def add(self, parts: list[str], most: int, rest: str) -> None:
        """Add parts in order while they fit, ``most`` characters of them; ``rest`` says how many do not."""
        room = min(self.room, most)
        for index, part in enumerate(parts):
            size = _size(part)
            if size > room:
                self.text += rest.format(len(parts) - max(index, len(parts) > 1))
                return
            self.text += part
            room -= size
            self.room -= size


def _size(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _row(group: Group) -> str:
    job = group.like
    title = _code(str(job.place)) if group.single else f"{_code(group.title)}<br>{_text(group.names)}"
    said = [_code(word) for word in words_of(job)]
    if job.remedy is not None:
        said.append(f"add to the TrainJob's annotations: {_code(job.remedy)}")
    shown = said[:8] + ([f"{len(said) - 8} more"] if len(said) > 8 else [])
    return f"| {title} | {_text(effect_of(job))} | {'<br>'.join(shown)} |\n"


def _details(group: Group) -> str:
    job = group.like
    title = str(job.place) if group.single else group.title
    summary_line = f"<details><summary><code>{escape(one_line(title))}</code>: {_html(effect_of(job))}</summary>"
    lines = ["", summary_line, "", *(f"- {_text(sentence)}" for sentence in job.cluster)]
    if job.remedy is not None:
        place = _code(job.source) if group.single else "each TrainJob"
        lines.append(f"- Add to <code>metadata.annotations</code> of {place}: {_code(job.remedy)}")
    if body := list(_fields(job)):
        fence = "`" * max([3, *(len(run) + 1 for line in body for run in _RUN.findall(line))])
        lines += ["", f"{fence}diff", *body, fence]
    return _joined([*lines, "", "</details>"])


def _fields(job: JobChange) -> Iterator[str]:
    for change in job.objects:
        yield one_line(f"@@ {change.file} @@ {object_title(change)}")
        yield from object_lines(change)
    yield from refusal_lines(job.refusals)


def _code(text: str) -> str:
    """Return a text as code, in a cell of a table or elsewhere; nobody is mentioned and nothing linked by it."""
    shown = escape(one_line(text)).replace("|", "&#124;").replace("@", "&#64;")
    return f"<code>{_marked(shown)}</code>"


def _text(text: str) -> str:
    return _marked(_html(text))


def _html(text: str) -> str:
    return escape(one_line(text)).replace("|", "&#124;").replace("@", "&#64;")


def _marked(text: str) -> str:
    """Return HTML in which nothing is a mark of Markdown's."""
    return re.sub(r"[\\`*_{}\[\]~]", lambda match: f"&#{ord(match[0])};", text)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


MOST: Final = 20
"""So many jobs are drawn; more would be no picture."""


def _replicated_jobs(jobs: Iterable[JobChange]) -> str:
    """Return the text of a graph of the jobs in which pods wait for others; empty for none of them, or too many."""
    drawn = [job for job in jobs if job.effect is not Effect.COMMENTS and any(pods.waits_for for pods in job.graph)]
    if not drawn or len(drawn) > MOST:
        return ""
    return "\n".join(("graph LR", *(line for number, job in enumerate(drawn) for line in _of_job(number, job)))) + "\n"


def _of_job(number: int, job: JobChange) -> Iterator[str]:
    yield f'  subgraph j{number}["{_label(f"{job.place}: {effect_of(job)}")}"]'
    yield from (f'    j{number}n{index}["{_label(_pods(pods))}"]' for index, pods in enumerate(job.graph))
    yield "  end"
    places = {pods.name: index for index, pods in reversed(list(enumerate(job.graph)))}
    for index, pods in enumerate(job.graph):
        for name, status in pods.waits_for:
            if name in places:
                yield f'  j{number}n{places[name]} -- "{_label(status)}" --> j{number}n{index}'


def _pods(pods: Pods) -> str:
    return f"{pods.name}: {pods.pods:,} pod{'s' * (pods.pods != 1)}"


def _label(text: str) -> str:
    """Return a text for a label; what Mermaid or HTML would read as something else is written as its code."""
    return "".join(char if char.isalnum() or char in " -_.,:/" else f"#{ord(char)};" for char in one_line(text, 120))
