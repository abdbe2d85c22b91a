"""Texts of any size for `trainc build -`: documents, objects, scalars, lines, comments and fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


class Input(NamedTuple):
    """Files of a project, standard input, and the command that reads them; ``committed``: files of HEAD before that."""

    files: Mapping[str, str] = {}
    command: tuple[str, ...] = ("validate", "--no-cache", "--jobs=1")
    text: str = ""
    committed: Mapping[str, str] = {}


Make = Callable[[int], str | Input]

JOB = """\
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
STEP = "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}"
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: NAME, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template: {spec: {replicatedJobs: [ROLES]}}
---
"""
ROLE = "{name: NAME, template: {STEP, spec: {template: {spec: {containers: [CONTAINERS], PODS}}}}}"
CONTAINER = "{name: NAME, image: registry.example.com/a:1, FIELDS}"


def filled(template: str, **values: str) -> str:
    for name, value in values.items():
        template = template.replace(name, value)
    return template


def numbered(item: str, count: int, joint: str = ", ") -> str:
    """Return so many copies of an item, with NUMBER in each replaced."""
    return joint.join(item.replace("NUMBER", str(number)) for number in range(count))


def one(more: str = "", runtime: str = "torch-distributed") -> str:
    return JOB.replace("NAME", "one").replace("torch-distributed", runtime) + more


def several(text: str, count: int) -> str:
    return "---\n".join(text.replace("NAME", f"job-{number}") for number in range(count))


def trained(containers: str = "", pods: str = "", roles: str = "", more: str = "") -> str:
    """Return a runtime with these containers, fields of pods or replicated jobs, and a job of it."""
    containers = containers or filled(CONTAINER, NAME="node", FIELDS="")
    roles = roles or filled(ROLE, CONTAINERS=containers, NAME="node", STEP=STEP, PODS=pods)
    return RUNTIME.replace("ROLES", roles).replace("NAME", "many") + one(more, "many")


def listed(key: str, item: str, count: int) -> str:
    """Return a runtime, and a job of it, whose container has so many items under a key."""
    return trained(filled(CONTAINER, FIELDS=f"{key}: [{numbered(item, count)}]", NAME="node"))


def plain_roles(count: int, more: str = "") -> str:
    container = filled(CONTAINER, NAME="node", FIELDS="")
    role = filled(ROLE, CONTAINERS=container, PODS="", STEP="metadata: {}").replace("{name: NAME", "{name: NAME" + more)
    first = filled(ROLE, CONTAINERS=container, PODS="", STEP=STEP, NAME="node")
    return ", ".join(
        [first, *(role.replace("NAME", f"r{n}").replace("BEFORE", f"r{n - 1}" if n else "node") for n in range(count))]
    )


def patched(spec: str) -> str:
    """Return a runtime patch of the pods of the replicated job ``node``."""
    return (
        "  runtimePatches:\n  - manager: example.com/m\n    trainingRuntimeSpec: {template: {spec: {replicatedJobs:"
        f" [{{name: node, template: {{spec: {{template: {{spec: {{{spec}}}}}}}}}}}]}}}}}}\n"
    )


SCRIPT = """\
  trainer:
    command:
    - bash
    - -c
    - |
      read -r -d '' SCRIPT << EOM

      def train():
LINES
      train()
      EOM
      printf "%s" "$SCRIPT" > "a.py"
      torchrun "a.py"
