"""What a violation says to people: one primary finding a mistake, at a real place, with what helps."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

import pytest

from trainc.basics.jsonvalues import get
from trainc.findings import suggest
from trainc.schema import Violation, admit, resource
from trainc.schema.kinds import BUILT_IN
from trainc.schema.wording import not_allowed


def violations(spec: Any, kind: str = "TrainJob") -> list[Violation]:
    of = resource(kind)
    data = {"apiVersion": of.api_version, "kind": kind, "metadata": {"name": "j"}, "spec": spec}
    return [violation for violation in admit(of, data).violations if not violation.secondary]


def trainer(**fields: Any) -> Any:
    return {"runtimeRef": {"name": "rt"}, "trainer": fields}


@pytest.mark.parametrize(
    ("fields", "path", "told"),
    [
        (
            {"numNodes": "4"},
            ("numNodes",),
            ("TC102", "must be an integer", '"4"', "an integer", "write 4 without quotes"),
        ),
        ({"numNodes": 2.5}, ("numNodes",), ("TC102", "must be an integer", "2.5", "an integer", None)),
        (
            {"command": "python"},
            ("command",),
            ("TC102", "must be a list", '"python"', "a list", "begin each item with a dash"),
        ),
        ({"args": [8]}, ("args", 0), ("TC102", "must be a string", "8 (a number)", "a string", "write it in quotes")),
        ({"env": [{}]}, ("env", 0), ("TC103", "is missing", None, "name", None)),
        (
            {"numNodes": 2**31},
            ("numNodes",),
            ("TC105", "must be a 32-bit integer", "2147483648", "a 32-bit integer", None),
        ),
        (
            {"resourcesPerNode": {"limits": {"cpu": True}}},
            ("resourcesPerNode", "limits", "cpu"),
            ("TC102", "must be an integer or a string", "true", "an integer or a string", None),
        ),
        (
            {"resourcesPerNode": {"limits": {"cpu": 0.5}}},
            ("resourcesPerNode", "limits", "cpu"),
            (
                "TC102",
                "must be an integer or a string",
                "0.5 (a number)",
                "an integer or a string",
                "write it in quotes",
            ),
        ),
        (
            {"env": [{"name": "A"}, {"name": "A"}]},
            ("env", 1),
            ("TC107", "has the same name as an earlier item", '{"name":"A"}', "a unique name", None),
        ),
    ],
)
def test_one_mistake_is_one_primary_violation(fields: Any, path: Any, told: Any) -> None:
    [violation] = violations(trainer(**fields))
    code, message, *more = told
    assert (violation.code, violation.path) == (code, ("spec", "trainer", *path))
    assert violation.message.startswith("spec.trainer.")
    assert violation.message.endswith(" " + message)
    assert [violation.found, violation.expected, violation.hint] == more
    assert get({"spec": trainer(**fields)}, *violation.path) is not None


def test_a_missing_field_beside_a_misspelt_one() -> None:
    kind = BUILT_IN.find("", "v1", "Pod")
    assert kind is not None
    data: Any = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"nmae": "c"}]}}
    [violation] = [entry for entry in admit(kind, data).violations if entry.code == "TC103"]
    assert violation.hint == "'nmae' should be 'name'"


def test_an_enum_suggests_the_nearest_value() -> None:
    spec = {"mlPolicy": {"mpi": {"mpiImplementation": "openmpi"}}}
    [violation] = violations(spec, "TrainingRuntime")
    assert violation.code == "TC104"
    assert violation.hint == "did you mean 'OpenMPI'?"


def test_long_values_are_shortened_where_people_read_them() -> None:
    [violation] = violations(trainer(numNodes=["x" * 500]))
    assert violation.found is not None
    assert len(violation.found) == 60


@pytest.mark.parametrize(
    ("spec", "noted"),
    [({"runtimeRef": {}}, True), (trainer(resourcesPerNode={"limits": {"cpu": "1Gb"}}), False), (trainer(), False)],
)
def test_rules_go_unchecked_only_after_errors_that_block(spec: Any, noted: bool) -> None:
    of = resource("TrainJob")
    data = {"apiVersion": of.api_version, "kind": "TrainJob", "metadata": {"name": "j"}, "spec": spec}
    codes = [violation.code for violation in admit(of, data).violations]
    assert ("TC110" in codes) == noted
    assert "TC110" not in codes[:-1]


def test_a_long_enum_is_listed_in_part() -> None:
    violation = not_allowed(("spec",), "x", [f"v{number}" for number in range(101)], None)
    assert violation.expected is not None
    assert violation.expected.endswith('"v98", "v99", ...')


def test_suggest() -> None:
    assert suggest("replicas", ["completions", "replicas"]) == "did you mean 'replicas'?"
    assert suggest("x", ["completions", "replicas"]) is None
    assert suggest("anything", []) is None


def test_suggest_names_that_mean_something_else() -> None:
    """Names that begin alike are not similar; others may differ in a word, or be written in one."""
    pod = ["schedulingGates", "imagePullPolicy", "numNodes", "activeDeadlineSeconds", "signerName"]
    assert [suggest(name, pod) for name in ("schedulerName", "containerName")] == [None, None]
    named = {name: suggest(name, pod) for name in ("maxNodes", "activeDeadlineMinutes", "imagepullpolicy", "numNodse")}
    hints = ["numNodes", "activeDeadlineSeconds", "imagePullPolicy", "numNodes"]
    assert list(named.values()) == [f"did you mean '{hint}'?" for hint in hints]


def test_suggest_compares_a_few_names_unless_told_otherwise() -> None:
    names = [f"sweep-{number}" for number in range(401)]
    assert suggest("sweep-400x", names[1:]) == "did you mean 'sweep-400'?"
    assert suggest("sweep-400x", names) is None
    assert suggest("sweep-400x", names, len(names)) == "did you mean 'sweep-400'?"


def test_a_hint_compares_few_of_many_similar_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document may have tens of thousands of wrong names."""
    compared: list[str] = []

    class Counted(SequenceMatcher[str]):
        def ratio(self) -> float:
            compared.append(str(self.a))
            return super().ratio()

    monkeypatch.setattr("difflib.SequenceMatcher", Counted)
    assert suggest("voluem-nubmer-17", [f"volume-number-{i}" for i in range(400)]) == "did you mean 'volume-number-17'?"
    assert 0 < len(compared) <= 8
