"""What `trainc new` writes compiles for every runtime: as it is, and with every optional field turned on."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import builders
from folders import put as put_file
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, as_object, get, put
from trainc.cli.root import trainc
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.findings import Severity
from trainc.pipeline.runtimes import admit_builtin, builtin_names
from trainc.project.catalog import Runtime, read_catalog
from trainc.project.config import Config
from trainc.project.scaffold import POLICIES, Setup, init_files, job_text, runtime_text
from trainc.upstream import VALIDATION_LABEL

ROOT = Path(__file__).resolve().parents[2]
STARTER_NAMES = [f"policies/{name}.yaml" for name in POLICIES]
CATALOG = {one.name: one for one in read_catalog(ROOT, Config()).runtimes}
BUILT_IN = {one.name: one for one in read_catalog(ROOT / "docs", Config()).runtimes}

STARTERS = [Source(f.name, f.text) for f in init_files(Setup("1", policies=True)) if f.name in STARTER_NAMES]
OF_THE_RUNTIME = {"TC017", "TC408", "TC458", "TC604", "TC607", "TC820"}
"""Findings that a job cannot prevent: on companions, keys of Flux, host keys, an initializer without an address."""


def compiled(text: str, runtime: Runtime, *others: Source) -> tuple[set[str], list[str]]:
    """Return the codes of all findings, and the messages of errors."""
    sources = [Source(f"jobs/{runtime.key[1] or 'a'}/x.yaml", text), runtime.document.source, *others]
    build = compile(sources, Options(fixes=("recommended",)))
    assert len(build.jobs) == 1
    errors = [f"{finding.code} {finding.message}" for finding in build.findings if finding.severity is Severity.ERROR]
    return {finding.code for finding in build.findings}, errors


def uncommented(text: str) -> str:
    """Return a job with all optional fields: # and no space, or the further lines of such a field."""
    return re.sub(r"(?m)^( *)#(?=\S|  )", r"\1", text)


@pytest.mark.parametrize("name", CATALOG)
def test_a_new_job_is_valid(name: str) -> None:
    codes, errors = compiled(job_text(CATALOG[name], CATALOG[name].key[1] or "a", "x"), CATALOG[name], *STARTERS)
    assert not errors
    assert codes <= OF_THE_RUNTIME, codes


@pytest.mark.parametrize("limits", ["{}", "{cpu: 1}", "{memory: 2Gi}", "{cpu: 1, memory: 2Gi}"])
@pytest.mark.parametrize("requests", ["", ", requests: {memory: 1Gi}", ", requests: {cpu: 500m}"])
def test_a_new_job_fits_the_resources_of_its_runtime(limits: str, requests: str) -> None:
    role = builders.role(trainer=True, container=f", resources: {{limits: {limits}{requests}}}")
    (document,), _ = load(Source("runtimes/r.yaml", builders.runtime(role, name="r", policy="{torch: {}}")))
    _, errors = compiled(job_text(Runtime(document), "a", "x"), Runtime(document))
    assert not errors


def test_a_new_job_has_the_texts_of_its_runtime() -> None:
    uri = "hf://a\nsuspend: true\n#"
    original = emit(BUILT_IN["torchtune-llama3.2-1b"].data)
    text = re.sub(r"(STORAGE_URI\n +value:) .*", lambda found: f"{found[1]} {json.dumps(uri)}", original)
    job = new_job(text)
    assert get(job, "spec", "initializer", "model", "storageUri") == uri
    assert "suspend" not in as_object(job["spec"])


def test_a_new_job_has_the_resources_of_its_runtime() -> None:
    amounts: JsonObject = {"on": 1, "example.com/a\nspec: 1": 2, "cpu": "1", "memory": "1Gi"}
    role = builders.role(trainer=True, container=f", resources: {{requests: {json.dumps(amounts)}}}")
    job = new_job(builders.runtime(role, name="r", policy="{torch: {}}"))
    assert get(job, "spec", "trainer", "resourcesPerNode", "requests") == amounts


def new_job(runtime: str) -> JsonObject:
    """Return a new job for the runtime in a text."""
    (document,), _ = load(Source("runtimes/r.yaml", runtime))
    (job,), findings = load(Source("jobs/a/x.yaml", job_text(Runtime(document), "a", "x")))
    assert not findings
    return job.data


@pytest.mark.parametrize("name", CATALOG)
def test_every_optional_field_is_valid(name: str) -> None:
    text = job_text(CATALOG[name], CATALOG[name].key[1] or "a", "x")
    every = uncommented(text)
    assert all(re.match(r" *#( \S|$)", line) for line in every.splitlines() if line.lstrip().startswith("#")), every
    _, errors = compiled(every, CATALOG[name])
    assert not errors, every


