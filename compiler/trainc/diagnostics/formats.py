"""The table of formats for findings: a name for ``--format`` and the function that writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from trainc.diagnostics import github, json, junit, sarif, text
from trainc.diagnostics.diagnostic import Diagnostic

Renderer: TypeAlias = Callable[[Iterable[Diagnostic], bool], str]
"""Takes the findings and whether to use colour; returns text that ends with a line break, or is empty."""

FORMATS: Mapping[str, Renderer] = {
    "text": text.render,
    "json": json.render,
    "sarif": sarif.render,
    "github": github.render,
    "junit": junit.render,
}
