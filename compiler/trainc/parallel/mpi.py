"""Compiles jobs on MPI ranks, for fleets past one machine: ``mpiexec -n 8 trainc render --executor mpi``.

Rank 0 reads and writes. The others get the texts of everything but the jobs once per environment, and then chunks of
jobs when they are free (mpi4py.futures). They need no file system in common with rank 0, but the same trainc: otherwise
out/, and the cache of rank 0, would have what another version compiles.
"""

from __future__ import annotations

import errno
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

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


class Shipment(msgspec.Struct, frozen=True):
    """The sources from which a rank prepares an environment.

    ``uses`` has the file of each job's runtime, and the job's namespace.
    """

    environment: str
    keep: str
    config: Source | None
    lock: Source | None
    crds: tuple[Source, ...]
    sources: tuple[Source, ...]
    uses: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, context: Context) -> Shipment:
        """Return the sources that the ranks of a run need."""
        options = context.options
        config, lock = options.config_document, options.lock.document
        sources = {document.source.name: document.source for document in context.documents.others}
        uses = {(source.name, namespace) for source, namespace in context.uses}
        return cls(
            options.environment,
            context.keep.value,
            config.source if config is not None else None,
            lock.source if lock is not None else None,
            options.crds,
            tuple(source for _, source in sorted(sources.items())),
            tuple(sorted(uses)),
        )

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
            _context.cache_clear()
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
        others = Documents(context)
        parts = ranges(len(documents), self.size - 1)
        tasks = [[(d.source, d.index) for d in documents[begin:end]] for begin, end in parts]
        self.world.bcast(Shipment.of(context), root=0)
        with self._pool() as pool:
            for (begin, end), answer in zip(parts, pool.map(chunk, tasks), strict=True):
                if isinstance(answer, str):
                    raise lost("an MPI rank", answer)
                yield from unpack(answer, documents[begin:end], others, context)

    def _pool(self) -> Any:
        from mpi4py.futures import MPICommExecutor

        return MPICommExecutor(self.world, root=0)


_shipments: list[Shipment] = []
"""The shipment of the current environment."""


@cache
def _context() -> tuple[Context, Documents]:
    context = _shipments[-1].context()
    return context, Documents(context)


def chunk(task: Sequence[tuple[Source, int]]) -> bytes | str:
    """Compile documents on a rank, each given by its source and index. Returns a text for an error."""
    try:
        context, others = _context()
        return pack((compile_job(context, _document(source, index)) for source, index in task), others)
    except Exception as error:  # noqa: BLE001 - rank 0 reports it
        return f"on {platform.node()}: {type(error).__name__}: {error}"


def _document(source: Source, index: int) -> Document:
    documents, _ = load(source)
    return next(with_namespace(document)[0] for document in documents if document.index == index)
