"""Findings on secrets in plain text, private keys above all: in TrainJobs, runtimes, other objects and trainc.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trainc.findings.finding import Diagnostic, Severity
from trainc.findings.reporting import report
from trainc.findings.secrecy import Hidden, hidden
from trainc.findings.shapes import private_keys, tokens
from trainc.source import Document, Path, get

WARNING, ERROR = "TC411", "TC414"

Told = Callable[[Path, str], bool]
"""Tells whether a value that looks secret by its name is worth a finding."""


def spilled(
    document: Document, told: Told = lambda _path, _text: False, *, faithful: bool = False
) -> Iterator[Diagnostic]:
    """Yield a finding for each value of a document that holds a secret; the secret is never shown.

    Whatever holds a private key, or what has the shape of a secret, counts; what only its name makes look secret
    counts if ``told`` says so. A Secret given stands for one in the cluster.
    """
    if document.data.get("kind") == "Secret":
        return
    for path, values in _by_path(document).items():
        what, text = _what(document, path), str(get(document.data, *path))
        if next(private_keys(text), None) is not None:
            severity = Severity.WARNING if faithful else None
            yield report(ERROR, document, path, f"{what} holds a private key, in plain text", severity=severity)
        elif next(tokens(text), None) is not None or any(told(path, value.text) for value in values):
            yield report(WARNING, document, path, f"{what} holds what looks like a secret, in plain text")


def _by_path(document: Document) -> Mapping[Path, list[Hidden]]:
    found: dict[Path, list[Hidden]] = {}
    for value in hidden(document):
        found.setdefault(value.path, []).append(value)
    return found


def _what(document: Document, path: Path) -> str:
    name = get(document.data, *path[:-1], "name") if path[-1] == "value" else None
    if isinstance(name, str):
        return f"variable {name}"
    return f"{path[-1] if isinstance(path[-1], str) or len(path) == 1 else path[-2]}"
