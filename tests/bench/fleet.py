"""A repository of any number of jobs: what ``make bench`` measures on. Nothing here is random: a size is a repository.

Jobs take turns through five kinds (torch on CPUs; torch on 4 nodes of 8 GPUs; MPI on 4 nodes, the launcher one of
them; torchtune with two initializers; JAX), fifty to a namespace, and differ in name, namespace, image, nodes and
arguments. Half of the GPU jobs use a runtime of their own, equal but in name, so that one runtime serves a tenth of
all jobs. A repository comes in two flavours: ``LIKE`` does what a chart with kubeconform and conftest behind it does
(keys exist, three policies), ``EVERYTHING`` is the platform that this repository shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import fleetruntimes
import fleettexts

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE_SIZE = 50
KINDS = ("cpu", "gpu", "mpi", "tune", "jax")
TENTH = "torch-gpu-next"
"""The runtime of a tenth of the jobs: every second one on GPUs."""
RUNTIMES = {"cpu": "torch-cpu", "gpu": "torch-gpu", "mpi": "mpi", "tune": fleetruntimes.TUNE, "jax": "jax"}
IMAGES = {"cpu": "torch", "gpu": "torch", "tune": "torchtune", "jax": "jax"}
"""By kind; MPI jobs run the image of their runtime, as their nodes do."""
VERSIONS = 8
"""How many tags an image has in the fleet."""

LIKE = "like for like"
EVERYTHING = "everything"
FLAVOURS = (LIKE, EVERYTHING)


class Job(NamedTuple):
    """What tells one job of the fleet from another of its kind; numbers are text, as they go into templates."""

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
        """Its file."""
        return f"jobs/{self.namespace}/{self.name}.yaml"

    @property
    def image(self) -> str:
        """Its image, without the tag."""
        return f"registry.example.com/train/{IMAGES.get(self.kind, self.kind)}"

    @property
    def text(self) -> str:
        """Its TrainJob."""
        return fleettexts.JOBS[self.kind].format(**self._asdict(), image=self.image)


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


def repository(size: int, flavour: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file of a fleet's repository, without out/. ValueError for no such flavour."""
    if flavour not in FLAVOURS:
        raise ValueError(f"no flavour {flavour!r}, only {', '.join(FLAVOURS)}")
    for each in jobs(size):
        yield each.path, each.text
    for name, text in fleetruntimes.texts().items():
        yield f"runtimes/{name}.yaml", text
    if flavour == LIKE:
        yield "trainc.yaml", fleettexts.LIKE_CONFIG
        yield "policies/three-rules.yaml", fleettexts.THREE_RULES
        return
    yield "trainc.yaml", fleettexts.EVERYTHING_CONFIG
    yield "images.lock.yaml", lock(jobs(size))
    for name, text in starter_policies(size).items():
        yield f"policies/{name}", text


def lock(fleet: Iterable[Job]) -> str:
    """Return images.lock.yaml for the images of jobs, with digests that are nobody's."""
    names: set[str] = set()
    for each in fleet:
        names.update(fleetruntimes.KEPT_IMAGES.get(each.kind, ()))
        if each.kind in IMAGES:
            names.add(f"{each.image}:{each.tag}")
    return "images:\n" + "".join(f"  {name}: {_digest(name)}\n" for name in sorted(names))


def _digest(name: str) -> str:
    return f"sha256:{sha256(name.encode()).hexdigest()}"


def starter_policies(size: int) -> Mapping[str, str]:
    """Return this repository's policies by file name, with ceilings for the fleet's namespaces and their Namespaces.

    ValueError if gpu-ceiling.yaml is not as it was when this was written.
    """
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "policies").glob("*.yaml"))}
    texts["gpu-ceiling.yaml"] = _once(texts["gpu-ceiling.yaml"], 'default: "8"', 'default: "64"')
    teams = sorted({each.namespace for each in map(job, range(0, size, NAMESPACE_SIZE))})
    texts["namespaces.yaml"] = "---\n".join(map(fleettexts.NAMESPACE.format, (*teams, "training-platform")))
    return texts


def _once(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise ValueError(f"{old!r} is there {text.count(old)} times")
    return text.replace(old, new)


def write(root: Path, size: int, flavour: str) -> None:
    """Write the repository of a fleet below root."""
    write_files(root, repository(size, flavour))


def write_files(root: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write files below root, by name and text."""
    for name, text in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def change_job(root: Path, turn: int) -> None:
    """Change the first job of a fleet: each turn makes other text than the one before."""
    first = job(0)
    (root / first.path).write_text(first._replace(rate=f"{turn + 1}.5e-2").text, encoding="utf-8")


def change_runtime(root: Path, turn: int) -> None:
    """Change the runtime that a tenth of the jobs use: each turn makes other text than the one before."""
    text = _once(fleetruntimes.texts()[TENTH], "value: WARN", f"value: WARN-{turn}")
    (root / "runtimes" / f"{TENTH}.yaml").write_text(text, encoding="utf-8")
