"""The table of docs/limits.md has the constants of the code, and each limit holds: at it, and one above it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from growing_projects import config, ruled, things
from growing_texts import Input, hosts, one, trained
from growth import measure

from effort import some
from gitrepo import commit, needs_git
from trainc import Options, Source, compile
from trainc.admission import failure_patterns, native, rules
from trainc.cache import store
from trainc.cache.store import Store
from trainc.cel import codegen, composition, parser, work
from trainc.cel.codegen import Program
from trainc.cel.composition import compile_expression
from trainc.cel.declarations import admission
from trainc.cel.values import EvalError
from trainc.checks import functions
from trainc.documents import libyaml, problems
from trainc.findings import settling
from trainc.images import definition
from trainc.images.build import BuildError
from trainc.inputs import settings
from trainc.kube import names, quantity
from trainc.plugins.mpi import implementations
from trainc.project import files, listing, read, revisions
from trainc.schema import formats

PAGE = Path(__file__).parents[2] / "docs/limits.md"
HEAD = "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: large}\n"
OTHER = {"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "large"}}
EMPTY = len(json.dumps({**OTHER, "data": ""}, separators=(",", ":")))


class Limit(NamedTuple):
    """A constant, inputs of any size, and the code of the finding above it, or the exit status."""

    most: int
    make: Callable[[int], Input] | None = None
    above: str | int = "TC012"


def text(content: str) -> Input:
    return Input(command=("build", "--no-cache", "-"), text=content)


def padded(size: int) -> Input:
    start = one("  trainer: {}\n#")
    return text(f"{start}{'x' * (size - len(start) - 1)}\n")


def aliases(size: int) -> Input:
    """Return a List whose aliases repeat so many characters; each text counts two more, for its quotes."""
    count, rest = divmod(size, 1024)
    item = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{}}}, data: {{a: {}}}}}"
    values = [f"&a {'x' * 1022}", f"&b {'y' * (1024 + rest - 2)}", *["*a"] * (count - 1), "*b"]
    items = "".join(f"- {item.format(number, value)}\n" for number, value in enumerate(values))
    return text(f"apiVersion: v1\nkind: List\nitems:\n{items}---\n{one()}")


def repeated(size: int) -> Input:
    """Return an object whose aliases repeat so many keys and items: mostly a list that counts as 50."""
    items = ["&a [" + "1, " * 49 + "]", "&b 1", *["*a"] * (size // 50), *["*b"] * (size % 50)]
    return text(f"{HEAD}data: [{', '.join(items)}]\n---\n{one()}")


def script(size: int) -> Input:
    """Return a job with a function of the SDK, whose script has so many bytes."""
    start = "read -r -d '' SCRIPT << EOM\n\ndef train():\n    pass\ntrain()\n#"
    end = '\nEOM\nprintf "%s" "$SCRIPT" > "a.py"\npython "a.py"'
    word = start + "x" * (size - len(start) - len(end)) + end
    return text(one(f"  trainer: {{command: [bash, -c, {json.dumps(word)}]}}\n"))


def jobset(size: int) -> Input:
    """Return a job whose JobSet has so many bytes as JSON."""

    def job(*values: int) -> str:
        env = [{"name": f"A{number:02}", "value": "x" * value} for number, value in enumerate(values)]
        return one(f"  trainer: {{env: {json.dumps(env)}}}\n")

    values = [*[65536] * (size // 65536 - 1), 1]
    (found,) = compile([Source("job.yaml", job(*values))], Options()).objects
    return text(job(*values[:-1], 1 + size - len(json.dumps(found.data, separators=(",", ":")))))


def requests(digits: int) -> Input:
    return text(one(f"  trainer: {{resourcesPerNode: {{requests: {{cpu: '{'9' * digits}'}}}}}}\n"))


def patterns(work: int) -> Input:
    """Return an object whose CRD has three patterns, of 4004, 5 and 4 instructions, that take so much work."""
    large, rest = divmod(work, 4004)
    rest += 4004
    small = -rest % 5
    patterns = {"a": "x{1000}" * 4, "b": "x", "c": "(?:)"}
    lengths = {"a": large - 1, "b": (rest - 4 * small) // 5, "c": small}
    fields = {name: {"type": "string", "pattern": pattern} for name, pattern in patterns.items()}
    texts = {name: "x" * length for name, length in lengths.items()}
    spec = json.dumps({"type": "object", "properties": fields})
    return things(f"properties: {{spec: {spec}}}", f"spec: {json.dumps(texts)}")


def failing(size: int) -> Input:
    """Return a job with a runtime whose failure policy has two patterns, of such a size together."""
    large, rest = divmod(size, 7000)  # x{1000} has seven characters
    texts = ["x{1000}" * large, "x" * rest]
    rules = [{"name": "a", "action": "FailJobSet", "onJobFailureMessagePatterns": texts}]
    policy = json.dumps({"rules": rules})
    return text(trained().replace("{spec: {replicatedJobs", f"{{spec: {{failurePolicy: {policy}, replicatedJobs", 1))


def jsonl(size: int) -> Input:
    line = '{"env": "dyn", "expr": "true", "id": ""}'
    return Input(command=("cel", "--jsonl"), text=line.replace('""', f'"{"x" * (size - len(line))}"'))


LIMITS = {
    "bytes of a file, or of standard input": Limit(files.LIMIT, padded),
    "files below a folder": Limit(files.MAX_FILES),
    "bytes of the files below a folder": Limit(files.MAX_TOTAL),
    "bytes of the inputs of a folder of a git revision": Limit(files.MAX_TOTAL),
    "documents in a file": Limit(problems.MAX_DOCUMENTS, lambda n: text("---\n#\n" * n + one())),
    "bytes of an object, as JSON": Limit(
        problems.MAX_OBJECT, lambda n: text(f"{HEAD}data: {'é' * 9}{'x' * (n - EMPTY - 18)}\n---\n{one()}")
    ),
    "keys and items of an object": Limit(
        problems.MAX_NODES,  # five keys are those of the object
        lambda n: text(json.dumps({**OTHER, "data": [1] * (n - 7) + [{"a": 1}]}) + f"\n---\n{one()}"),
    ),
    "nested lists and mappings": Limit(
        problems.MAX_DEPTH, lambda n: text(one(f"  a: {'[' * (n - 2)}1{']' * (n - 2)}\n"))
    ),
    "characters repeated by aliases in a document": Limit(problems.MAX_ALIASED, aliases),
    "keys and items repeated by aliases in a document, where they are nine times the others": Limit(
        problems.MAX_REPEATED, repeated
    ),
    'words such as `a":b` in flow collections of a document': Limit(
        libyaml.MOST_ATTEMPTS, lambda n: text(one("  a: [" + 'a":b, ' * n + "]\n"))
    ),
    "characters of directives `%TAG` in a file": Limit(
        libyaml._MOST_DIRECTIVES, lambda n: text(f"%TAG !a! {'x' * (n - 9)}\r---\r{one()}")
    ),
    "digits of a quantity, with those that its exponent adds": Limit(quantity._MAX_SHIFT, requests, "TC109"),
    "bytes of the values of a ConfigMap": Limit(
        native._LIMIT,
        lambda n: text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {'x' * n}}}\n---\n{one()}"),
        "TC022",
    ),
    "bytes of a JobSet, as JSON": Limit(native.QUOTED_LIMIT, jobset, "TC022"),
    "bytes of the annotations of an object": Limit(
        names.TOTAL_ANNOTATION_SIZE_LIMIT,
        lambda n: text(one().replace("name: one", f"name: one, annotations: {{a: {'x' * (n - 1)}}}")),
        "TC108",
    ),
    "characters of the name of a TrainJob": Limit(
        names.DNS1123_LABEL_MAX_LENGTH, lambda n: text(one().replace("name: one", f"name: {'a' * n}")), "TC201"
    ),
    "hosts of an MPI job": Limit(
        implementations.MAX_HOSTS,
        lambda n: text(hosts(n)),
        "TC407",
    ),
    "bytes of a function of the SDK, as an argument": Limit(functions.MAX_ARGUMENT - 1, script, "TC063"),
    "characters of a CEL expression": Limit(parser.CODE_POINTS, lambda n: ruled("true" + " " * (n - 4)), "TC512"),
    "nested brackets of a CEL expression": Limit(
        parser.LIMIT - 1, lambda n: ruled("(" * n + "true" + ")" * n), "TC512"
    ),
    "cost of a CEL expression": Limit(codegen.LIMIT),
    "cost of all CEL expressions of a policy for an object": Limit(composition.MOST),
    "work of a CEL expression that its cost does not show": Limit(work.BUDGET),
    "work of the patterns of a CRD for an object": Limit(formats.MOST_WORK, patterns),
    "characters of the patterns in the failure policy of a JobSet, times their repetitions": Limit(
        failure_patterns.MOST, failing
    ),
    "evaluations of the rules of a CRD for an object": Limit(rules.MOST_WORK),
    "bytes of a line of `trainc cel --jsonl`": Limit(files.LIMIT, jsonl, 2),
    "environments in trainc.yaml": Limit(
        settings.MAX_ENVIRONMENTS,
        lambda n: config("environments: {" + ", ".join(f"e{i}: {{}}" for i in range(n)) + "}\n"),
        "TC013",
    ),
    "patches of an environment": Limit(
        settings.MAX_PATCHES,
        lambda n: config("environments: {prod: {patches: [" + "{target: {kind: JobSet}, patch: {}}, " * n + "]}}\n"),
        "TC013",
    ),
    "bytes of a file of an image": Limit(definition._LIMIT),
    "bytes of a file of the cache": Limit(store._LARGEST),
    "findings shown per code and file": Limit(settling.MOST),
}


def test_the_page_has_the_constants() -> None:
    rows = re.findall(r"^\| (.+?) \| ([0-9,]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert {name: int(number.replace(",", "")) for name, number in rows} == {
        name: limit.most for name, limit in LIMITS.items()
    }


@pytest.mark.parametrize("name", some((name for name, limit in LIMITS.items() if limit.make is not None), 6))
def test_an_input_at_its_limit_and_above_it(name: str) -> None:
    limit = LIMITS[name]
    assert limit.make is not None
    at, above = measure(limit.make(limit.most)), measure(limit.make(limit.most + 1))
    if isinstance(limit.above, int):
        assert (at.status, above.status) == (0, limit.above)
    else:
        assert at.status in (0, 1)
        assert above.status in (0, 1)
        assert [limit.above in run.codes for run in (at, above)] == [False, True], (at, above)


@pytest.mark.parametrize("constant", ["MAX_FILES", "MAX_TOTAL"])
@pytest.mark.parametrize("place", ["jobs", "other", "policies"])
def test_all_files_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, place: str) -> None:
    monkeypatch.setattr(listing if constant == "MAX_FILES" else read, constant, 3)

    def problems() -> list[tuple[str, str, str]]:
        found = read.read_given(tmp_path, tmp_path, place) if place == "other" else read.read_tree(tmp_path, place)
        return [(finding.code, finding.file, finding.message) for finding in found.findings]

    (tmp_path / place / "a").mkdir(parents=True)
    for name in ("x", "y", "z"):
        (tmp_path / place / f"a/{name}.yaml").write_text("#")
    assert problems() == []
    (tmp_path / place / "a/zz.yaml").write_text("#")
    ((code, _, message),) = problems()
    assert code == "TC012"
    assert message == ("more than 3 files" if constant == "MAX_FILES" else "with this file, more than 0 MiB in all")


@needs_git
def test_all_files_of_a_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "MAX_TOTAL", 4)
    (tmp_path / "jobs/a").mkdir(parents=True)
    (tmp_path / "runtimes").mkdir()
    names = ["jobs/a/x.yaml", "runtimes/r.yaml"]  # together more, which a checkout may have, too
    for name in names:
        (tmp_path / name).write_text("####")
    commit(tmp_path)
    assert [source.name for source in revisions.read_revision(tmp_path, "HEAD").sources] == names
    (tmp_path / "jobs/a/y.yaml").write_text("#")
    commit(tmp_path)
    with pytest.raises(revisions.RevisionError, match="the inputs in jobs of the revision have more than 0 MiB"):
        revisions.read_revision(tmp_path, "HEAD")


def test_the_cost_of_an_expression() -> None:
    program = compile_expression("[1, 2, 3].all(a, a > 0)", admission())
    assert isinstance(program, Program)
    value, cost, _ = program.run({})
    assert value is True
    assert program.run({}, cost)[0] is True
    assert isinstance(program.run({}, cost - 1)[0], EvalError)


def test_work_that_the_cost_does_not_show() -> None:
    meter = work.fresh()
    work.spend(meter, work.BUDGET)
    with pytest.raises(work.Exceeded):
        work.spend(meter, 1)


def test_a_file_of_an_image(tmp_path: Path) -> None:
    (tmp_path / "image.yaml").write_text(
        "image: example.com/a:1\nsuite: bookworm\ncreated: '2026-11-23T00:00:00Z'\npackages: [git]\n"
        "files: [{from: large, to: /large}]\n"
    )
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", definition._LIMIT)
    inputs, findings = definition.read_image(tmp_path)
    assert inputs is not None, findings
    assert len(inputs.contents["large"]) == definition._LIMIT
    os.truncate(tmp_path / "large", definition._LIMIT + 1)
    with pytest.raises(BuildError, match="large is larger than 64 MiB"):
        definition.read_image(tmp_path)


def test_a_file_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Store(tmp_path / "cache/version", "repository")
    cache.save("value", [1, 2])
    size = cache.path("value").stat().st_size
    monkeypatch.setattr(store, "_LARGEST", size)
    assert cache.load("value", list) == [1, 2]
    monkeypatch.setattr(store, "_LARGEST", size - 1)
    assert cache.load("value", list) is None


def test_a_jobset_that_no_later_run_could_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """TrainJob and runtime are within the limit of keys and items; their JobSet in out/ would not be compared."""
    for module in (problems, native):
        monkeypatch.setattr(module, "MAX_NODES", 1_000)
        monkeypatch.setattr(module, "SMALL_TEXT", 0)

    def too_large(items: int, **options: bool) -> list[str]:
        pod = {"initContainers": [{"name": "s", "image": "a.example/b:1", "args": ["a"] * items}]}
        term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"] * 50}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        patch = {"name": "node", "template": {"spec": {"template": {"spec": {"affinity": {"nodeAffinity": required}}}}}}
        spec = {"template": {"spec": {"replicatedJobs": [patch]}}}
        runtime = (
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: rt}\n"
            "spec: {template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: "
            "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {"
            f"initContainers: {json.dumps(pod['initContainers'])}, containers: [{{name: node, image: 'a.example/b:1'}}]"
            "}}}}}]}}}\n"
        )
        job = (
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: one}\nspec: {runtimeRef: "
            f"{{name: rt}}, runtimePatches: [{{manager: a.example/b, trainingRuntimeSpec: {json.dumps(spec)}}}]}}\n"
        )
        build = compile([Source("rt.yaml", runtime), Source("job.yaml", job)], Options(**options))
        return [finding.code for finding in build.findings if finding.code == "TC022"]

    assert too_large(850) == []
    assert too_large(950) == ["TC022"]
    assert too_large(950, faithful=True) == []
