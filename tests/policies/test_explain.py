"""Which field a failing validation is shown at."""

from __future__ import annotations

import pytest

from trainc.admission.policy import PolicySet, Request
from trainc.admission.policy import explain as explaining
from trainc.basics.jsonvalues import JsonObject, Path
from trainc.cel.ast import postorder
from trainc.cel.codegen import Program
from trainc.cel.declarations import Checked, Environment
from trainc.inputs.source import Document, Source

API = "admissionregistration.k8s.io/v1"
NODES: Path = ("spec", "replicatedJobs")
SECOND: Path = (*NODES, 1, "template", "spec")
CONTAINER: Path = (*SECOND, "containers", 0)
JOBSET: JsonObject = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "train", "namespace": "team", "labels": {"a.b/c": "d"}},
    "spec": {
        "suspend": True,
        "ttl": 5,
        "replicatedJobs": [
            {
                "name": "launcher",
                "replicas": 1,
                "template": {"spec": {"parallelism": 1, "containers": [{"name": "launcher", "image": "good/a:1"}]}},
            },
            {
                "name": "node",
                "replicas": 2,
                "template": {
                    "spec": {
                        "parallelism": 8,
                        "containers": [
                            {
                                "name": "node",
                                "image": "bad/b:1",
                                "env": [{"name": "A", "value": "x"}, {"name": "TOKEN", "value": "y"}],
                                "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "4"}},
                            }
                        ],
                    }
                },
            },
        ],
    },
}
CASES: dict[str, tuple[str, Path]] = {
    "object.spec.ttl > 5": ("", ("spec", "ttl")),
    "!has(object.spec.ttl)": ("", ("spec", "ttl")),
    "has(object.spec.missing) && object.spec.ttl == 5": ("", ("spec",)),
    "object.spec.ttl == 5 && object.spec.suspend == false": ("", ("spec", "suspend")),
    "object.spec.suspend == false || object.spec.ttl > 7": ("", ("spec", "suspend")),
    "object.spec.suspend == true ? object.spec.ttl > 9 : true": ("", ("spec", "ttl")),
    "object.metadata.?labels[?'a.b/c'].orValue('') == ''": ("", ("metadata", "labels", "a.b/c")),
    "object.metadata.?labels[?'team'].orValue('') != ''": ("", ("metadata", "labels")),
    "object.spec.replicatedJobs.all(j, j.template.spec.containers.all(c, c.image.startsWith('good/')))": (
        "",
        (*CONTAINER, "image"),
    ),
    "object.spec.replicatedJobs.all(j, j.template.spec.?containers.orValue([]).all(c, "
    "c.?env.orValue([]).all(e, e.name != 'TOKEN')))": ("", (*CONTAINER, "env", 1, "name")),
    "object.spec.replicatedJobs.all(j, "
    "j.template.spec.containers.all(c, c.?resources.?limits[?'memory'].hasValue()))": (
        "",
        (*NODES, 0, "template", "spec", "containers", 0),
    ),
    "!object.spec.replicatedJobs.exists(j, j.replicas * j.template.spec.parallelism > 8)": (
        "",
        (*SECOND, "parallelism"),
    ),
    "object.spec.replicatedJobs.exists(j, j.name == 'other')": ("", NODES),
    "object.spec.replicatedJobs.filter(j, j.name == 'node').all(j, j.replicas < 2)": ("", (*NODES, 1, "replicas")),
    "object.spec.replicatedJobs.map(j, j.template.spec).all(s, s.parallelism < 5)": ("", (*SECOND, "parallelism")),
    "(object.spec.replicatedJobs + []).all(j, j.replicas < 2)": ("", (*NODES, 1, "replicas")),
    "object.spec.replicatedJobs[1].template.spec.containers[0].resources.limits.all(k, k == 'cpu')": (
        "",
        (*CONTAINER, "resources", "limits", "nvidia.com/gpu"),
    ),
    "object.spec.replicatedJobs.all(i, j, i == 0 || j.replicas < 2)": ("", (*NODES, 1, "replicas")),
    "variables.x.all(j, j.replicas < 2)": ("object.spec.replicatedJobs", (*NODES, 1, "replicas")),
    "variables.x": ("object.spec.replicatedJobs.all(j, j.replicas < 2)", (*NODES, 1, "replicas")),
    "variables.x < 4": (
        "object.spec.replicatedJobs.map(j, j.template.spec.containers.map(c, c.?resources.?limits.orValue({})"
        ".filter(r, r.endsWith('/gpu')).map(r, int(c.resources.limits[r])).sum()).sum()).sum()",
        (*CONTAINER, "resources", "limits", "nvidia.com/gpu"),
    ),
    "object.spec.replicatedJobs.all(j, j.template.spec.containers[0].resources.limits.cpu == '1')": (
        "",
        (*NODES, 0, "template", "spec", "containers", 0),
    ),
    "int(object.spec.replicatedJobs[1].name) > 1": ("", (*NODES, 1, "name")),
    "variables.x.size() == 0": (
        "object.spec.replicatedJobs.map(j, j.template.spec.containers.map(c, '' + c.image)"
        ".filter(i, !i.startsWith('good/')).join(', ')).filter(images, images != '')",
        (*CONTAINER, "image"),
    ),
    "size(object.spec.replicatedJobs) == 0": ("", (*NODES, 0)),
    "request.name == 'other'": ("", ()),
}


def document(kind: str, spec: JsonObject) -> Document:
    data: JsonObject = {"apiVersion": API, "kind": kind, "metadata": {"name": "p"}, "spec": spec}
    return Document(Source(f"{kind}.yaml", ""), data)


def shown(validation: str, variable: str = "") -> Path:
    rule: JsonObject = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
    }
    spec: JsonObject = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "x", "expression": variable}] if variable else [],
        "validations": [{"expression": validation}],
    }
    binding: JsonObject = {"policyName": "p", "validationActions": ["Deny"]}
    policies = PolicySet.load(
        [document("ValidatingAdmissionPolicy", spec), document("ValidatingAdmissionPolicyBinding", binding)], {}
    )
    assert policies.findings == ()
    names = ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", "team", "train")
    [decision] = policies.decide(Request("CREATE", JOBSET, None, *names))
    assert decision.outcome in ("denied", "error")
    return decision.object_path


@pytest.mark.parametrize("validation", CASES)
def test_field(validation: str) -> None:
    variable, expected = CASES[validation]
    assert shown(validation, variable) == expected


def test_nothing_is_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "STEPS", 3)
    validation = "object.spec.replicatedJobs.all(j, j.replicas < 2)"
    assert shown(validation) == NODES
    monkeypatch.undo()
    monkeypatch.setattr(explaining, "COST", 3)
    assert shown(validation) == NODES


def test_conditions_in_conditions_are_not_compiled_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each of 200 conditions leads to has all that follow."""
    compiled: list[int] = []

    def made(program: Program, part: Checked, environment: Environment) -> None:
        compiled.append(len(postorder(part.root)))
        make(program, part, environment)

    make = Program.__init__
    monkeypatch.setattr(Program, "__init__", made)
    validation = "".join(f"object.metadata.name == '{n}' ? true : " for n in range(200)) + "object.spec.ttl > 5"
    assert shown(validation) == ("metadata", "name")
    assert 0 < sum(compiled) <= 2 * explaining.STEPS
