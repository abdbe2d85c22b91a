"""JSON schemas (draft 2020-12) for editors: of Trainer's kinds, and of the files of trainc.

Those of Trainer's kinds are made from the CRDs, with the descriptions of ``data/fields.md``. They refuse nothing that
trainc accepts, so an optional field may be null: it is then as if it were absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from trainc.basics.about import SCHEMAS
from trainc.basics.jsonvalues import Json, JsonObject, as_object
from trainc.data import load_json, load_text
from trainc.kube.gotypes import fields
from trainc.schema.kinds import resource
from trainc.schema.metadata import OBJECT_META
from trainc.schema.structural import Structural
from trainc.upstream import TRAINER_API

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TRAINER: Final = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")

FILES: Final = {
    "trainc.yaml": "config.schema.json",
    "image.yaml": "image.schema.json",
    "images.lock.yaml": "images.lock.schema.json",
}
"""The files of trainc with a schema, and its name in data/."""

RUNTIMES: Final = "runtimes"
"""The schema of a file with runtimes of both kinds and any other objects."""

_DEFS: Final = "#/$defs/"
_PACKAGE: Final = "v1alpha1."
_SECTION: Final = re.compile(r"^## (?P<types>.+)\n\n(?P<text>(?:[^-#\n].*\n)*)(?P<fields>[^#]*)", re.M)
_FIELD: Final = re.compile(r"^- `(\w+)`: (.+(?:\n  .+)*)", re.M)
_COPIED: Final = (
    *("default", "enum", "format", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength"),
    *("minProperties", "minimum", "pattern", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"),
)
_SCALARS: Final = {"string": "string", "string:types.UID": "string", "Time": "string", "int64": "integer"}

RULES: Final[Mapping[tuple[str, str], JsonObject]] = {
    ("v1alpha1.TrainJobSpec", "managedBy"): {
        "enum": ["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue", None]
    },
    ("v1alpha1.DatasetInitializer", "storageUri"): {"pattern": "^$|^[A-Za-z][A-Za-z0-9+.-]*://.+$"},
    ("v1alpha1.MPIMLPolicySource", "mpiImplementation"): {"enum": ["OpenMPI", "MPICH", "Intel", "", None]},
}
"""By type and field: what the CRD demands by CEL rules that a JSON schema can say, and the extensions of trainc."""

JOB_NAME: Final[JsonObject] = {"pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
"""The rule for the names of TrainJobs, as a schema."""


@cache
def descriptions() -> Mapping[str, Mapping[str, str]]:
    """Return the descriptions of ``data/fields.md`` by Go type and field; the type's own has the key ''."""
    found: dict[str, dict[str, str]] = {}
    for section in _SECTION.finditer(load_text("fields.md")):
        texts = {name: " ".join(text.split()) for name, text in _FIELD.findall(section["fields"])}
        if section["text"].strip():
            texts[""] = " ".join(section["text"].split())
        for go_type in section["types"].split(", "):
            found.setdefault(go_type, {}).update(texts)
    return found


def describe(go_type: str, field: str) -> str:
    """Return the description of a field; that of a field without one says where Kubernetes describes it."""
    table = descriptions()
    text = table.get(go_type, {}).get(field) or table["*"].get(field)
    return text or f"See {go_type.rpartition('.')[2]}.{field} in the API reference of Kubernetes."


