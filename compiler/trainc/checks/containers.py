"""Containers that every API accepts and that do not start, or start without what they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.diagnostics import Diagnostic, report
from trainc.kube.quantity import Quantity, QuantityError, from_json, parse
from trainc.model import Model, Object
from trainc.origins import blamed
from trainc.plugins.base import pod_containers
from trainc.source import Json, JsonObject, Path, as_object, get, objects

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
