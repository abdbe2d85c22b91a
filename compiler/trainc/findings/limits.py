"""How many findings of one code are reported per file: the first ones, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainc.findings import Diagnostic, Severity, sort_key

MOST = 64
"""The most findings of one code that are reported per file."""

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def limited(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings to report: of each code in each file the first MOST, and one that counts the others.

    Errors go before warnings and notes, then the order is that of place. The one that counts is as severe as the worst
    of those that it stands for, so a run that they fail still fails.
    """
    findings = list(findings)
    if len(findings) <= MOST:
        return findings
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault((finding.file, finding.code), []).append(finding)
    if all(len(group) <= MOST for group in groups.values()):
        return findings
    return [finding for group in groups.values() for finding in _first(group)]


def _first(group: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    if len(group) <= MOST:
        return group
    ordered = sorted(group, key=lambda finding: (_RANK[finding.severity], sort_key(finding)))
    return [*ordered[:MOST], _more(ordered[MOST], len(group) - MOST)]


def _more(first: Diagnostic, count: int) -> Diagnostic:
    """Return the finding that stands for those that are not shown; ``first`` is one of the worst of them."""
    message = f"{count} more finding{'s' * (count != 1)} of {first.code} in this file"
    hint = f"only the first {MOST} of one code per file are shown"
    return Diagnostic(first.code, first.severity, message, first.document, first.path, hint=hint)
