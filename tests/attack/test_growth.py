"""Work grows with the size of the input, not with its square: each kind of text at one size and at four times that.

What is compared is the CPU time of the command itself, in this process. Four times the input may take up to nine
times as long, where work that grows with the square takes sixteen times. Texts are padded where each document could
be looked up in the whole text, so that small numbers of documents show it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from click.testing import CliRunner

from trainc.cli.root import trainc

MOST = 9
"""Times the work that four times the input may take."""

LEAST = 0.03
"""Seconds below which nothing is compared."""

HEAD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec:
  runtimeRef: {name: torch-distributed}
"""
PAD = f"# {'x' * 2000}\n"
OBJECT = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "one"},
    "spec": {"runtimeRef": {"name": "none"}},
}
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: many, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template: {spec: {replicatedJobs: [{name: node, template: {
    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
    spec: {template: {spec: {containers: [{name: node, image: registry.example.com/a:1, FIELDS}]}}}}}]}}
---
"""


def one(more: str = "", runtime: str = "torch-distributed") -> str:
    return HEAD.replace("NAME", "one").replace("torch-distributed", runtime) + more


def several(text: str, count: int) -> str:
    return "---\n".join(text.replace("NAME", f"job-{number}") for number in range(count))


def listed(key: str, item: str, count: int) -> str:
    """Return a runtime, and a job of it, whose container has so many items under a key."""
    items = ", ".join(item.replace("NUMBER", str(number)) for number in range(count))
    return RUNTIME.replace("FIELDS", f"{key}: [{items}]") + one(runtime="many")


KINDS: dict[str, tuple[int, Callable[[int], str]]] = {
    "jobs": (40, lambda n: several(HEAD + PAD, n)),
    "jobs that are wrong": (50, lambda n: several(HEAD + "  unknown: 1\n" + PAD, n)),
    "jobs of one name": (100, lambda n: several(one() + PAD, n)),
    "jobs with comments": (40, lambda n: several(f"# trainc: ignore TC412 why\n{HEAD}{PAD}", n)),
    "items of a list": (
        60,
        lambda n: json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**OBJECT, "data": "x" * 999}] * n}),
    ),
    "empty values of JSON": (500, lambda n: "{}" * n),
    "values of JSON": (80, lambda n: "\n".join([json.dumps({**OBJECT, "deep": [[[[]]]] * 50})] * n)),
    "texts that are no YAML": (500, lambda n: "---\na: [\n" * n),
    "documents without content": (2000, lambda n: "---\n" * n),
    "keys": (500, lambda n: one("".join(f"key{number}: 1\n" for number in range(n)))),
    "one key": (1500, lambda n: one("key: 1\n" * n)),
    "keys of JSON": (500, lambda n: json.dumps({**OBJECT, **{f"key{number}": 1 for number in range(n)}})),
    "one key of JSON": (2000, lambda n: json.dumps(OBJECT)[:-1] + ', "key": 1' * n + "}"),
    "numbers too large for JSON": (1500, lambda n: json.dumps(OBJECT)[:-1] + ', "a": [' + "1e999, " * n + "1]}"),
    "a long key": (200_000, lambda n: one("k" * n + ": 1\n")),
    "a long key of JSON": (200_000, lambda n: json.dumps({**OBJECT, "k" * n: 1})),
    "a long line": (500, lambda n: one(f"  trainer: {{{', '.join(f'key{number}: 1' for number in range(n))}}}\n")),
    "deep flow collections": (50_000, lambda n: "a: " + "[" * n),
    "deep values of JSON": (50_000, lambda n: '{"a":' * n),
    "anchors": (1000, lambda n: one("".join(f"key{number}: &a{number} [1]\n" for number in range(n)))),
    "aliases": (1000, lambda n: one("a: &a [1]\nb: [" + "*a, " * n + "1]\n")),
    "comments above one line": (1000, lambda n: "# trainc: ignore TC412 why\n" * n + one()),
    "comments that are wrong": (1000, lambda n: "# trainc: ignore TC412\n" * n + one()),
    "codes in one comment": (
        50,
        lambda n: "# trainc: ignore " + "".join(f"TC9{i:04} " for i in range(n)) + "why\n" + one(),
    ),
    "blanks in a comment": (4000, lambda n: f"# trainc: ignore TC412 {' ' * n}why\n" + one()),
    "ambiguous scalars": (200, lambda n: one(f"  trainer: {{args: [{'yes, ' * n} no]}}\n")),
    "variables": (500, lambda n: listed("env", "{name: ANUMBER, value: $(ANUMBER)}", n)),
    "secrets": (120, lambda n: listed("env", "{name: TOKEN_NUMBER, value: abcdNUMBER}", n)),
    "secrets in arguments": (120, lambda n: listed("args", "--token=abcdNUMBER", n)),
    "ports": (1000, lambda n: listed("ports", "{name: pNUMBER, containerPort: 1NUMBER}", n)),
    "mounts without a volume": (250, lambda n: listed("volumeMounts", "{name: vNUMBER, mountPath: /NUMBER}", n)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_input_takes_about_four_times_the_work(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    size, make = KINDS[kind]
    small, large = make(size).encode(), make(4 * size).encode()
    work(one().encode())
    for _ in range(3):  # another process may slow one of the two down
        before, after = work(small), work(large)
        if after <= MOST * max(before, LEAST):
            return
    pytest.fail(f"{before:.3f} s, and {after:.3f} s for four times the input")


def work(text: bytes) -> float:
    """Return the CPU time of a command on a text."""
    gc.disable()  # which would go over all objects of the other tests
    start = process_time()
    result = CliRunner().invoke(trainc, ["build", "--no-cache", "-"], input=text, prog_name="trainc")
    took = process_time() - start
    gc.enable()
    assert result.exit_code in (0, 1, 2), result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return took
