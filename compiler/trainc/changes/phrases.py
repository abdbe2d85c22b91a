"""Texts that the text and Markdown formats share: effects, properties, counts, changed fields, groups of jobs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import accumulate
from json import dumps
from typing import Final, NamedTuple

from msgspec.structs import replace

from trainc.basics.differences import common_start, same
from trainc.basics.jsonvalues import Json
from trainc.changes.model import (
    Difference,
    Directory,
    Effect,
    FieldChange,
    JobChange,
    ObjectChange,
    PropertyChange,
    Refusal,
    Totals,
    Usage,
)
from trainc.changes.safeguards import RESTARTING
from trainc.changes.usage import COUNTS, PROCESSES, SOURCE_FIELDS
from trainc.documents.emit import emit
from trainc.findings import Severity
from trainc.findings.display import ELLIPSIS, counted, escaped, listed, one_line
from trainc.findings.redaction import MASK
from trainc.gitops.runtime_resources import FOLDER

EFFECTS: Final = {
    Effect.CREATED: ("+", "created"),
    Effect.UPDATED: ("~", "updated in place"),
    Effect.RERUN: (">", "runs again"),
    Effect.RENAMED: (">", "renamed, runs again"),
    Effect.REFUSED: ("!", "refused as immutable"),
    Effect.HELD: ("!", "held back"),
    Effect.DELETED: ("-", "deleted"),
    Effect.KEPT: ("=", "kept in the cluster"),
    Effect.COMMENTS: ("=", "only comments"),
    Effect.UNREADABLE: ("?", "cannot be compared"),
}
"""The sign and the text of each effect."""

_DIGEST: Final = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")
_SHORT: Final = ("runtime", "queue", "priority", "suspended", "nodes", "image", "processes per node")
"""The properties shown of a removed job."""

_OF_NEW: Final = (*_SHORT, "command", "args", "service account", "priority class", "privileges")
"""The properties shown of a new job."""

FIELDS: Final = 60
"""The most fields shown of an object."""

LINES: Final = 30
"""The most lines shown of a field."""

REFUSED: Final = 5
"""The most refused fields shown with one message."""

WIDTH: Final = 200
"""The most characters shown of a line."""

_PIECE: Final = WIDTH - 2
"""The most characters of a line after its sign."""

_AROUND: Final = 40
"""The characters shown before and after the part of a long line that differs."""


def effect_of(job: JobChange) -> str:
    """Return the effect on a job, with its names if it gets another one."""
    text = EFFECTS[job.effect][1]
    if job.effect is Effect.RERUN:
        return f"{text}: {job.old_name} -> {job.name}"
    if job.effect is Effect.RENAMED:
        return f"{text}: was {job.renamed_from}"
    return text


def property_text(change: PropertyChange, *, alone: bool = False) -> str:
    """Return a changed property on one line: ``image (node): a:1 -> a:2``; ``alone``: the job has only one side."""
    where = f" ({', '.join(change.where)})" if change.where else ""
    if alone:
        text = change.new if change.new is not None else change.old
    elif change.old is None or change.new is None:
        text = f"added: {change.new}" if change.old is None else f"removed: {change.old}"
    elif change.old == change.new:
        text = f"changed (hidden: {change.new})" if MASK in change.new else f"changed: {change.new}"
    else:
        text = f"{change.old} -> {change.new}"
    return one_line(_DIGEST.sub(r"\1...", f"{change.what}{where}: {text}"), WIDTH)


def images(difference: Difference) -> list[str]:
    """Return a line for each image and runtime that changes in the same way in several jobs, with their number."""
    counts = Counter(
        property_text(change)
        for job in difference.jobs
        for change in {replace(change, where=()) for change in job.properties}
        if change.what in ("image", "runtime") and change.old is not None and change.new is not None
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{text} in {count:,} jobs" for text, count in ordered if count > 1]


def properties_of(job: JobChange) -> list[str]:
    """Return the changed properties of a job, one per line; the most important ones of a new or removed job."""
    alone = bool(job.old_name) != bool(job.name)
    shown = _OF_NEW if job.name else _SHORT
    found = [property_text(each, alone=alone) for each in job.properties if not alone or each.what in shown]
    if job.before != job.after or (alone and job.directory.job != FOLDER):
        after = "nothing" if job.old_name and not job.name else amounts(job.after)
        found.append(f"needs: {amounts(job.before)} -> {after}" if job.old_name else f"needs: {after}")
    return found


_IN_JOB: Final = re.compile(r"spec\.replicatedJobs\[([^\[\]]*)\]\.(.*)", re.DOTALL)
_POD: Final = r"template\.spec\.template\.spec\."
_CONTAINER: Final = rf"{_POD}(?:c|initC)ontainers\[[^\[\]]*\]"
_SOURCE: Final = rf"(?:From(?:\.\w+(?:\.(?:{'|'.join(SOURCE_FIELDS)}))?)?)?"
_DESCRIBED: Final = tuple(
    (re.compile(pattern, re.DOTALL), properties)
    for pattern, *properties in (
        (r"metadata\.labels\[\"kueue\.x-k8s\.io/queue-name\"\]", "queue"),
        (r"metadata\.labels\[\"kueue\.x-k8s\.io/priority-class\"\]", "priority"),
        (r"spec\.suspend", "suspended"),
        (r"spec\.failurePolicy\.maxRestarts", "restarts at most"),
        (r"replicas|template\.spec\.(?:parallelism|completions)", "nodes"),
        (rf"{_POD}nodeSelector", "node selector"),
        (rf"{_POD}serviceAccount(?:Name)?", "service account"),
        (rf"{_POD}priorityClassName", "priority class"),
        (_CONTAINER, "image"),
        (rf"{_POD}volumes\[[^\[\]]*\]\.image\.reference", "image"),
        (rf"{_CONTAINER}\.(command|args|image)(?:\[\d+\])?", r"\1"),
        (rf"{_CONTAINER}\.env\[([^\[\]]*)\](?:\.value{_SOURCE})?", r"env \1"),
        (rf"{_CONTAINER}\.env\[(?:{'|'.join(COUNTS)})\]\.value", "nodes"),
        (rf"{_CONTAINER}\.env\[(?:{'|'.join(PROCESSES)})\]\.value", "processes per node"),
        (rf"{_CONTAINER}\.resources\.requests(?:\.(.*)|\[\"(.*)\"\])?", r"\1\2", "cpu", "memory", "GPUs per node"),
        (rf"{_CONTAINER}\.resources\.limits\[\"(?=[^\"]*gpu)[^\"]*\"\]", "GPUs per node"),
    )
)
"""Paths of fields, below their replicated job, and the properties that show a change of them."""

_OTHERS: Final = 4
"""The most objects, or fields of an object, that are named beside the properties."""


def other_changes(job: JobChange) -> list[str]:
    """Return a line for each object with changes that are no properties and no names: its effect, or the fields."""
    found = []
    properties = {(each.what, where.partition("/")[0]) for each in job.properties for where in each.where or ("",)}
    for change in job.objects:
        is_jobset = change.kind == "JobSet"
        fields = [
            _short_field(each)
            for each in change.fields
            if not (is_jobset and _is_described(each.path, properties))
            and not (
                job.old_name
                and isinstance(each.old, str)
                and each.old != each.new  # as hidden values are
                and each.old.replace(job.old_name, job.name) == each.new
            )
        ]
        if fields and (is_jobset or change.effect in (Effect.UPDATED, Effect.REFUSED)):
            text = f"{change.kind} {change.name}: {listed([*dict.fromkeys(fields)], _OTHERS)}"
            found.append(one_line(text, WIDTH))
        elif not is_jobset and job.directory.job == FOLDER:
            found.append(f"{change.kind} {change.name or change.old_name}: {EFFECTS[change.effect][1]}")
    return [*found[:_OTHERS], *([f"{len(found) - _OTHERS:,} more objects"] if len(found) > _OTHERS else [])]


def _is_described(path: str, properties: Collection[tuple[str, str]]) -> bool:
    """Return whether one of the changed properties, each with its replicated job, shows the change of a field."""
    in_job = _IN_JOB.fullmatch(path)
    job, inside = in_job.groups() if in_job is not None else ("", path)
    described = ((pattern.fullmatch(inside), names) for pattern, names in _DESCRIBED)
    return any((match.expand(name), job) in properties for match, names in described if match for name in names)


def amounts(usage: Usage) -> str:
    """Return pods and GPUs: ``4 pods, 32 GPUs``."""
    return f"{counted(usage.pods, 'pod')}, {counted(usage.gpu_count, 'GPU')}"


def summary(difference: Difference) -> str:
    """Return the line that counts: ``2 of 19 directories change: 1 created, 1 refused as immutable``."""
    changed = len(difference.jobs) + sum(job.renamed_from is not None for job in difference.jobs)
    count = changed + difference.unchanged
    every = f"{count:,} director{'y' if count == 1 else 'ies'}"
    if not changed:
        return f"nothing changes in {every}"
    counts = Counter(job.effect for job in difference.jobs)
    parts = ", ".join(f"{counts[effect]:,} {text}" for effect, (_, text) in EFFECTS.items() if counts[effect])
    return f"{changed:,} of {every} change{'s' * (changed == 1)}: {parts}"


def total_rows(totals: Totals) -> Iterator[tuple[str, ...]]:
    """Yield name, jobs, pods and GPUs of the changed totals: namespaces, queues, and everything."""
    rows = [("/".join(key), total) for key, total in totals.namespaces.items()]
    rows += [(f"{key[0]}/{key[1]} queue {key[2]}", total) for key, total in totals.queues.items()]
    for name, (old, new) in [row for row in rows if row[1].before != row[1].after] + [("all", totals.all)]:
        counts = ((old.jobs, new.jobs), (old.pods, new.pods), (old.gpu_count, new.gpu_count))
        yield one_line(name, WIDTH), *(f"{a:,}" if a == b else f"{a:,} -> {b:,}" for a, b in counts)


def change_lines(job: JobChange) -> Iterator[str]:
    """Yield the changed fields of a job's objects, as a diff, and what is refused."""
    for change in job.objects:
        names = " -> ".join(dict.fromkeys(filter(None, (change.old_name, change.name))))
        effect = "replaced" if change.effect is Effect.RERUN else EFFECTS[change.effect][1]
        yield one_line(f"@@ {change.file} @@ {change.kind} {names}: {effect}", 2 * WIDTH)
        for field in change.fields[:FIELDS]:
            yield f"  {one_line(field.path, WIDTH)}"
            yield from _field_lines(field)
        if (rest := len(change.fields) - FIELDS) > 0:
            yield f"  {counted(rest, 'more field')}"
    yield from _refusal_lines(job.refusals)


