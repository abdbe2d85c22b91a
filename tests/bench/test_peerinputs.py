"""The inputs of other tools come to the same objects as trainc's output, without any of these tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import contest
import fleet
import jsonschema
import peerinputs
import pytest
import yaml
from skeletons import Skeleton, compiled, skeletons

SIZE = 20


@cache
def holes() -> dict[str, Skeleton]:
    return skeletons()


@cache
def ours() -> contest.Objects:
    build = compiled(dict(fleet.repository(SIZE, fleet.LIKE)))
    assert build.findings == ()
    found = [json.loads(json.dumps(each.data)) for each in build.objects]
    return {(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]): each for each in found}


def test_skeletons_filled_are_our_output() -> None:
    texts = (text for each in fleet.jobs(SIZE) for text in holes()[each.kind].filled(each._asdict()))
    contest.require_equal("skeletons", contest.read_objects(texts), ours())


def test_overlays_applied_are_our_output() -> None:
    files = dict(peerinputs.overlays(holes(), fleet.jobs(SIZE)))
    assert len(json.loads(files["kustomization.yaml"])["resources"]) == SIZE
    contest.require_equal("overlays", dict(patched(files)), ours())


def patched(files: dict[str, str]) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    for root in json.loads(files["kustomization.yaml"])["resources"]:
        overlay = json.loads(files[f"{root}/kustomization.yaml"])
        (base,) = overlay["resources"]
        folder = base.removeprefix("../../")
        for name in yaml.safe_load(files[f"{folder}/kustomization.yaml"])["resources"]:
            data = yaml.safe_load(files[f"{folder}/{name}"])
            for patch in overlay["patches"]:
                if patch["target"]["kind"] == data["kind"]:
                    replace(data, json.loads(patch["patch"]))
            yield (data["kind"], data["metadata"]["namespace"], data["metadata"]["name"]), data


def replace(data: Any, operations: list[dict[str, Any]]) -> None:
    for operation in operations:
        assert operation["op"] == "replace"
        *steps, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        place = data
        for step in steps:
            place = place[int(step) if isinstance(place, list) else step]
        place[int(last) if isinstance(place, list) else last] = operation["value"]


def test_the_chart_has_every_job_and_every_hole() -> None:
    files = dict(peerinputs.chart(holes(), fleet.jobs(SIZE)))
    values = yaml.safe_load(files["values.yaml"])["jobs"]
    assert [each["name"] for each in values] == [each.name for each in fleet.jobs(SIZE)]
    for kind in fleet.KINDS:
        text = files[f"templates/_{kind}.tpl"]
        assert "markof" not in text and "7001" not in text
        assert set(re.findall(r"\{\{ \$?\.(\w+)", text)) <= values[0].keys()
        assert {"name", "namespace", "rate"} <= set(re.findall(r"\{\{ \.(\w+)", text))
    hostfile = files["templates/_mpi.tpl"]
    assert hostfile.count("slots=8") == 2, "the launcher, and a loop over the nodes"
    assert "range until" in hostfile


@cache
def schemas() -> dict[str, Any]:
    return {name: json.loads(text) for name, text in peerinputs.schemas()}


def test_schemas_accept_our_output() -> None:
    validators = {name: jsonschema.Draft7Validator(schema) for name, schema in schemas().items()}
    assert {kind.lower() + ".json" for kind, _, _ in ours()} == validators.keys()
    for (kind, _, _), data in ours().items():
        validators[f"{kind.lower()}.json"].validate(data)


@pytest.mark.parametrize("number", [0, 1])
def test_schemas_refuse_mistakes(number: int) -> None:
    jobset = next(data for (kind, _, _), data in ours().items() if kind == "JobSet")
    mistake = list(contest.mistakes(jobset, "kubeconform"))[number]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schemas()["jobset.json"]).validate(mistake)


def test_a_difference_ends_a_contest() -> None:
    key = ("JobSet", "a", "b")
    with pytest.raises(contest.ContestError, match=r"helm: JobSet a b: /spec/n is '1', ours 1"):
        contest.require_equal("helm", {key: {"spec": {"n": "1"}}}, {key: {"spec": {"n": 1}}})
    with pytest.raises(contest.ContestError, match=r"helm makes 0 objects, we 1"):
        contest.require_equal("helm", {}, {key: {}})
    with pytest.raises(contest.ContestError, match="two objects"):
        contest.read_objects(iter(["kind: A\nmetadata: {name: b}\n---\nkind: A\nmetadata: {name: b}\n"]))


def test_what_the_controllers_refuse_ends_a_contest() -> None:
    key = ("JobSet", "a", "b")
    made = {"kind": "JobSet", "metadata": {"name": "b", "namespace": "a"}}
    fine = json.dumps({"results": [{"stage": None, "name": "b", "errors": [], "objects": [made]}]})
    contest.require_accepted(fine + "\n", {key: {}})
    with pytest.raises(contest.ContestError, match="make no"):
        contest.require_accepted(fine + "\n", {key: {}, ("JobSet", "a", "c"): {}})
    refused = json.dumps({"results": [{"stage": "crd", "name": "b", "errors": ["no"], "objects": []}]})
    with pytest.raises(contest.ContestError, match="refuse b"):
        contest.require_accepted(refused + "\n", {})
