"""Compiles jobs on MPI ranks, for fleets past one machine: ``mpiexec -n 8 trainc render --executor mpi``.

Rank 0 reads and writes. The others get the texts of everything but the jobs once per environment, with those of files
that have several jobs, and then chunks of jobs when they are free (mpi4py.futures). They need no file system in common
with rank 0, but the same trainc: otherwise out/, and the cache of rank 0, would have what another version compiles.
"""

from __future__ import annotations

import errno
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from trainc.basics.about import VERSION
from trainc.documents.classify import classify, with_namespace
from trainc.documents.load import load
from trainc.findings.suppression import WORD
from trainc.inputs.source import Document, Source
from trainc.parallel.forked import lost, pack, ranges, unpack
from trainc.pipeline.compile import load_all
from trainc.pipeline.content import Job, digest_of
from trainc.pipeline.context import Context, Keep
from trainc.pipeline.job import Executor, compile_job, in_order
from trainc.pipeline.jobresults import Documents
from trainc.project.config import parse, parse_lock
from trainc.project.files import read_regular

MISSING: Final = "mpi4py with an MPI library is needed: pip install 'trainc[mpi]'"


class Installed(NamedTuple):
    """The trainc of a rank: its machine, its version, and a digest of the content of its files."""

    host: str
    version: str
    code: bytes

    @classmethod
    def here(cls) -> Installed:
        """Return that of this rank."""
        home, whole = Path(__file__).parents[1], blake2b(digest_size=16)
        for path in sorted(home.rglob("*")):
            if "__pycache__" not in path.parts and (data := read_regular(path)) is not None:
                whole.update(digest_of(os.fsencode(path.relative_to(home))) + digest_of(data))
        return cls(platform.node(), VERSION, whole.digest())


Task: TypeAlias = tuple[Source | str, int]
"""A job: its file, or the name of one that all ranks have, and the index of the document in it."""


class Shipment(msgspec.Struct, frozen=True):
    """The sources from which a rank prepares an environment.

    ``uses`` has the file of each job's runtime, and the job's namespace. ``files`` are those with several jobs, which
    chunks name: a file that each of its chunks had again, and that was loaded for each job, would take quadratic time.
    """

    environment: str
    keep: str
    config: Source | None
    lock: Source | None
    crds: tuple[Source, ...]
    sources: tuple[Source, ...]
    uses: tuple[tuple[str, str], ...]
    files: tuple[Source, ...]

    @classmethod
    def of(cls, context: Context, jobs: Sequence[Document]) -> Shipment:
        """Return the sources that the ranks need to compile jobs."""
        options = context.options
        config, lock = options.config_document, options.lock.document
        sources = {document.source.name: document.source for document in context.documents.others}
        uses = {(source.name, namespace) for source, namespace in context.uses}
        counts = Counter(job.source.name for job in jobs)
        files = {job.source.name: job.source for job in jobs if counts[job.source.name] > 1}
        return cls(
            options.environment,
            context.keep.value,
            config.source if config is not None else None,
            lock.source if lock is not None else None,
            options.crds,
            tuple(source for _, source in sorted(sources.items())),
            tuple(sorted(uses)),
            tuple(files.values()),
        )

    def tasks(self, jobs: Sequence[Document], workers: int) -> Iterator[list[Task]]:
        """Yield the chunks of jobs."""
        known = {source.name for source in self.files}
        for begin, end in ranges(len(jobs), workers):
            yield [(d.source.name if d.source.name in known else d.source, d.index) for d in jobs[begin:end]]

    def context(self) -> Context:
        """Return the same context for jobs as on rank 0."""
        config, _ = parse(self.config)
        lock, _ = parse_lock(self.lock)
        options = replace(config, lock=lock).options(self.environment, self.crds)
        loaded = load_all(self.sources)
        classified, _ = classify(loaded.documents)
        by_name = {source.name: source for source in loaded.sources}
        uses = [(by_name[name], namespace) for name, namespace in self.uses]
        return Context.of(classified, loaded.documents, loaded.sources, options, Keep(self.keep), uses=uses)


