"""Strategic merge patch, patches of runtimes and of resources, against apimachinery with the real types."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

from fuzz.target import Case, Choices, Target
from kube.kube_cases import KEYS, MISFITS, SPINE, Values, answer
from oracle import gotools
from trainc.kube import gotypes

KINDS = (gotypes.POD_SPEC, gotypes.JOB_SET_SPEC, "v1.Container", "v1.ObjectMeta", gotypes.JOB_SET, gotypes.TRAIN_JOB)
DIRECTIVES = ("delete", "replace", "merge", "x", None, 1)
KEYED = sorted(KEYS)


class Objects(Values):
    """Values of Go types with few fields each, which bytes choose."""

    def __init__(self, chance: Choices) -> None:
        super().__init__(0, bad=chance.choice((0.0, 0.0, 0.02)), noise=chance.choice((0.0, 0.05)))
        self.random = chance

    def _struct(self, struct: str) -> dict[str, Any]:
        self.budget -= 1
        fields, needed = _names(struct)
        names = dict.fromkeys(needed)
        for _ in range(self.random.randrange(4) if self.budget > 0 else 0):
            names[self.random.choice(fields)] = None
        table = gotypes.fields(struct)
        out = {name: self._value(table[name].kind, name) for name in names}
        if out and self.noise and self.random.random() < self.noise:
            out[self.random.choice([*out]).swapcase()] = None  # an unknown field
        return out

    def _scalar(self, kind: str, name: str) -> Any:
        value = super()._scalar(kind, name)
        return int(value) if isinstance(value, float) and value == int(value) else value  # as it is sent


@cache
def _names(struct: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a struct, those below which most is merged several times, and those that items need."""
    table = gotypes.fields(struct)
    spine = [name for name in table if name in SPINE] * 4
    return (*table, *spine), tuple(name for name in table if name in KEYS)


def make(chance: Choices) -> Case:
    """Return a question to tests/oracle/kube: an object and a patch, which repeats some of its parts."""
    values = Objects(chance)
    op = chance.choice(("merge", "merge", "merge", "runtime-patch", "resources"))
    if op == "resources":
        raw, patch = (values.make(gotypes.RESOURCE_REQUIREMENTS, 4) or {} for _ in range(2))
        return {"op": op, "raw": raw, "patch": _patch(patch, raw, chance)}
    if op == "runtime-patch":
        raw = values.make(gotypes.JOB_SET_SPEC, chance.randrange(20)) or {}
        return {"op": op, "raw": raw, "patch": values.make(gotypes.JOB_SET_SPEC_PATCH, chance.randrange(12)) or {}}
    kind = chance.choice(KINDS)
    patch, raw = (values.make(kind, chance.randrange(1, 12)) or {} for _ in range(2))
    with suppress(gotypes.GoDecodeError):
        raw = gotypes.decode(raw, kind)  # only valid objects are patched
        return {"op": op, "type": kind, "raw": raw, "patch": _patch(patch, raw, chance)}
    return {"op": op, "type": kind, "raw": {}, "patch": patch}


def _patch(patch: Any, raw: Any, chance: Choices) -> Any:
    """Return a patch with directives, nulls, parts of the object and misfits."""
    if chance.is_done:
        return patch
    if isinstance(patch, dict) and isinstance(raw, dict):
        changed = {key: _patch(value, raw.get(key), chance) for key, value in patch.items()}
        for key in raw:
            if key not in changed and chance.randrange(3) == 1:
                changed[key] = _patch(raw[key], raw[key], chance)
        return _directed(changed, raw, chance)
    if isinstance(patch, list) and isinstance(raw, list):
        items = [_patch(item, chance.choice([item, *raw]), chance) for item in patch]
        for item in raw:
            if chance.randrange(3) == 1:
                items.insert(chance.randrange(len(items) + 1), _patch(item, item, chance))
        if chance.randrange(8) == 1:
            items.append({"$patch": chance.choice(DIRECTIVES)})
        return items
    return patch


def _directed(patch: dict[str, Any], raw: dict[str, Any], chance: Choices) -> dict[str, Any]:
    kind = chance.randrange(16)
    key = chance.choice([*raw, *patch, "x"])
    old, new = raw.get(key), patch.get(key)
    lists = [each for each in (old, new) if isinstance(each, list)]
    items = [item for each in lists for item in each]
    if kind == 1:
        patch["$patch"] = chance.choice(DIRECTIVES)
    elif kind == 2:
        patch[key] = chance.choice((None, *MISFITS, {}, []))
    elif kind == 3:
        patch["$retainKeys"] = chance.sample([*raw, *patch], chance.randrange(len(raw) + len(patch) + 1))
    elif kind == 4:
        order = [_named(item) if isinstance(item, dict) else item for item in items]
        chance.shuffle(order)
        patch[f"$setElementOrder/{key}"] = chance.choice((order, new, None, {}, []))
    elif kind == 5 and (key not in patch or f"$setElementOrder/{key}" in patch):  # else Go's result is random
        patch[f"$deleteFromPrimitiveList/{key}"] = chance.choice((items[:2], old, None, {}, []))
    elif kind == 6:
        patch["$setElementOrder"] = ["a"]
    return patch


def _named(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in KEYED if key in item}


def compare(_case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare what trainc and Go say.

    Of several errors, Go meets any one first, since it ranges over maps; where it panics, nothing is defined.
    """
    if ours == theirs or ("error" in theirs and ("error" in ours or theirs["error"].startswith("panic"))):
        return None
    if ours.get("error", "").startswith("a collection where"):
        return None  # Go does not compare the merge key of a single item; no server accepts the result
    who = "Go" if "error" in theirs else "trainc" if "error" in ours else None
    kind = f"only {who} refuses: {re.split('[^a-zA-Z ]', {**ours, **theirs}['error'])[0]}" if who else "differs"
    return f"{kind}\n{ours}\n{theirs}"


TARGET = Target(make, answer, compare, oracle=lambda: [gotools.build(package="./kube")])
