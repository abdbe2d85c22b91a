"""Random cases for the functions of the kube room, and how to ask tests/oracle/kube what upstream makes of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from typing import Any

from oracle import gotools
from trainc.kube import gotypes, merge, names, pods, quantity
from trainc.kube.gojson import float_literal

NAMES = ("a", "b", "node", "c", "d")
SPECS = (gotypes.JOB_SET_SPEC, gotypes.POD_SPEC, "v1.Container", "v1.ObjectMeta")
DOCUMENTS = (gotypes.JOB_SET, gotypes.TRAIN_JOB, "v1alpha1.TrainingRuntime", "v1alpha1.ClusterTrainingRuntime")
# Without these an item says nothing, or strategic merge cannot tell it from others.
KEYS = frozenset({"name", "mountPath", "key", "containerPort", "devicePath", "ip", "topologyKey", "type", "status"})
SPINE = frozenset({"template", "spec", "containers", "replicatedJobs", "env", "volumes", "ports", "resources"})
Case = dict[str, Any]

QUANTITIES = ("1", "1000m", "500m", "1Gi", "1024Mi", "0", "2.5", "0.5Gi", "1e3", 4, 0, "4000m", "1000", "2", "-1", "3")
TIMES = ("2024-01-01T00:00:00Z", "2024-02-29T23:59:59.123+05:30", "0001-01-01T00:00:00Z", "1999-12-31T23:00:00-02:00")
BAD_TIMES = (
    "2024-13-01T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "x",
    "2024-01-01",
    "2024-01-01T24:00:00Z",
    "2024-1-01T00:0",
)
MISFITS = ("x", 5, 3000000000, 1.5, True, [1], {"a": 1}, -1, 1e21, 10**20)


class Values:
    """Makes JSON for Go types: what their structs want, nulls, zeros, unknown fields and, if bad, misfits."""

    def __init__(self, seed: int, *, bad: float = 0.0, noise: float = 0.02) -> None:
        self.random = random.Random(seed)
        self.bad = bad
        self.noise = noise
        self.budget = 0

    def make(self, kind: str, budget: int) -> Any:
        """Return a value with about ``budget`` structs in it."""
        self.budget = budget
        return self._value(kind, "")

    def _value(self, kind: str, name: str) -> Any:
        chance = self.random.random()
        if chance < self.bad:
            return self.random.choice(MISFITS)
        if chance < self.bad + self.noise:
            return None
        if kind.startswith("*"):
            return self._value(kind[1:], name)
        if kind.startswith("[]"):
            return self._list(kind[2:], name)
        if kind.startswith("{}"):
            keys = ("cpu", "memory", "example.com/gpu") if kind == "{}Quantity" else ("k1", "k2", "k3")
            return {key: self._value(kind[2:], key) for key in keys if self.random.random() < 0.4}
        return self._struct(kind) if gotypes.is_struct(kind) else self._scalar(kind.partition(":")[0], name)

    def _list(self, kind: str, name: str) -> list[Any]:
        length = self.random.choice((0, 1, 1, 2, 3, 4)) if self.budget > 0 else 0
        if name == "finalizers":
            return self.random.sample(NAMES, length)
        return [self._value(kind, name) for _ in range(length)]

    def _scalar(self, kind: str, name: str) -> Any:
        choices: tuple[Any, ...] = {
            "Quantity": (*QUANTITIES, "nan") if self.bad else QUANTITIES,
            "IntOrString": (0, 80, "http", "", 80.0, *((3000000000, 1.5) if self.bad else ())),
            "Time": (*TIMES, *BAD_TIMES) if self.bad else TIMES,
            "FieldsV1": ({"f:a": {}},),
            "string": NAMES if name in KEYS else (*NAMES, "", ""),
            "bool": (True, False),
            "int": (0, 1, 2, -1),
            "int32": (0, 0, 1, 2, 80, -1, 2**31 - 1, 4.0),
            "int64": (0, 1, 2**53, -5),
        }[kind]
        return self.random.choice(choices)

    def _struct(self, struct: str) -> dict[str, Any]:
        self.budget -= 1
        table = gotypes.fields(struct)
        out = {}
        for name, field in table.items():
            likely = 0.9 if name in KEYS or (name in SPINE and self.budget > 0) else 0.0
            if self.random.random() < (likely or (2.2 / max(len(table), 3) if self.budget > 0 else 0)):
                out[name] = self._value(field.kind, name)
        if out and self.random.random() < self.noise:
            name = self.random.choice(sorted(out))
            out[name.swapcase()] = out[name]  # a key in the wrong case is unknown
        items = list(out.items())
        self.random.shuffle(items)
        return dict(items)


def with_short_exponents(text: str) -> str:
    """Return a text whose exponents have two digits at most: trainc refuses a thousand digits, and Go does not."""
    return re.sub("([eE][-+]?[0-9]{2})[0-9]+", r"\1", text)


def quantity_text(rng: random.Random) -> str:
    """Return a text that is a quantity, or nearly one."""
    if rng.random() < 0.08:
        letters = "".join(rng.choice("0123456789.eEinumkKMGTPi+- x") for _ in range(rng.randrange(8)))
        return with_short_exponents(letters)
    digits = "".join(rng.choice("0001234567899") for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5, 15, 17, 18, 19, 25))))
    if rng.random() < 0.3:
        digits = rng.choice(("8", "16", "1024", "1000", "999999999999999999", "9223372036854775807", "1000000"))
    decimals = "".join(rng.choice("0001259") for _ in range(rng.choice((0, 1, 1, 2, 3, 6, 9, 10, 19))))
    dot = f".{decimals}" if rng.random() < 0.35 else ""
    suffixes = (
        *("", "", "", "m", "m", "k", "M", "G", "T", "P", "E", "u", "n", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Mi", "Gi"),
        *("e", "e3", "E3", "e2", "e-1", "e+5", "e-9", "e-10", "e18", "e20", "e40", "e-", "i", "mi", "e4294967296"),
    )
    return rng.choice(("", "", "", "-", "+")) + digits + dot + rng.choice(suffixes)


def name_text(rng: random.Random) -> str:
    """Return a text to try as a name."""
    if rng.random() < 0.1:
        long = "a" * rng.choice((15, 16, 62, 63, 64, 252, 253, 254))
        return long + rng.choice(("", "-", "é", ".a", "/b"))
    return "".join(rng.choice('aabcz019AZ--__../%=~ é\n"&ßİK') for _ in range(rng.choice((0, 1, 2, 3, 4, 6))))


def pod(rng: random.Random) -> Case:
    """Return a PodSpec with requests everywhere."""

    def resources() -> Case:
        names = ("cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi", "ephemeral-storage")
        return {name: rng.choice(QUANTITIES) for name in names if rng.random() < 0.45}

    def container(**more: Any) -> Case:
        return {"name": "c", "resources": {"requests": resources(), "limits": resources()}, **more}

    spec: Case = {"containers": [container() for _ in range(rng.randrange(4))]}
    policies = ({}, {"restartPolicy": "Always"}, {"restartPolicy": "OnFailure"})
    spec["initContainers"] = [container(**rng.choice(policies)) for _ in range(rng.randrange(4))]
    if rng.random() < 0.3:
        spec["overhead"] = resources()
    if rng.random() < 0.3:
        spec["resources"] = {"requests": resources()}
    return spec


def make(op: str, seed: int, count: int) -> list[Case]:
    """Return random cases of one operation, keys sorted as the API server sends them."""
    rng = random.Random(seed)
    values = Values(seed, bad=0.01 if op == "decode-bad" else 0.0)
    cases = [_case(op, rng, values, index) for index in range(count)]
    return [json.loads(json.dumps(as_sent(case), sort_keys=True)) for case in cases]


def _case(op: str, rng: random.Random, values: Values, index: int) -> Case:
    kind = SPECS[index % len(SPECS)]
    if op == "quantity":
        return {"op": op, "text": quantity_text(rng)}
    if op == "arithmetic":
        factor = rng.choice((0, 1, 2, 3, 10, 1000, -1, 2**40, 2**63 - 1))
        return {"op": op, "text": quantity_text(rng), "other": quantity_text(rng), "factor": factor}
    if op == "names":
        return {"op": op, "text": name_text(rng)}
    if op == "labels":
        return {"op": op, "labels": {name_text(rng): name_text(rng) for _ in range(rng.randrange(3))}}
    if op == "requests":
        return {"op": op, "raw": pod(rng)}
    if op in ("decode", "decode-bad"):
        kind = (SPECS + DOCUMENTS)[index % 8]
        raw = values.make(kind, 30)
        return {"op": "decode", "type": kind, "raw": raw if isinstance(raw, dict) else {}}
    if op == "apply":
        return {"op": op, "raw": values.make(gotypes.JOB_SET_SPEC, 40)}
    if op == "runtime-patch":
        patch = values.make(gotypes.JOB_SET_SPEC_PATCH, 20)
        return {"op": op, "raw": values.make(gotypes.JOB_SET_SPEC, 25), "patch": patch}
    if op == "resources":
        both = (values.make(gotypes.RESOURCE_REQUIREMENTS, 9) for _ in range(2))
        return {"op": op, "raw": next(both), "patch": next(both)}
    assert op == "merge", op
    both = (gotypes.decode(values.make(kind, 15), kind) for _ in range(2))
    return {"op": op, "type": kind, "raw": next(both), "patch": next(both)}


def as_sent(value: Any) -> Any:
    """Return a value as the API server sends it on: whole floats without a point."""
    if isinstance(value, dict):
        return {key: as_sent(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_sent(item) for item in value]
    if isinstance(value, float) and float_literal(value).lstrip("-").isdigit():
        return int(value)
    return value


def ask(cases: Iterable[Case]) -> list[Any]:
    """Return what upstream makes of the cases."""
    return gotools.ask("./kube", cases, escaped=False)  # Go's readers of quantities see the JSON as it is written


def answer(case: Case) -> Any:
    """Return what trainc makes of a case, in the oracle's words."""
    try:
        return _ANSWERS[case["op"]](case)
    except gotypes.GoDecodeError as error:
        return {"error": error.message}
    except (quantity.QuantityError, merge.MergeError) as error:
        return {"error": str(error)}


