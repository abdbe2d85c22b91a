"""Secrets in plain text: what stands in git is read by everyone who reads git, for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from trainc.diagnostics import Diagnostic
from trainc.diagnostics.plaintext import spilled
from trainc.model import Model
from trainc.regex import lazy
from trainc.source import Document, Path, get

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
