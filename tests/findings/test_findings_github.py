from __future__ import annotations

import re

import pytest
from findings_samples import document, findings
from hypothesis import given

from trainc.findings import CODES, Finding, Severity, report
from trainc.findings.display import is_in_file, one_line
from trainc.findings.formats import as_github as render

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^,:\r\n]*,?)+)::([^\r\n]*)")


def unescape(text: str) -> str:
    return re.sub("%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), text)


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Read a command as the runner does: up to the second ::, properties at commas, escapes last."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    properties = dict(part.split("=", 1) for part in found[2].split(","))
    return found[1], {name: unescape(value) for name, value in properties.items()}, unescape(found[3])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a,b:c.yaml", "a%2Cb%3Ac.yaml"),
        ("100%.yaml", "100%25.yaml"),
        ("%0A.yaml", "%250A.yaml"),
        ("a\r\nb.yaml", "a%0D%0Ab.yaml"),
        ("ü d.yaml", "ü d.yaml"),
    ],
)
def test_properties_are_escaped(name: str, shown: str) -> None:
    assert f" file={shown},line=" in render([report("TC102", document(name=name), (), "m")])


def test_a_message_cannot_begin_a_command() -> None:
    text = render([report("TC102", document(), (), "50%: a,b\n::error::x\x1b[31m", hint="%0A")])
    assert text.count("\n") == 1
    assert text.endswith("::50%25: a,b\\n::error::x\\x1b[31m%0Ahint: %250A\n")


@given(findings)
def test_any_finding_is_one_command_that_says_it(found: list[Finding]) -> None:
    # Split at line feeds alone, as the runner does: names may hold other separators.
    lines = render(found).split("\n")
    assert lines.pop() == ""
    expected = []
    for finding in found:
        kind = "notice" if finding.severity is Severity.NOTE else finding.severity.value
        title = f"{finding.code} {CODES[finding.code].title}"
        message = one_line(finding.message)
        if is_in_file(finding.document.source):
            place = {"file": finding.file, "line": str(finding.line), "col": str(finding.column), "title": title}
        else:
            place, message = {"title": title}, f"{one_line(finding.file)}: {message}"
        expected.append((kind, place, message))
    shown = [(kind, place, message.split("\n")[0]) for kind, place, message in map(read, lines)]
    assert sorted(shown, key=repr) == sorted(expected, key=repr)