def _described(value: quantity.Quantity) -> Case:
    return {
        "json": value.canonical(),
        "value": value.value(),
        "milli": value.milli_value(),
        "zero": value.is_zero(),
        "sign": value.sign(),
        "format": str(value.format),
        "rounded": value.in_thousandths().canonical(),
    }


def _arithmetic(case: Case) -> Case:
    left, right = quantity.parse(case["text"]), quantity.parse(case["other"])
    return {
        "add": _described(left.add(right)),
        "sub": _described(left.sub(right)),
        "mul": _described(left.mul(case["factor"])),
        "again": _described(left.add(right).add(left)),
        "cmp": left.compare(right),
    }


def _runtime_patch(case: Case) -> Case:
    spec = gotypes.decode(case["raw"], gotypes.JOB_SET_SPEC)
    patch = gotypes.decode(case["patch"], gotypes.JOB_SET_SPEC_PATCH)
    return {"ok": gotypes.decode(merge.merge(spec, patch, gotypes.JOB_SET_SPEC), gotypes.JOB_SET_SPEC)}


def _names(case: Case) -> Case:
    text = case["text"]
    return {
        "dns1035_label": list(names.is_dns1035_label(text)),
        "dns1123_label": list(names.is_dns1123_label(text)),
        "dns1123_subdomain": list(names.is_dns1123_subdomain(text)),
        "label_key": list(names.is_qualified_name(text)),
        "label_value": list(names.is_valid_label_value(text)),
        "namespace_prefix": list(names.is_dns1123_label(names.mask_trailing_dash(text))),
        "config_map_key": list(names.is_config_map_key(text)),
        "relaxed_env_name": list(names.is_relaxed_env_var_name(text)),
        "port_name": list(names.is_valid_port_name(text)),
        "domain_prefixed_path": list(names.is_domain_prefixed_path("f", text)),
    }


def _labels(case: Case) -> Case:
    # Go's order is that of its maps, so the oracle sorts the errors.
    labels = case["labels"]
    return {
        "labels": sorted(names.validate_labels(labels, "f")),
        "annotations": sorted(names.validate_annotations(labels, "f")),
    }


_ANSWERS = {
    "quantity": lambda case: _described(quantity.parse(case["text"])),
    "quantity-json": lambda case: _described(quantity.from_json(case["raw"])),
    "arithmetic": _arithmetic,
    "decode": lambda case: {"ok": gotypes.decode(case["raw"], case["type"])},
    "apply": lambda case: {"ok": gotypes.apply_configuration(case["raw"], gotypes.JOB_SET_SPEC)},
    "merge": lambda case: {"ok": merge.merge(case["raw"], case["patch"], case["type"])},
    "runtime-patch": _runtime_patch,
    "resources": lambda case: {"ok": merge.merge_resources(case["raw"], case["patch"])},
    "requests": lambda case: {
        "ok": {name: amount.canonical() for name, amount in pods.pod_requests(case["raw"]).items()}
    },
    "names": _names,
    "labels": _labels,
}
