"""image.yaml: whatever it holds, findings and no traceback. What each finding says is in tests/errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imagecase import DEFINITION, EPOCH

from trainc.findings import has_errors
from trainc.images.definition import CopiedFile, Definition, User, parse_definition
from trainc.images.rootfs import MIRROR, BuildError, sources_of
from trainc.inputs.source import Source


def test_all_keys() -> None:
    definition, _, findings = parse_definition(Source("image.yaml", DEFINITION))
    assert findings == ()
    assert definition is not None
    assert (definition.image, definition.suite, definition.architecture) == (
        "ghcr.io/team/small:1.2",
        "bookworm",
        "amd64",
    )
    assert (definition.epoch, definition.user) == (EPOCH, User("user", 1000))
    assert definition.files == (
        CopiedFile("hello.py", "/opt/hello/hello.py"),
        CopiedFile("../shared.sh", "/usr/bin/shared", executable=True),
    )
    assert (definition.folders, definition.links) == (("/run/sshd",), {"/usr/bin/hi": "../../opt/hello/hello.py"})
    assert (definition.entrypoint, definition.command) == (("/usr/bin/shared",), ("hello",))
    assert (definition.packages, definition.wheels) == (("bash",), ())
    assert definition.labels == {"com.example.team": "small"}


def test_little_is_needed() -> None:
    text = "{image: 'a.io/b:1', suite: bookworm, created: '2026-01-01T00:00:00Z', packages: [bash]}"
    definition, _, findings = parse_definition(Source("image.yaml", text))
    assert definition is not None
    assert findings == ()


KEYS = sorted(Definition.__struct_encode_fields__)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(("bookworm", "/a", "../..", "a.io/b:1")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("from", "to", "name", "id")), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=6))
def test_any_values_give_findings(changed: dict[str, object]) -> None:
    whole = {"image": "a.io/b:1", "suite": "bookworm", "created": "2026-01-01T00:00:00Z", "packages": ["bash"]}
    definition, _, findings = parse_definition(Source("image.yaml", json.dumps({**whole, **changed})))
    assert (definition is None) is has_errors(findings), "an error, or a definition"
    assert {finding.code for finding in findings if not finding.code.startswith("TC00")} <= {"TC706"}


@given(st.text())
def test_any_text_gives_findings(text: str) -> None:
    definition, _, findings = parse_definition(Source("image.yaml", text))
    assert definition is None
    assert has_errors(findings)


def test_where_packages_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "URIs: https://a.example/debian\n" in sources_of("bookworm", "https://a.example/debian")
    file = tmp_path / "snapshot.sources"
    file.write_text("Types: deb\nURIs: https://b.example\nSuites: bookworm\nComponents: main\n", encoding="utf-8")
    monkeypatch.setenv(MIRROR, str(file))
    assert "URIs: https://b.example\n" in sources_of("bookworm")
    assert "https://a.example" in sources_of("bookworm", "https://a.example"), "the option counts more"
    with pytest.raises(BuildError, match="has no source of trixie, trixie-updates, trixie-security"):
        sources_of("trixie")
    monkeypatch.setenv(MIRROR, "nowhere")
    with pytest.raises(BuildError, match="neither a URI nor a file: nowhere"):
        sources_of("bookworm")
    monkeypatch.setenv(MIRROR, "http://\udcff.example")
    with pytest.raises(BuildError, match=r"--mirror \(or TRAINC_MIRROR\) is not UTF-8"):
        sources_of("bookworm")
