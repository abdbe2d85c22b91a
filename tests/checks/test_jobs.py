"""What is wrong with a Job and its pods, in the words of the API server of Kubernetes 1.34."""

from __future__ import annotations

import json
from typing import Any

import pods_oracle
import pytest
from job_cases import CHANGES, changed, fine, mixed_specs
from pods_oracle import ANSWERS, Answer

from effort import share
from oracle import gotools
from trainc.admission.fields import Field
from trainc.basics.jsonvalues import Json, existing
from trainc.checks.jobs import validate_job_spec
from trainc.checks.pods import validate_pod_template
from trainc.findings.reporting import Fault
from trainc.kube.gotypes import decode

RANDOM = share(800)


def problems(spec: dict[str, Any]) -> list[Fault]:
    typed = decode(spec, "v1.JobSpec")
    assert isinstance(typed, dict)
    field = Field(typed, ("spec",), "spec", "TC803")
    validate_job_spec(field)
    validate_pod_template(field.child("template"))
    return field.faults


def said(spec: dict[str, Any]) -> list[str]:
    return sorted({problem.upstream or "" for problem in problems(spec)})


def agree(spec: dict[str, Any], answer: Answer) -> None:
    # Where the server panics, nothing is created either; we say what is wrong before that.
    assert (said(spec) == answer) if answer is not None else said(spec), json.dumps(spec)


@pytest.fixture(scope="session")
def oracle() -> None:
    reason = pods_oracle.missing()
    if reason is not None:
        pytest.skip(reason)
    gotools.build(pods_oracle.ORACLE)


@pytest.mark.parametrize(("hook", "count"), [("stopSignal", 0), ("preStop", 1)])
def test_the_server_drops_a_lifecycle_with_only_a_stop_signal(hook: str, count: int) -> None:
    spec = fine()
    spec["template"]["spec"]["initContainers"] = [{"name": "first", "image": "a:1", "lifecycle": {hook: "SIGTERM"}}]
    if hook == "preStop":
        spec["template"]["spec"]["initContainers"][0]["lifecycle"] = {hook: {"sleep": {"seconds": 1}}}
    assert len(said(spec)) == count


def test_answers_are_the_servers() -> None:
    answers: list[Answer] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    specs = pods_oracle.recorded_specs()
    assert len(answers) == len(specs) > 300
    assert answers[0] == [], "the first Job is fine"
    assert sum(1 for answer in answers if answer) > 280, "most others are not"
    for spec, answer in zip(specs, answers, strict=True):
        agree(spec, answer)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0])
def test_problems_lie_in_the_job(change: tuple[str, Any]) -> None:
    spec = fine()
    changed(spec, change)
    root: Json = {"spec": decode(spec, "v1.JobSpec")}
    for problem in problems(spec):
        missing = problem.path[len(existing(root, problem.path)) :]
        assert len(missing) <= 1 + (missing[-2:] == ("requests", "storage")), "all but what is missing is there"
        assert (problem.upstream or "").startswith("spec.")
        assert problem.message


def test_values_of_variables_are_not_told() -> None:
    spec = fine()
    source = {"secretKeyRef": {"name": "A", "key": "b c"}}
    changed(spec, ("template.spec.containers.0.env", [{"name": "=", "value": "s3cr3t-value", "valueFrom": source}]))
    found = problems(spec)
    assert len(found) == 4
    assert not any("s3cr3t" in repr(problem) for problem in found)


@pytest.mark.go
@pytest.mark.usefixtures("oracle")
def test_recorded_answers_are_those_of_today(update: bool) -> None:
    text = pods_oracle.record()
    if update:
        ANSWERS.write_text(text, encoding="utf-8")
    assert ANSWERS.read_text(encoding="utf-8") == text


@pytest.mark.go
@pytest.mark.usefixtures("oracle")
def test_random_jobs_agree() -> None:
    specs = list(mixed_specs(RANDOM, 4711))
    for spec, answer in zip(specs, pods_oracle.ask(specs), strict=True):
        agree(spec, answer)
