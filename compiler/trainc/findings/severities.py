"""Severities by code from ``severities`` in trainc.yaml, and the errors that no setting can lower."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, Path, as_object, get
from trainc.findings.codes import CODES
from trainc.findings.finding import Finding, Severity
from trainc.findings.reporting import report, suggest
from trainc.inputs.source import Document

KEY = "severities"
"""The key of trainc.yaml."""

IGNORE = "ignore"
LEVELS = (*(severity.value for severity in Severity), IGNORE)
"""The severities of trainc.yaml, worst first."""

REFUSED = frozenset(
    (
        *("TC102", "TC103", "TC104", "TC105", "TC106", "TC107", "TC108", "TC109"),
        *("TC301", "TC302", "TC304", "TC305", "TC306", "TC307", "TC308", "TC310"),
        *("TC401", "TC402", "TC403", "TC404", "TC405", "TC406", "TC407"),
        *("TC501", "TC511", "TC512"),
        *("TC801", "TC802"),
    )
)
"""The codes whose errors always mean that a cluster refuses. Other codes may, if the finding has a stage."""

OF_OTHER_FILES = frozenset(("TC602", "TC608", "TC612"))
"""The codes of errors that are about another file, too: a comment in one file must not decide about the other."""

_REFUSAL = "the cluster refuses it, too"

LEVEL, LOCKED = "level", "locked"
"""The keys of a severity in the form of a mapping."""

Severities = Mapping[str, Severity | None]
"""By code; None ignores it."""


def immovable(code: str) -> str | None:
    """Return why the errors of a code can be neither lowered nor suppressed, or None if they can."""
    if code in REFUSED:
        return _REFUSAL
    if code == "TC414":
        return "everyone who can read the repository has the key"
    if CODES[code].severity is Severity.ERROR and code.startswith("TC0"):
        return "trainc cannot compile such input"
    if CODES[code].severity is Severity.ERROR and code.startswith("TC9"):
        return "trainc cannot continue after it"
    return None


def is_fixed(finding: Finding) -> bool:
    """Return whether no setting can lower a finding: an error of input or of trainc, or one that a cluster refuses."""
    return finding.severity is Severity.ERROR and (finding.stage is not None or immovable(finding.code) is not None)


def check(document: Document) -> Iterator[Finding]:
    """Yield findings on unknown codes and lowered refusals; the types of trainc.yaml check the rest."""
    for code, entry in as_object(document.data.get(KEY)).items():
        path: Path = (KEY, code)
        level, level_path = (entry.get(LEVEL), (*path, LEVEL)) if isinstance(entry, dict) else (entry, path)
        if code not in CODES:
            yield report("TC013", document, path, f"unknown code {code!r}", hint=suggest(code.replace("O", "0"), CODES))
        elif entry == {}:
            yield report(
                "TC013", document, path, f"no severity for {code}", expected=f"{{{LEVEL}: error, {LOCKED}: true}}"
            )
        elif level in LEVELS and level != Severity.ERROR and (reason := immovable(code)) is not None:
            message = f"{code} cannot be lowered: {reason}"
            yield report("TC013", document, level_path, message, found=str(level), expected=Severity.ERROR.value)


def read(value: Json) -> Severities:
    """Return severities by code, without those that ``check`` reports."""
    levels = ((c, entry.get(LEVEL) if isinstance(entry, dict) else entry) for c, entry in as_object(value).items())
    return {
        code: None if level == IGNORE else Severity(level)
        for code, level in levels
        if code in CODES and isinstance(level, str) and level in LEVELS
    }


def locked(value: Json) -> frozenset[str]:
    """Return the codes of ``severities`` that no comment can suppress."""
    return frozenset(code for code, entry in as_object(value).items() if get(entry, LOCKED) is True)


def rank(severity: Severity | None) -> int:
    """Return a number that is lower for worse severities."""
    return LEVELS.index(IGNORE if severity is None else severity.value)


def apply(finding: Finding, severities: Severities, floor: Severities | None = None) -> Finding | None:
    """Return the finding with the severity of its code, or None if that is ignored.

    The hint of an error that cannot be lowered explains that. With ``floor``, the severities of another revision, the
    worse of the two applies.
    """
    if floor is not None:
        both = apply(finding, severities), apply(finding, floor)
        return min(both, key=lambda found: rank(found.severity if found is not None else None))
    if finding.code not in severities:
        return finding
    severity = severities[finding.code]
    if is_fixed(finding) and severity is not Severity.ERROR:
        note = f"severities in trainc.yaml cannot lower it: {immovable(finding.code) or _REFUSAL}"
        return replace(finding, hint=f"{finding.hint}; {note}" if finding.hint is not None else note)
    return None if severity is None else replace(finding, severity=severity)
