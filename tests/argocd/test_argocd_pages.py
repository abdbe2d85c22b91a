"""docs/argocd.md and docs/flux.md: their examples work, and their tables have every option with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainc import Source
from trainc.data import load_json
from trainc.inputs.settings import Settings, read_settings
from trainc.project.config import parse

DOCS = Path(__file__).parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def examples(name: str) -> list[str]:
    blocks = re.findall(r"^ *```yaml\n(.*?)^ *```", page(name), re.M | re.S)
    return [block for block in blocks if "environments:" in block]


@pytest.mark.parametrize("name", ["argocd", "flux"])
def test_examples(name: str) -> None:
    assert examples(name)
    for block in examples(name):
        config, findings = parse(Source("trainc.yaml", block))
        assert findings == ()
        assert read_settings(config.data, "prod") != Settings()


@pytest.mark.parametrize("name", ["argocd", "flux"])
def test_every_option_has_a_row(name: str) -> None:
    options = load_json("config.schema.json")["$defs"][{"argocd": "ArgoCD", "flux": "Flux"}[name]]["properties"]
    rows = dict(re.findall(r"^\| `([A-Za-z]+)` \| ([^|]*) \|", page(name), re.M))
    assert set(options) - set(rows) == set()
    own = getattr(Settings(), name)
    for key in options:
        default = getattr(own, re.sub("[A-Z]+", lambda match: "_" + match[0].lower(), key))
        if isinstance(default, bool):
            assert rows[key] == f"`{str(default).lower()}`", key
        elif default:
            assert rows[key] == f"`{default}`", key


def test_what_the_page_says_of_settings_is_what_is_printed() -> None:
    golden = (Path(__file__).parent / "golden" / "plain.yaml").read_text(encoding="utf-8")
    section = page("argocd").partition("## Settings of the Applications")[2].partition("\n## ")[0]
    said = re.findall(r"^\| `([^`]+)` \|", section, re.M)
    assert len(said) == 8
    for text in said:
        assert all(word in golden for word in re.findall(r"[A-Za-z-]+: true|[A-Za-z-]+|[0-9]+", text)), text
