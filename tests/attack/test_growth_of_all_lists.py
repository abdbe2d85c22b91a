"""No command calls a function for each pair of items, whichever list or map of an input has many items.

One document of a kind has items in every list and map of its schema, also in those within items; a new field is covered
by itself. So have trainc.yaml, image.yaml and their lock files. Commands run with 12 items in each and with 48 (outside
CI, half as many), and calls are counted, so that the result depends neither on the machine nor on its load. What a
function of Python's C code does in one call, such as a search in a long text, is not seen here but in test_growth.py.
"""

from __future__ import annotations

import cProfile
import json
import pstats
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from growth import warm_up

from effort import THOROUGH, some
from folders import put
from gitrepo import commit, needs_git
from trainc.cli.root import trainc
from trainc.findings.codes import CODES
from trainc.schema import parse
from trainc.schema.kinds import BUILT_IN, KINDS, Structural

COUNT: Final = 12 if THOROUGH else 6
MOST: Final = 8
"""Times the calls of a function that four times the items may take; all pairs take sixteen times."""

LEAST: Final = 7 * COUNT**2
"""Calls below which nothing is compared: some functions look at large objects only."""

OMITTED: Final = {
    *("status", "initializer", "envInjection", "volumeClaimPolicies", "dependsOn", "ephemeralContainers"),
    *("coordinator", "targetReplicatedJobs", "onJobFailureReasons"),
}
"""Fields that are left out: those of the cluster, of few items at most, and what would be refused beside the others."""

SINGLE: Final = frozenset(("replicatedJobs", "runtimePatches"))
"""Lists of one item, since each has many lists."""

TEXTS: Final = {"expression": "true", "operator": "Exists", "finalizers": "orphan"}
WARNINGS: Final = {f"TC{code}": "warning" for code in (803, 805, 806, 807, 808, 809, 810, 811)}
"""What only a Job or pod would refuse, so that all else runs as well."""

STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


class Filling:
    """Fills the lists and maps of a schema; ``changed``: with other values, and in another order."""

    def __init__(self, count: int, *, changed: bool = False) -> None:
        self.count, self.changed = count, changed

    def whole(self, schema: Structural, name: str = "") -> Any:
        """Return a value with items in each list and map below."""
        if schema.items is not None:
            most = 1 if name in SINGLE else min(self.count, schema.keywords.get("maxItems", self.count))
            items = [self.least(schema.items, number, name) for number in range(1, most)]
            return [self.whole(schema.items, name), *(items[::-1] if self.changed else items)]
        if schema.additional is not None:
            return {f"k{number}.io/a": self.least(schema.additional, number, name) for number in range(self.count)}
        if not schema.properties:
            return self.least(schema, 0, name)
        found = {key: self.whole(below, key) for key, below in schema.properties.items() if key not in OMITTED}
        lists = {key: value for key, value in found.items() if isinstance(value, dict | list) and value}
        return self.least(schema, 0, name) | lists

    def least(self, schema: Structural, number: int, name: str = "") -> Any:
        """Return the smallest value, or item of that number."""
        keywords = schema.keywords
        if schema.properties:
            needed = {*keywords.get("required", ()), *({"name"} & schema.properties.keys())}
            return {key: self.least(schema.properties[key], number, key) for key in sorted(needed)}
        if "enum" in keywords or schema.int_or_string:
            return keywords.get("enum", [str(2 if self.changed else 1)])[0]
        if schema.type == "string":
            of_format = {"date-time": "2026-01-01T00:00:00Z", "byte": "YQ=="}.get(keywords.get("format"))
            return of_format or TEXTS.get(name, "n{}").format(number)
        numbers = {"integer": max(keywords.get("minimum", 1), number + 1), "boolean": True, "array": []}
        return numbers.get(schema.type, {})


def merged(value: Any, other: Any) -> Any:
    """Return a value with what another one has; lists are merged item by item."""
    if isinstance(value, dict) and isinstance(other, dict):
        return {**value, **{key: merged(value[key], child) if key in value else child for key, child in other.items()}}
    if isinstance(value, list) and isinstance(other, list):
        return [merged(*pair) for pair in zip(value, other, strict=False)] + value[len(other) :] + other[len(value) :]
    return other


def head(kind: str, group: str = "trainer.kubeflow.org") -> dict[str, Any]:
    found = BUILT_IN.served(group, kind)[0]
    namespace = {"namespace": "a"} if found.namespaced else {}
    return {"apiVersion": found.api_version, "kind": kind, "metadata": {"name": "x", **namespace}}


