"""Images that no node can pull, since the kubelet cannot parse their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.checks.reference import Fault, fault_of
from trainc.diagnostics import Diagnostic, Severity, report
from trainc.gitops.pods import images
from trainc.model import Model, Object, Objects
from trainc.origins import blamed, nearest
from trainc.source import Document, Path, existing, get

CODE: Final = "TC821"


def check_pullable(model: Model, made: Objects) -> Iterator[Diagnostic]:
    """Yield a finding for each image of the objects' pods that cannot be pulled, where it is written."""
    for one in made:
        for path, image in images(one.data):
            if image != image.strip():  # TC805: the API server refuses that
                continue
            if fault := fault_of(image) or _unlikely(image):
                yield _finding(model, one, path, image, fault)


def _unlikely(image: str) -> Fault | None:
    """Return the fault of a name whose first step counts as a registry only since it is not in lower case."""
    first, slash, _ = image.partition("/")
    if not slash or first == first.lower() or "." in first or ":" in first:
        return None
    message = f"{first!r} is read as a registry, since no path has upper case"
    return Fault(message, f"write {image.replace(first, first.lower(), 1)!r}, or the registry with its domain")


def _finding(model: Model, made: Object, path: Path, image: str, fault: Fault) -> Diagnostic:
    document, place = blamed(model, made, path)
    written = get(document.data, *place)
    if isinstance(written, str) and written != image:
        if own := fault_of(written):
            image, fault = written, own
        else:  # the name as written is fine: the environment has made it what it is
            document, place = _rewritten(made, path) or (document, place)
    severity = Severity.WARNING if model.options.faithful or fault_of(image) is None else None
    message = f"image {image} cannot be pulled: {fault.message}"
    return report(CODE, document, place, message, severity=severity, found=image, hint=fault.hint)


def _rewritten(made: Object, path: Path) -> tuple[Document, Path] | None:
    """Return where the environment rewrites the name at a path."""
    origin = nearest(made.origins(), path)
    if origin is None or origin.document is None:
        return None
    return origin.document, existing(origin.document.data, origin.path)
