"""A change of a policy has those jobs compiled that it sees, or saw, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from smallrepository import JOB, RUNTIME, Compiled, run

from folders import put

JOBS = ["four", "one", "three", "two"]
POLICY = """\
apiVersion: v1
kind: Namespace
metadata: {{name: b, labels: {{team: b}}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: a, labels: {{{of_a}}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: rule}}
spec:
  {own}
  validations:
  - {{expression: "object.metadata.name != '{name}'", message: another name}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: rule}}
spec: {{policyName: rule, validationActions: [Warn], {binding}}}
"""
RULES = (
    "{%s resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ['*'], resources: [jobsets], operations: ['*']}]}"
)
OF_A, OF_B = (f"namespaceSelector: {{matchLabels: {{team: {team}}}}}" for team in "ab")
WHOLE = f"matchConstraints: {RULES % ''}"
MISSING = "\n  paramKind: {apiVersion: v1, kind: Missing}"


def policy(name: str, own: str = WHOLE, binding: str = "", of_a: str = "team: a") -> str:
    return POLICY.format(name=name, own=own, binding=binding, of_a=of_a)


@pytest.fixture
def two_namespaces(repository: Path, compiled: Compiled) -> Path:
    """A repository of four jobs in namespace a and one in b, which nothing is known of yet."""
    put(repository, "jobs/b/five.yaml", JOB.format(name="five", runtime="plain"))
    return repository


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ({}, ["five", *JOBS]),
        ({"own": f"matchConstraints: {RULES % f'{OF_B},'}"}, ["five"]),
        ({"binding": f"matchResources: {{{OF_B}}}"}, ["five"]),
        ({"own": f"matchConstraints: {RULES % f'{OF_B},'}", "binding": f"matchResources: {{{OF_A}}}"}, []),
    ],
    ids=["all", "by the policy", "by the binding", "none"],
)
def test_only_those_that_it_sees(
    two_namespaces: Path, compiled: Compiled, place: dict[str, str], seen: list[str]
) -> None:
    put(two_namespaces, "policies/rule.yaml", policy("one", **place))
    run("render")
    assert compiled() == sorted(["five", *JOBS])
    put(two_namespaces, "policies/rule.yaml", policy("five", **place))
    told = run("render")
    assert compiled() == seen
    assert told.output == run("render", "--no-cache").output
    assert ("another name" in told.output) is ("five" in seen)


def test_labels_that_are_not_known(two_namespaces: Path, compiled: Compiled) -> None:
    place = {"binding": f"matchResources: {{{OF_B}}}"}
    put(two_namespaces, "policies/rule.yaml", policy("one", **place).replace("name: a,", "name: other,"))
    assert "TC504" in run("render").output
    compiled()
    put(two_namespaces, "policies/rule.yaml", policy("five", **place).replace("name: a,", "name: other,"))
    run("render")
    assert compiled() == sorted(["five", *JOBS])


def test_params_that_cannot_be_had(repository: Path, compiled: Compiled) -> None:
    """They are a matter of the policy, also where no binding sees any job."""
    place = {"binding": f"matchResources: {{{OF_B}}}"}
    put(repository, "policies/rule.yaml", policy("one", **place))
    run("render")
    compiled()
    put(repository, "policies/rule.yaml", policy("one", **place, own=WHOLE + MISSING))
    told = run("render", status=1)
    assert compiled() == JOBS
    assert "failed to configure policy" in told.output
    assert told.output == run("render", "--no-cache", status=1).output


PARAMS = {
    "trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime": RUNTIME.format(name="limit", image="example.com/img:1"),
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"
        "metadata: {name: limit}\nspec: {policyName: none, validationActions: [Deny]}\n"
    ),
    "example.com/v1 Limit": "apiVersion: example.com/v1\nkind: Limit\nmetadata: {name: limit}\n",
}
OLD = "metadata: {name: limit, labels: {last: z}}"


@pytest.mark.parametrize(
    ("kind", "new", "status"),
    [
        *((kind, OLD.replace("z", "a"), 0) for kind in PARAMS),
        ("example.com/v1 Limit", OLD.replace("}}", "}, namespace: default}"), 1),
    ],
)
def test_params_of_any_kind(repository: Path, kind: str, new: str, status: int) -> None:
    version, _, name = kind.partition(" ")
    own = WHOLE + f"\n  paramKind: {{apiVersion: {version}, kind: {name}}}"
    rule = policy("one", own=own, binding="paramRef: {name: limit, parameterNotFoundAction: Deny}")
    rule = rule.replace("object.metadata.name != 'one'", "object.metadata.name < params.metadata.labels.last")
    put(repository, "policies/rule.yaml", rule)
    text = PARAMS[kind].replace("metadata: {name: limit}", OLD)
    put(repository, "policies/params.yaml", text)
    run("render")
    put(repository, "policies/params.yaml", text.replace(OLD, new))
    told = run("validate", "--no-cache", status=status).stdout
    assert ("error[TC501]: " if status else "jobs/a/one.yaml:3:12: warning[TC502]: ") in told
    for command in ("validate", "render"):
        assert run(command, status=status).stdout == told


def test_what_came_to_see_a_namespace(two_namespaces: Path, compiled: Compiled) -> None:
    put(two_namespaces, "policies/rule.yaml", policy("one", binding=f"matchResources: {{{OF_B}}}"))
    assert "another name" not in run("render").output
    compiled()
    put(two_namespaces, "policies/rule.yaml", policy("one"))
    told = run("render")
    assert compiled() == sorted(["five", *JOBS])
    assert "another name" in told.output
    put(two_namespaces, "policies/rule.yaml", policy("one").replace("team: b", "team: c"))
    run("render")
    assert compiled() == sorted(["five", *JOBS]), "a namespace counts for all"


ELSEWHERE = ("object.metadata.name != 'plain'", "object.spec.template.spec.replicatedJobs.size() > 1")


@pytest.mark.parametrize(
    "changes", [("'plain'", "'none'"), ("[Warn]", "[Deny]"), ELSEWHERE], ids=["ends", "denies", "moves"]
)
def test_a_namespace_selector_does_not_keep_a_policy_from_the_runtime_of_the_cluster(
    two_namespaces: Path, compiled: Compiled, changes: tuple[str, str]
) -> None:
    rule = policy("plain", binding=f"matchResources: {{{OF_A}}}")
    rule = rule.replace("jobset.x-k8s.io", "trainer.kubeflow.org").replace("jobsets", "clustertrainingruntimes")
    put(
        two_namespaces,
        "jobs/b/five.yaml",
        JOB.format(name="five", runtime="plain") + "  managedBy: kueue.x-k8s.io/multikueue\n",
    )
    put(two_namespaces, "policies/rule.yaml", rule)
    assert "another name" in run("render").output
    put(two_namespaces, "policies/rule.yaml", rule.replace(*changes))
    status = int(changes[1] == "[Deny]")
    told = run("render", status=status)
    assert told.output == run("render", "--no-cache", status=status).output
    assert ("another name" in told.output) is ("'none'" not in changes)
