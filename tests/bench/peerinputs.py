"""The inputs of other tools for the jobs of a fleet: a chart, overlays, JSON schemas, cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import fleet
from skeletons import FIELDS, SCALING, Skeleton, fill

from trainc.schema import Structural, resource
from trainc.schema.kinds import BUILT_IN

CASE = 50
"""How many jobs a case for the oracle holds."""


def chart(skeletons: Mapping[str, Skeleton], jobs: Iterable[fleet.Job]) -> Iterator[tuple[str, str]]:
    """Yield a Helm chart: a template a kind, and the jobs as values."""
    yield "Chart.yaml", "apiVersion: v2\nname: fleet\nversion: 1.0.0\n"
    for kind, skeleton in skeletons.items():
        holes = {name: f"{{{{ .{name} }}}}" for name in FIELDS}
        body = "".join(f"---\n{text}" for text in skeleton.filled(holes))
        yield f"templates/_{kind}.tpl", f'{{{{- define "{kind}" -}}}}\n{_looped(body, kind)}{{{{- end -}}}}\n'
    yield "templates/jobs.yaml", "{{- range .Values.jobs }}\n{{ include .kind . }}\n{{- end }}\n"
    lines = (f"- {{kind: {each.kind}, {', '.join(_value(each, name) for name in FIELDS)}}}\n" for each in jobs)
    yield "values.yaml", "jobs:\n" + "".join(lines)


def _value(job: fleet.Job, name: str) -> str:
    text = getattr(job, name)
    return f"{name}: {text}" if name == "nodes" else f"{name}: {json.dumps(text)}"


def _looped(body: str, kind: str) -> str:
    """Write the nodes of a hostfile with a loop, as a chart for any number of nodes has to."""
    if kind in SCALING:
        return body
    node = r"(?m)^(?P<indent> +)(?P<host>.*-node-0-)\d+(?P<rest>\..* slots=\d+)\n"
    found = list(re.finditer(node, body))
    if not found:
        return body
    indent, host, rest = found[0]["indent"], found[0]["host"], found[0]["rest"]
    host, rest = (text.replace("{{ .", "{{ $.") for text in (host, rest))
    line = f"{indent}{host}{{{{ . }}}}{rest}\n"
    loop = f"{{{{- range until (sub (int .nodes) 1 | int) }}}}\n{line}{{{{- end }}}}\n"
    # $ is the root of the template, which include hands the job to.
    return body[: found[0].start()] + loop + body[found[-1].end() :]


def overlays(skeletons: Mapping[str, Skeleton], jobs: Iterable[fleet.Job]) -> Iterator[tuple[str, str]]:
    """Yield a tree for kustomize: a base a kind, an overlay of JSON patches a job, one root over all overlays."""
    for kind, skeleton in skeletons.items():
        names = [f"{number}.yaml" for number in range(len(skeleton.texts))]
        yield from ((f"base/{kind}/{name}", text) for name, text in zip(names, skeleton.texts, strict=True))
        yield f"base/{kind}/kustomization.yaml", f"resources: [{', '.join(names)}]\n"
    places = {kind: list(skeleton.holes()) for kind, skeleton in skeletons.items()}
    roots = []
    for each in jobs:
        patches = [
            {"target": {"kind": data["kind"]}, "patch": json.dumps(_operations(holes, each))}
            for data, holes in places[each.kind]
        ]
        overlay = {"resources": [f"../../base/{each.kind}"], "patches": patches}
        yield f"overlays/{each.name}/kustomization.yaml", json.dumps(overlay, indent=1)
        roots.append(f"overlays/{each.name}")
    yield "kustomization.yaml", json.dumps({"resources": roots}, indent=1)


def _operations(holes: Iterable[tuple[tuple[str | int, ...], str | int]], job: fleet.Job) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": pointer(path), "value": fill(value, job)} for path, value in holes]


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def schemas() -> Iterator[tuple[str, str]]:
    """Yield JSON schemas by file name for what a fleet's output holds; no field but those declared is allowed."""
    yield "jobset.json", json.dumps(_whole(resource("JobSet").schema))
    config_map = BUILT_IN.find("", "v1", "ConfigMap")
    assert config_map is not None
    yield "configmap.json", json.dumps(_whole(config_map.schema))


def _whole(schema: Structural) -> dict[str, Any]:
    text = json_schema(schema)
    text["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return text


KEYWORDS = (
    *("enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"),
    *("maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required"),
)


def json_schema(schema: Structural) -> dict[str, Any]:
    """Return a structural schema as a JSON schema (draft 7), strict: closed where properties are declared."""
    found: dict[str, Any] = {name: schema.keywords[name] for name in KEYWORDS if name in schema.keywords}
    if schema.int_or_string:
        found["type"] = ["integer", "string"]
    elif schema.type:
        found["type"] = [schema.type, "null"] if schema.nullable else schema.type
    if schema.properties:
        found["properties"] = {name: json_schema(sub) for name, sub in schema.properties.items()}
        found["additionalProperties"] = bool(schema.preserves or schema.embedded)
    elif schema.additional is not None:
        found["additionalProperties"] = json_schema(schema.additional)
    if schema.items is not None:
        found["items"] = json_schema(schema.items)
    return found


def remove_rules(crd: Any, text: str) -> int:
    """Remove the CEL rules of a CRD that hold a text, in place; return how many there were."""
    if isinstance(crd, list):
        return sum(remove_rules(each, text) for each in crd)
    if not isinstance(crd, dict):
        return 0
    rules = crd.get("x-kubernetes-validations", [])
    kept = [rule for rule in rules if text not in rule["rule"]]
    if rules:
        crd["x-kubernetes-validations"] = kept
    return len(rules) - len(kept) + sum(remove_rules(each, text) for each in crd.values())


def cases(jobs: Iterable[fleet.Job]) -> Iterator[str]:
    """Yield lines for the oracle (tests/oracle/main.go): the runtimes and fifty jobs each."""
    runtimes = list(fleet.runtimes().values())
    texts: list[str] = []
    number = 0
    for each in jobs:
        texts.append(each.text.replace("  labels:\n", f"  namespace: {each.namespace}\n  labels:\n", 1))
        if len(texts) == CASE:
            yield _case(number, runtimes, texts)
            texts, number = [], number + 1
    if texts:
        yield _case(number, runtimes, texts)


def _case(number: int, runtimes: list[str], texts: list[str]) -> str:
    return json.dumps({"id": str(number), "text": "---\n".join((*runtimes, *texts))}) + "\n"
