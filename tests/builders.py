"""Texts of TrainJobs, runtimes and policies that tests need to look at something else; fields to add are flow YAML."""

from __future__ import annotations

from trainc import Build
from trainc.basics.jsonvalues import JsonObject
from trainc.plugins.model import Object

API = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
STEP = "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}"
"""The label of the replicated job whose container a TrainJob's trainer replaces."""


def trainjob(name: str = "job", *, runtime: str = "rt", metadata: str = "", trainer: str = "{}", more: str = "") -> str:
    """Return a TrainJob; ``metadata`` is like ", namespace: a", ``more`` are lines of spec."""
    head = f"{API}kind: TrainJob\nmetadata: {{name: {name}{metadata}}}\n"
    return f"{head}spec:\n  runtimeRef: {{name: {runtime}}}\n  trainer: {trainer}\n{more}"


def role(
    name: str = "node",
    *,
    trainer: bool = False,
    image: str = "example.com/img:1",
    container: str = "",
    containers: str | None = None,
    pod: str = "",
) -> str:
    """Return a replicated job; ``container`` is like ", command: [sshd]", ``pod`` like "subdomain: x"."""
    labels = f"          metadata: {{labels: {STEP}}}\n" if trainer else ""
    inside = containers or f'[{{name: node, image: "{image}"{container}}}]'
    return (
        f"      - name: {name}\n        template:\n{labels}          spec:\n"
        + "            template:\n              spec:\n"
        + (f"                {pod}\n" if pod else "")
        + f"                containers: {inside}\n"
    )


def runtime(
    *roles: str,
    name: str = "rt",
    kind: str = "ClusterTrainingRuntime",
    metadata: str = "",
    policy: str = "",
    template: str = "",
    spec: str = "",
) -> str:
    """Return a runtime of replicated jobs, a trainer's by default.

    ``policy`` is mlPolicy, ``template`` the metadata of the JobSet, ``spec`` a line of its spec.
    """
    return (
        f"{API}kind: {kind}\nmetadata: {{name: {name}{metadata}}}\nspec:\n"
        + (f"  mlPolicy: {policy}\n" if policy else "")
        + "  template:\n"
        + (f"    metadata: {template}\n" if template else "")
        + "    spec:\n"
        + (f"      {spec}\n" if spec else "")
        + "      replicatedJobs:\n"
        + "".join(roles or (role(trainer=True),))
    )


def policy(
    name: str,
    rule: str,
    message: str = "",
    *,
    resource: str = "jobset.x-k8s.io/jobsets",
    operations: str = "[CREATE]",
    actions: str = "[Deny]",
) -> str:
    """Return a ValidatingAdmissionPolicy of one CEL expression, and its binding."""
    validations = f'\n  - expression: "{rule}"\n    message: {message or name}'
    alone = unbound_policy(name, validations, resource=resource, operations=operations)
    return f"{alone}---\n{binding(name, name, actions)}"


def unbound_policy(
    name: str,
    validations: str,
    *,
    resource: str = "jobset.x-k8s.io/jobsets",
    operations: str = "[CREATE]",
    variables: str = "",
) -> str:
    """Return a ValidatingAdmissionPolicy; ``validations`` and ``variables`` are lists in YAML."""
    group, _, plural = resource.rpartition("/")
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [{group}], apiVersions: ["*"], operations: {operations}, resources: [{plural}]}}
  validations: {validations}
""" + (f"  variables: {variables}\n" if variables else "")


def binding(name: str, policy: str, actions: str = "[Deny]") -> str:
    """Return a ValidatingAdmissionPolicyBinding."""
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {policy}, validationActions: {actions}}}
"""


def crd(kind: str, fields: str) -> str:
    """Return a CustomResourceDefinition of example.com/v1; ``fields`` are those of its schema."""
    plural = f"{kind.lower()}s"
    return f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.example.com}}
spec:
  group: example.com
  names: {{plural: {plural}, singular: {kind}, kind: {kind}, listKind: {kind}List}}
  scope: Namespaced
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, {fields}}}}}}}]
"""


def of_kind(made: Build, kind: str) -> list[Object]:
    """Return the objects of a kind."""
    return [found for found in made.objects if found.kind == kind]


def the(made: Build, kind: str) -> JsonObject:
    """Return the only object of a kind."""
    (found,) = of_kind(made, kind)
    return found.data
