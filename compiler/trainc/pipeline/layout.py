"""Where objects go below out/, and the bytes of their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from trainc.documents.emit import emit_file, visible
from trainc.gitops.runtime_resources import FOLDER, Shared
from trainc.inputs.options import Options
from trainc.pipeline.content import HEADER
from trainc.pipeline.job import Job
from trainc.pipeline.runtimes import BUILTIN
from trainc.plugins.model import Object, Objects


def files(job: Job, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a job's objects, one object a file: the path from the root, and the bytes."""
    folder = f"out/{options.environment}/{job.namespace}/{job.name}"
    lines = header(job)
    for name, made in zip(file_names(job.objects), job.objects, strict=True):
        yield f"{folder}/{name}", emit_file(made.data, lines)


def shared_files(shared: Iterable[Shared], options: Options) -> dict[str, bytes]:
    """Return path to bytes of what the jobs of a namespace share: a folder, and so an Application, of its own."""
    out: dict[str, bytes] = {}
    folders: dict[str, list[Shared]] = {}
    for one in shared:
        folders.setdefault(one.namespace, []).append(one)
    for namespace, found in folders.items():
        names = file_names(tuple(one.made for one in found))
        for name, one in zip(names, found, strict=True):
            lines = _lines((one.document.source.name,))
            out[f"out/{options.environment}/{namespace}/{FOLDER}/{name}"] = emit_file(one.made.data, lines)
    return out


def header(job: Job) -> tuple[str, ...]:
    """Return the header: the sources, and how to make the file again; no version, for an upgrade touches nothing."""
    sources = [job.document.source.name]
    if job.runtime is not None:
        name = job.runtime.source.name
        built_in = name.startswith(BUILTIN)
        sources.append(f"built-in {name.removeprefix(BUILTIN)}" if built_in else name)
    return _lines(sources)


def _lines(sources: Iterable[str]) -> tuple[str, ...]:
    return (
        f"{HEADER}{visible(' and '.join(dict.fromkeys(sources)))}",
        "Do not edit: change the sources and run 'make render'.",
    )


def file_names(objects: Objects) -> list[str]:
    """Return the file name of each object: its group is in it only where two groups share a kind and name.

    Neither a run number nor a hash of the content is in a file name: a change is a change of one file.
    """
    names = list(map(_plain, objects))
    if len(set(names)) == len(names):
        return [f"{name}.yaml" for name in names]
    count = Counter(names)
    return [f"{_plain(made) if count[_plain(made)] == 1 else _grouped(made)}.yaml" for made in objects]


def _plain(made: Object) -> str:
    return f"{made.kind.lower()}-{made.plain}"


def _grouped(made: Object) -> str:
    group = str(made.data["apiVersion"]).rpartition("/")[0]
    return f"{made.kind.lower()}.{group}-{made.plain}"
