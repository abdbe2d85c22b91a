"""Generates clusters with admission policies, and requests to them: the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = Any
Question = dict[str, Any]

API = "admissionregistration.k8s.io/v1"
_POOLS: Json = json.loads((Path(__file__).with_name("policies") / "requests.json").read_text(encoding="utf-8"))
KINDS: Json = _POOLS["kinds"]
CONDITIONS: Json = _POOLS["conditions"]
VALIDATIONS: Json = _POOLS["validations"]
MESSAGES: Json = _POOLS["messages"]
ANNOTATIONS: Json = _POOLS["annotations"]
VARIABLES: Json = _POOLS["variables"]
SELECTORS: Json = _POOLS["selectors"]
RULES: Json = _POOLS["rules"]
NAMESPACES: Json = _POOLS["namespaces"]
PARAMS: Json = _POOLS["params"]
PARAM_KINDS: Json = _POOLS["param_kinds"]


ANYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}


def questions(seed: int, count: int) -> Iterator[Question]:
    """Yield questions to ``policies decide``."""
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        yield _Maker(rng).question(f"{seed}-{number}")


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def often(self, share: float) -> bool:
        return self.rng.random() < share

    def question(self, name: str) -> Question:
        policies = [self.policy(name) for name in ("p", "q")[: self.rng.choice([1, 1, 1, 2])]]
        bindings = [
            self.binding(f"{policy['metadata']['name']}{i}", policy)
            for policy in policies
            for i in range(self.rng.choice([1, 1, 1, 2]))
        ]
        return {
            "id": name,
            "policies": policies,
            "bindings": bindings,
            "params": self.rng.sample(PARAMS, self.rng.randint(2, len(PARAMS))),
            "namespaces": NAMESPACES,
            "kinds": KINDS,
            "request": self.request(),
        }

    def policy(self, name: str) -> Json:
        rng = self.rng
        spec: Json = {"matchConstraints": self.matching(required=True)}
        if self.often(0.4):
            version, kind = rng.choice(PARAM_KINDS[:3] if self.often(0.9) else PARAM_KINDS)
            spec["paramKind"] = {"apiVersion": version, "kind": kind}
        if self.often(0.5):
            spec["failurePolicy"] = rng.choice(["Fail", "Fail", "Ignore"])
        if self.often(0.3):
            texts = rng.sample(CONDITIONS, rng.randint(1, 2))
            spec["matchConditions"] = [{"name": f"c{i}", "expression": text} for i, text in enumerate(texts)]
        spec["variables"] = list(VARIABLES)
        spec["validations"] = [self.validation() for _ in range(rng.randint(1, 5))]
        if self.often(0.3):
            texts = rng.sample(ANNOTATIONS, rng.randint(1, 3))
            spec["auditAnnotations"] = [{"key": f"k{i}", "valueExpression": text} for i, text in enumerate(texts)]
        return {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}

    def validation(self) -> Json:
        rng = self.rng
        row: Json = {"expression": rng.choice(VALIDATIONS)}
        if self.often(0.4):
            row["message"] = rng.choice(["plain", "  blanks around ", '<html> & "quotes"'])
        if self.often(0.4):
            row["messageExpression"] = rng.choice(MESSAGES)
        if self.often(0.3):
            row["reason"] = rng.choice(["Forbidden", "Invalid", "RequestEntityTooLarge"])
        return row

    def matching(self, *, required: bool = False) -> Json:
        rng = self.rng
        found: Json = {}
        if required or self.often(0.6):
            found["resourceRules"] = [self.rule() for _ in range(rng.choice([1, 1, 2]))]
            if required and self.often(0.8):
                found["resourceRules"].append(ANYTHING)
        if self.often(0.15):
            found["excludeResourceRules"] = [self.rule()]
        if self.often(0.3):
            found["matchPolicy"] = rng.choice(["Exact", "Equivalent"])
        if self.often(0.18):
            found["namespaceSelector"] = rng.choice(SELECTORS)
        if self.often(0.18):
            found["objectSelector"] = rng.choice(SELECTORS)
        return found

    def rule(self) -> Json:
        rng = self.rng
        groups, versions, resources = rng.choice(RULES)
        rule: Json = {"apiGroups": groups, "apiVersions": versions, "resources": resources}
        rule["operations"] = rng.choice([["*"], ["*"], ["CREATE"], ["CREATE", "UPDATE"], ["UPDATE", "DELETE"]])
        if self.often(0.25):
            rule["scope"] = rng.choice(["*", "Namespaced", "Cluster"])
        if self.often(0.15):
            rule["resourceNames"] = rng.sample(["demo", "other", "team-a"], 2)
        return rule

    def binding(self, name: str, policy: Json) -> Json:
        rng = self.rng
        actions = rng.choice([["Deny"], ["Warn"], ["Audit"], ["Deny", "Audit"], ["Warn", "Audit"], ["Audit", "Warn"]])
        spec: Json = {"policyName": policy["metadata"]["name"], "validationActions": actions}
        if self.often(0.85 if "paramKind" in policy["spec"] else 0.1):
            spec["paramRef"] = self.reference()
        if self.often(0.3):
            spec["matchResources"] = self.matching()
        return {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec}

    def reference(self) -> Json:
        rng = self.rng
        found: Json = {"parameterNotFoundAction": rng.choice(["Deny", "Allow"])}
        if self.often(0.6):
            found["name"] = rng.choice(["first", "second", "third"])
        else:
            found["selector"] = rng.choice(SELECTORS)
        if self.often(0.3):
            found["namespace"] = rng.choice(["team-a", "team-b"])
        return found

    def request(self) -> Json:
        rng = self.rng
        kind = rng.choice([KINDS[0], KINDS[0], KINDS[0], KINDS[1], KINDS[2], KINDS[3], KINDS[4], KINDS[6]])
        return self.request_of(kind, rng.choice(["CREATE", "CREATE", "UPDATE", "DELETE"]))

    def request_of(self, kind: Json, operation: str) -> Json:
        rng = self.rng
        namespace = rng.choice(["team-a", "team-b", "other"]) if kind["namespaced"] else ""
        name = "team-a" if kind["kind"] == "Namespace" else rng.choice(["demo", "other"])
        sub = "status" if operation == "UPDATE" and self.often(0.15) else ""
        return {
            "operation": operation,
            "object": None if operation == "DELETE" else self.object(kind, namespace, name),
            "old_object": None if operation == "CREATE" else self.object(kind, namespace, name),
            "group": kind["group"],
            "version": kind["version"],
            "kind": kind["kind"],
            "resource": kind["plural"],
            "namespace": namespace,
            "name": name,
            "sub_resource": sub,
        }

    def object(self, kind: Json, namespace: str, name: str) -> Json:
        rng = self.rng
        metadata: Json = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        if self.often(0.6):
            metadata["labels"] = rng.choice([{"team": "x"}, {"team": "y", "tier": "gold"}, {"tier": "silver"}])
        group = f"{kind['group']}/" if kind["group"] else ""
        result: Json = {"apiVersion": f"{group}{kind['version']}", "kind": kind["kind"], "metadata": metadata}
        if kind["kind"] == "ConfigMap":
            return {**result, "data": {"k": "v"}}
        if kind["kind"] == "Namespace":
            metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": name}  # a default
            return result
        jobs = [{"name": f"r{i}", "replicas": rng.randint(1, 5)} for i in range(rng.randint(1, 4))]
        size = rng.choice([3, 3, 3, 3, 300, 900])
        spec = {"suspend": rng.choice([True, False]), "replicatedJobs": jobs, "values": list(range(size))}
        return {**result, "spec": spec}
