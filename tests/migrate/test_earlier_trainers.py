"""A TrainJob of an earlier release becomes the JobSet that its release creates.

``cases/trainer-v2-*.created.json`` holds what Trainer v2.0.1, v2.1.0 and v2.2.1 create for the jobs of a case, in order
(tests/oracle/operatorgoldens.py writes it). The JobSets are compared after the defaults of JobSet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainc import Options, Source, compile
from trainc.admission.jobset import admit_jobset
from trainc.basics.jsonvalues import get
from trainc.documents.load import load
from trainc.migrate import import_documents

HERE = Path(__file__).parent / "cases"
CASES = sorted(HERE.glob("trainer-v2-*.created.json"))
OMITTED = (".spec.suspend", False, None)
"""trainc leaves out the default of suspend."""


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the smallest values that differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif old != new:
        yield path, old, new


def is_explained(difference: tuple[str, Any, Any], messages: list[str]) -> bool:
    """Return whether a finding reports the difference: today, resources of the runtime are added to those of a job."""
    path, old, _ = difference
    added = ".resources." in path and old is None
    return difference == OMITTED or (added and any("v2.3.0 adds" in each for each in messages))


@pytest.mark.parametrize("golden", CASES, ids=lambda path: path.name.partition(".")[0])
def test_the_jobsets_are_equal(golden: Path) -> None:
    path = golden.with_name(golden.name.replace(".created.json", ".yaml"))
    text = path.read_text(encoding="utf-8")
    result = import_documents([Source(path.name, text)], own={path.name})
    messages = [finding.message for finding in result.findings]
    beside = path.with_suffix(".runtimes.yaml")
    runtimes = [Source("runtimes/own.yaml", beside.read_text(encoding="utf-8"))] if beside.exists() else []
    edited = result.files[0].text if result.files else text
    jobs = {job.name: job for job in compile([*runtimes, Source("edited.yaml", edited)], Options()).jobs}
    documents = [document.data for document in load(Source(path.name, text))[0]]
    names = [str(get(data, "metadata", "name")) for data in documents if data["kind"] == "TrainJob"]
    for name, answer in zip(names, json.loads(golden.read_text(encoding="utf-8")), strict=True):
        (new,) = (one.data for one in jobs[name].objects if one.kind == "JobSet")
        (old,) = (one for one in answer["objects"] if one["kind"] == "JobSet")
        admitted, faults = admit_jobset(old, {})
        assert not faults
        assert [each for each in differences(admitted, new) if not is_explained(each, messages)] == [], name
