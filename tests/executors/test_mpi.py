"""MPI ranks give what one process gives; with two real ranks and more where mpi4py and mpiexec are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_forked import build, same

from cache.walktexts import PLAIN, PLAIN_RUNTIME
from effort import some
from folders import put
from trainc.basics.about import VERSION
from trainc.documents.load import load
from trainc.inputs.source import Document, Source
from trainc.parallel import mpi
from trainc.parallel.mpi import Installed, Ranks, Shipment, chunk
from trainc.pipeline.content import Job
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor, in_order

ROOT = Path(__file__).parents[2]
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

real = pytest.mark.skipif(MPIEXEC is None or find_spec("mpi4py") is None, reason="mpi4py or mpiexec is not installed")


class World:
    """A communicator in one process: what rank 0 broadcasts is all there is."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def bcast(self, value: Any, root: int) -> Any:
        assert root == 0
        self.sent.append(value)
        return value


class Pool:
    """An executor of mpi4py.futures in this process."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, function: Any, tasks: Iterable[Any]) -> Iterable[Any]:
        return map(function, tasks)


def ranks(monkeypatch: pytest.MonkeyPatch) -> Executor:
    """Return the executor of rank 0, whose other ranks are this process with nothing but what they were sent."""
    found: Any = object.__new__(Ranks)
    found.world, found.rank, found.size = World(), 0, 3
    found.installed = [Installed.here()] * 3
    monkeypatch.setattr(Ranks, "_pool", lambda _: Pool())
    inner = found.executor()

    def execute(context: Context, documents: Iterable[Document]) -> Iterable[Job]:
        jobs = tuple(documents)
        monkeypatch.setattr(mpi, "_shipments", [Shipment.of(context, jobs)])
        mpi._prepared.cache_clear()
        return inner(context, jobs)

    return execute


def test_ranks_give_what_one_process_gives(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same(build(repository, ranks(monkeypatch)), build(repository, in_order))


def test_so_they_do_where_jobs_are_wrong(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same(build(broken, ranks(monkeypatch)), build(broken, in_order))


BESIDE = """\
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: one}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: trainer}
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rule}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], resources: [jobsets], operations: ["*"]}
  validations: [{expression: "object.metadata.name != params.metadata.name"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rule}
spec:
  policyName: rule
  validationActions: [Warn]
  paramRef: {name: one, namespace: default, parameterNotFoundAction: Deny}
"""


def test_ranks_know_objects_beside_runtimes_and_params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = PLAIN_RUNTIME.format(name="plain", image="example.com/img:1")
    runtime = runtime.replace("spec:\n", "spec:\n  podGroupPolicy: {coscheduling: {}}\n", 1)
    account = "serviceAccountName: trainer, containers:"
    put(tmp_path, "runtimes/plain.yaml", runtime.replace("containers:", account) + BESIDE)
    put(tmp_path, "policies/rule.yaml", POLICY)
    put(tmp_path, "policies/one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\n")
    for namespace, suspend in (("a", ""), ("b", "  suspend: true\n")):
        put(tmp_path, f"jobs/{namespace}/one.yaml", PLAIN.format(name="one", runtime="plain") + suspend)
    alone = build(tmp_path, in_order)
    assert {"TC313", "TC502"} <= {finding.code for finding in alone.findings}
    same(build(tmp_path, ranks(monkeypatch)), alone)


def test_a_file_of_many_jobs_is_sent_and_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "runtimes/plain.yaml", PLAIN_RUNTIME.format(name="plain", image="example.com/img:1"))
    put(tmp_path, "jobs/a/alone.yaml", PLAIN.format(name="alone", runtime="plain"))
    many = "---\n".join(PLAIN.format(name=f"job-{number}", runtime="plain") for number in range(200))
    put(tmp_path, "jobs/a/many.yaml", many)
    loaded: list[str] = []
    sent: list[Any] = []

    def load_and_note(source: Source) -> Any:
        loaded.append(source.name)
        return load(source)

    def note_and_compile(tasks: Any) -> bytes | str:
        sent.extend(tasks)
        return chunk(tasks)

    monkeypatch.setattr(mpi, "load", load_and_note)
    monkeypatch.setattr(mpi, "chunk", note_and_compile)
    same(build(tmp_path, ranks(monkeypatch)), build(tmp_path, in_order))
    assert loaded == ["jobs/a/alone.yaml", "jobs/a/many.yaml"]
    assert {file if isinstance(file, str) else file.name for file, _ in sent} == {*loaded}
    assert [file for file, _ in sent if isinstance(file, str)] == ["jobs/a/many.yaml"] * 200


def test_a_rank_that_fails(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Shipment) -> Context:
        raise MemoryError("all of it")

    monkeypatch.setattr(Shipment, "context", fails)
    with pytest.raises(ChildProcessError, match=r"an MPI rank ended .*MemoryError: all of it"):
        build(repository, ranks(monkeypatch))
    assert isinstance(chunk([]), str)


def test_a_rank_with_another_trainc_compiles_nothing() -> None:
    here = Installed.here()
    assert Installed.here() == here
    others = {
        "trainc 0.0.9": here._replace(version="0.0.9", code=b"1"),
        f"other files of trainc {VERSION}": here._replace(code=b"2"),
    }
    for what, other in others.items():
        found: Any = object.__new__(Ranks)
        found.world, found.rank, found.size, found.installed = World(), 0, 3, [here, here, other]
        with pytest.raises(ChildProcessError, match=f"rank 2 on {re.escape(here.host)} has {re.escape(what)}, "):
            found.executor()


@real
def test_real_ranks(repository: Path) -> None:
    def trainc(*command: str) -> subprocess.CompletedProcess[bytes]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "compiler"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        return subprocess.run(command, check=False, capture_output=True, env=environment, timeout=300)

    assert MPIEXEC is not None
    alone = trainc(sys.executable, "-m", "trainc", "render", "--format", "json")
    assert alone.returncode == 0, alone.stderr
    made = {path.relative_to(repository): path.read_bytes() for path in (repository / "out").rglob("*.yaml")}
    assert len(made) > 50
    for count in some(("3", "1"), 2):
        shutil.rmtree(repository / "out")
        command = (sys.executable, "-m", "trainc", "render", "--executor", "mpi", "--format", "json")
        shared = trainc(MPIEXEC, "-n", count, *command)
        assert shared.returncode == 0, shared.stderr
        assert shared.stdout == alone.stdout
        found = {path.relative_to(repository): path.read_bytes() for path in (repository / "out").rglob("*.yaml")}
        assert found == made
