from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trainc.inputs.source import Source
from trainc.project.config import Config, parse

ROOT = Path(__file__).parents[2]
DEFAULT = Config(("prod",), {"environments": {"prod": {}}})


def check(text: str | bytes) -> tuple[Config, list[tuple[str, int, int, str]]]:
    config, findings = parse(Source("trainc.yaml", text))
    return config, [(finding.code, finding.line, finding.column, finding.message) for finding in findings]


def test_without_a_file() -> None:
    assert parse(None) == (DEFAULT, ())


@given(st.one_of(st.binary(max_size=80), st.text(max_size=80)))
def test_any_text_gives_findings_or_environments(text: str | bytes) -> None:
    config, findings = parse(Source("trainc.yaml", text))
    assert config.environments
    for finding in findings:
        assert finding.line >= 1
        assert finding.column >= 1


def test_the_file_of_this_repository() -> None:
    config, findings = check((ROOT / "trainc.yaml").read_bytes())
    assert findings == []
    assert config.environments == ("prod",)


def test_only_argo_cd_needs_the_url() -> None:
    url = "argocd: {repoURL: 'https://git.example.com/x.git', write: deploy/prod}"
    environments = f"environments: {{edge: {{target: flux}}, prod: {{{url}}}}}\n"
    assert check(environments + "defaults: {argocd: {write: deploy/argocd}}\n")[1] == []
