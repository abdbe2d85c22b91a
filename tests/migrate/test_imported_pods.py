"""The pods of an imported job are those of its operator, but for the differences of one list.

``cases/<case>.created.json`` holds what the real operators create (tests/oracle/operatorgoldens.py writes it). A case
that the import or the operator refuses has no pods to compare. `make test` compares every third case, CI all.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from imported_pods import Difference, Side, differences, earlier_side, new_side, old_side
from pod_differences import DIFFERENCES, PAGE, page
from test_import_cases import imported

from effort import some, thorough
from oracle import operatorgoldens
from oracle.gotools import OracleError
from trainc import Build, Options, Source, compile
from trainc.findings import has_errors
from trainc.findings.text import render

CASES = [path for path in operatorgoldens.cases() if operatorgoldens.golden(path).exists()]
SOME = some(CASES, 3)


class Compared(NamedTuple):
    """The differences of one case; ``count`` jobs were compared."""

    found: list[Difference]
    findings: list[str]
    count: int


@cache
def compiled(path: Path) -> Build:
    beside = path.with_suffix(".runtimes.yaml")
    own = [Source(f"runtimes/{beside.name}", beside.read_text(encoding="utf-8"))] if beside.exists() else []
    new = [Source(file.path, file.text) for file in imported(path).files]
    if not any(source.name.startswith("jobs/") for source in new):  # a TrainJob that needs no import
        new.append(Source(path.name, path.read_text(encoding="utf-8")))
    return compile([*own, *new], Options())


@cache
def compared(path: Path) -> Compared:
    result = imported(path)
    messages = [finding.message for finding in result.findings]
    if has_errors(result.findings):
        return Compared([], messages, 0)
    build = compiled(path)
    found: list[Difference] = []
    count = 0
    for question, answer in zip(operatorgoldens.questions(path), operatorgoldens.read(path), strict=True):
        if "error" in answer or (created := objects_of(build, question.document)) is None:
            continue
        if question.operator.folder == "trainer":
            old = earlier_side(answer["objects"])
        else:
            old = old_side(question.document, answer["objects"])
        new = new_side(created, old.pods)
        found += differences(question.document["kind"], old, new)
        count += 1
    return Compared(found, messages, count)


def objects_of(build: Build, document: Any) -> list[Any] | None:
    """Return the objects of a job; None of a TrainJob that needs no import."""
    job = next((job for job in build.jobs if job.name == document["metadata"]["name"]), None)
    if job is None:
        assert document["kind"] == "TrainJob"
        return None
    assert job.objects, render(job.findings)
    return [each.data for each in job.objects]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_pods_are_those_of_the_operator(path: Path) -> None:
    case = compared(path)
    unexplained = [
        difference
        for difference in case.found
        if not any(entry.matches(difference, case.findings) for entry in DIFFERENCES)
    ]
    assert unexplained == [], "\n".join(map(str, unexplained))


@thorough
def test_every_listed_difference_occurs() -> None:
    counts = Counter[str]()
    for path in CASES:
        case = compared(path)
        for difference in case.found:
            counts.update(entry.name for entry in DIFFERENCES if entry.matches(difference, case.findings))
    assert [entry.name for entry in DIFFERENCES if not counts[entry.name]] == []


def test_a_change_of_any_field_that_users_set_is_seen() -> None:
    """No entry explains that something of the user's is missing or different."""
    path = operatorgoldens.CASES / "pytorch-ddp-rdma.yaml"
    (question,), (answer,) = operatorgoldens.questions(path), operatorgoldens.read(path)
    findings = compared(path).findings
    old = old_side(question.document, answer["objects"])
    new = new_side(objects_of(compiled(path), question.document) or [], old.pods)
    known = {str(difference) for difference in differences("PyTorchJob", old, new)}
    for field, value in new.pods["worker-1"].items():
        for changed in (None, {"changed": value}):
            other = {**new.pods, "worker-1": {**new.pods["worker-1"], field: changed}}
            found = differences("PyTorchJob", old, Side(other, new.job))
            added = [difference for difference in found if str(difference) not in known]
            if not re.search(r"PET_|MASTER_|RANK|WORLD_SIZE|JOB_COMPLETION_INDEX|29500|restarts", field):
                assert added, field
                assert not any(entry.matches(one, findings) for entry in DIFFERENCES for one in added), field


@thorough
def test_enough_jobs_are_compared() -> None:
    assert sum(compared(path).count for path in CASES) >= 60


def test_names_and_reasons_are_given_and_on_the_page() -> None:
    assert len({entry.name for entry in DIFFERENCES}) == len(DIFFERENCES)
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_hosts_of_imported_jobs_exist(path: Path) -> None:
    """No pod is told to reach a host of the job that no pod has."""
    if has_errors(imported(path).findings):
        return
    for question in operatorgoldens.questions(path):
        if (created := objects_of(compiled(path), question.document)) is None:
            continue
        fields = new_side(created, []).pods
        jobset = next(one for one in created if one["kind"] == "JobSet")["metadata"]["name"]
        host = re.compile(rf"(?<![\w./<-]){re.escape(jobset)}-[a-z0-9-]*\d\.[a-z0-9.-]+")
        missing = {
            match[0]
            for pod in fields.values()
            for path_, value in pod.items()
            if re.search(r"env\[|command|args|/etc/mpi", path_)
            for match in host.finditer(str(value))
        }
        assert missing == set()


@pytest.mark.skipif(
    not os.environ.get("TRAINC_THOROUGH"),
    reason="builds four releases of Kubernetes in ten minutes: only with TRAINC_THOROUGH=1, as CI does weekly",
)
@pytest.mark.go
def test_goldens_are_what_operators_create() -> None:
    """Where all operators can be built."""
    if reasons := [reason for operator in operatorgoldens.operators() if (reason := operator.missing())]:
        pytest.skip("; ".join(reasons))
    try:
        fresh = operatorgoldens.fresh()
    except OracleError as error:
        pytest.fail(str(error))
    stale = [path.name for path, text in fresh.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    assert stale == []
