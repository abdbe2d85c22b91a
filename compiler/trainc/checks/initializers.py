"""Addresses of data sets and models that the initializers of Trainer do not know.

Source: Trainer v2.3.0 pkg/initializers/dataset/__main__.py and model/__main__.py: the scheme is that of Python's
urlparse, and any other than these raises an exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.checks.ancestors import misspelt
from trainc.diagnostics import Diagnostic, Severity, report
from trainc.gitops.pods import pod_specs
from trainc.model import Model, Object
from trainc.origins import blamed
from trainc.regex import lazy
from trainc.source import JsonObject, Path, get, objects

CODE: Final = "TC820"
VARIABLE: Final = "STORAGE_URI"
KNOWN: Final = {"dataset": ("hf", "s3", "cache"), "model": ("hf", "s3")}
NEWEST: Final = (2, 3)
"""The version of the initializers that these are the schemes of; newer ones may know more."""

_IMAGE = lazy(r"(?:.*/)?kubeflow/trainer/(dataset|model)-initializer(?::v?([0-9]+)\.([0-9]+)[^@]*|:[^@]*)?(?:@.*)?")
_SCHEME = lazy(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.-]*):")


def check_initializers(model: Model, jobset: Object) -> Iterator[Diagnostic]:
    """Yield a finding for each initializer of Trainer's that fails at its address, where that is written."""
    for path, pod in pod_specs(jobset.data):
        for index, container in enumerate(objects(pod.get("containers"))):
            if get(container, "name") in ("dataset-initializer", "model-initializer"):
                yield from _container(model, jobset, (*path, "containers", index), container)


def _container(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Diagnostic]:
    if container.get("command") or container.get("args"):
        return
    variables = objects(container.get("env"))
    index = next((i for i in reversed(range(len(variables))) if variables[i].get("name") == VARIABLE), None)
    if index is None:
        kind = _kind(model, jobset, path, container)
        if kind and not container.get("envFrom") and not any(misspelt(model)):  # without its label it gets none
            yield _missing(model, jobset, path, kind)
        return
    uri = variables[index].get("value")
    if variables[index].get("valueFrom") is not None or not isinstance(uri or "", str) or "$(" in str(uri):
        return
    text = str(uri or "")
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if scheme in KNOWN["model"] or not (kind := _kind(model, jobset, path, container)) or scheme in KNOWN[kind]:
        return
    place: Path = ("spec", "initializer", str(container["name"]).partition("-")[0], "storageUri")
    document = model.job
    if get(document.data, *place) != text:
        document, place = blamed(model, jobset, (*path, "env", index, "value"))
    known = KNOWN[kind]
    what = f"does not support {scheme}://" if scheme else "needs a scheme"
    message = f"storageUri {text!r}: the {kind} initializer of Trainer v2.3.0 {what}"
    expected = f"{', '.join(f'{name}://' for name in known[:-1])} or {known[-1]}://"
    severity = Severity.WARNING if model.options.faithful else None
    yield report(CODE, document, place, message, severity=severity, found=text, expected=expected)


def _missing(model: Model, jobset: Object, path: Path, kind: str) -> Diagnostic:
    message = f"the {kind} initializer gets no {VARIABLE}, without which it fails"
    hint = f"set spec.initializer.{kind}.storageUri in the TrainJob, or {VARIABLE} in the runtime"
    document, place = blamed(model, jobset, (*path, "name"))
    return report(CODE, document, place[:-1] or place, message, severity=Severity.WARNING, hint=hint)


def _kind(model: Model, jobset: Object, path: Path, container: JsonObject) -> str | None:
    """Return whether a container runs Trainer's initializer of data sets or of models, by the image; None if neither.

    A registry of the environment may have another path, so the image as it is written counts as well.
    """
    image = str(container.get("image"))
    found = _IMAGE.fullmatch(image)
    if found is None:
        document, place = blamed(model, jobset, (*path, "image"))
        found = _IMAGE.fullmatch(str(get(document.data, *place)))
    if found is None or (found[2] and (int(found[2]), int(found[3])) > NEWEST):
        return None
    return found[1]
