"""Files of texts and what is read in each: under every text, a Python literal, lines that `--update` writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from trainc.basics.jsonvalues import dotted
from trainc.findings import Finding
from trainc.inputs.source import Source

TEXT = re.compile(r"^b?['\"].*$", re.M)


def described(findings: Iterable[Finding]) -> list[str]:
    """Return lines with all that findings say."""
    lines = []
    for each in findings:
        lines.append(f"  {each.code} {each.severity} {each.line}:{each.column} {dotted(each.path)}: {each.message}")
        more = {"hint": each.hint, "stage": each.stage, "upstream": each.upstream}
        lines += [f"    {name}: {text}" for name, text in more.items() if text]
    return lines


def check_texts(file: Path, name: str, read: Callable[[Source], list[str]], update: bool) -> None:
    """Compare a file with what ``read`` returns for its texts, or write it. ``name`` is that of the sources."""

    def result(match: re.Match[str]) -> str:
        lines = read(Source(name, ast.literal_eval(match[0]))) or ["  nothing"]
        return "\n".join([match[0], *(line if line.isprintable() else ascii(line)[1:-1] for line in lines)])

    expected = file.read_text(encoding="utf-8")
    texts = re.sub(r"(?m)^  .*\n", "", expected)
    found = TEXT.sub(result, texts)
    if update:
        file.write_text(found, encoding="utf-8")
        expected = found
    assert found == expected