def _field_lines(field: FieldChange) -> Iterator[str]:
    """Yield the lines of both values, signed; of longer ones only where they differ."""
    if same(field.old, field.new):
        yield f"! hidden: {MASK}"
        return
    old, new = _lines(field.old), _lines(field.new)
    if old == new:  # except for a newline at the end
        old, new = ([dumps(value, ensure_ascii=False)] for value in (field.old, field.new))
    found = list(_hunks(old, new)) if min(len(old), len(new)) > 1 else list(_signed(old, new))
    shown = _halved(found)[:LINES]
    yield from (one_line(line, WIDTH) for line in shown)
    if rest := len(found) - len(shown):
        yield f"  {counted(rest, 'more line')}"
    if old != new and min(len(old), len(new)) > 1 and (change := _last_newline(field)):
        yield f"! newline at the end {change}"


def _last_newline(field: FieldChange) -> str:
    """Return whether a text gets or loses the newline at its end, which its lines do not show."""
    if not (isinstance(field.old, str) and isinstance(field.new, str)):
        return ""
    before, after = field.old.endswith("\n"), field.new.endswith("\n")
    return "" if before == after else "added" if after else "removed"


def _halved(lines: list[str]) -> list[str]:
    """Return lines without removed ones that would leave too little room for the others."""
    others = sum(not line.startswith("-") for line in lines)
    room = LINES - min(others, LINES // 2)
    seen = accumulate(line.startswith("-") for line in lines)
    return [line for line, count in zip(lines, seen, strict=True) if not line.startswith("-") or count <= room]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines that differ with one line around them, and dots between hunks."""
    removed: list[str] = []
    added: list[str] = []
    for number, line in enumerate([*_unified(old, new), ""]):
        if line.startswith("-"):
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])
        else:
            yield from _signed(removed, added)
            removed, added = [], []
            if line.startswith("@") and number:
                yield "  ..."
            elif line.startswith(" "):
                yield f"  {line[1:]}".rstrip()


_MOST_WORK: Final = 2_000
"""The most pairs of equal lines that are looked at for each line of two texts."""

_MOST_STEPS: Final = 16_000_000
"""The most lines that are looked at in all, which takes about two seconds."""


def _is_much(old: list[str], new: list[str]) -> bool:
    """Return whether difflib may have much work: for each line that is equal, it looks at all pairs of equal lines.

    It leaves out lines that are frequent in a long text.
    """
    counts = Counter(new)
    most = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    pairs = sum(counts[line] for line in old if counts[line] <= most)
    steps = max(pairs, len(old)) * min(pairs, len(old), len(new))
    return steps > min(_MOST_WORK * (len(old) + len(new)), _MOST_STEPS)


def _unified(old: list[str], new: list[str]) -> list[str]:
    """Return two texts as a unified diff without its head; of long ones all from the first to the last difference."""
    if _is_much(old, new):
        start = max(common_start(old, new) - 1, 0)
        end = max(common_start(old[start:][::-1], new[start:][::-1]) - 1, 0)
        old, new = (text[start : len(text) - end] for text in (old, new))
    if _is_much(old, new):
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    return list(unified_diff(old, new, lineterm="", n=1))[2:]


def _signed(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """Yield removed and added lines with their signs; a long line in several, from where it differs from its pair."""
    removed, added = _distinguishable(removed, added)
    if len(removed) == len(added):
        pairs = [_differing(old, new) for old, new in zip(removed, added, strict=True)]
        removed, added = [old for old, _ in pairs], [new for _, new in pairs]
    for sign, lines in (("-", removed), ("+", added)):
        for line in lines:
            text = escaped(line)
            for start in range(0, max(len(text), 1), _PIECE):
                yield f"{sign} {text[start : start + _PIECE]}".rstrip()  # of an empty line


_BLANK: Final = re.compile(r"[^\S ]")


def _with_blanks(line: str) -> str:
    """Return a line with escapes for spaces at its end, and for all other blanks."""
    found = _BLANK.sub(lambda match: match[0].encode("unicode_escape").decode(), line)
    text = found.rstrip(" ")
    return text + (len(found) - len(text)) * r"\x20"


def _distinguishable(removed: Sequence[str], added: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return lines with visible blanks, and with two backslashes where one looks like an escape in another line."""
    lines = [*removed, *added]
    looks = [escaped(_with_blanks(line)) for line in lines]
    alike: dict[str, set[str]] = {}
    for line, look in zip(lines, looks, strict=True):
        alike.setdefault(look, set()).add(line)
    pairs = zip(lines, looks, strict=True)
    spelt = [_with_blanks(line.replace("\\", r"\\") if len(alike[look]) > 1 else line) for line, look in pairs]
    return spelt[: len(removed)], spelt[len(removed) :]


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return two lines: if one is long without what both begin and end with."""
    if max(len(old), len(new)) <= _PIECE:
        return old, new
    start = max(common_start(old, new) - _AROUND, 0)
    end = max(common_start(old[:start:-1], new[:start:-1]) - _AROUND, 0)
    before, after = ELLIPSIS * (start > 0), ELLIPSIS * (end > 0)
    return f"{before}{old[start : len(old) - end]}{after}", f"{before}{new[start : len(new) - end]}{after}"


def _lines(value: Json) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) and "\n" in value:
        return value.removesuffix("\n").split("\n")
    if not isinstance(value, dict | list) or not value:
        return [dumps(value, ensure_ascii=False)]
    try:
        text = emit(value) if isinstance(value, dict) else emit({"items": value}).partition("\n")[2]
    except ValueError:  # such as a null, which trainc never writes
        text = dumps(value, ensure_ascii=False, indent=2)
    return text.rstrip("\n").split("\n")


def _refusal_lines(refusals: Iterable[Refusal]) -> Iterator[str]:
    """Yield the refused changes: object and message, then a few of the fields."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in refusals:
        groups.setdefault((each.kind, each.name, each.message), []).append(each.field)
    for (kind, name, message), fields in groups.items():
        yield one_line(f"! {kind} {name}: {message}:", WIDTH)
        yield from (one_line(f"!   {field}", WIDTH) for field in fields[:REFUSED])
        if (rest := len(fields) - REFUSED) > 0:
            yield f"!   {counted(rest, 'more field')}"


_NAMED: Final = 10
"""The most files or jobs named in a warning."""


def weakened_title(difference: Difference) -> str:
    """Return the heading of the less strict checks, and of settings that restart jobs (TC616)."""
    restarts = any(finding.code == RESTARTING for finding in difference.weakened)
    return f"{counted(len(difference.weakened), 'change')} that may weaken checks{' or restart jobs' * restarts}"


def weakened_lines(difference: Difference) -> Iterator[tuple[str, str]]:
    """Yield the position and the text of each less strict check, new comments last."""
    for finding in sorted(difference.weakened, key=lambda finding: finding.severity is Severity.NOTE):
        hint = f" ({finding.hint})" if finding.hint is not None else ""
        yield f"{finding.file}:{finding.line}", f"{finding.message}{hint}"


def advice(difference: Difference) -> str:
    """Return what to do about changes without a changed source; empty without any."""
    if not difference.unexplained:
        return ""
    return (
        f"No source of {listed([*map(str, difference.unexplained)], _NAMED)} has changed. If out/ was edited by hand,"
        " change the sources instead and run 'trainc render'."
    )


def warnings(difference: Difference) -> Iterator[str]:
    """Yield a sentence for each problem with out/, the worst first."""
    if names := [one_line(name, 120) for name in difference.foreign]:
        what, them = ("file or folder below out/ was", "it")
        if len(names) > 1:
            what, them = ("files or folders below out/ were", "them")
        yield f"{len(names)} {what} not written by trainc, and Argo CD or Flux reads {them}: {listed(names, _NAMED)}"
    if difference.stale is None and difference.broken:
        yield "out/ may be stale: there are errors, which trainc render --check lists"
    elif difference.stale:
        names = [one_line(str(directory), 120) for directory in difference.stale]
        jobs = counted(len(names), "job")
        yield f"out/ is stale for {jobs}: {listed(names, _NAMED)}. Run trainc render, then compare again"


JOB: Final = "<job>"
_ANY: Final = Directory("<environment>", "<namespace>", JOB)
_COMPARABLE: Final = (Effect.UPDATED, Effect.REFUSED, Effect.HELD, Effect.RERUN, Effect.COMMENTS)
_SHORTEST: Final = 3
"""The fewest characters of a name to replace: a shorter one may be part of any text."""

_TITLE: Final = 80
"""The most characters of a property in a title."""

_MEMBERS: Final = 5
"""The most jobs of a group that are named."""


class Group(NamedTuple):
    """Jobs with the same change: ``common``, with JOB in place of their names unless it is one job.

    ``runtime`` is the file of the runtime that all of them use. It is empty where something else explains the change
    better: a built-in runtime changes only with trainc, and one TrainJob in several environments has the same changes.
    """

    common: JobChange
    members: tuple[JobChange, ...]
    runtime: str = ""

    @property
    def single(self) -> bool:
        """Whether it is one job."""
        return len(self.members) == 1

    @property
    def title(self) -> str:
        """The directory of one job; of several the runtime, the change if there is only one, and their number."""
        if self.single:
            return str(self.common.directory)
        start = f"{self.runtime}: " if self.runtime else ""
        change = _only_change(self.common)
        return f"{start}{f'{change}, ' if change else ''}{counted(len(self.members), 'job')}"

    @property
    def names(self) -> str:
        """The jobs, a few of them by name, and of more than these the first of each environment."""
        names = [job.directory for job in self.members]
        if len(names) > _MEMBERS:
            seen: Counter[str] = Counter()
            ranks = {}
            for name in names:
                seen[name.environment] += 1
                ranks[name] = seen[name.environment]
            names.sort(key=ranks.__getitem__)
        return listed([*map(str, names)], _MEMBERS)


def grouped(jobs: Iterable[JobChange]) -> tuple[Group, ...]:
    """Return jobs in groups with the same change, each group at the position of its first job."""
    found: dict[str, tuple[JobChange, list[JobChange]]] = {}
    for number, job in enumerate(jobs):
        common = _without_names(job)
        key = str(number) if common is None else repr(common)
        found.setdefault(key, (common or job, []))[1].append(job)
    return tuple(
        Group(common if len(members) > 1 else members[0], tuple(members), _shared_runtime(members))
        for common, members in found.values()
    )


def _shared_runtime(members: Sequence[JobChange]) -> str:
    runtimes = {job.runtime for job in members}
    train_jobs = {(job.source, job.directory.job) for job in members}  # a file may have several
    shared = runtimes.pop() if len(runtimes) == 1 and len(train_jobs) > 1 else ""
    return "" if shared.startswith("built-in ") else shared


def _without_names(job: JobChange) -> JobChange | None:
    """Return the change that other jobs may have in common with a job; None if it cannot be in a group."""
    if job.effect not in _COMPARABLE or job.directory.job == FOLDER or len(job.directory.job) < _SHORTEST:
        return None
    if JOB in repr(job):  # a reader would take it for the name
        return None
    name = re.escape(job.directory.job)  # also behind a pod in its host name: first-node-0-0.first
    pattern = re.compile(rf"(?:(?<![\w.-])|(?<=-[0-9]\.)){name}(?![a-z0-9])|{re.escape(job.application)}")
    is_shared = job.application == ".".join(job.directory[:2])  # by all jobs of the namespace
    application = ".".join(_ANY[:2] if is_shared else _ANY)

    def text(value: str) -> str:
        return pattern.sub(lambda match: application if match[0] == job.application else JOB, value)

    named = re.compile(rf"((?:\b[A-Z]\w*|\.|\band) |[:,] [\w.-]+-){name}(?![a-z0-9])")
    cluster = (named.sub(rf"\g<1>{JOB}", each.replace(job.application, application)) for each in job.cluster)
    same = job.before == job.after
    return JobChange(
        _ANY,
        job.effect,
        "",
        name=text(job.name),
        old_name=text(job.old_name),
        properties=tuple(replace(p, old=p.old and text(p.old), new=p.new and text(p.new)) for p in job.properties),
        objects=tuple(_object_without_names(each, text) for each in job.objects),
        refusals=tuple(replace(each, name=text(each.name), message=text(each.message)) for each in job.refusals),
        cluster=tuple(cluster),
        annotation=job.annotation,
        before=Usage() if same else job.before,
        after=Usage() if same else job.after,
    )


def _object_without_names(change: ObjectChange, text: Callable[[str], str]) -> ObjectChange:
    def value(data: Json) -> Json:
        if isinstance(data, dict):
            return {text(key): value(child) for key, child in data.items()}
        if isinstance(data, list):
            return [value(item) for item in data]
        return text(data) if isinstance(data, str) else data

    kind, dash, rest = change.file.rpartition("/")[2].partition("-")
    return replace(
        change,
        file=f"out/{_ANY}/{kind}{dash}{text(rest)}",
        name=change.name and text(change.name),
        old_name=change.old_name and text(change.old_name),
        fields=tuple(FieldChange(each.path, value(each.old), value(each.new)) for each in change.fields),
    )


def _only_change(job: JobChange) -> str:
    """Return the change if it is one property, or one field of the objects; else nothing."""
    if len(job.properties) == 1:
        text = property_text(job.properties[0])
        return text if len(text) <= _TITLE else ""  # it follows below the title
    fields = {_short_field(field) for change in job.objects for field in change.fields}
    return fields.pop() if len(fields) == 1 and not job.properties else ""


_STEP: Final = re.compile(r'\["(?P<key>.*?)"\]|\[(?P<item>[^\[\]]*)\]|\.?(?P<name>[^.\[\]]+)', re.DOTALL)


def _short_field(field: FieldChange) -> str:
    """Return a field by the last list item of its path and its name: ``shm sizeLimit 16Gi to 32Gi``."""
    name, item, is_item = "", "", False
    for step in _STEP.finditer(field.path):
        is_item = step["item"] is not None
        if not is_item:
            name = step["key"] or step["name"]
        else:  # a number means something only together with the list
            item = f"{name}[{step['item']}]" if step["item"].isdigit() else step["item"]
    start = f"{item} {name}" if item else name
    if is_item:
        start = item if item.startswith(f"{name}[") else f"{name} {item}"
    if any(isinstance(value, dict | list) or "\n" in str(value) for value in (field.old, field.new)):
        return start
    if same(field.old, field.new):
        return f"{start} changed (hidden: {MASK})"
    if field.old is None or field.new is None:
        return f"{start} {f'added: {field.new}' if field.old is None else f'removed: {field.old}'}"
    return f"{start} {field.old} to {field.new}"