class _Builder:
    """Makes schemas; each distinct object becomes one of ``defs``, with the name of its Go type."""

    def __init__(self) -> None:
        self.defs: dict[str, JsonObject] = {}
        self._names: dict[tuple[str, Structural], str] = {}  # nodes are compared by identity

    def add(self, kind: str) -> str:
        """Add a kind of Trainer, and return its name."""
        found = resource(kind)
        return self._define(found.schema, f"{_PACKAGE}{kind}", kind)

    def _define(self, node: Structural, go_type: str, kind: str = "") -> str:
        key = (go_type, node)
        if key in self._names:
            return self._names[key]
        count = sum(other == go_type for other, _ in self._names)
        name = self._names[key] = f"{go_type}-{count + 1}" if count else go_type
        self.defs[name] = {}  # before those inside it
        types = {field.name: field.kind for field in fields(go_type).values()}
        properties: JsonObject = {}
        required = list(node.keywords.get("required", ()))
        for field, sub in node.properties.items():
            schema = self._metadata(kind) if kind and field == "metadata" else self._value(sub, types.get(field, ""))
            schema = {**schema, **RULES.get((go_type, field), {})}
            properties[field] = {"description": describe(go_type, field), **schema}
        if kind:
            properties["apiVersion"] = {**as_object(properties["apiVersion"]), "type": "string", "enum": [TRAINER_API]}
            properties["kind"] = {**as_object(properties["kind"]), "type": "string", "enum": [kind]}
            required = ["apiVersion", "kind", "metadata", *(name for name in required if name != "metadata")]
        text = descriptions().get(go_type, {}).get("", "")
        self.defs[name] = {
            **({"title": kind, "description": text} if kind else {}),
            "type": "object" if kind else ["object", "null"],
            **({"required": required} if required else {}),
            "properties": properties,
            "additionalProperties": node.preserves,
            **_copied(node),
        }
        return name

    def _value(self, node: Structural, go_type: str) -> JsonObject:
        """Return the schema of a value, which may be null: what requires a field or item says so itself."""
        go_type = go_type.lstrip("*")  # of pointers
        if node.properties:
            return {"$ref": _DEFS + self._define(node, go_type)}
        result = _copied(node)
        if node.types or node.int_or_string:
            result = {"type": [*(name for name in node.types if name != "null"), "null"], **result}
        if isinstance(found := result.get("enum"), list):
            result["enum"] = [*found, None]
        if node.items is not None:
            result["items"] = self._value(node.items, go_type.removeprefix("[]"))
            if node.keywords.get("x-kubernetes-list-type") == "set":
                result["uniqueItems"] = True
        if node.additional is not None:
            result["additionalProperties"] = self._value(node.additional, go_type.removeprefix("{}"))
        elif node.type == "object":
            result["additionalProperties"] = node.preserves or node.open
        return result

    def _metadata(self, kind: str) -> JsonObject:
        """Return the schema of a kind's metadata, which its CRD leaves to the API server."""
        properties: JsonObject = {}
        for field in fields(OBJECT_META).values():
            properties[field.name] = {"description": describe(OBJECT_META, field.name), **_plain(field.kind)}
        if kind == "TrainJob":
            properties["name"] = {**as_object(properties["name"]), **JOB_NAME}
        return {"type": "object", "properties": properties, "additionalProperties": False}


def _copied(node: Structural) -> JsonObject:
    return {key: node.keywords[key] for key in _COPIED if key in node.keywords}


def _plain(go_type: str) -> JsonObject:
    """Return the schema of a value of a Go type that no CRD describes."""
    if go_type == "[]string":
        return {"type": ["array", "null"], "items": {"type": ["string", "null"]}}
    if go_type == "{}string":
        return {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}}
    name = _SCALARS.get(go_type.lstrip("*"))
    return {"type": [name, "null"]} if name else {}


@cache
def editor_schema(name: str) -> JsonObject:
    """Return the schema of a kind of Trainer, of ``runtimes``, or of a file of trainc. It is shared: never change it.

    Raises KeyError for another name.
    """
    if name in FILES:
        return {**load_json(FILES[name]), "title": name}
    builder = _Builder()
    if name != RUNTIMES:
        root = builder.defs.pop(builder.add(name))
        return {"$schema": DIALECT, **root, "$defs": dict(sorted(builder.defs.items()))}
    choices: list[Json] = [
        {
            "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
            "then": {"$ref": _DEFS + builder.add(kind)},
        }
        for kind in TRAINER[1:]
    ]
    title = {"title": "Runtimes", "description": "Runtimes, and objects of any kind that they need."}
    return {"$schema": DIALECT, **title, "allOf": choices, "$defs": dict(sorted(builder.defs.items()))}


def catalog_names() -> dict[str, str]:
    """Return the paths of the schemas by name: a folder per API group, as in the catalog of CRDs."""
    group, _, version = TRAINER_API.partition("/")
    kinds = {name: f"{group}/{name.lower()}_{version}.json" for name in (*TRAINER, RUNTIMES)}
    return {**kinds, **{name: f"trainc.dev/{name}.json" for name in FILES}}


def catalog() -> dict[str, JsonObject]:
    """Return all schemas by path."""
    return {path: editor_schema(name) for name, path in catalog_names().items()}


def schema_url(name: str) -> str:
    """Return the URL of a published schema, for the modeline of a file. Raises KeyError for an unknown name."""
    return f"{SCHEMAS}/" + catalog_names()[name]
