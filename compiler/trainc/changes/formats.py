"""Formats a difference as text for a terminal, as a comment of a pull request, and as JSON (docs/diff.md).

The comment is GitHub's Markdown, within the size limit of a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.changes.model import Difference, Effect, JobChange, ObjectChange, Place, Pods, Total, Usage
from trainc.changes.phrases import (
    SIGNS,
    WIDTH,
    Group,
    advice,
    effect_of,
    grouped,
    images,
    object_lines,
    object_title,
    refusal_lines,
    summary,
    total_rows,
    warnings,
    weakened_json,
    weakened_lines,
    weakened_title,
    words_of,
)
from trainc.findings.display import one_line, width

LIMIT: Final = 65_535
"""The most characters of a comment on GitHub, in UTF-16."""

MARK: Final = "<!-- trainc diff -->"
"""The first line, by which a tool finds its comment to update it."""

_SPARE: Final = 200
"""Characters reserved for lines about omitted parts."""

_ROWS: Final = 40_000
"""The most characters of the table of jobs."""

_WEAKENED: Final = 30
"""The most changes to checks that are shown."""

_RUN: Final = re.compile("`+")


def as_markdown(difference: Difference, limit: int = LIMIT) -> str:
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
    """Yield the less strict checks, at the start of the comment, where they always fit."""
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
    """A text with a limited size."""

    __slots__ = ("limit", "room", "text")

    def __init__(self, limit: int, text: str) -> None:
        self.text = text
        self.limit = limit
        self.room = limit - _size(text)

    def add(self, parts: list[str], most: int, rest: str) -> None:
        """Add parts while they fit, up to ``most`` characters, and then ``rest`` with the number of omitted parts."""
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
    """Return a text as code, also for table cells; it creates no mentions and no links."""
    shown = escape(one_line(text)).replace("|", "&#124;").replace("@", "&#64;")
    return f"<code>{_marked(shown)}</code>"


def _text(text: str) -> str:
    return _marked(_html(text))


def _html(text: str) -> str:
    return escape(one_line(text)).replace("|", "&#124;").replace("@", "&#64;")


def _marked(text: str) -> str:
    """Escape Markdown's characters in HTML."""
    return re.sub(r"[\\`*_{}\[\]~]", lambda match: f"&#{ord(match[0])};", text)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


MOST: Final = 20
"""The most jobs in a graph."""


def _replicated_jobs(jobs: Iterable[JobChange]) -> str:
    """Return the text of a graph of the jobs in which pods wait for others; empty without any, or for too many."""
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
    """Return a text for a label, with special characters of Mermaid and HTML escaped."""
    return "".join(char if char.isalnum() or char in " -_.,:/" else f"#{ord(char)};" for char in one_line(text, 120))


_LONG: Final = 2000
_COLOURS: Final = {"+": "32", "-": "31", "!": "1;31", "~": "33", ">": "35", "@": "36"}


def as_text(difference: Difference, colour: bool = False) -> str:
    """Return a difference as text, a block for each job, then totals and a line that counts."""
    lines = [one_line(warning, _LONG) for warning in warnings(difference)]
    lines += [""] if lines else []
    lines += _weakened_text(difference)
    for group in grouped(difference.jobs):
        lines += [*_of_group(group), ""]
    if difference.jobs:
        counted = images(difference)
        lines += [*counted, *([""] if counted else []), *_totals(difference), ""]
    lines.append(summary(difference))
    lines += [advice(difference)] if difference.unexplained else []
    return "".join(f"{_painted(line) if colour else line}\n" for line in lines)


def _weakened_text(difference: Difference) -> Iterator[str]:
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


VERSION: Final = 1
"""Increases when a key changes its meaning or is removed."""


def as_json(difference: Difference, base: str = "", head: str = "") -> str:
    """Return a difference as JSON, in one object that ends in a newline. ``base`` and ``head`` name the revisions."""
    data: JsonObject = {
        "version": VERSION,
        "base": base,
        "head": head,
        "unchanged": difference.unchanged,
        "foreign": [*difference.foreign],
        "stale": None if difference.stale is None else [_place(place) for place in difference.stale],
        "weakened": [weakened_json(finding) for finding in difference.weakened],
        "jobs": [_job(job) for job in difference.jobs],
        "totals": {
            "all": _total(difference.totals.all),
            "namespaces": _rows(("environment", "namespace"), difference.totals.namespaces.items()),
            "queues": _rows(("environment", "namespace", "queue"), difference.totals.queues.items()),
        },
    }
    return json.dumps(data, indent=2) + "\n"


def _place(place: Place) -> JsonObject:
    return dict(zip(("environment", "namespace", "job"), place, strict=True))


def _job(job: JobChange) -> JsonObject:
    return {
        **_place(job.place),
        "effect": job.effect.value,
        "application": job.application,
        "source": job.source or None,
        "oldName": job.old_name or None,
        "name": job.name or None,
        "renamedFrom": f"{job.other.namespace}/{job.other.name}" if job.other is not None else None,
        "queue": job.queue or None,
        "changes": [
            {"what": word.what, "where": [*word.where], "old": word.old, "new": word.new} for word in job.words
        ],
        "cluster": [*job.cluster],
        "refused": [{"kind": r.kind, "name": r.name, "field": r.field, "message": r.message} for r in job.refusals],
        "annotation": job.remedy,
        "before": _usage(job.before),
        "after": _usage(job.after),
        "replicatedJobs": [
            {
                "name": pods.name,
                "pods": pods.pods,
                "dependsOn": [{"name": name, "status": status} for name, status in pods.waits_for],
            }
            for pods in job.graph
        ],
        "objects": [_object(change) for change in job.objects],
    }


def _object(change: ObjectChange) -> JsonObject:
    return {
        "file": change.file,
        "kind": change.kind,
        "oldName": change.old_name or None,
        "name": change.name or None,
        "effect": change.effect.value,
        "fields": [{"path": field.path, "old": field.old, "new": field.new} for field in change.fields],
    }


def _rows(names: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], Total]]) -> list[Json]:
    return [{**dict(zip(names, key, strict=True)), **_total(total)} for key, total in rows]


def _total(total: Total) -> JsonObject:
    return {"before": _usage(total.before), "after": _usage(total.after)}


def _usage(usage: Usage) -> JsonObject:
    return {"jobs": usage.jobs, "pods": usage.pods, "gpus": dict(usage.gpus)}
