"""What is read of trainc.yaml: `pytest tests/config/test_config_texts.py --update` writes texts.txt."""

from __future__ import annotations

import json
from pathlib import Path

from texts import check_texts, described
from trainc.inputs.source import Source
from trainc.project.config import parse


def read(source: Source) -> list[str]:
    config, findings = parse(source)
    return [f"  {' '.join(config.environments)}: {json.dumps(config.data)}", *described(findings)]


def test_texts(update: bool) -> None:
    check_texts(Path(__file__).with_name("texts.txt"), "trainc.yaml", read, update)
