"""The table of formats for findings: a name for ``--format`` and the function that writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from trainc.findings import text
from trainc.findings.finding import Diagnostic, Silenced

Renderer: TypeAlias = Callable[[Iterable[Diagnostic], bool], str]
"""Takes the findings and whether to use colour; returns text that ends with a line break, or is empty."""

# The others are imported when they are used: most runs write text.


def _json(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    from trainc.findings import json

    return json.render(findings, colour)


def _sarif(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    return with_silenced(findings, ())


def with_silenced(findings: Iterable[Diagnostic], silenced: Iterable[Silenced]) -> str:
    """Return a SARIF log: the one format that lists what comments silence."""
    from trainc.findings import sarif

    return sarif.render(findings, silenced=silenced)


def _github(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    from trainc.findings import github

    return github.render(findings, colour)


def _junit(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    from trainc.findings import junit

    return junit.render(findings, colour)


FORMATS: Mapping[str, Renderer] = {
    "text": text.render,
    "json": _json,
    "sarif": _sarif,
    "github": _github,
    "junit": _junit,
}
