"""Inputs of any size, one kind each, and the CPU time that a command takes for them in a process of its own.

As a program, it doubles each kind from 1,000 to 64,000 and writes the table of docs/trust.md:
`python tests/attack/growth.py FILE [KIND...]`. FILE keeps the figures, and kinds that are in it are not run again.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

SECONDS = 600
"""The CPU time after which the kernel ends a command."""


class Input(NamedTuple):
    """Files of a project, standard input, and the command that reads them; ``git``: the files are committed first."""

    files: Mapping[str, str] = {}
    command: tuple[str, ...] = ("validate", "--no-cache", "--jobs=1")
    text: str = ""
    git: bool = False


class Run(NamedTuple):
    """The CPU seconds of a command, its exit status, and the codes of its findings."""

    seconds: float
    status: int
    codes: tuple[str, ...]


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
    return ", ".join([first, *(role.replace("NAME", f"r{n}").replace("BEFORE", f"r{n - 1}" if n else "node") for n in range(count))])


def patched(spec: str) -> str:
    """Return a runtime patch of the pods of the replicated job ``node``."""
    return (
        "  runtimePatches:\n  - manager: example.com/m\n    trainingRuntimeSpec: {template: {spec: {replicatedJobs:"
        f" [{{name: node, template: {{spec: {{template: {{spec: {{{spec}}}}}}}}}}}]}}}}}}\n"
    )


def project(more: Mapping[str, str] = {}, config: str = "", job: str = "", command: str = "validate") -> Input:
    files = {"trainc.yaml": config or "environments: {prod: {}}\n", "jobs/a/one.yaml": job or one(), **more}
    arguments = tuple(command.split())
    return Input(files, (*arguments, "--no-cache", "--jobs=1") if arguments[0] == "validate" else arguments)


def files(text: str, count: int, name: str = "jobs/a/j{}.yaml", command: str = "validate") -> Input:
    return project({name.format(n): text.replace("NAME", f"job-{n}") for n in range(count)}, command=command)


def config(text: str) -> Input:
    return project(config=text)


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: pNUMBER}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [trainer.kubeflow.org], apiVersions: ["*"], operations: [CREATE], resources: [trainjobs]}]}
  VARIABLES
  validations: [VALIDATIONS]
---
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: bNUMBER}
spec: {policyName: pPOLICY, validationActions: [Deny]}
---
"""


def policies(validations: str, count: int = 1, bindings: int = 1, variables: str = "") -> Input:
    text = "".join(
        filled(POLICY, NUMBER=str(n), VALIDATIONS=validations, VARIABLES=variables)
        + "".join(filled(BINDING, NUMBER=f"{n}-{b}", POLICY=str(n)) for b in range(bindings))
        for n in range(count)
    )
    return project({"policies/all.yaml": text})


def ruled(expression: str) -> Input:
    return policies(f"{{expression: {json.dumps(expression)}}}")


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.example.com}
spec:
  group: example.com
  names: {plural: PLURAL, singular: KIND, kind: KIND, listKind: KINDList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, FIELDS}}}]
---
"""


def crd(fields: str, own: str) -> Input:
    crd = filled(CRD, PLURAL="things", KIND="Thing", FIELDS=fields)
    thing = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\n{own}\n"
    more = {"crds/a.yaml": crd, "runtimes/a.yaml": thing}
    return project(more, command="validate --crd-dir crds")


PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME, namespace: a}
spec:
  pytorchReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: "a:1", env: [ENV]}]}}}
"""
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


def policy_tests(count: int) -> Input:
    test = "- {name: tNUMBER, object: {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a, namespace: a}, spec: {runtimeRef: {name: b}}}, expect: {p0: pass}}"
    validation = filled(POLICY, NUMBER="0", VALIDATIONS="{expression: 'true'}", VARIABLES="")
    tests = {"policies/tests/t.yaml": "tests:\n" + numbered(test, count, "\n") + "\n"}
    return project({"policies/p.yaml": validation + filled(BINDING, NUMBER="0", POLICY="0"), **tests}, command="policy test")


