"""docs/editors.md: its commands write what editors read, and its table has every schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from example import ROOT
from ruamel.yaml import YAML

from trainc.basics.about import SCHEMAS
from trainc.schema.editors import TRAINER, catalog_names
from transcripts import replay

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
URL = f"{SCHEMAS}/"
NOT_OURS = ("kubeconform", "mkdir")


def blocks(language: str) -> list[str]:
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```$", PAGE)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


def test_the_commands_write_settings_that_name_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line for text in blocks("sh") for line in text.splitlines() if not line.startswith(NOT_OURS)]
    assert len(commands) == 3
    for command in commands:
        words, _, target = command.partition(" > ")
        shown = replay(tmp_path, f"$ {words}\n").partition("\n")[2]
        if target:
            settings = json.loads(re.sub(r"(?m)^[+~] .*\n", "", shown))["yaml.schemas"]
            local = "schemas --vscode" in words
            assert all((tmp_path / name).is_file() if local else name.startswith(SCHEMAS) for name in settings)


def test_the_table_has_every_schema() -> None:
    rows = re.findall(r"(?m)^\| .* \| `([^`]+\.json)` \|$", PAGE)
    assert rows == list(catalog_names().values())
    assert f"`{SCHEMAS}/`" in PAGE


def test_the_modeline_names_a_schema() -> None:
    first, second = blocks("yaml")
    addresses = [re.findall(r"\$schema=(\S+)", text)[0] for text in (first, second)]
    assert addresses[0] == f"{SCHEMAS}/" + catalog_names()["TrainJob"]
    assert addresses[1].endswith(catalog_names()["TrainJob"])
    assert YAML(typ="safe").load(first)["kind"] in TRAINER
