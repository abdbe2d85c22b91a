"""images.lock.yaml: its text to a Lock, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.basics.jsonvalues import as_object
from trainc.findings import Finding, has_errors, report, sort_key
from trainc.inputs.imagelock import FILE, IMAGES, NAME, Lock, LockFile, key_of
from trainc.inputs.source import Document, Source
from trainc.project.typedfiles import convert, read_document

CODE = "TC701"

HEADER = (
    "# Written by 'trainc image lock': the digest that each image's name stands for.\n"
    "# One image a line, sorted. Digests come behind the names in out/.\n"
)


def parse_lock(source: Source | None) -> tuple[Lock, tuple[Finding, ...]]:
    """Return the lock, and what is wrong with its text (TC701, and findings of any YAML text); empty if it is wrong."""
    if source is None:
        return Lock(), ()
    value, document, findings = read_document(source)
    if has_errors(findings):
        return Lock(), findings
    file, found = convert({} if value is None else value, document, LockFile, CODE)
    findings = (*findings, *sorted((*found, *_names(document)), key=sort_key))
    return (Lock() if file is None or has_errors(findings) else Lock(file.images, document)), findings


def _names(document: Document) -> Iterator[Finding]:
    for name in as_object(document.data.get(IMAGES)):
        if NAME.fullmatch(name) is None or key_of(name) != name:
            full = key_of(name) if "@" not in name else None
            expected = full or "registry, path and tag, such as docker.io/library/python:3.12"
            message = "not the full name of an image" if full else "not the name of an image"
            yield report(CODE, document, (IMAGES, name), message, found=name, expected=expected)


def lock_text(digests: Mapping[str, str]) -> str:
    """Return the file of a lock: the same digests, the same bytes."""
    lines = "".join(f"  {name}: {digest}\n" for name, digest in sorted(digests.items()))
    return f"{HEADER}{IMAGES}:\n{lines}" if lines else f"{HEADER}{IMAGES}: {{}}\n"


__all__ = ["FILE", "lock_text", "parse_lock"]