def repository(count: int, command: str) -> Input:
    """Return a committed project of so many jobs, each with an object in out/."""
    header = "# Generated by trainc from jobs/a/j.yaml. Do not edit; run: make render\n"
    made = {f"out/prod/a/job-{n}/jobset-job-{n}.yaml": header + HELD.replace("NAME", f"job-{n}") for n in range(count)}
    return files(JOB, count, command=command)._replace(git=True, files={**files(JOB, count).files, **made})


HELD = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: NAME, namespace: a}
spec: {replicatedJobs: []}
"""
LOCK = "images:\n"
DIGEST = f"sha256:{'0' * 64}"
IMAGE = "image: example.com/a:1\nsuite: bookworm\n"

KINDS: dict[str, tuple[int, Make]] = {
    # Texts, documents and objects
    "jobs": (40, lambda n: several(JOB + PAD, n)),
    "short jobs": (250, lambda n: several(JOB, n)),
    "jobs that are wrong": (50, lambda n: several(JOB + "  unknown: 1\n" + PAD, n)),
    "short jobs that are wrong": (250, lambda n: several(JOB + "  unknown: 1\n", n)),
    "jobs of one name": (100, lambda n: several(one() + PAD, n)),
    "jobs with comments": (40, lambda n: several(f"# trainc: ignore TC412 why\n{JOB}{PAD}", n)),
    "runtimes": (200, lambda n: "".join(several(trained().partition("---\n")[0], 1).replace("many", f"r{i}") + "---\n" for i in range(n)) + one()),
    "runtimes with a job each": (100, lambda n: "---\n".join(trained().replace("many", f"r{i}").replace("name: one", f"name: j{i}") for i in range(n))),
    "ConfigMaps": (500, lambda n: one() + numbered("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cNUMBER}\ndata: {a: b}\n", n, "")),
    "claims": (500, lambda n: one() + numbered("---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: cNUMBER}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", n, "")),
    "objects of one identity": (500, lambda n: one() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n" * n),
    "items of a list": (
        60,
        lambda n: json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**OBJECT, "data": "x" * 200}] * n}),
    ),
    "wrong items of a list": (200, lambda n: "apiVersion: v1\nkind: List\nitems:\n" + "- {a: 1, a: 1}\n" * n),
    "empty values of JSON": (500, lambda n: "{}" * n),
    "values of JSON": (80, lambda n: "\n".join([json.dumps({**OBJECT, "deep": [[[[]]]] * 10})] * n)),
    "texts that are no YAML": (500, lambda n: "---\na: [\n" * n),
    "documents without content": (2000, lambda n: "---\n" * n),
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
    "escaped quotes and colons": (50, lambda n: one('  trainer: {args: [' + '"\\\'", a:b, ' * n + 'x]}\n')),
    "unicode": (20_000, lambda n: one(f"  trainer: {{args: ['{'é𝄞' * n}']}}\n")),
    "controls": (2000, lambda n: one(f'  trainer: {{args: ["{chr(92) + "x1b"}"], image: "{(chr(92) + "x1b") * n}"}}\n')),
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
    "a fraction of a quantity": (5000, lambda n: one(f"  trainer: {{resourcesPerNode: {{requests: {{cpu: '0.{'9' * n}'}}}}}}\n")),
    "a name": (20_000, lambda n: JOB.replace("NAME", "a" * n)),
    "an image name": (20_000, lambda n: one(f"  trainer: {{image: 'example.com/{'a/' * n}b:1'}}\n")),
    "comments above one line": (1000, lambda n: "# trainc: ignore TC412 why\n" * n + one()),
    "comments that are wrong": (1000, lambda n: "# trainc: ignore TC412\n" * n + one()),
    "comments that silence": (250, lambda n: one("".join(f"# trainc: ignore TC101 why\nkey{i}: 1\n" for i in range(n)))),
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
    "variables of the trainer": (500, lambda n: one(f"  trainer: {{env: [{numbered('{name: ANUMBER, value: $(ANUMBER)}', n)}]}}\n")),
    "variables of both": (250, lambda n: listed("env", "{name: ANUMBER, value: a}", n) + f"  trainer: {{env: [{numbered('{name: ANUMBER, value: b}', n)}]}}\n"),
    "variables of one name": (500, lambda n: listed("env", "{name: A, value: $(A)}", n)),
    "variables that use each other": (250, lambda n: listed("env", "{name: ANUMBER, value: $(A1) $(A2) $(B)}", n)),
    "patched variables": (250, lambda n: trained(filled(CONTAINER, FIELDS=f"env: [{numbered('{name: ANUMBER, value: a}', n)}]", NAME="node"), more=patched(f"containers: [{{name: node, env: [{numbered('{name: ANUMBER, value: b}', n)}]}}]"))),
    "arguments": (1000, lambda n: one(f"  trainer: {{args: [{numbered('--aNUMBER=b', n)}]}}\n")),
    "secrets": (120, lambda n: listed("env", "{name: TOKEN_NUMBER, value: abcdNUMBER}", n)),
    "secrets in arguments": (120, lambda n: listed("args", "--token=abcdNUMBER", n)),
    "ports": (1000, lambda n: listed("ports", "{name: pNUMBER, containerPort: 1NUMBER}", n)),
    "mounts without a volume": (250, lambda n: listed("volumeMounts", "{name: vNUMBER, mountPath: /NUMBER}", n)),
    "volumes with a mount": (250, lambda n: trained(filled(CONTAINER, FIELDS=f"volumeMounts: [{numbered('{name: vNUMBER, mountPath: /NUMBER}', n)}]", NAME="node"), f"volumes: [{numbered('{name: vNUMBER, emptyDir: {}}', n)}]")),
    "patched volumes": (250, lambda n: trained(pods=f"volumes: [{numbered('{name: vNUMBER, emptyDir: {}}', n)}]", more=patched(f"volumes: [{numbered('{name: vNUMBER, emptyDir: {medium: Memory}}', n)}]"))),
    "containers": (100, lambda n: trained(filled(CONTAINER, NAME="node", FIELDS="") + ", " + numbered("{name: cNUMBER, image: 'a:1'}", n))),
    "containers of one name": (100, lambda n: trained(filled(CONTAINER, NAME="node", FIELDS="") + ", " + numbered("{name: c, image: 'a:1'}", n))),
    "init containers": (100, lambda n: trained(pods=f"initContainers: [{numbered(chr(123) + 'name: cNUMBER, image: example.com/a:1' + chr(125), n)}]")),
    "tolerations": (250, lambda n: trained(pods=f"tolerations: [{numbered('{key: kNUMBER, operator: Exists}', n)}]")),
    "node selectors": (500, lambda n: trained(pods=f"nodeSelector: {{{numbered('kNUMBER: a', n)}}}")),
    "resources": (250, lambda n: one(f"  trainer: {{resourcesPerNode: {{limits: {{{numbered('example.com/rNUMBER: 1', n)}}}}}}}\n")),
    "replicated jobs": (20, lambda n: trained(roles=plain_roles(n))),
    "replicated jobs that wait": (20, lambda n: trained(roles=plain_roles(n, ", dependsOn: [{name: BEFORE, status: Complete}]"))),
    "runtime patches": (50, lambda n: one("  runtimePatches:\n" + numbered("  - {manager: example.com/mNUMBER, trainingRuntimeSpec: {template: {metadata: {annotations: {aNUMBER: b}}}}}\n", n, ""))),
    "patched replicated jobs": (20, lambda n: trained(roles=plain_roles(n), more="  runtimePatches:\n  - manager: example.com/m\n    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [" + numbered("{name: rNUMBER, template: {metadata: {labels: {a: b}}}}", n) + "]}}}\n")),
    "hosts of an MPI job": (1000, lambda n: one(f"  trainer: {{numNodes: {n}}}\n", "mpi-distributed")),
    "lines of a function": (250, lambda n: script("a = NUMBER", n)),
    "wrong lines of a function": (250, lambda n: script("print(nameNUMBER, $aNUMBER)", n)),
    "deep brackets of a function": (50, lambda n: script("a = " + "(" * n + ")" * n, 1)),
    # Projects
    "files": (100, lambda n: files(JOB, n)),
    "folders": (100, lambda n: files(JOB, n, "jobs/n{}/j.yaml")),
    "files that are wrong": (100, lambda n: files(JOB + "  unknown: 1\n", n)),
    "files that are no YAML": (250, lambda n: files("a: [\n", n)),
    "files of one job": (250, lambda n: files(one(), n)),
    "rendered files": (50, lambda n: files(JOB, n, command="render --no-cache --jobs=1")),
    "files of a report": (50, lambda n: files(JOB, n, command="report -o page.html")),
    "files for Argo CD": (100, lambda n: files(JOB, n, command="argocd")),
    "files for Flux": (100, lambda n: files(JOB, n, command="flux")),
    "files to import": (100, lambda n: Input({f"old/{i}.yaml": PYTORCH.replace("NAME", f"j{i}").replace("ENV", "") for i in range(n)}, ("import", "old"))),
    "jobs to import": (100, lambda n: Input({"old.yaml": several(PYTORCH.replace("ENV", ""), n)}, ("import", "old.yaml"))),
    "variables to import": (250, lambda n: Input({"old.yaml": filled(PYTORCH, NAME="one", ENV=numbered("{name: ANUMBER, value: a}", n))}, ("import", "old.yaml"))),
    "fixes in one file": (50, lambda n: project({"jobs/a/all.yaml": several(JOB + '  trainer: {resourcesPerNode: {limits: {memory: 16m}}}\n', n)}, command="fix --jobs=1")),
    "fixes in one document": (100, lambda n: project({"jobs/a/all.yaml": JOB.replace("NAME", "x") + f"  trainer: {{env: [{numbered('{name: ANUMBER, value: a, vaule: b}', n)}]}}\n"}, command="fix --jobs=1")),
    "fixes in files": (50, lambda n: files(JOB + '  trainer: {resourcesPerNode: {limits: {memory: 16m}}}\n', n, command="fix --jobs=1")),
    **{
        f"findings as {name}": (250, lambda n, name=name: Input(text=one(numbered("keyNUMBER: 1\n", n, "")), command=("build", "--no-cache", f"--format={name}", "-")))
        for name in ("json", "sarif", "github", "junit", "codequality")
    },
    **{
        f"files with findings as {name}": (100, lambda n, name=name: files(JOB + "  unknown: 1\n", n, command=f"validate --format={name}"))
        for name in ("json", "sarif", "github", "junit", "codequality")
    },
    "jobs of a revision": (50, lambda n: repository(n, "validate --base=HEAD")),
    "objects of a revision": (50, lambda n: repository(n, "diff --base=HEAD")),
    "run numbers": (50, lambda n: files(JOB, n, command="rerun " + " ".join(f"a/job-{i}" for i in range(n)))),
    # trainc.yaml and lock files
    "environments": (10, lambda n: config("environments: {" + numbered("eNUMBER: {}", n) + "}\n")),
    "severities": (250, lambda n: config("environments: {prod: {}}\nseverities: {" + ", ".join(f"TC{i:03}: ignore" for i in range(n)) + "}\n")),
    "unmanaged paths": (500, lambda n: config(f"environments: {{prod: {{}}}}\nunmanaged: [{numbered('out/NUMBER', n)}]\n")),
    "unmanaged files": (250, lambda n: project({f"out/{i}.yaml": "a" for i in range(n)}, config=f"environments: {{prod: {{}}}}\nunmanaged: [{numbered('out/NUMBER.yaml', n)}]\n")),
    "files of others in out": (250, lambda n: project({f"out/{i}.yaml": "a" for i in range(n)})),
    "patterns of jobs": (500, lambda n: config(f"environments: {{prod: {{jobs: [{numbered('a/NUMBER', n)}]}}}}\n")),
    "registries": (500, lambda n: config(f"environments: {{prod: {{registries: {{{numbered('r.com/NUMBER: a', n)}}}}}}}\n")),
    "patches": (50, lambda n: config(f"environments: {{prod: {{patches: [{numbered('{target: {kind: JobSet}, patch: {metadata: {annotations: {aNUMBER: b}}}}', n)}]}}}}\n")),
    "namespaces": (500, lambda n: config(f"environments: {{prod: {{namespaces: {{{numbered('n-NUMBER: m-NUMBER', n)}}}}}}}\n")),
    "pull secrets": (500, lambda n: config(f"environments: {{prod: {{imagePullSecrets: [{numbered('sNUMBER', n)}]}}}}\n")),
    "service accounts": (500, lambda n: config(f"environments: {{prod: {{serviceAccounts: [{numbered('sNUMBER', n)}]}}}}\n")),
    "wrong keys of trainc.yaml": (250, lambda n: config("environments: {prod: {}}\n" + numbered("kNUMBER: 1\n", n, ""))),
    "wrong environments": (250, lambda n: config("environments: {" + numbered("E_NUMBER: {a: 1}", n) + "}\n")),
    "locked images": (250, lambda n: project({"images.lock.yaml": LOCK + numbered(f"  example.com/aNUMBER:1: {DIGEST}\n", n, "")})),
    "wrong locked images": (250, lambda n: project({"images.lock.yaml": LOCK + numbered("  example.com/aNUMBER:1: x\n", n, "")})),
    "files of an image": (250, lambda n: project({"images/a/image.yaml": IMAGE + "files: [" + numbered("{from: NUMBER, to: /NUMBER}", n) + "]\n"}, command="image build a")),
    "packages of an image": (250, lambda n: project({"images/a/image.yaml": IMAGE + f"packages: [{numbered('pNUMBER', n)}]\n"}, command="image build a")),
    "pinned packages": (250, lambda n: project({"images/a/image.yaml": IMAGE, "images/a/packages.lock": numbered(f"pNUMBER=1 {DIGEST}\n", n, "")}, command="image build a")),
    # Policies, CEL and CRDs
    "policies": (25, lambda n: policies("{expression: 'true'}", n)),
    "bindings": (25, lambda n: policies("{expression: 'true'}", 1, n)),
    "validations": (25, lambda n: policies(numbered("{expression: 'object.metadata.name != \"NUMBER\"'}", n))),
    "failing validations": (25, lambda n: policies(numbered("{expression: 'object.metadata.name == \"NUMBER\"'}", n))),
    "variables of a policy": (25, lambda n: policies(f"{{expression: 'variables.v{n - 1} > 0'}}", variables="variables: [{name: v0, expression: '1'}, " + ", ".join(f"{{name: v{i}, expression: 'variables.v{i - 1}'}}" for i in range(1, n)) + "]")),
    "namespaces of policies": (250, lambda n: project({"policies/n.yaml": numbered("apiVersion: v1\nkind: Namespace\nmetadata: {name: nNUMBER}\n---\n", n, "")})),
    "policy tests": (50, policy_tests),
    "an expression of a list": (500, lambda n: ruled(f"size([{'1, ' * n}1]) > 0")),
    "an expression of a map": (250, lambda n: ruled(f"size({{{numbered('NUMBER: 1', n)}}}) > 0")),
    "an expression of operands": (250, lambda n: ruled(numbered("object.metadata.name != 'NUMBER'", n, " && "))),
    "a sum": (50, lambda n: ruled("0 < 1" + " + 1" * n)),
    "brackets of an expression": (250, lambda n: ruled("(" * n + "true" + ")" * n)),
    "a text in an expression": (5000, lambda n: ruled(f"'{'x' * n}' != ''")),
    "an expression that is wrong": (250, lambda n: ruled(f"size([{numbered('aNUMBER', n)}]) > 0")),
    "an expression that ends too early": (500, lambda n: ruled("[1, " * 2 + "1, " * n)),
    "a loop": (500, lambda n: ruled(f"[{'1, ' * n}1].all(a, a > 0)")),
    "expressions": (100, lambda n: Input(text=numbered('{"id": NUMBER, "env": "vap", "expr": "NUMBER + 1"}', n, "\n"), command=("cel", "--jsonl"))),
    "properties of a CRD": (100, lambda n: crd(f"properties: {{spec: {{type: object, properties: {{{numbered('pNUMBER: {type: string}', n)}}}}}}}", f"spec: {{{numbered('pNUMBER: a', n)}}}")),
    "required properties of a CRD": (100, lambda n: crd(f"properties: {{spec: {{type: object, required: [{numbered('pNUMBER', n)}], properties: {{{numbered('pNUMBER: {type: string}', n)}}}}}}}", "spec: {}")),
    "values of an enum": (250, lambda n: crd(f"properties: {{spec: {{type: string, enum: [{numbered('eNUMBER', n)}]}}}}", "spec: x")),
    "rules of a CRD": (25, lambda n: crd(f"properties: {{spec: {{type: object, properties: {{a: {{type: string}}}}, x-kubernetes-validations: [{numbered(chr(123) + 'rule: self.a != NUMBER.toString()'.replace('NUMBER.toString()', 'string(NUMBER)') + chr(125), n)}]}}}}", "spec: {a: b}")),
    "items of a CRD's map": (100, lambda n: crd("properties: {spec: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}}}", f"spec: [{numbered('{name: aNUMBER}', n)}]")),
    "items of a CRD's set": (100, lambda n: crd("properties: {spec: {type: array, x-kubernetes-list-type: set, items: {type: string}}}", f"spec: [{numbered('aNUMBER', n)}]")),
    "unique items of a CRD": (100, lambda n: crd("properties: {spec: {type: array, x-kubernetes-list-type: set, items: {type: array, items: {type: string}}}}", f"spec: [{numbered('[aNUMBER]', n)}]")),
    "CRDs": (25, lambda n: project({"crds/a.yaml": "".join(filled(CRD, PLURAL=f"things{i}", KIND=f"Thing{i}", FIELDS="properties: {}") for i in range(n))}, command="validate --crd-dir crds")),
}  # fmt: skip


def made(kind: str, size: int) -> Input:
    """Return the input of a kind at a size; a text is the standard input of ``build``."""
    found = KINDS[kind][1](size)
    return found if isinstance(found, Input) else Input(command=("build", "--no-cache", "-"), text=found)


def measure(given: Input, seconds: int = SECONDS) -> Run:
    """Run a command on an input in a process of its own, with the modules that this process has loaded."""
    from click.testing import CliRunner

    from trainc.cli.root import trainc

    with tempfile.TemporaryDirectory() as folder:
        for name, text in given.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if given.git:
            for step in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
                subprocess.run(("git", *step), cwd=folder, check=True)
        answers, answer = os.pipe()
        gc.collect()
        child = os.fork()
        if child == 0:
            os.close(answers)
            status = 1
            try:
                os.chdir(folder)
                gc.freeze()
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                result = CliRunner().invoke(trainc, given.command, input=given.text.encode(), prog_name="trainc")
                if result.exception is not None and not isinstance(result.exception, SystemExit):
                    raise result.exception
                codes = sorted(set(re.findall(r"\bTC\d{3}\b", result.output)))
                os.write(answer, json.dumps([result.exit_code, codes[:20]]).encode())
                if os.environ.get("SHOW"):
                    print(result.output[:1500], file=sys.stderr)
                status = 0
            except BaseException as error:
                os.write(answer, json.dumps([-1, [repr(error)[:200]]]).encode())
            finally:
                os._exit(status)
        os.close(answer)
        with os.fdopen(answers, "rb") as pipe:
            said = pipe.read()
        _, status, usage = os.wait4(child, 0)
    code, codes = json.loads(said or b'[-2, ["killed"]]')
    return Run(usage.ru_utime, code, tuple(codes))


def warm_up() -> None:
    """Load the modules that commands need, so that no figure has the time for it."""
    from click.testing import CliRunner

    from trainc.cli.root import trainc

    for text in (several(JOB, 2), several(JOB + "  unknown: 1\n", 2), trained()):
        CliRunner().invoke(trainc, ["build", "--no-cache", "-"], input=text.encode(), prog_name="trainc")


SIZES = tuple(1000 * 2**power for power in range(7))


def main(file: str, most: str, *kinds: str) -> None:
    """Double each kind while a size may take at most so many seconds; figures are lines of JSON in a file."""
    path = Path(file)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    have = {(row["kind"], row["size"]): row for row in rows}
    warm_up()
    for kind in kinds or KINDS:
        before = 0.0
        for size in SIZES:
            row = have.get((kind, size))
            if row is None:
                if 2.2 * before > float(most):
                    break
                run = measure(made(kind, size))
                row = {"kind": kind, "size": size, "seconds": round(run.seconds, 3), "status": run.status, "codes": run.codes}
                with path.open("a") as out:
                    out.write(json.dumps(row) + "\n")
                rise = run.seconds / max(before, 0.1) if before else 0
                print(f"{'!!' if rise > 3 else '  '}{rise:4.1f} {run.seconds:7.2f} {size} {kind} {run.status} {run.codes[:6]}", flush=True)
            before = row["seconds"]
            if row["status"] < 0:
                break


if __name__ == "__main__":
    main(*sys.argv[1:])
