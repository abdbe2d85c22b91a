"""Schemas for editors: complete, in our words, valid, what docs/schemas/ has, and never stricter than trainc."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from effort import THOROUGH, share
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, paths, put
from trainc.basics.jsonvalues import Path as FieldPath
from trainc.data import load_json
from trainc.findings import has_errors
from trainc.plugins.mpi.implementations import EXTENSIONS
from trainc.schema.editors import (
    FILES,
    RUNTIMES,
    TRAINER,
    catalog,
    catalog_names,
    descriptions,
    editor_schema,
    schema_url,
)
from trainc.schema.field_help import Field, children, find, roots
from trainc.schema.kinds import resource
from trainc.schema.metadata import OBJECT_META
from trainc.schema.structural import Structural

ROOT = Path(__file__).parents[2]
OWN = ("v1alpha1.", "v1alpha2.", "v1beta1.")
SENTENCES = re.compile(r"[A-Z][^\n]*[A-Za-z0-9)\]}\"`:/]\.")
JOBS = sorted((ROOT / "jobs").rglob("*.yaml"))
RUNTIME_FILES = sorted((ROOT / "runtimes").glob("*.yaml"))


def go_fields(node: Structural, go_type: str) -> Iterator[tuple[str, str]]:
    """Yield type and name of each field of a schema, by the table of Go's types."""
    kinds = {row[0]: row[1] for row in load_json("gotypes.json").get(go_type, ())}
    for name, sub in node.properties.items():
        yield go_type, name
        inner, kind = sub, kinds.get(name, "").lstrip("*")
        while inner.items is not None:
            inner, kind = inner.items, kind.removeprefix("[]").lstrip("*")
        yield from go_fields(inner, kind)


@cache
def all_fields() -> frozenset[tuple[str, str]]:
    found = {field for kind in TRAINER for field in go_fields(resource(kind).schema, f"v1alpha1.{kind}")}
    return frozenset(found | {(OBJECT_META, row[0]) for row in load_json("gotypes.json")[OBJECT_META]})


@cache
def documents(*names: Path) -> tuple[JsonObject, ...]:
    reader = YAML(typ="safe")
    return tuple(json.loads(json.dumps(data)) for name in names for data in reader.load_all(name.read_text("utf-8")))


def refused(name: str, data: Json) -> list[str]:
    validator = jsonschema.Draft202012Validator(editor_schema(name))
    return [error.message for error in validator.iter_errors(data)]


def test_every_field_of_trainer_and_jobset_has_a_description() -> None:
    fields = {field for field in all_fields() if field[0].startswith(OWN)}
    assert len(fields) > 100
    assert {(kind, name) for kind, name in fields if name not in descriptions().get(kind, {})} == set()


def test_no_description_is_for_a_field_that_does_not_exist() -> None:
    fields = all_fields() | {("*", name) for _, name in all_fields()}
    written = [(kind, name, text) for kind, texts in descriptions().items() for name, text in texts.items() if name]
    of_fields = {(name, text) for kind, name, text in written if (kind, name) in fields}
    assert [row for row in written if row[1:] not in of_fields] == [], "a section may have several types"
    assert {kind for kind, _, _ in written} <= {kind for kind, _ in fields}


def test_pods_and_volumes_are_described() -> None:
    common = {"v1.PodSpec", "v1.Container", "v1.EnvVar", "v1.ResourceRequirements", "v1.Volume", "v1.JobSpec"}
    missing = {(kind, name) for kind, name in all_fields() if kind in common and name not in descriptions()[kind]}
    assert missing == set()


def test_every_key_of_our_files_has_a_description() -> None:
    def below(root: str, path: tuple[str, ...]) -> Iterator[str]:
        field = find(root, path)
        assert isinstance(field, Field)
        if not field.schema.get("description"):
            yield ".".join((root, *path))
        steps = ("x",) if field.type.startswith("map[") and field.fields else ()
        for name in field.fields:
            yield from below(root, (*path, *steps, name))

    assert [name for root in FILES for name in below(root, ())] == []


def test_descriptions_are_sentences() -> None:
    for go_type, texts in descriptions().items():
        for name, text in texts.items():
            assert SENTENCES.fullmatch(text), (go_type, name, text)
            assert "  " not in text, (go_type, name)
            assert len(text) < 200, (go_type, name)


def test_the_published_schemas_are_those_that_are_printed() -> None:
    folder = ROOT / "docs" / "schemas"
    published = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.json")}
    assert published == {
        name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in catalog().items()
    }, "run: trainc schema --all -o docs/schemas"


@pytest.mark.parametrize("name", catalog_names() if THOROUGH else ("TrainJob", *FILES))
def test_a_schema_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(editor_schema(name))


def test_each_schema_has_an_address() -> None:
    assert {name: schema_url(name).partition("/docs/schemas/")[2] for name in catalog_names()} == catalog_names()


def test_the_catalog_has_the_form_of_the_catalog_of_crds() -> None:
    assert [name for name in catalog() if not name.startswith("trainc.dev/")] == [
        f"trainer.kubeflow.org/{kind}_v1alpha1.json"
        for kind in ("trainjob", "trainingruntime", "clustertrainingruntime", "runtimes")
    ]


