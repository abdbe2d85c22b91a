from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.findings import Severity
from trainc.inputs.source import Source
from trainc.project.config import Config, parse

ROOT = Path(__file__).parents[2]
DEFAULT = Config(("prod",), {"environments": {"prod": {}}})


def check(text: str | bytes) -> tuple[Config, list[tuple[str, int, int, str]]]:
    config, findings = parse(Source("trainc.yaml", text))
    return config, [(finding.code, finding.line, finding.column, finding.message) for finding in findings]


def test_without_a_file() -> None:
    assert parse(None) == (DEFAULT, ())


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "{}", "environments:\n  prod: {}\n", b'{"environments": {"prod": null}}']
)
def test_what_means_the_default(text: str | bytes) -> None:
    config, findings = check(text)
    assert findings == []
    assert config.environments == ("prod",)


def test_environments_keep_the_order_of_the_file() -> None:
    config, findings = check("environments:\n  staging: {}\n  prod:\n  a-1: {}\n")
    assert findings == []
    assert config.environments == ("staging", "prod", "a-1")
    assert config.data == {"environments": {"staging": {}, "prod": None, "a-1": {}}}


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("enviroments: {prod: {}}\n", (1, 1), "unknown key 'enviroments'"),
        ("# x\nversion: 1\nenvironments: {prod: {}}\n", (2, 1), "unknown key 'version'"),
        ("environments:\n  prod:\n    runtime: x\n", (3, 5), "unknown key 'runtime'"),
        ("[]\n", (1, 1), "the file must be a mapping"),
        ("prod\n", (1, 1), "the file must be a mapping"),
        ("environments: [prod]\n", (1, 1), "environments must be a mapping"),
        ("environments:\n", (1, 1), "environments must be a mapping"),
        ("environments: {prod: 1}\n", (1, 16), "environments.prod must be a mapping"),
        ("environments: {}\n", (1, 1), "environments must not be empty"),
        ("environments:\n  Prod: {}\n", (2, 3), "'Prod' is not a DNS label"),
        ("environments:\n  a.b: {}\n", (2, 3), "'a.b' is not a DNS label"),
        ("environments:\n  -a: {}\n", (2, 3), "'-a' is not a DNS label"),
        ("environments:\n  a-: {}\n", (2, 3), "'a-' is not a DNS label"),
        ("environments:\n  '..': {}\n", (2, 3), "'..' is not a DNS label"),
        (f"environments:\n  {'a' * 64}: {{}}\n", (2, 3), f"'{'a' * 64}' is not a DNS label"),
    ],
)
def test_what_is_wrong_is_placed(text: str, place: tuple[int, int], message: str) -> None:
    config, findings = check(text)
    assert findings == [("TC013", *place, message)]
    assert config == DEFAULT


def test_the_longest_name() -> None:
    assert check(f"environments:\n  {'a' * 63}: {{}}\n")[0].environments == ("a" * 63,)


def test_the_nearest_spelling() -> None:
    (finding,) = parse(Source("trainc.yaml", "environment: {}\n"))[1]
    assert finding.hint == "did you mean 'environments'?"
    (finding,) = parse(Source("trainc.yaml", "zzz: {}\n"))[1]
    assert finding.hint is None


def test_all_at_once() -> None:
    _, findings = check("a: 1\nenvironments:\n  B: {}\n  c: {x: 1}\nd: 1\n")
    assert [finding[1] for finding in findings] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("environments: [\n", "TC002"),
        ("environments: {prod: {}}\n---\nenvironments: {}\n", "TC002"),
        ("environments: {prod: {}, prod: {}}\n", "TC003"),
        ("environments: {prod: .nan}\n", "TC004"),
        (b"environments: {pr\xffd: {}}\n", "TC001"),
    ],
)
def test_what_no_yaml_reader_takes(text: str | bytes, code: str) -> None:
    config, findings = check(text)
    assert [finding[0] for finding in findings] == [code]
    assert config == DEFAULT


def test_an_ambiguous_name_is_a_warning() -> None:
    config, findings = parse(Source("trainc.yaml", "environments: {on: {}}\n"))
    assert [(finding.code, finding.severity) for finding in findings] == [("TC005", Severity.WARNING)]
    assert config.environments == ("true",), "read as Kubernetes reads it, and said so"


def test_no_syntax_error_speaks_of_several_documents() -> None:
    (finding,) = parse(Source("trainc.yaml", "a: 1\n---\nb: 1\n"))[1]
    assert finding.hint is None


@given(st.one_of(st.binary(max_size=80), st.text(max_size=80)))
def test_any_text_gives_findings_or_environments(text: str | bytes) -> None:
    config, findings = parse(Source("trainc.yaml", text))
    assert config.environments
    for finding in findings:
        assert finding.line >= 1
        assert finding.column >= 1


def mutations() -> list[Callable[[str], str]]:
    return [str.upper, lambda text: text.replace(":", ""), lambda text: text * 2, lambda text: text.replace(" ", "\t")]


@pytest.mark.parametrize("mutate", mutations())
def test_a_spoilt_file_is_found_out(mutate: Callable[[str], str]) -> None:
    config, findings = check(mutate("environments:\n  prod: {}\n"))
    assert config == DEFAULT
    assert findings


def test_the_file_of_this_repository() -> None:
    config, findings = check((ROOT / "trainc.yaml").read_bytes())
    assert findings == []
    assert config.environments == ("prod",)
