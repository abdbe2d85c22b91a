"""What the jobs of a fleet have in common is worked out once, and comes out as if each job had been alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import fleet
import pytest
import yaml

from trainc import Options, Source
from trainc.basics import memo
from trainc.basics.memo import LASTING
from trainc.findings.formats import as_json
from trainc.inputs.source import Document
from trainc.pipeline.compile import load_all, run
from trainc.pipeline.context import Keep, Prepared

SIZE = 40


def written(files: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Return the files that a repository becomes, and what is found in it."""
    build = run(loaded(files), options(files), Keep.FILES)
    return dict(build.files), as_json(build.findings)


def loaded(files: Mapping[str, str]) -> Any:
    return load_all(Source(name, text) for name, text in files.items() if name.endswith(".yaml") and "/" in name)


def options(files: Mapping[str, str]) -> Options:
    return Options(environment="prod", config=yaml.safe_load(files["trainc.yaml"]))


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_a_job_in_a_fleet_is_what_it_is_alone(flavour: str) -> None:
    files = dict(fleet.repository(SIZE, flavour))
    others = {name: text for name, text in files.items() if not name.startswith("jobs/")}
    together, _ = written(files)
    alone: dict[str, Any] = {}
    for name in files.keys() - others.keys():
        LASTING.clear()
        alone |= written({**others, name: files[name]})[0]
    assert together == alone
    assert len(together) > SIZE


@pytest.mark.parametrize("most", [0, 3, 50])
@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_what_is_forgotten_is_worked_out_again(monkeypatch: pytest.MonkeyPatch, flavour: str, most: int) -> None:
    files = dict(fleet.repository(SIZE, flavour))
    remembered = written(files)
    monkeypatch.setattr(memo, "_MOST", most)
    LASTING.clear()
    assert written(files) == remembered
    assert len(LASTING) <= max(most, 1)


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_nothing_that_jobs_have_in_common_is_changed(flavour: str) -> None:
    LASTING.clear()
    seen: dict[int, tuple[Any, str]] = {}

    def execute(prepared: Prepared, documents: Any) -> Any:
        for document in documents:
            yield compiled(prepared, document)

    def compiled(prepared: Prepared, document: Document) -> Any:
        job = prepared.compile(document)
        for key in LASTING.keys() - seen.keys():
            value = LASTING[key][memo._ITSELF]
            seen[key] = value, json.dumps(value)
        return job

    files = dict(fleet.repository(SIZE, flavour))
    build = run(loaded(files), options(files), Keep.FILES, execute)
    assert len(build.jobs) == SIZE
    assert len(seen) > 200
    assert all(json.dumps(value) == text for value, text in seen.values())
