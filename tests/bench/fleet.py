"""A repository of any number of jobs: what ``make bench`` measures on. Nothing here is random: a size is a repository.

Jobs take turns through five kinds (torch on CPUs; torch on 4 nodes of 8 GPUs; MPI on 4 nodes, the launcher one of
them; torchtune with two initializers; JAX), fifty per namespace, and differ in name, namespace, image, nodes and
arguments. Half of the GPU jobs use a runtime that differs in its name only. A repository comes in two flavours:
``LIKE`` does what a chart with kubeconform and conftest behind it does (keys exist, three policies), ``EVERYTHING`` is
the platform that this repository shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from string import Template
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).with_name("fleetfiles")
NAMESPACE_SIZE = 50
KINDS = ("cpu", "gpu", "mpi", "tune", "jax")
TENTH = "torch-gpu-next"
"""The runtime of a tenth of the jobs: every second one on GPUs."""
TUNE = "torchtune-llama3.2-1b"
RUNTIMES = {"cpu": "torch-cpu", "gpu": "torch-gpu", "mpi": "mpi", "tune": TUNE, "jax": "jax"}
IMAGES = {"cpu": "torch", "gpu": "torch", "tune": "torchtune", "jax": "jax"}
"""By kind; MPI jobs run the image of their runtime, as their nodes do."""
RUNTIME_IMAGES = {
    "mpi": ("registry.example.com/train/mpi:1.0.0",),
    "tune": (
        "ghcr.io/kubeflow/trainer/dataset-initializer:v2.3.0",
        "ghcr.io/kubeflow/trainer/model-initializer:v2.3.0",
    ),
}
"""By kind, the images of the runtime that no job replaces."""
VERSIONS = 8
"""How many tags an image has in the fleet."""

LIKE = "like for like"
EVERYTHING = "everything"
FLAVOURS = (LIKE, EVERYTHING)

NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: {}
  labels:
    training.example.com/sync: automated
"""


class Job(NamedTuple):
    """The values in which the jobs of a kind differ; numbers are text, as they go into templates."""

    kind: str
    runtime: str
    namespace: str
    name: str
    team: str
    tag: str
    nodes: str
    rate: str
    epochs: str
    seed: str

    @property
    def path(self) -> str:
        return f"jobs/{self.namespace}/{self.name}.yaml"

    @property
    def image(self) -> str:
        """Its image, without the tag."""
        return f"registry.example.com/train/{IMAGES.get(self.kind, self.kind)}"

    @property
    def text(self) -> str:
        """Its TrainJob; the folder of its file is its namespace."""
        return _template(self.kind).substitute(self._asdict(), image=self.image)


@cache
def _template(kind: str) -> Template:
    return Template(file_text(f"jobs/{kind}.yaml"))


def file_text(name: str) -> str:
    """Return the text of a file of ``fleetfiles/``."""
    return (FILES / name).read_text(encoding="utf-8")


def job(number: int) -> Job:
    """Return the job of that number, from 0."""
    kind = KINDS[number % len(KINDS)]
    team = f"team-{number // NAMESPACE_SIZE:04}"
    turn = number // len(KINDS)
    nodes = 4 if kind in ("gpu", "mpi") else 1 if kind == "tune" else 2 + turn % 7
    return Job(
        kind=kind,
        runtime=TENTH if kind == "gpu" and turn % 2 else RUNTIMES[kind],
        namespace=team,
        name=f"{kind}-{number:06}",
        team=team,
        tag=f"1.{turn % VERSIONS}.0",
        nodes=str(nodes),
        rate=f"{1 + turn % 9}e-{3 + turn % 3}",
        epochs=str(3 + turn % 40),
        seed=str(number),
    )


def jobs(size: int) -> Iterator[Job]:
    """Yield the jobs of a fleet of that size."""
    return map(job, range(size))


def runtimes() -> Mapping[str, str]:
    """Return the text of every runtime, by name."""
    gpu = file_text("runtimes/torch-gpu.yaml")

    def variant(name: str, framework: str = "torch", pool: str = "gpu") -> str:
        text = gpu.replace("torch-gpu", name).replace("framework: torch", f"framework: {framework}")
        return text.replace("torch: {}", f"{framework}: {{}}").replace("pool: gpu", f"pool: {pool}")

    return {
        "torch-cpu": variant("torch-cpu", pool="cpu"),
        "torch-gpu": gpu,
        TENTH: variant(TENTH),
        "mpi": file_text("runtimes/mpi.yaml"),
        TUNE: file_text(f"runtimes/{TUNE}.yaml"),
        "jax": variant("jax", framework="jax"),
    }


class Files(Enum):
    """Which jobs share a file: none; those of every fourth namespace; all."""

    OWN = "own"
    MIXED = "mixed"
    ONE = "one"

    def path_of(self, each: Job) -> str:
        """Return the file of a job."""
        if self is Files.ONE:
            return f"jobs/{job(0).namespace}/all.yaml"
        is_shared = self is Files.MIXED and int(each.namespace[-4:]) % 4 == 3
        return f"jobs/{each.namespace}/all.yaml" if is_shared else each.path


def repository(size: int, flavour: str, files: Files = Files.OWN) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file of a fleet's repository, without out/."""
    for path, group in groupby(jobs(size), files.path_of):
        yield path, "---\n".join(each.text for each in group)
    for name, text in runtimes().items():
        yield f"runtimes/{name}.yaml", text
    if flavour == LIKE:
        yield "trainc.yaml", file_text("like.yaml")
        yield "policies/three-rules.yaml", file_text("three-rules.yaml")
        return
    yield "trainc.yaml", file_text("everything.yaml")
    yield "images.lock.yaml", lock(jobs(size))
    for name, text in starter_policies(size).items():
        yield f"policies/{name}", text


def lock(fleet: Iterable[Job]) -> str:
    """Return images.lock.yaml for the images of jobs, with invented digests."""
    names: set[str] = set()
    for each in fleet:
        names.update(RUNTIME_IMAGES.get(each.kind, ()))
        if each.kind in IMAGES:
            names.add(f"{each.image}:{each.tag}")
    return "images:\n" + "".join(f"  {name}: sha256:{sha256(name.encode()).hexdigest()}\n" for name in sorted(names))


def starter_policies(size: int) -> Mapping[str, str]:
    """Return this repository's policies by file name, with the GPU ceiling and the Namespaces of the fleet."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "policies").glob("*.yaml"))}
    ceiling = texts["gpu-ceiling.yaml"].replace('default: "8"', 'default: "64"')
    assert ceiling != texts["gpu-ceiling.yaml"], "the default of policies/gpu-ceiling.yaml has changed"
    teams = sorted({each.namespace for each in map(job, range(0, size, NAMESPACE_SIZE))})
    namespaces = "---\n".join(map(NAMESPACE.format, (*teams, "training-platform")))
    return {**texts, "gpu-ceiling.yaml": ceiling, "namespaces.yaml": namespaces}


def write_files(root: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write files below root, by name and text."""
    for name, text in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def change_job(root: Path, turn: int) -> None:
    """Change the first job of a fleet: each turn writes another text."""
    first = job(0)
    (root / first.path).write_text(first._replace(rate=f"{turn + 1}.5e-2").text, encoding="utf-8")


def change_runtime(root: Path) -> None:
    """Change the runtime of a tenth of a fleet."""
    text = runtimes()[TENTH].replace("value: WARN", "value: INFO")
    assert text != runtimes()[TENTH], "the runtime of fleetfiles/ has changed"
    (root / "runtimes" / f"{TENTH}.yaml").write_text(text, encoding="utf-8")
