"""What `trainc explain` prints about a field of a document, from the JSON schemas for editors."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object
from trainc.schema.editors import FILES, TRAINER, editor_schema
from trainc.schema.kinds import resource
from trainc.upstream import TRAINER_API

_WIDTH: Final = 80
_INDENT: Final = "    "
_BRACKETS: Final = re.compile(r"\[[^][]*\]|\{\}")
_TITLES: Final = {
    "default": "DEFAULT",
    "enum": "ALLOWED",
    "minimum": "MINIMUM",
    "maximum": "MAXIMUM",
    "pattern": "PATTERN",
}

Fields = Mapping[str, JsonObject]


class Miss(NamedTuple):
    """A field that does not exist: the step, the path before it, and the fields that exist there."""

    step: str
    at: str
    known: tuple[str, ...]


class Field(NamedTuple):
    """A field of a document.

    ``root`` is a kind or file, ``schema`` has no reference. ``fields`` are those below it: of each item of a list, or
    of each value of a map.
    """

    root: str
    path: tuple[str, ...]
    type: str
    schema: JsonObject
    fields: Fields
    required: tuple[str, ...]
    is_required: bool


class _Schemas:
    """The schema of a kind or file, whose references are followed."""

    def __init__(self, root: str) -> None:
        self.whole = editor_schema(root)
        self.defs = as_object(self.whole.get("$defs"))

    def resolve(self, schema: JsonObject) -> JsonObject:
        """Return a schema without references and alternatives; what stands beside them takes precedence."""
        rest = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
        if "$ref" in schema:
            return {**self.resolve(as_object(self.defs[_definition(schema)])), **rest}
        options = [self.resolve(as_object(option)) for option in as_list(schema.get("anyOf"))]
        with_fields = [option for option in options if isinstance(option.get("properties"), dict)]
        return {**(with_fields or options)[0], **rest} if options else schema

    def inside(self, schema: JsonObject) -> JsonObject:
        """Return the schema that has the fields: that of the items for a list."""
        found = self.resolve(schema)
        while isinstance(found.get("items"), dict):
            found = self.resolve(as_object(found["items"]))
        return found

    def fields(self, schema: JsonObject) -> tuple[Fields, tuple[str, ...]]:
        """Return the fields of a value, or of the values of a map, and the names of the required ones."""
        found = self.inside(schema)
        if "properties" not in found and isinstance(values := found.get("additionalProperties"), dict):
            found = self.inside(values)
        required = tuple(map(str, as_list(found.get("required"))))
        return {name: as_object(sub) for name, sub in as_object(found.get("properties")).items()}, required

    def type(self, schema: JsonObject) -> str:
        """Return a type as `kubectl explain` writes it: integer, []string, map[string]string, EnvVar."""
        if "$ref" in schema:
            return _definition(schema).rpartition(".")[2].partition("-")[0]
        if options := as_list(schema.get("anyOf")):
            return " or ".join(dict.fromkeys(filter(None, (self.type(as_object(option)) for option in options))))
        if isinstance(items := schema.get("items"), dict):
            return f"[]{self.type(items)}"
        if isinstance(values := schema.get("additionalProperties"), dict) and "properties" not in schema:
            return f"map[string]{self.type(values)}"
        found = schema.get("type", "string" if "enum" in schema else "any")
        return " or ".join(str(name) for name in (found if isinstance(found, list) else [found]) if name != "null")


def roots() -> dict[str, str]:
    """Return the kinds and files that have fields, by the names that a path can begin with, in lower case."""
    kinds = {name.lower(): kind for kind in TRAINER for name in (kind, resource(kind).plural)}
    return {**kinds, **{name: name for name in FILES}}


def split(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Split a path such as trainjob.spec.trainer into the kind or file and the steps; None without a kind or file.

    Brackets and what they hold are ignored: a list has the fields of its items.
    """
    names = roots()
    plain = _BRACKETS.sub("", text).rstrip(".")
    for name in sorted(names, key=len, reverse=True):
        if plain.lower() == name or plain.lower().startswith(f"{name}."):
            return names[name], tuple(filter(None, plain[len(name) :].split(".")))
    return None


