"""Formats a difference as text for a terminal, as a comment of a pull request, and as JSON (docs/diff.md).

The comment is GitHub's Markdown, within the size limit of a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import accumulate
from typing import Final

from msgspec import to_builtins

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.changes.model import Difference, Effect, JobChange, Total, Usage
from trainc.changes.phrases import (
    EFFECTS,
    WIDTH,
    Group,
    advice,
    change_lines,
    effect_of,
    grouped,
    images,
    other_changes,
    properties_of,
    summary,
    total_rows,
    warnings,
    weakened_lines,
    weakened_title,
)
from trainc.findings.display import aligned, counted, escape_text, one_line

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

_CELLS: Final = 8
"""The most changes of a job in the table."""

_ORDER: Final = {"privileges": -1, "command": 1, "args": 1, "env": 2, "needs:": 3}
"""Which of too many properties in a table come first or later, by their first word. The last one is never omitted."""

_BACKTICKS: Final = re.compile("`+")


def as_markdown(difference: Difference, limit: int = LIMIT) -> str:
    """Return a difference as Markdown of at most ``limit`` characters (4,000 or more)."""
    head = [MARK]
    for warning in warnings(difference):
        head += ["> [!CAUTION]", f"> {_text(warning)}", ""]
    head += [f"### {_text(f'trainc: {summary(difference)}')}", ""]
    if difference.weakened:  # at the start of the comment, where it always fits
        lines = [
            f"- {_code(one_line(position, WIDTH))}: {_text(one_line(message, 2 * WIDTH))}"
            for position, message in weakened_lines(difference)
        ]
        sizes = accumulate(map(_size, lines[:_WEAKENED]))
        shown = sum(size <= limit // 3 for size in sizes)
        rest = [f"- {len(lines) - shown:,} more"] if len(lines) > shown else []
        head += [f"**{_text(weakened_title(difference))}**", "", *lines[:shown], *rest, ""]
    head += [_text(advice(difference)), ""] if difference.unexplained else []
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
    if graph := _replicated_jobs(group.common for group in groups if group.single):
        page.add([f"\n<details><summary>Replicated jobs</summary>\n\n```mermaid\n{graph}```\n</details>\n"], limit, "")
    page.add([_details(group) for group in groups], limit, "\nJobs or groups whose fields are not shown here: {}.\n")
    return page.text


class _Page:
    """A text with a limited size."""

    __slots__ = ("room", "text")

    def __init__(self, limit: int, text: str) -> None:
        self.text = text
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
    """Return the size of whole lines when commands of CI in them are broken up."""
    return len(escape_text(text).encode("utf-16-le", "surrogatepass")) // 2


def _row(group: Group) -> str:
    job = group.common
    title = _code(group.title) + ("" if group.single else f"<br>{_text(group.names)}")
    cells = properties_of(job)
    if (rest := len(cells) - _CELLS) > 0:
        cells.sort(key=lambda text: _ORDER.get(text.split()[0], 0))
        cells = [*cells[: _CELLS - 2], f"{rest + 1} more", cells[-1]]
    cells = [_code(text) for text in (*cells, *other_changes(job))]
    if job.annotation is not None:
        cells.append(f"add to the TrainJob's annotations: {_code(job.annotation)}")
    return f"| {title} | {_text(effect_of(job))} | {'<br>'.join(cells)} |\n"


def _details(group: Group) -> str:
    job = group.common
    lines = [
        "",
        f"<details><summary>{_code(group.title)}: {_text(effect_of(job))}</summary>",
        "",
        *(f"- {_text(sentence)}" for sentence in job.cluster),
    ]
    properties = properties_of(job)
    if not job.old_name and len(properties) > _CELLS:  # neither the table nor a changed field shows all of them
        lines += [f"- {_code(text)}" for text in properties]
    if job.annotation is not None:
        target = _code(job.source) if group.single else "each TrainJob"
        lines.append(f"- Add to <code>metadata.annotations</code> of {target}: {_code(job.annotation)}")
    if body := list(change_lines(job)):
        fence = "`" * max([3, *(len(run) + 1 for line in body for run in _BACKTICKS.findall(line))])
        lines += ["", f"{fence}diff", *body, fence]
    return _joined([*lines, "", "</details>"])


_WORDS: Final = re.compile(r"([(\"']*)(\S*?)([.,:;)\"']*)(?=\s|\Z)")
"""What is before, in and after a word of a sentence."""

_PLAIN_WORD: Final = re.compile(r"[A-Za-z]*|[0-9]{1,3}(?:,[0-9]{3})*|->")
"""A word that refers to nothing, whoever wrote it."""

_ADDRESS: Final = re.compile(r"&#64;(?=(?:[\w.-]|&#95;)*(?:\.|&#46;))")


def _text(text: str) -> str:
    """Return a sentence. Each word that is more than letters, or a number, is code.

    GitHub looks for mentions, issues, commits, advisories and emoji in all other text, after it has decoded escapes.
    """
    return _WORDS.sub(_word, one_line(text))


def _word(match: re.Match[str]) -> str:
    before, word, after = match.groups()
    is_item = word.isdigit() and after[:1] in (".", ")")  # which may begin a list
    shown = escape(word) if _PLAIN_WORD.fullmatch(word) and not is_item else _code(word)
    return f"{escape(before)}{shown}{escape(after)}"


def _code(text: str) -> str:
    """Return a text as code, also for table cells and HTML. It contains no markup, mention or link.

    GitHub's Markdown looks for URLs, host names and addresses inside of ``<code>``, too: for addresses after it has
    decoded escapes, but not across a comment.
    """
    text = re.sub(r"[\\`*_{}\[\]~|@]|:(?=//)|(?<=www)\.", lambda match: f"&#{ord(match[0])};", escape(one_line(text)))
    return f"<code>{_ADDRESS.sub('&#64;<!-- -->', text)}</code>"


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


MOST: Final = 20
"""The most jobs in a graph."""


def _replicated_jobs(jobs: Iterable[JobChange]) -> str:
    """Return the text of a graph of the jobs in which pods wait for others; empty without any, or for too many."""
    drawn = [
        job
        for job in jobs
        if job.effect is not Effect.COMMENTS and any(each.depends_on for each in job.replicated_jobs)
    ]
    if not drawn or len(drawn) > MOST:
        return ""
    return _joined(["graph LR", *(line for number, job in enumerate(drawn) for line in _subgraph(number, job))])


def _subgraph(number: int, job: JobChange) -> Iterator[str]:
    yield f'  subgraph j{number}["{_label(f"{job.directory}: {effect_of(job)}")}"]'
    for index, each in enumerate(job.replicated_jobs):
        yield f'    j{number}n{index}["{_label(each.name + ": " + counted(each.pods, "pod"))}"]'
    yield "  end"
    indexes = {each.name: index for index, each in reversed(list(enumerate(job.replicated_jobs)))}
    for index, each in enumerate(job.replicated_jobs):
        for other in each.depends_on:
            if other.name in indexes:
                yield f'  j{number}n{indexes[other.name]} -- "{_label(other.status)}" --> j{number}n{index}'


def _label(text: str) -> str:
    """Return a text for a label, with special characters of Mermaid and HTML escaped."""
    return "".join(char if char.isalnum() or char in " -_.,:/" else f"#{ord(char)};" for char in one_line(text, 120))


_LONG: Final = 2000
_COLOURS: Final = {"+": "32", "-": "31", "!": "1;31", "~": "33", ">": "35", "@": "36"}


def as_text(difference: Difference, colour: bool = False) -> str:
    """Return a difference as text, a block for each job, then totals and a line that counts."""
    lines = [*warnings(difference)]
    lines += [""] if lines else []
    if difference.weakened:
        weakened = (f"!   {position}: {message}" for position, message in weakened_lines(difference))
        lines += [f"! {weakened_title(difference)}:", *(one_line(line, 2 * WIDTH) for line in weakened), ""]
    for group in grouped(difference.jobs):
        lines += [*_of_group(group), ""]
    if difference.jobs:
        several = images(difference)
        totals = [("", "jobs", "pods", "GPUs"), *total_rows(difference.totals)]
        lines += [*several, *([""] if several else []), *aligned(totals), ""]
    lines.append(summary(difference))
    lines += [advice(difference)] if difference.unexplained else []
    lines = [one_line(line, _LONG) for line in lines]
    if colour:
        codes = [_COLOURS.get(line[:1]) for line in lines]
        lines = [f"\x1b[{code}m{line}\x1b[0m" if code else line for code, line in zip(codes, lines, strict=True)]
    return _joined(lines)


def _of_group(group: Group) -> Iterator[str]:
    job = group.common
    yield one_line(f"{EFFECTS[job.effect][0]} {group.title}: {effect_of(job)}", WIDTH)
    if not group.single:
        yield one_line(f"    jobs: {group.names}", 2 * WIDTH)
    yield from (f"    {text}" for text in properties_of(job))
    yield from (f"    = {one_line(sentence, 2 * WIDTH)}" for sentence in job.cluster)
    if job.annotation is not None:
        target = one_line(job.source, WIDTH) if group.single else "each TrainJob"
        yield f"    = add to metadata.annotations of {target}:"
        yield f"        {job.annotation}"
    yield from change_lines(job)


VERSION: Final = 1
"""Increases when a key changes its meaning or is removed."""


def as_json(difference: Difference, base: str = "", head: str = "") -> str:
    """Return a difference as JSON, in one object that ends in a newline. ``base`` and ``head`` name the revisions."""
    stale = difference.stale
    data: JsonObject = {
        "version": VERSION,
        "base": base,
        "head": head,
        "unchanged": difference.unchanged,
        "foreign": [*difference.foreign],
        "stale": None if stale is None else [directory._asdict() for directory in stale],
        "weakened": [
            {key: getattr(finding, key) for key in ("code", "file", "line", "message", "hint")}
            for finding in difference.weakened
        ],
        "jobs": [_job(job) for job in difference.jobs],
        "totals": {
            "all": _total(difference.totals.all),
            "namespaces": _rows(difference.totals.namespaces),
            "queues": _rows(difference.totals.queues),
        },
    }
    return json.dumps(data, indent=2) + "\n"


def _job(job: JobChange) -> JsonObject:
    return {
        **job.directory._asdict(),
        "effect": job.effect.value,
        "application": job.application,
        "source": job.source or None,
        "oldName": job.old_name or None,
        "name": job.name or None,
        "renamedFrom": "/".join(job.renamed_from[1:]) if job.renamed_from is not None else None,
        "queue": job.queue or None,
        "changes": to_builtins(job.properties),
        "cluster": [*job.cluster],
        "refused": to_builtins(job.refusals),
        "annotation": job.annotation,
        "before": _usage(job.before),
        "after": _usage(job.after),
        "replicatedJobs": to_builtins(job.replicated_jobs),
        "objects": to_builtins(job.objects),
    }


def _rows(rows: Mapping[tuple[str, ...], Total]) -> list[Json]:
    names = ("environment", "namespace", "queue")
    return [{**dict(zip(names, key, strict=False)), **_total(total)} for key, total in rows.items()]


def _total(total: Total) -> JsonObject:
    return {"before": _usage(total.before), "after": _usage(total.after)}


def _usage(usage: Usage) -> JsonObject:
    return {"jobs": usage.jobs, "pods": usage.pods, "gpus": dict(usage.gpus)}