"""


def script(line: str, count: int) -> str:
    return one(SCRIPT.replace("LINES", numbered(f"          {line}", count, "\n")))


MPI = Path(__file__).parents[2] / "runtimes/mpi-distributed.yaml"


def hosts(count: int) -> str:
    return f"{MPI.read_text(encoding='utf-8')}---\n" + one(f"  trainer: {{numNodes: {count}}}\n", "mpi-distributed")


TEXTS: dict[str, tuple[int, Make]] = {
    # Texts, documents and objects
    "jobs": (40, lambda n: several(JOB + PAD, n)),
    "short jobs": (250, lambda n: several(JOB, n)),
    "jobs that are wrong": (50, lambda n: several(JOB + "  unknown: 1\n" + PAD, n)),
    "short jobs that are wrong": (250, lambda n: several(JOB + "  unknown: 1\n", n)),
    "jobs of one name": (100, lambda n: several(one() + PAD, n)),
    "jobs with comments": (40, lambda n: several(f"# trainc: ignore TC412 why\n{JOB}{PAD}", n)),
    "runtimes": (
        200,
        lambda n: (
            "".join(several(trained().partition("---\n")[0], 1).replace("many", f"r{i}") + "---\n" for i in range(n))
            + one()
        ),
    ),
    "misspelled runtimes": (
        500,
        lambda n: (
            "".join(trained().partition("---\n")[0].replace("many", f"r{i}") + "---\n" for i in range(n))
            + "---\n".join(JOB.replace("NAME", f"j{i}").replace("torch-distributed", f"r{i}x") for i in range(n))
        ),
    ),
    "runtimes with a job each": (
        100,
        lambda n: "---\n".join(
            trained().replace("many", f"r{i}").replace("name: one", f"name: j{i}") for i in range(n)
        ),
    ),
    "ConfigMaps": (
        500,
        lambda n: (
            one() + numbered("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cNUMBER}\ndata: {a: b}\n", n, "")
        ),
    ),
    "claims": (
        500,
        lambda n: (
            one()
            + numbered(
                "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: cNUMBER}\n"
                "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
                n,
                "",
            )
        ),
    ),
    "objects of one identity": (
        500,
        lambda n: one() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n" * n,
    ),
    "items of a list": (
        60,
        lambda n: json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**OBJECT, "data": "x" * 200}] * n}),
    ),
    "wrong items of a list": (200, lambda n: "apiVersion: v1\nkind: List\nitems:\n" + "- {a: 1, a: 1}\n" * n),
    "empty values of JSON": (500, lambda n: "{}" * n),
    "values of JSON": (80, lambda n: "\n".join([json.dumps({**OBJECT, "deep": [[[[]]]] * 10})] * n)),
    "texts that are no YAML": (500, lambda n: "---\na: [\n" * n),
    "documents without content": (2000, lambda n: "---\n" * n + one()),
    "keys": (500, lambda n: one(numbered("keyNUMBER: 1\n", n, ""))),
    "one key": (1500, lambda n: one("key: 1\n" * n)),
    "keys of JSON": (500, lambda n: json.dumps({**OBJECT, **{f"key{number}": 1 for number in range(n)}})),
    "one key of JSON": (2000, lambda n: json.dumps(OBJECT)[:-1] + ', "key": 1' * n + "}"),
    "numbers too large for JSON": (1500, lambda n: json.dumps(OBJECT)[:-1] + ', "a": [' + "1e999, " * n + "1]}"),
    "deep flow collections": (50_000, lambda n: "a: " + "[" * n),
    "deep block collections": (1000, lambda n: one("a:\n" + "- " * n + "1\n")),
    "deep values of JSON": (50_000, lambda n: '{"a":' * n),
    "anchors": (1000, lambda n: one(numbered("keyNUMBER: &aNUMBER [1]\n", n, ""))),
    "aliases": (1000, lambda n: one("a: &a [1]\nb: [" + "*a, " * n + "1]\n")),
    "merge keys": (500, lambda n: one("a: &a {b: 1}\nc: [" + "{<<: *a}, " * n + "1]\n")),
    "merges into one mapping": (500, lambda n: one("a: &a {b: 1}\nc: {<<: [" + "*a, " * n + "*a]}\n")),
    "tags": (1000, lambda n: one("a: [" + "!!str 1, " * n + "1]\n")),
    "ambiguous scalars": (200, lambda n: one(f"  trainer: {{args: [{'yes, ' * n} no]}}\n")),
    # Scalars, lines and comments
    "a long key": (200_000, lambda n: one("k" * n + ": 1\n")),
    "a long key of JSON": (200_000, lambda n: json.dumps({**OBJECT, "k" * n: 1})),
    "a long line": (500, lambda n: one(f"  trainer: {{{numbered('keyNUMBER: 1', n)}}}\n")),
    "a long scalar": (50_000, lambda n: one(f"  trainer: {{args: [{'x' * n}]}}\n")),
    "a scalar of spaces": (50_000, lambda n: one(f"  trainer: {{args: ['a{' ' * n}b']}}\n")),
    "escapes": (20_000, lambda n: one(f'  trainer: {{args: ["{chr(92)}x41{(chr(92) + "n") * n}"]}}\n')),
    "escaped quotes and colons": (50, lambda n: one("  trainer: {args: [" + '"\\\'", a:b, ' * n + "x]}\n")),
    "unicode": (20_000, lambda n: one(f"  trainer: {{args: ['{'é𝄞' * n}']}}\n")),
    "controls": (
        2000,
        lambda n: one(f'  trainer: {{args: ["{chr(92) + "x1b"}"], image: "{(chr(92) + "x1b") * n}"}}\n'),
    ),
    "a literal block": (5000, lambda n: one("  trainer:\n    args:\n    - |\n" + "      line\n" * n)),
    "a folded block": (5000, lambda n: one("  trainer:\n    args:\n    - >\n" + "      line\n" * n)),
    "a plain scalar of many lines": (5000, lambda n: one("  trainer:\n    args:\n    - a\n" + "      line\n" * n)),
    "empty lines": (20_000, lambda n: one("\n" * n + "  trainer: {}\n")),
    "lines of blanks": (5000, lambda n: one("   \n" * n + "  trainer: {}\n")),
    "carriage returns": (20_000, lambda n: one("\r" * n + "\n  trainer: {}\n")),
    "an integer": (20_000, lambda n: one(f"  trainer: {{numNodes: {'9' * n}}}\n")),
    "a hexadecimal integer": (20_000, lambda n: one(f"  trainer: {{numNodes: 0x{'f' * n}}}\n")),
    "a binary integer": (20_000, lambda n: one(f"  trainer: {{numNodes: 0b{'1' * n}}}\n")),
    "an octal integer": (20_000, lambda n: one(f"  trainer: {{numNodes: 0{'7' * n}}}\n")),
    "a float": (20_000, lambda n: one(f"  trainer: {{numNodes: 1.{'9' * n}}}\n")),
    "an exponent": (20_000, lambda n: one(f"  trainer: {{numNodes: 1e{'9' * n}}}\n")),
    "an integer of JSON": (20_000, lambda n: json.dumps(OBJECT)[:-1] + f', "n": {"9" * n}}}'),
    "a quantity": (5000, lambda n: one(f"  trainer: {{resourcesPerNode: {{requests: {{cpu: '{'9' * n}'}}}}}}\n")),
    "a fraction of a quantity": (
        5000,
        lambda n: one(f"  trainer: {{resourcesPerNode: {{requests: {{cpu: '0.{'9' * n}'}}}}}}\n"),
    ),
    "a name": (20_000, lambda n: JOB.replace("NAME", "a" * n)),
    "an image name": (20_000, lambda n: one(f"  trainer: {{image: 'example.com/{'a/' * n}b:1'}}\n")),
    "comments above one line": (1000, lambda n: "# trainc: ignore TC412 why\n" * n + one()),
    "comments that are wrong": (1000, lambda n: "# trainc: ignore TC412\n" * n + one()),
    "comments that silence": (
        250,
        lambda n: one("".join(f"# trainc: ignore TC101 why\nkey{i}: 1\n" for i in range(n))),
    ),
    "plain comments": (2000, lambda n: "# a comment\n" * n + one()),
    "codes in one comment": (
        50,
        lambda n: "# trainc: ignore " + "".join(f"TC9{i:04} " for i in range(n)) + "why\n" + one(),
    ),
    "blanks in a comment": (4000, lambda n: f"# trainc: ignore TC412 {' ' * n}why\n" + one()),
    # Fields of jobs and runtimes
    "labels": (500, lambda n: JOB.replace("NAME", f"one, labels: {{{numbered('lNUMBER: a', n)}}}")),
    "annotations": (500, lambda n: JOB.replace("NAME", f"one, annotations: {{{numbered('lNUMBER: a', n)}}}")),
    "wrong labels": (250, lambda n: JOB.replace("NAME", f"one, labels: {{{numbered('lNUMBER: a b', n)}}}")),
    "variables": (500, lambda n: listed("env", "{name: ANUMBER, value: $(ANUMBER)}", n)),
    "variables of the trainer": (
        500,
        lambda n: one(f"  trainer: {{env: [{numbered('{name: ANUMBER, value: $(ANUMBER)}', n)}]}}\n"),
    ),
    "variables of both": (
        250,
        lambda n: (
            listed("env", "{name: ANUMBER, value: a}", n)
            + f"  trainer: {{env: [{numbered('{name: ANUMBER, value: b}', n)}]}}\n"
        ),
    ),
    "variables of one name": (500, lambda n: listed("env", "{name: A, value: $(A)}", n)),
    "variables that use each other": (250, lambda n: listed("env", "{name: ANUMBER, value: $(A1) $(A2) $(B)}", n)),
    "patched variables": (
        250,
        lambda n: trained(
            filled(CONTAINER, NAME="node", FIELDS="")
            + ", "
            + filled(CONTAINER, FIELDS=f"env: [{numbered('{name: ANUMBER, value: a}', n)}]", NAME="side"),
            more=patched(f"containers: [{{name: side, env: [{numbered('{name: ANUMBER, value: b}', n)}]}}]"),
        ),
    ),
    "arguments": (1000, lambda n: one(f"  trainer: {{args: [{numbered('--aNUMBER=b', n)}]}}\n")),
    "secrets": (120, lambda n: listed("env", "{name: TOKEN_NUMBER, value: abcdNUMBER}", n)),
    "secrets in arguments": (120, lambda n: listed("args", "--token=abcdNUMBER", n)),
    "ports": (
        500,
        lambda n: listed("ports", ", ".join(f"{{name: p{i}, containerPort: {i + 1}}}" for i in range(n)), 1),
    ),
    "wrong ports": (250, lambda n: listed("ports", "{name: pNUMBER, containerPort: 1NUMBER00000}", n)),
    "mounts without a volume": (250, lambda n: listed("volumeMounts", "{name: vNUMBER, mountPath: /NUMBER}", n)),
    "misspelled volumes": (
        500,
        lambda n: trained(
            filled(
                CONTAINER, FIELDS=f"volumeMounts: [{numbered('{name: vNUMBERx, mountPath: /NUMBER}', n)}]", NAME="node"
            ),
            f"volumes: [{numbered('{name: vNUMBER, emptyDir: {}}', n)}]",
        ),
    ),
    "volumes with a mount": (
        250,
        lambda n: trained(
            filled(
                CONTAINER, FIELDS=f"volumeMounts: [{numbered('{name: vNUMBER, mountPath: /NUMBER}', n)}]", NAME="node"
            ),
            f"volumes: [{numbered('{name: vNUMBER, emptyDir: {}}', n)}]",
        ),
    ),
    "patched volumes": (
        250,
        lambda n: trained(
            pods=f"volumes: [{numbered('{name: vNUMBER, emptyDir: {}}', n)}]",
            more=patched(f"volumes: [{numbered('{name: vNUMBER, emptyDir: {medium: Memory}}', n)}]"),
        ),
    ),
    "containers": (
        100,
        lambda n: trained(
            filled(CONTAINER, NAME="node", FIELDS="") + ", " + numbered("{name: cNUMBER, image: 'a:1'}", n)
        ),
    ),
    "containers of one name": (
        100,
        lambda n: trained(filled(CONTAINER, NAME="node", FIELDS="") + ", " + numbered("{name: c, image: 'a:1'}", n)),
    ),
    "init containers": (
        2000,
        lambda n: trained(
            pods=f"initContainers: [{numbered(chr(123) + 'name: cNUMBER, image: example.com/aNUMBER' + chr(125), n)}]"
        ),
    ),
    "tolerations": (250, lambda n: trained(pods=f"tolerations: [{numbered('{key: kNUMBER, operator: Exists}', n)}]")),
    "node selectors": (500, lambda n: trained(pods=f"nodeSelector: {{{numbered('kNUMBER: a', n)}}}")),
    "resources": (
        250,
        lambda n: one(f"  trainer: {{resourcesPerNode: {{limits: {{{numbered('example.com/rNUMBER: 1', n)}}}}}}}\n"),
    ),
    "replicated jobs": (20, lambda n: trained(roles=plain_roles(n))),
    "replicated jobs that wait": (
        20,
        lambda n: trained(roles=plain_roles(n, ", dependsOn: [{name: BEFORE, status: Complete}]")),
    ),
    "runtime patches": (
        50,
        lambda n: one(
            "  runtimePatches:\n"
            + numbered(
                "  - manager: example.com/mNUMBER\n"
                "    trainingRuntimeSpec: {template: {metadata: {annotations: {aNUMBER: b}}}}\n",
                n,
                "",
            )
        ),
    ),
    "patched replicated jobs": (
        20,
        lambda n: trained(
            roles=plain_roles(n),
            more="  runtimePatches:\n  - manager: example.com/m\n"
            "    trainingRuntimeSpec: {template: {spec: {replicatedJobs: ["
            + numbered("{name: rNUMBER, template: {metadata: {labels: {a: b}}}}", n)
            + "]}}}\n",
        ),
    ),
    "hosts of an MPI job": (1000, hosts),
    "lines of a function": (250, lambda n: script("a = NUMBER", n)),
    "wrong lines of a function": (250, lambda n: script("print(nameNUMBER, '$aNUMBER')", n)),
    "deep brackets of a function": (50, lambda n: script("a = " + "(" * n + ")" * n, 1)),
}
