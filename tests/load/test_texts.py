"""Texts and what `load` makes of them, in texts.txt: under each text, as a Python literal, its documents and findings.

`pytest tests/load/test_texts.py --update` writes what is below the texts; read the difference.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from trainc.basics.jsonvalues import dotted
from trainc.documents.load import load
from trainc.findings import Finding
from trainc.inputs.source import Source

FILE = Path(__file__).with_name("texts.txt")
TEXT = re.compile(r"^b?['\"].*$", re.M)


def described(finding: Finding) -> str:
    place = f"{finding.line}:{finding.column} {dotted(finding.path)}"
    lines = [f"  {finding.code} {finding.severity} {place}: {finding.message}"]
    more = {"hint": finding.hint, "stage": finding.stage, "upstream": finding.upstream}
    lines += [f"    {name}: {text}" for name, text in more.items() if text]
    return "".join(f"{ascii(line)[1:-1]}\n" for line in lines)


def loaded(text: str) -> str:
    documents, findings = load(Source("a.yaml", ast.literal_eval(text)))
    shown = [f"  {document.index} {json.dumps(document.data)}\n" for document in documents]
    return "".join([*shown, *map(described, findings)]) or "  nothing\n"


def cases() -> dict[str, list[str]]:
    """Return the texts under each title."""
    titles = re.split(r"^# (.*)\n", FILE.read_text(encoding="utf-8"), flags=re.M)[1:]
    return {title: TEXT.findall(body) for title, body in zip(titles[::2], titles[1::2], strict=True)}


def test_texts(update: bool) -> None:
    found = "\n".join(
        f"# {title}\n" + "".join(f"{text}\n{loaded(text)}" for text in texts) for title, texts in cases().items()
    )
    if update:
        FILE.write_text(found, encoding="utf-8")
    assert found == FILE.read_text(encoding="utf-8")