def find(root: str, path: tuple[str, ...]) -> Field | Miss:
    """Return the field at a path from a kind or file."""
    schemas = _Schemas(root)
    schema, is_required = schemas.whole, False
    for index, step in enumerate(path):
        inner = schemas.inside(schema)
        fields = as_object(inner.get("properties"))
        is_required = step in as_list(inner.get("required"))
        if isinstance(found := fields.get(step, inner.get("additionalProperties")), dict):
            schema = found
        else:
            return Miss(step, ".".join((root, *path[:index])), tuple(fields))
    return Field(root, path, schemas.type(schema), schemas.resolve(schema), *schemas.fields(schema), is_required)


def children(text: str) -> tuple[str, ...]:
    """Return the paths of the fields that complete the last step of a path."""
    parent = text.rpartition(".")[0]
    found = split(parent)
    field = find(*found) if found is not None else None
    return tuple(f"{parent}.{name}" for name in field.fields) if isinstance(field, Field) else ()


def as_text(field: Field, *, recursive: bool) -> str:
    """Return the page of a field; with ``recursive``, all fields below it by name and type."""
    schemas = _Schemas(field.root)
    is_kind = field.root in TRAINER
    lines = [f"KIND:     {field.root}", f"VERSION:  {TRAINER_API}"] if is_kind else [f"FILE:  {field.root}"]
    if field.path:
        lines += ["", f"FIELD: {'.'.join(field.path)} <{field.type}>{' -required-' if field.is_required else ''}"]
    facts = [f"{_TITLES[key]}: {', '.join(map(_plain, as_list(value) or [value]))}" for key, value in _facts(field)]
    lines += ["", *facts] if facts else []
    lines += ["", "DESCRIPTION:", *_filled(field.schema.get("description"))]
    if field.fields:
        lines += ["", "FIELDS OF EACH VALUE:" if field.type.startswith("map[") else "FIELDS:"]
        for name, schema in field.fields.items():
            lines.append(f"  {_head(schemas, name, schema, field.required)}")
            if recursive:
                lines += _tree(schemas, schema, _INDENT)
            else:
                lines += [*_filled(schemas.resolve(schema).get("description")), ""]
    return "\n".join(lines).rstrip() + "\n"


def as_data(field: Field) -> JsonObject:
    """Return what the page of a field says, as JSON."""
    schemas = _Schemas(field.root)
    return {
        "root": field.root,
        "path": ".".join(field.path),
        "type": field.type,
        "required": field.is_required,
        **dict(_facts(field)),
        "description": field.schema.get("description"),
        "fields": {name: schemas.type(schema) for name, schema in field.fields.items()},
    }


def _facts(field: Field) -> Iterator[tuple[str, Json]]:
    """Yield the keywords of a schema that a page shows, with their values."""
    for key in _TITLES:
        value = field.schema.get(key)
        if isinstance(value, list):
            value = [item for item in value if item not in (None, "")]
        if key == "pattern" and isinstance(value, str):
            value = value.removesuffix(r"(?!\n)")  # the reason is Python's $
        if value not in (None, "", [], {}):
            yield key, value


def _tree(schemas: _Schemas, schema: JsonObject, indent: str) -> Iterator[str]:
    fields, required = schemas.fields(schema)
    for name, sub in fields.items():
        yield indent + _head(schemas, name, sub, required)
        yield from _tree(schemas, sub, indent + "  ")


def _head(schemas: _Schemas, name: str, schema: JsonObject, required: tuple[str, ...]) -> str:
    return f"{name} <{schemas.type(schema)}>{' -required-' if name in required else ''}"


def _definition(schema: JsonObject) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _plain(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(text: Json) -> list[str]:
    words = str(text or "No description.")
    return textwrap.wrap(words, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
