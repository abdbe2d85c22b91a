"""An edit of one job gives the same files, output and exit code with the cache as without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from smallrepository import JOB, RUNTIME, pause

from builders import policy
from cache import walktexts as texts
from cache.walking import tree
from effort import some
from folders import put
from trainc.cache.run import RunCache
from trainc.cli.root import trainc
from trainc.project.write import Plan

CONFIG = """\
environments:
  prod:
    namespaces: {b: a}
    registries: {example.com/: mirror.example.com/}
    patches:
    - target: {kind: JobSet, name: one}
      patch: {metadata: {labels: {patched: "yes"}}}
    argocd: {repoURL: https://example.com/repo.git, write: deploy}
  dev:
    jobs: ["a/*", "!a/left"]
    flux: {write: flux}
    target: flux
defaults:
  sshKeys: {mode: existing, secret: keys}
severities: {TC311: note, TC303: ignore}
lock: {required: [registry.example.com]}
"""
POLICY_OF_MPI = "{mpiImplementation: OpenMPI, sshAuthMountPath: /root/.ssh, runLauncherAsNode: true}"
MPI = f"spec:\n  mlPolicy: {{numNodes: 1, mpi: {POLICY_OF_MPI}}}\n"
GROUP = "spec:\n  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 30}}\n"
ACCOUNT = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: trainer}\n"
LOCK = "images:\n" + "".join(
    f"  {name}: sha256:{digit * 64}\n" for name, digit in (("example.com/img:1", "a"), ("example.com/unused:1", "b"))
)
POLICY = policy("few", "object.spec.replicatedJobs.all(r, r.template.spec.completions < 8)", actions="[Warn]")
ONE = JOB.format(name="one", runtime="plain")


def trainer(text: str) -> str:
    """Return job one with other fields of the trainer."""
    return ONE.replace("{numNodes: 1}", f"{{numNodes: 1, {text}}}")


def named(text: str) -> str:
    """Return job one with other metadata."""
    return ONE.replace("{name: one}", f"{{name: one, {text}}}")


EDITS = {
    "nodes": ONE.replace("numNodes: 1", "numNodes: 2"),
    "against a policy": ONE.replace("numNodes: 1", "numNodes: 9"),
    "suspended": ONE + "  suspend: true\n",
    "warning": ONE + texts.WARNING,
    "suppressed": ONE + texts.SILENT + texts.WARNING,
    "idle comment": ONE + "  # trainc: ignore TC311 nothing here\n",
    "plain comment": "# a line more\n" + ONE,
    "no change of the output": ONE + "  suspend: false\n",
    "label": named("labels: {team: x}"),
    "queue": named("labels: {kueue.x-k8s.io/queue-name: gpu}"),
    "run number": named("annotations: {trainc.dev/run: '2'}"),
    "wrong run number": named("annotations: {trainc.dev/run: x}"),
    "environment": named("annotations: {trainc.dev/environments: dev}"),
    "namespace": named("namespace: c"),
    "other name": JOB.format(name="other", runtime="plain"),
    "name of another job": JOB.format(name="two", runtime="plain"),
    "name of a job of another folder": JOB.format(name="far", runtime="plain"),
    "without a job": "",
    "two jobs": f"{ONE}---\n{JOB.format(name='second', runtime='plain')}",
    "job and claim": f"{ONE}---\n{texts.claim(texts.Random(1))}",
    "claim": texts.claim(texts.Random(1)),
    "other runtime": JOB.format(name="one", runtime="group"),
    "runtime with a companion": JOB.format(name="one", runtime="account"),
    "runtime with more objects": JOB.format(name="one", runtime="mpi"),
    "unused runtime": JOB.format(name="one", runtime="unused"),
    "deprecated runtime": JOB.format(name="one", runtime="old"),
    "built-in runtime": JOB.format(name="one", runtime="torch-distributed"),
    "unknown runtime": JOB.format(name="one", runtime="missing"),
    "runtime below jobs": JOB.format(name="one", runtime="own, kind: TrainingRuntime"),
    "image": trainer("image: example.com/other:1"),
    "image with a digest": trainer("image: example.com/unused:1"),
    "image of the mirror": trainer("image: mirror.example.com/img:1"),
    "image that needs a digest": trainer("image: registry.example.com/img:1"),
    "environment variable": trainer("env: [{name: SEED, value: '1'}]"),
    "reserved variable": trainer("env: [{name: PET_NNODES, value: '1'}]"),
    "secret in plain text": trainer("env: [{name: HF_TOKEN, value: hf_AbCdEfGhIjKlMnOpQrStUvWxYz}]"),
    "unknown field": ONE + "  nonsense: 1\n",
    "duplicate key": ONE + "  suspend: true\n  suspend: true\n",
    "not YAML": ONE + "\tbroken\n",
    "unquoted label": named("labels: {a: yes}"),
}


BY_ITSELF = {
    *("nodes", "suspended", "plain comment", "no change of the output"),
    *("environment variable", "reserved variable"),
}
"""The edits after which only this job is compiled."""


@pytest.fixture
def everything(repository: Path) -> Path:
    """A repository with most of what a report or a file may depend on."""
    put(repository, "trainc.yaml", CONFIG)
    put(repository, "images.lock.yaml", LOCK)
    put(repository, "policies/few.yaml", POLICY)
    plain = RUNTIME.format(name="{}", image="example.com/img:1")
    label = "{name: old, labels: {trainer.kubeflow.org/support: deprecated}}"
    for name, text in (
        ("group", plain.replace("spec:\n", GROUP, 1)),
        ("mpi", plain.replace("spec:\n", MPI, 1)),
        ("account", plain + ACCOUNT),
        ("unused", plain + ACCOUNT.replace("trainer", "other")),
        ("old", plain.replace("{name: {}}", label)),
    ):
        put(repository, f"runtimes/{name}.yaml", text.replace("name: {}", f"name: {name}"))
    for name, runtime in (("grouped", "group"), ("mpi", "mpi"), ("accounted", "account"), ("old", "old")):
        put(repository, f"jobs/c/{name}.yaml", JOB.format(name=name, runtime=runtime))
    put(repository, "jobs/b/far.yaml", JOB.format(name="far", runtime="plain"))
    put(repository, "jobs/a/left.yaml", JOB.format(name="left", runtime="plain") + texts.SILENT + texts.WARNING)
    own = plain.replace("Cluster", "").replace("name: {}", "name: own")
    put(repository, "jobs/a/own.yaml", own)
    pause()
    return repository


def render(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(trainc, ("render", *args), prog_name="trainc")
    return result.exit_code, result.stdout, result.stderr


def test_edits(everything: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each edit, rendered with the cache, gives what a copy without it gives; undone, what was there before."""
    by_itself: list[str] = []
    real = RunCache.save_changes

    def save_changes(self: RunCache, todo: Plan) -> None:
        by_itself.append(name)
        real(self, todo)

    monkeypatch.setattr(RunCache, "save_changes", save_changes)
    unedited = render()
    files = tree(everything)
    wrong = {}
    edits = dict(some(EDITS.items(), 3))
    for name, text in edits.items():
        cold = tmp_path / name
        shutil.copytree(everything, cold)
        for root in (cold, everything):
            put(root, "jobs/a/one.yaml", text)
        pause()
        with_cache = render("-v")
        with monkeypatch.context() as patch:
            patch.chdir(cold)
            without_cache = render("-v", "--no-cache")
        if with_cache != without_cache or tree(everything) != tree(cold):
            wrong[name] = (without_cache, with_cache)
        put(everything, "jobs/a/one.yaml", ONE)
        pause()
        undone = render()
        if undone[:2] != unedited[:2] or tree(everything) != files:
            wrong[f"{name}, undone"] = (unedited, undone)
    assert wrong == {}
    assert set(by_itself) == BY_ITSELF & edits.keys() != set()
