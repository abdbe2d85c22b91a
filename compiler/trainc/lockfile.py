"""images.lock.yaml: its text to a Lock, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.config import read_document
from trainc.configschema import schema_of
from trainc.diagnostics import Diagnostic, has_errors, report, sort_key, suggest
from trainc.imagelock import FILE, IMAGES, NAME, Lock, key_of
from trainc.schema import check
from trainc.source import Document, Json, JsonObject, Source, as_object

CODE = "TC701"
SCHEMA = "images.lock.schema.json"

HEADER = (
    "# Written by 'trainc image lock': the digest that each image's name stands for.\n"
    "# One image a line, sorted. Digests come behind the names in out/.\n"
)


def parse_lock(source: Source | None) -> tuple[Lock, tuple[Diagnostic, ...]]:
    """Return the lock, and what is wrong with its text (TC701, and findings of any YAML text); empty if it is wrong."""
    if source is None:
        return Lock(), ()
    data, document, findings = read_document(source)
    if not has_errors(findings):
        findings = (*findings, *sorted(_faults(data, document), key=sort_key))
    if has_errors(findings):
        return Lock(), findings
    digests = {key: str(value) for key, value in as_object(as_object(data).get(IMAGES)).items()}
    return Lock(digests, document), findings


def _faults(data: Json, document: Document) -> Iterator[Diagnostic]:
    if data is None:
        return
    if not isinstance(data, dict):
        yield report(CODE, document, (), "wrong type", expected="a mapping")
        return
    _, unknown, misfits = check(schema_of(SCHEMA), data)
    for path in unknown:
        hint = suggest(str(path[-1]), (IMAGES,))
        yield report(CODE, document, path, f"unknown key {path[-1]!r}", expected=IMAGES, hint=hint)
    for found in misfits:
        yield report(CODE, document, found.path, found.message, found=found.found, expected=found.expected)
    yield from _names(as_object(data.get(IMAGES)), document)


def _names(images: JsonObject, document: Document) -> Iterator[Diagnostic]:
    for name in images:
        if NAME.fullmatch(name) is None or key_of(name) != name:
            spelt = key_of(name) if "@" not in name else None
            expected = spelt or "registry, path and tag, such as docker.io/library/python:3.12"
            message = "the name of an image is not spelt out" if spelt else "not the name of an image"
            yield report(CODE, document, (IMAGES, name), message, found=name, expected=expected)


def lock_text(digests: Mapping[str, str]) -> str:
    """Return the file of a lock: the same digests, the same bytes."""
    lines = "".join(f"  {name}: {digest}\n" for name, digest in sorted(digests.items()))
    return f"{HEADER}{IMAGES}:\n{lines}" if lines else f"{HEADER}{IMAGES}: {{}}\n"


__all__ = ["FILE", "lock_text", "parse_lock"]
