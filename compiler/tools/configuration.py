"""Writes docs/configuration.md: every key of trainc.yaml, from the schema that editors use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainc.basics.jsonvalues import JsonObject, as_list
from trainc.schema.field_help import Field, find

TARGET = Path(__file__).parents[2] / "docs" / "configuration.md"
FILE = "trainc.yaml"
ENVIRONMENT = ("environments", "NAME")
PAGES: Mapping[str, str] = {
    "environments.NAME": "environments.md",
    "environments.NAME.patches": "environments.md#patches",
    "environments.NAME.sshKeys": "ssh-keys.md",
    "environments.NAME.transport": "kubexec.md#enable-it",
    "environments.NAME.naming": "lifecycle.md#names-by-content",
    "environments.NAME.argocd": "argocd.md#options",
    "environments.NAME.argocd.hydrator": "argocd.md#with-argo-cds-source-hydrator",
    "environments.NAME.flux": "flux.md",
    "lock": "images.md#findings-about-images",
    "policies": "policies.md#jobs-and-pods",
    "severities.CODE": "findings.md#change-the-severity-of-a-code",
}
INTRODUCTION = """\
# Keys of trainc.yaml

This page is generated from the JSON schema that editors use ([editors.md](editors.md)). In the terminal,
`trainc explain trainc.yaml.KEY` prints the same. [environments.md](environments.md) explains what the keys are for.

An option of an environment may also be set under `defaults`, for every environment that does not set it. A type
`[]string` is a list of strings, and `map[string]string` a mapping of names to strings.
"""


def markdown() -> str:
    """Return the page."""
    return "\n".join((INTRODUCTION, *_sections(())))


def _sections(path: tuple[str, ...]) -> Iterator[str]:
    field = find(FILE, path)
    assert isinstance(field, Field)
    name = ".".join(path)
    yield f"## {name or 'The whole file'}\n"
    if path:
        page = f" See [{PAGES[name].partition('#')[0]}]({PAGES[name]})." if name in PAGES else ""
        yield f"{field.schema['description']}{page}\n"
    yield "\n".join(("| key | type | default | description |", "|---|---|---|---|", *_rows(field), ""))
    for key in field.fields:
        if path or key != "defaults":
            yield from _below((*path, key))


def _below(path: tuple[str, ...]) -> Iterator[str]:
    """Yield the sections of a key whose value, items or values have keys of their own."""
    field = find(FILE, path)
    assert isinstance(field, Field)
    if not field.fields:
        return
    names = {"environments": "NAME", "severities": "CODE"}
    yield from _sections((*path, names[path[-1]]) if path[-1] in names else path)


def _rows(field: Field) -> Iterator[str]:
    for key in field.fields:
        found = find(FILE, (*field.path, key))
        assert isinstance(found, Field)
        description = re.sub(r"([*<])", r"\\\1", str(found.schema.get("description", "")))
        if form := found.schema.get("patternErrorMessage"):
            description += f" Form: {form}."
        required = " Required." if found.is_required else ""
        yield f"| `{key}` | {_type(found)} | {_default(found.schema)} | {description}{required} |"


def _type(field: Field) -> str:
    allowed = [item for item in as_list(field.schema.get("enum")) if item] if " or " not in field.type else []
    return " or ".join(f"`{item}`" for item in allowed) or field.type


def _default(schema: JsonObject) -> str:
    default = schema.get("default")
    if default in (None, [], {}, ""):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def main() -> None:
    """Write the page."""
    TARGET.write_text(markdown(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
