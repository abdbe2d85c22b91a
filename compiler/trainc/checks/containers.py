"""Containers that every API accepts and that do not start, or start without what they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from trainc.diagnostics import Diagnostic, report
from trainc.diagnostics.plaintext import spilled
from trainc.kube.quantity import Quantity, QuantityError, from_json, parse
from trainc.model import Model, Object
from trainc.origins import blamed
from trainc.plugins.base import pod_containers
from trainc.regex import lazy
from trainc.source import Document, Json, JsonObject, Path, as_object, get, objects

MEMORY, COMMAND = "TC836", "TC837"
KINDS: Final = ("initContainers", "containers")
POD: Final[Path] = ("template", "spec", "template", "spec")
_BYTE: Final = parse("1")
_MEBIBYTE: Final = parse("1Mi")
_PARTS: Final = ("m", "u", "n")
"""The suffixes of thousandths and less, in which Go writes what is no whole number."""


def containers(jobset: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    """Yield the containers of a JobSet with their paths, those of init containers first."""
    for index, job in enumerate(objects(get(jobset, "spec", "replicatedJobs"))):
        for kind in KINDS:
            for number, container in enumerate(pod_containers(job, kind)):
                yield ("spec", "replicatedJobs", index, *POD, kind, number), container


def check_containers(model: Model, jobset: Object) -> Iterator[Diagnostic]:
    """Yield warnings of memory in thousandths of bytes and of command lines in one word, where they are written."""
    for path, container in containers(jobset.data):
        yield from _memory(model, jobset, path, container)
        words = container.get("command")
        first = words[0] if isinstance(words, list) and words else None
        if isinstance(first, str) and first.strip() and len(first.split()) > 1:
            document, place = blamed(model, jobset, (*path, "command", 0))
            name = first.split()[0]
            message = f"container {container.get('name')!r} looks for a program called {_short(first)!r}, not {name!r}"
            hint = "write one list item per word, or command: [sh, -c, '...'] for a shell"
            yield report(COMMAND, document, place, message, found=_short(first), hint=hint)


def _memory(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Diagnostic]:
    for kind in ("limits", "requests"):
        amount = as_object(as_object(container.get("resources")).get(kind)).get("memory")
        if amount is None or not _is_too_little(amount, limit=kind == "limits"):
            continue
        document, place = blamed(model, jobset, (*path, "resources", kind, "memory"))
        written = get(document.data, *place)
        found = str(amount if isinstance(written, dict | list) or written is None else written)
        message = f"container {container.get('name')!r} has a memory {kind[:-1]} of {found}: {_in_bytes(found)}"
        yield report(MEMORY, document, place, message, found=found, hint=_instead(found))


def _is_too_little(amount: Json, *, limit: bool) -> bool:
    """Tell whether an amount of memory is a mistake: a limit below 1 MiB, or a request in parts of bytes."""
    found = _quantity(amount)
    if found is None or found.sign() <= 0 or not found < _MEBIBYTE:
        return False
    return limit or found.canonical().endswith(_PARTS)


def _in_bytes(written: str) -> str:
    found = _quantity(written)
    if found is None:
        return "this is less than 1 MiB"
    size = "less than one byte" if found < _BYTE else f"{found.value()} bytes"
    return f"the suffix m stands for thousandths, so this is {size}" if written.endswith("m") else f"this is {size}"


def _instead(written: str) -> str:
    if written.endswith("m"):
        return f"write {written[:-1]}Mi for mebibytes"
    return "write it with a suffix, such as Mi or Gi"


def _quantity(amount: Json) -> Quantity | None:
    try:
        return from_json(amount)
    except QuantityError:
        return None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


# Secrets in plain text: what stands in git is read by everyone who reads git, for ever.


CARRIERS = ("env", "command", "args", "storageUri")
"""The fields that bring a value into a container. Elsewhere a name that looks secret is a reference."""

_NO_SECRET = lazy(
    r"\$[({].*|(?-i:\$[A-Z_][A-Z0-9_]*)|<.*>|\.{0,2}/.*|file:.*|[0-9]{1,6}|\*+|(?:[a-z]{2,3}_)?x{3,}|changeme|todo",
    re.I | re.S,
)
_TEXT_TOKEN = lazy(
    r"(?:.*_)?(?:PAD|EOS|BOS|UNK|MASK|SEP|CLS|STOP|START|END|SPECIAL|IMAGE|DEFAULT|TRIGGER)_?TOKEN", re.I
)
"""Tokens of a language model's text."""


def check_secrets(model: Model) -> Iterator[Diagnostic]:
    """Yield a finding for each value of TrainJob and runtime that looks like a secret; the value is never shown."""
    for document in (model.job, model.runtime):
        yield from spilled(document, partial(_told, document), faithful=model.options.faithful)


def _told(document: Document, path: Path, text: str) -> bool:
    return _carried(path) and not _harmless(document, path, text)


def _carried(path: Path) -> bool:
    return path[:1] == ("spec",) and any(step in CARRIERS for step in path)


def _harmless(document: Document, path: Path, text: str) -> bool:
    """Tell whether the value is a reference, a path, a small number or a placeholder, or the name means no secret."""
    name = get(document.data, *path[:-1], "name")
    return _NO_SECRET.fullmatch(text) is not None or (isinstance(name, str) and _TEXT_TOKEN.fullmatch(name) is not None)
