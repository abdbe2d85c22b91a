"""What trainc.yaml asks for less strictly than before: severities, locks, policies on pods, locked images."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, Path, as_list, existing, get
from trainc.findings import CODES, Finding, report
from trainc.findings.severities import IGNORE, KEY, locked, rank, read
from trainc.inputs.options import Revision
from trainc.inputs.source import Document, Source
from trainc.project.foreign import KEY as UNMANAGED
from trainc.project.foreign import unmanaged

_FILE = "trainc.yaml"
_PODS: Path = ("policies", "pods")
_REQUIRED: Path = ("lock", "required")


def lowered(before: Revision, after: Revision, config: Document | None) -> Iterator[Finding]:
    """Yield a warning for each setting that is less strict than before."""
    document = config or Document(Source(_FILE, b""), {})
    for path, message in (*_severities(before.config.get(KEY), after.config.get(KEY)), *_others(before, after)):
        yield report("TC521", document, existing(document.data, path), f"{message} since {before.name}")


def _severities(before: Json, after: Json) -> Iterator[tuple[Path, str]]:
    old, new = read(before), read(after)
    for code in sorted({*old, *new}):
        was, now = (levels.get(code, CODES[code].severity) for levels in (old, new))
        if rank(now) > rank(was):
            yield (KEY, code), f"severity of {code} lowered from {was or IGNORE} to {now or IGNORE}"
    for code in sorted(locked(before) - locked(after)):
        yield (KEY, code), f"{code} no longer locked"


def _others(before: Revision, after: Revision) -> Iterator[tuple[Path, str]]:
    if get(before.config, *_PODS) is True and get(after.config, *_PODS) is not True:
        yield _PODS, "policies no longer judge pods"
    required = as_list(get(after.config, *_REQUIRED))
    for place in as_list(get(before.config, *_REQUIRED)):
        if place not in required:
            yield _REQUIRED, f"images of {place} no longer have to be locked"
    known = {*unmanaged(before.config)}
    for path in unmanaged(after.config):
        if path not in known:
            yield (UNMANAGED,), f"what others put at {path} is no longer an error"