@pytest.mark.parametrize("path", [*JOBS, *RUNTIME_FILES], ids=lambda path: path.stem)
def test_the_files_of_this_repository_fit(path: Path) -> None:
    for data in documents(path):
        name = "TrainJob" if path in JOBS else RUNTIMES
        assert refused(name, data) == []
        if data["kind"] in TRAINER:
            assert refused(str(data["kind"]), data) == []


def test_the_settings_of_this_repository_fit() -> None:
    for name in ("trainc.yaml", "images.lock.yaml"):
        assert [refused(name, data) for data in documents(ROOT / name)] == [[]]


JOB: JsonObject = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "one"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}},
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("spec", "trainer", "numNode"), 3, "'numNode' was unexpected"),
        (("spec", "trainer", "numNodes"), "3", "'3' is not of type 'integer', 'null'"),
        (("spec", "trainer", "resourcesPerNode"), {"limits": {"cpu": 0.5}}, "0.5 is not of type 'integer', 'string'"),
        (("spec", "trainer", "resourcesPerNode"), {"limits": {"memory": "4 Gi"}}, "'4 Gi' does not match"),
        (("spec", "trainer", "env"), [{"name": "A", "value": 1}], "1 is not of type 'string', 'null'"),
        (("spec", "runtimeRef"), {}, "'name' is a required property"),
        (("spec", "managedBy"), "me", "'me' is not one of"),
        (("spec", "initializer"), {"dataset": {"storageUri": "data"}}, "'data' does not match"),
        (("metadata", "name"), "One", "'One' does not match"),
        (("metadata", "nam"), "one", "'nam' was unexpected"),
        (("metadata", "labels"), {"a": 1}, "1 is not of type 'string', 'null'"),
        (("kind",), "Trainjob", "'Trainjob' is not one of ['TrainJob']"),
        (("apiVersion",), "trainer.kubeflow.org/v1", "'trainer.kubeflow.org/v1' is not one of"),
    ],
)
def test_a_mistake_is_underlined_and_trainc_refuses_it(path: FieldPath, value: Json, message: str) -> None:
    assert refused("TrainJob", JOB) == []
    data = put(JOB, path, value)
    (found,) = refused("TrainJob", data)
    assert message in found
    assert has_errors(compile([Source("job.yaml", json.dumps(data))], Options()).findings)


def test_in_a_file_of_runtimes_each_kind_has_its_own_schema() -> None:
    runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "a"}}
    assert refused(RUNTIMES, {**runtime, "spce": {}}) != []
    assert refused(RUNTIMES, {**runtime, "kind": "ConfigMap", "data": {}}) == []


def test_extensions_are_allowed() -> None:
    field = find("TrainingRuntime", ("spec", "mlPolicy", "mpi", "mpiImplementation"))
    assert isinstance(field, Field)
    assert set(EXTENSIONS) < set(field.schema["enum"])  # type: ignore[arg-type]


def test_every_root_is_found() -> None:
    assert set(roots().values()) == {*TRAINER, *FILES}
    assert all(isinstance(find(root, ()), Field) for root in roots().values())


VALUES: tuple[Json, ...] = (
    None,
    "",
    "x",
    "3",
    0,
    3,
    -1,
    2.5,
    True,
    [],
    ["x"],
    [None],
    [{}],
    {},
    {"a": 1},
    {"name": "x"},
)


@cache
def clean(path: Path) -> JsonObject | None:
    """Return the only document of a file if trainc finds no error in it alone."""
    found = documents(path)
    return found[0] if len(found) == 1 and not errors(found[0]) else None


def errors(data: JsonObject) -> bool:
    return has_errors(compile([Source("a.yaml", json.dumps(data))], Options()).findings)


def mutated(data: JsonObject, path: FieldPath, value: Json, kind: str) -> JsonObject:
    if kind == "set" or not path or not isinstance(path[-1], str):
        return put(data, path, value) if path else data
    parent = get(data, *path[:-1])
    assert isinstance(parent, dict)
    rest = {key: item for key, item in parent.items() if key != path[-1]}
    new = rest if kind == "delete" else {**rest, path[-1] + "x": value}
    return put(data, path[:-1], new) if len(path) > 1 else new


@settings(max_examples=share(600), deadline=None)
@given(st.data())
def test_what_the_schema_refuses_trainc_refuses(draw: st.DataObject) -> None:
    files = [path for path in (*JOBS, *RUNTIME_FILES) if clean(path) is not None]
    assert len(files) > 15
    data = clean(draw.draw(st.sampled_from(files)))
    assert data is not None
    path = draw.draw(st.sampled_from([tuple(path) for path in paths(data)]))
    changed = mutated(
        data, path, draw.draw(st.sampled_from(VALUES)), draw.draw(st.sampled_from(("set", "delete", "rename")))
    )
    kind = str(as_object(changed).get("kind"))
    if kind in TRAINER and (found := refused(kind, changed)):
        assert errors(changed), (path, found)


def test_paths_are_completed() -> None:
    assert "trainjob.spec.trainer" in children("trainjob.spec.tr")
    assert children("trainc.yaml.lo")[:2] == ("trainc.yaml.environments", "trainc.yaml.defaults")
    assert children("bogus.x") == children("trainjob.bogus.x") == ()