@pytest.mark.parametrize("name", builtin_names())
def test_what_is_printed_is_what_findings_point_to(name: str) -> None:
    admitted = admit_builtin(name)
    assert admitted is not None
    assert admitted.document.source.text == emit(BUILT_IN[name].data)


@pytest.mark.parametrize("name", CATALOG)
def test_a_copy_of_a_runtime_differs_in_its_name_only(name: str) -> None:
    original = CATALOG[name]
    (copy,), findings = load(Source("runtimes/copy.yaml", runtime_text(original, "copy")))
    assert not findings
    labels = {k: v for k, v in as_object(get(original.data, "metadata", "labels")).items() if k != VALIDATION_LABEL}
    assert copy.data == put(put(original.data, ("metadata", "name"), "copy"), ("metadata", "labels"), labels)
    assert Runtime(copy).description == original.description


@pytest.mark.parametrize("value", [">-\n      a \n  # note", "|2-\n      \ta\n        b", ">-\n      a\n  # note"])
def test_a_copy_of_a_runtime_has_its_texts(value: str) -> None:
    metadata = f"metadata:\n  name: r\n  annotations:\n    example.com/a: {value}\nspec"
    source = Source("runtimes/r.yaml", builders.runtime(name="r").replace("metadata: {name: r}\nspec", metadata, 1))
    (original,), _ = load(source)
    text = runtime_text(Runtime(original), "r")
    (copy,), findings = load(Source("runtimes/r.yaml", text))
    assert not findings
    assert copy.data == original.data
    assert ("# note" in text) == ("# note" in value)
    assert "# A copy of r." in text


def test_the_description_above_a_runtime_that_begins_with_a_byte_order_mark() -> None:
    text = emit(CATALOG["torch-distributed"].data)
    (document,), _ = load(Source("runtimes/a.yaml", f"\ufeff# Our torch. It is new.\n{text}"))
    assert Runtime(document).description == "Our torch"


def test_a_copy_of_a_runtime_may_use_an_anchor_again() -> None:
    labels = 'metadata: {name: r, labels: {a: &a "1", b: &a "2", c: *a}}'
    source = Source("runtimes/r.yaml", builders.runtime(name="r").replace("metadata: {name: r}", labels, 1))
    (original,), _ = load(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (copy,), _ = load(Source("runtimes/r.yaml", runtime_text(Runtime(original), "r")))
    assert copy.data == original.data


@pytest.mark.parametrize("value", ["# note\n      |\n      a\n\n", "2001-02-30", '"\\a"'])
def test_a_copy_of_a_runtime_that_is_unusual_in_form(value: str) -> None:
    metadata = f"metadata:\n  name: r\n  annotations:\n    trainc.dev/description: {value}\n    b: b\nspec"
    source = Source("runtimes/r.yaml", builders.runtime(name="r").replace("metadata: {name: r}\nspec", metadata, 1))
    (original,), _ = load(source)
    (copy,), findings = load(Source("runtimes/r.yaml", runtime_text(Runtime(original), "r")))
    assert not findings
    assert copy.data == original.data


@pytest.mark.parametrize("name", ["no", "y", "null", "1e3", "0b1", "1.10", "2020-01-01", "my-torch"])
def test_a_copy_of_a_runtime_has_the_name_as_text(name: str) -> None:
    text = runtime_text(BUILT_IN["torch-distributed"], name)
    (copy,), findings = load(Source("runtimes/copy.yaml", text))
    assert not findings
    assert get(copy.data, "metadata", "name") == name
    assert (f"name: {name}\n" in text) == (name == "my-torch")


@pytest.mark.parametrize("place", ["    # {}\n", "    metadata: {{annotations: {{a: {}}}}}\n"])
def test_a_private_key_is_not_copied(place: str, tmp_path: Path) -> None:
    key = place.format(f"MC4CAQAwBQYDK2VwBCIEI{'a1' * 20}")
    text = builders.runtime(name="r").replace("  template:\n", f"  template:\n{key}", 1)
    put_file(tmp_path, "runtimes/r.yaml", text)
    put_file(tmp_path, "trainc.yaml", "environments: {prod: {}}\n")
    result = CliRunner().invoke(trainc, ["new", "runtime", "--from", "r", "mine", "--root", str(tmp_path)])
    assert result.exit_code == 2
    assert "private key" in result.output
    assert not (tmp_path / "runtimes/mine.yaml").exists()
