"""What `load` makes of texts: `pytest tests/load/test_texts.py --update` writes texts.txt; read the difference."""

from __future__ import annotations

import json
from pathlib import Path

from texts import check_texts, described
from trainc.documents.load import load
from trainc.inputs.source import Source


def read(source: Source) -> list[str]:
    documents, findings = load(source)
    return [*(f"  {document.index} {json.dumps(document.data)}" for document in documents), *described(findings)]


def test_texts(update: bool) -> None:
    check_texts(Path(__file__).with_name("texts.txt"), "a.yaml", read, update)