class Ranks:
    """The ranks of this run. Raises ImportError without MPI."""

    def __init__(self) -> None:
        """Start MPI, and let all ranks know which trainc each one has."""
        from mpi4py import MPI

        self.world: Any = MPI.COMM_WORLD
        self.rank: int = self.world.Get_rank()
        self.size: int = self.world.Get_size()
        # Plain tuples, which every version can read.
        self.installed = [Installed(*each) for each in self.world.allgather(tuple(Installed.here()))]

    def serve(self) -> None:
        """Compile the jobs that rank 0 sends, until it ends."""
        while (shipment := self.world.bcast(None, root=0)) is not None:
            _shipments[:] = [shipment]
            with self._pool():
                pass
            _prepared.cache_clear()
        self._end()

    def close(self) -> None:
        """End the other ranks, and MPI."""
        self.world.bcast(None, root=0)
        self._end()

    @staticmethod
    def _end() -> None:
        from mpi4py import MPI

        MPI.Finalize()

    def executor(self) -> Executor:
        """Return the executor of rank 0; with one rank alone, jobs are compiled there.

        It raises ChildProcessError, and so does this for a rank with another trainc.
        """
        here = self.installed[0]
        for rank, other in enumerate(self.installed):
            if (other.version, other.code) != (here.version, here.code):
                what = "other files of " if other.version == here.version else ""
                message = f"rank {rank} on {other.host} has {what}trainc {other.version}, and rank 0 trainc {VERSION}"
                raise ChildProcessError(errno.ECHILD, f"{message}: install the same one for all ranks")

        def execute(context: Context, documents: Iterable[Document]) -> Iterable[Job]:
            jobs = tuple(documents)
            local = [document for document in jobs if WORD in document.source.decoded()]
            sent = [document for document in jobs if WORD not in document.source.decoded()]
            if self.size < 2 or not sent:
                return in_order(context, jobs)
            return (*self._shared(context, sent), *in_order(context, local))

        return execute

    def _shared(self, context: Context, documents: Sequence[Document]) -> Iterator[Job]:
        others, shipment = Documents(context), Shipment.of(context, documents)
        parts = ranges(len(documents), self.size - 1)
        self.world.bcast(shipment, root=0)
        with self._pool() as pool:
            tasks = pool.map(chunk, shipment.tasks(documents, self.size - 1))
            for (begin, end), answer in zip(parts, tasks, strict=True):
                if isinstance(answer, str):
                    raise lost("an MPI rank", answer)
                yield from unpack(answer, documents[begin:end], others, context)

    def _pool(self) -> Any:
        from mpi4py.futures import MPICommExecutor

        return MPICommExecutor(self.world, root=0)


_shipments: list[Shipment] = []
"""The shipment of the current environment."""


class Prepared:
    """What a rank keeps of a shipment: the context, and the documents of the file whose jobs it compiles."""

    def __init__(self, shipment: Shipment) -> None:
        self.context = shipment.context()
        self.others = Documents(self.context)
        self.files = {source.name: source for source in shipment.files}
        self.source: Source | None = None
        self.documents: dict[int, Document] = {}

    def document(self, file: Source | str, index: int) -> Document:
        """Return a job."""
        source = self.files[file] if isinstance(file, str) else file
        if source is not self.source:
            self.source, self.documents = source, {each.index: each for each in load(source)[0]}
        return with_namespace(self.documents[index])[0]


@cache
def _prepared() -> Prepared:
    return Prepared(_shipments[-1])


def chunk(tasks: Sequence[Task]) -> bytes | str:
    """Compile jobs on a rank. Returns a text for an error."""
    try:
        here = _prepared()
        return pack((compile_job(here.context, here.document(*task)) for task in tasks), here.others)
    except Exception as error:  # noqa: BLE001 - rank 0 reports it
        return f"on {platform.node()}: {type(error).__name__}: {error}"