POD = {"containers": [{"name": "node", "image": "example.com/a:1"}]}


def schema_of(kind: str, group: str = "trainer.kubeflow.org") -> Structural:
    return BUILT_IN.served(group, kind)[0].schema


WARNED = [code for code, each in CODES.items() if each.severity == "warning"]
SCHEMAS = Path(__file__).parents[2] / "docs/schemas/trainc.dev"


def schema_of_file(name: str) -> Structural:
    """Return the schema of trainc.yaml, image.yaml or a lock file; of alternatives, that with lists or fields."""
    document = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))

    def inlined(value: Any) -> Any:
        if isinstance(value, list):
            return [inlined(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return inlined(document["$defs"][value["$ref"].rpartition("/")[2]])
        choices = [inlined(choice) for choice in value.get("anyOf", ())]
        chosen = [choice for choice in choices if {"items", "properties"} & choice.keys()] + choices[:1]
        return chosen[0] if choices else {key: inlined(item) for key, item in value.items() if key != "$defs"}

    return parse(inlined({key: value for key, value in document.items() if key != "$schema"}))


def settings(filling: Filling, environments: int = 0) -> dict[str, str]:
    """Return trainc.yaml and images.lock.yaml, and a job, its runtime and companion that name their entries.

    More environments have other jobs. In each, the runtime and its companion are compiled again.
    """
    count, value = filling.count, "b" if filling.changed else "a"
    images = [f"k{number}.io/a/b:1" for number in range(count)]
    found = filling.whole(schema_of_file("trainc.yaml"))
    options = found.pop("defaults")
    patches = [
        {"target": {"kind": "JobSet"}, "patch": {"metadata": {"annotations": {f"k{number}": value}}}}
        for number in range(count)
    ]
    options |= {"jobs": ["*/*", *options["jobs"]], "patches": patches, "fixes": "recommended"}
    argocd = {"repoURL": "https://example.com/a.git", "write": "argocd"}
    options["argocd"] = {"namespaces": ["a", *options["argocd"]["namespaces"]], **argocd}
    spread = {f"e{number}": {"argocd": argocd, "jobs": ["b/*"]} for number in range(environments)}
    found |= {"environments": {"prod": options, **spread}, "fixes": "recommended"}
    found["unmanaged"] = [f"out/{name}" for name in found["unmanaged"]]
    found["lock"] = {"required": [image.partition(":")[0] for image in images]}
    found["severities"] = dict.fromkeys(WARNED[:count], "warning") | WARNINGS
    containers = [{"name": f"n{number}", "image": image} for number, image in enumerate(images)]
    job = head("TrainJob") | {"spec": {"runtimeRef": {"name": "x"}, "trainer": {}}}
    pod = {"spec": {"containers": POD["containers"] + containers}}
    node = {"name": "node", "template": {"metadata": {"labels": STEP}, "spec": {"template": pod}}}
    runtime = head("ClusterTrainingRuntime") | {"spec": {"template": {"spec": {"replicatedJobs": [node]}}}}
    account = {"kind": "ServiceAccount", "name": "n0"}
    subjects = [account | {"namespace": f"k{number}.io/a"} for number in range(count)]
    binding = head("RoleBinding", "rbac.authorization.k8s.io") | {"subjects": subjects}
    binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"}
    digests = {image: f"sha256:{number:064}" for number, image in enumerate(images)}
    return {
        "trainc.yaml": json.dumps(found),
        "images.lock.yaml": json.dumps({"images": digests}),
        "jobs/a/one.yaml": json.dumps(job),
        "runtimes/x.yaml": f"{json.dumps(runtime)}\n---\n{json.dumps(binding)}",
    }


def image(filling: Filling) -> dict[str, str]:
    """Return an image's definition and lock files, of which one lacks a package so that nothing is built."""
    found = filling.whole(schema_of_file("image.yaml"))
    found |= {"image": "example.com/a:1", "suite": "bookworm", "created": "2026-01-01T00:00:00Z"}
    found["packages"] = ["python3-pip-whl", *(f"p{number}" for number in range(filling.count))]
    found["files"] = [{"from": "a", "to": f"/a/n{number}"} for number in range(filling.count)]
    found["folders"] = [f"/b/n{number}" for number in range(filling.count)]
    found["links"] = {f"/c/n{number}": f"/a/n{number}" for number in range(filling.count)}
    packages = "".join(f"p{number} 1 {'0' * 64}\n" for number in range(1, filling.count))
    wheels = "".join(f"n{number}==1 --hash=sha256:{'0' * 64}\n" for number in range(filling.count))
    texts = {"image.yaml": json.dumps(found), "packages.lock": packages, "wheels.lock": wheels, "a": ""}
    return {"trainc.yaml": "environments: {prod: {}}\n", **{f"images/a/{name}": text for name, text in texts.items()}}


def files(kind: str, filling: Filling) -> Mapping[str, str]:
    """Return a job and its runtime, of which one has all lists, or an object of another kind beside the runtime."""
    if kind in FILES:
        return FILES[kind](filling)
    job = head("TrainJob") | {"spec": {"runtimeRef": {"name": "x"}, "trainer": {}}}
    jobs = {"replicatedJobs": [{"name": "node", "template": {"metadata": {"labels": STEP}, "spec": {"template": {}}}}]}
    jobs["replicatedJobs"][0]["template"]["spec"]["template"] = {"spec": POD}
    runtime = head("ClusterTrainingRuntime") | {"spec": {"template": {"spec": jobs}}}
    environment, more = {}, []
    if kind == "runtime":
        runtime = merged(filling.whole(schema_of("ClusterTrainingRuntime")), runtime)
    elif kind == "job":
        patch = {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}}
        patches = [{"manager": "example.com/a", "trainingRuntimeSpec": patch}]
        job = merged(filling.whole(schema_of("TrainJob")), job | {"spec": job["spec"] | {"runtimePatches": patches}})
        containers = [{"name": f"n{number}", "image": "example.com/a:1"} for number in range(filling.count)]
        jobs["replicatedJobs"][0]["template"]["spec"]["template"]["spec"] = {
            "containers": POD["containers"] + containers,
            "initContainers": containers,
        }
    elif kind == "patch":
        patch = merged(filling.whole(schema_of("JobSet", "jobset.x-k8s.io").properties["spec"]), jobs)
        environment = {"patches": [{"target": {"kind": "JobSet"}, "patch": {"spec": patch}}]}
    else:
        group, _, name = kind.rpartition("/")
        pod = {"spec": POD} if name == "Pod" else {}
        more = [merged(filling.whole(schema_of(name, group)), head(name, group) | pod)]
    return {
        "trainc.yaml": json.dumps({"environments": {"prod": environment}, "severities": WARNINGS}),
        "jobs/a/one.yaml": json.dumps(job),
        "runtimes/x.yaml": "\n---\n".join(map(json.dumps, (runtime, *more))),
    }


def counted(root: Path, kind: str, count: int) -> Iterator[dict[str, int]]:
    """Yield the calls of each function of trainc, for command after command."""
    commands = ["render --jobs=1", "explain a/x", "commit", "validate --base=HEAD --jobs=1", "render --jobs=1", "diff"]
    for name, text in files(kind, Filling(count)).items():
        put(root, name, text)
    if kind in FILES:
        commands = ["image build a"] if kind == "image" else [*commands, "argocd"]
    for command in commands if kind in ("runtime", *FILES) else commands[:1]:
        if command == "commit":
            commit(root)
            for name, text in files(kind, Filling(count, changed=True)).items():
                put(root, name, text)
            continue
        profile = cProfile.Profile()
        profile.enable()
        result = CliRunner().invoke(trainc, [*command.split(), f"--root={root}"], prog_name="trainc")
        profile.disable()
        assert result.exit_code == 0 or "/" in kind or kind == "image" or "--base" in command, result.output[:2000]
        calls = pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]
        yield {f"{Path(file).name}:{line} {name}": row[1] for (file, line, name), row in calls if "trainc" in file}


FILES = {
    "image": image,
    "environments": lambda filling: settings(Filling(1, changed=filling.changed), filling.count),
    "settings": settings,
}
OTHERS = [f"{group}/{kind}" for group, kind in BUILT_IN.kinds() if kind not in KINDS]


@needs_git
@pytest.mark.parametrize("kind", some([*FILES, *OTHERS, "job", "patch", "runtime"], 17))
def test_four_times_the_items_of_each_list(kind: str, tmp_path: Path) -> None:
    warm_up()
    few, many = (list(counted(tmp_path / str(count), kind, count)) for count in (COUNT, 4 * COUNT))
    for before, after in zip(few, many, strict=True):
        grown = {name: (before.get(name, 0), calls) for name, calls in after.items()}
        assert {name: pair for name, pair in grown.items() if pair[1] > max(MOST * pair[0], LEAST)} == {}
