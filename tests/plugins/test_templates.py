"""What is filled without jinja2 is what jinja2 makes of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, StrictUndefined, TemplateError, UndefinedError, nodes

from trainc.data import ROOT, load_text
from trainc.plugins.templates import fill, filled

ENVIRONMENT = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
TEMPLATES = sorted(path.name for path in (ROOT / "templates").iterdir())
COMPILER = ROOT.parents[1]

NAMES = ("name", "hosts", "true", "self", "range", "loop", "none", "not")
WITH_MORE = "{{ name|upper }} {{- name }} {{ 'x' }} {{ name {# a #} {% raw %} {% endraw %} {% if name %} {% endif %}"
pieces = (
    st.sampled_from(NAMES).map(lambda name: f"{{{{ {name} }}}}")
    | st.sampled_from(("{{name}}", "{{  hosts }}", "}}", "{", "#", "%", "$", "\n", "\r\n", " ", "é"))
    | st.sampled_from(re.findall(r"\{. ?.*?[}e](?= ?\{|$)", WITH_MORE))
)
values = st.dictionaries(st.sampled_from(NAMES), st.text("a{}%#\n<&é", max_size=4), min_size=4)


def by_jinja(text: str, given: dict[str, str]) -> str | type[Exception]:
    try:
        return ENVIRONMENT.from_string(text).render(given)
    except TemplateError as error:
        return type(error)


@given(st.lists(pieces, max_size=8).map("".join), values)
def test_texts_are_those_of_jinja2(text: str, given: dict[str, str]) -> None:
    try:
        found: str | type[Exception] = fill(text, given)
    except TemplateError as error:
        found = type(error)
    assert found == by_jinja(text, given)


@given(st.sampled_from(TEMPLATES), st.text(max_size=8))
def test_templates_of_the_package(name: str, value: str) -> None:
    text = load_text(f"templates/{name}")
    names = ENVIRONMENT.parse(text).find_all(nodes.Name)
    given = {found.name: f"{found.name}{value}" for found in names}
    assert given
    assert filled(name, **given) == by_jinja(text, given)


@pytest.mark.parametrize(
    "text", ["{{{ name }}", "{{ name }}}", "{{ name }}{", "{ {{ name }} }", "{{ name }}\r\n", "#{{ name }}"]
)
def test_braces_beside_a_name(text: str) -> None:
    given = {"name": "x"}
    try:
        assert fill(text, given) == by_jinja(text, given)
    except TemplateError as error:
        assert type(error) is by_jinja(text, given)


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'config' is undefined"):
        filled("flux-broker.toml.j2", device="eth0")


def test_the_package_s_templates_do_without_jinja2(tmp_path: Path) -> None:
    code = (
        "import sys, json\n"
        "from trainc.plugins.flux.scripts import host_list, init_script, entrypoint_script\n"
        "from trainc.plugins.templates import _parts, filled\n"
        "from trainc.data import load_text\n"
        f"for name in {TEMPLATES!r}:\n"
        "    filled(name, **dict.fromkeys(_parts(load_text('templates/' + name))[1::2], 'x'))\n"
        "json.dump(sorted(sys.modules), sys.stdout)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=tmp_path, env={"PYTHONPATH": str(COMPILER)}
    )
    loaded = json.loads(done.stdout)
    assert "trainc.plugins.templates" in loaded
    assert "jinja2" not in loaded
