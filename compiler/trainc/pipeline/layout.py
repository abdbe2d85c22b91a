"""The files that render writes: objects below out/, and the objects with which Argo CD or Flux finds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from trainc.basics.jsonvalues import JsonObject, get
from trainc.documents.emit import emit_file, visible
from trainc.gitops.runtime_resources import FOLDER, Shared
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings
from trainc.inputs.source import BUILTIN
from trainc.pipeline.content import HEADER, Job
from trainc.plugins.model import Objects

if TYPE_CHECKING:
    from trainc.gitops.argocd import Tree


def files(job: Job, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a job, one per object: the path from the root of the repository, and the bytes.

    That of the JobSet counts them. Otherwise, Argo CD may not see that one is removed (manifest-generate-paths): git
    lists a removed file that resembles a new one anywhere by the new path only.
    """
    folder = f"out/{options.environment}/{job.namespace}/{job.name}"
    lines, count = header(job, options), len(job.objects)
    for name, obj in zip(file_names(job.objects), job.objects, strict=True):
        more = (f"One of {count} files of this job.",) if obj.kind == "JobSet" and count > 1 else ()
        yield f"{folder}/{name}", emit_file(obj.data, (*lines, *more))


def shared_files(shared: Iterable[Shared], options: Options) -> dict[str, bytes]:
    """Return path to bytes of shared objects, which have a separate folder, and Application, per namespace."""
    out: dict[str, bytes] = {}
    folders: dict[str, list[Shared]] = {}
    for one in shared:
        folders.setdefault(one.namespace, []).append(one)
    for namespace, found in folders.items():
        names = file_names(tuple(one.obj for one in found))
        for name, one in zip(names, found, strict=True):
            lines = _lines((one.document.source.name,), options.settings)
            out[f"out/{options.environment}/{namespace}/{FOLDER}/{name}"] = emit_file(one.obj.data, lines)
    return out


def header(job: Job, options: Options) -> tuple[str, ...]:
    """Return the header: the sources and the command to use. It has no version, so that upgrades change no file."""
    sources = [job.document.source.name]
    if job.runtime is not None:
        name = job.runtime.source.name
        built_in = name.startswith(BUILTIN)
        sources.append(f"built-in {name.removeprefix(BUILTIN)}" if built_in else name)
    return _lines(sources, options.settings)


def _lines(sources: Iterable[str], settings: Settings) -> tuple[str, ...]:
    names = visible(" and ".join(dict.fromkeys(sources)))
    return f"{HEADER}{names}", f"Do not edit: change the sources and run '{settings.render_command}'."


def file_names(objects: Objects) -> list[str]:
    """Return the file name of each object, with the API group if two groups share a kind and name.

    File names have neither run number nor hash, so a changed object keeps its file.
    """
    names = [f"{obj.kind.lower()}-{obj.plain}" for obj in objects]
    count = Counter(names)
    for index, obj in enumerate(objects):
        if count[names[index]] > 1:
            group = str(obj.data["apiVersion"]).rpartition("/")[0]
            names[index] = f"{obj.kind.lower()}.{group}-{obj.plain}"
    return [f"{name}.yaml" for name in names]


# Argo CD's and Flux's own objects, which `trainc argocd` prints and render writes.

_SOURCES = ("trainc.yaml and jobs/",)


def argocd_objects(trees: Iterable[Tree], environments: Collection[str] | None = None) -> tuple[JsonObject, ...]:
    """Return AppProjects, ApplicationSets and the additions to argocd-cm, in the order in which they can be applied.

    With ``environments``, other trees only add to the AppProjects. Raises ValueError for a tree without argocd.repoURL.
    """
    from trainc.gitops.argocd import applicationset, health_checks, projects

    trees = tuple(trees)
    chosen = [tree for tree in trees if environments is None or tree.environment in environments]
    namespaces = sorted({tree.settings.argocd.namespace for tree in chosen})
    return (*projects(trees), *map(applicationset, chosen), *map(health_checks, namespaces))


def argocd_files(trees: Iterable[Tree]) -> dict[str, bytes]:
    """Return the files of the trees with argocd.write.

    The additions to argocd-cm have a separate folder, since they must not be synced as the whole ConfigMap.
    Raises ValueError as ``argocd_objects`` does.
    """
    folders: dict[str, list[Tree]] = {}
    for tree in trees:
        if tree.settings.argocd.write:
            folders.setdefault(tree.settings.argocd.write, []).append(tree)
    files = {}
    for folder, found in sorted(folders.items()):
        objs, lines = argocd_objects(found), _lines(_SOURCES, found[0].settings)
        several = len({get(data, "metadata", "namespace") for data in objs}) > 1
        for data in objs:
            kind, name = str(data["kind"]).lower(), str(get(data, "metadata", "name"))
            if several:
                name = f"{get(data, 'metadata', 'namespace')}.{name}"
            subfolder = "argocd-cm/" if kind == "configmap" else ""
            files[f"{folder}/{subfolder}{kind}-{name}.yaml"] = emit_file(data, lines)
    return files


_NO_JOBS = "no-jobs.txt"


def flux_files(
    objs: Iterable[tuple[str | None, JsonObject]], settings: Settings, folders: Iterable[str] = ()
) -> dict[str, bytes]:
    """Return the files of Kustomizations, for those with a folder; ``settings`` are those of any environment.

    Each of ``folders`` has a file, since Flux prunes nothing if a folder is missing (kustomize-controller v1.10.1,
    kustomization path not found), and everything if it has no objects.
    """
    lines = _lines(_SOURCES, settings)
    text = "".join(f"# {line}\n" for line in (*lines, "Without this folder, Flux would not delete the last job."))
    found = {f"{folder}/{_NO_JOBS}": text.encode() for folder in folders}
    for folder, data in objs:
        if folder is not None:
            found.pop(f"{folder}/{_NO_JOBS}", None)
            found[f"{folder}/kustomization-{get(data, 'metadata', 'name')}.yaml"] = emit_file(data, lines)
    return found
