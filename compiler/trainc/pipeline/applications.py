"""The objects by which Argo CD or Flux finds out/: what `trainc argocd` prints, and the files that render writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trainc.basics.jsonvalues import JsonObject, get
from trainc.documents.emit import emit_file
from trainc.pipeline.content import HEADER

if TYPE_CHECKING:
    from trainc.gitops.argocd import Tree

HEADER_LINES = (
    f"{HEADER}trainc.yaml and jobs/",
    "Do not edit: change the sources and run 'make render'.",
)


def objects(trees: Iterable[Tree]) -> tuple[JsonObject, ...]:
    """Return AppProjects, ApplicationSets and the part of argocd-cm, in the order in which they can be applied.

    Raises ValueError for a tree without argocd.repoURL.
    """
    from trainc.gitops.argocd import applicationset, health_checks, projects

    trees = tuple(trees)
    namespaces = sorted({tree.settings.argocd.namespace for tree in trees})
    return (*projects(trees), *map(applicationset, trees), *map(health_checks, namespaces))


def files(trees: Iterable[Tree]) -> dict[str, bytes]:
    """Return path to bytes for the trees that have a folder to be written to (argocd.write).

    The part of argocd-cm lies in a folder of its own: who syncs the others must not sync it as if it were the whole.
    Raises ValueError as ``objects`` does.
    """
    folders: dict[str, list[Tree]] = {}
    for tree in trees:
        if tree.settings.argocd.write:
            folders.setdefault(tree.settings.argocd.write, []).append(tree)
    return {
        f"{folder}/{name}": emit_file(data, HEADER_LINES)
        for folder, found in sorted(folders.items())
        for name, data in _named(objects(found))
    }


def flux_files(made: Iterable[tuple[str | None, JsonObject]]) -> dict[str, bytes]:
    """Return path to bytes for Kustomizations that have a folder to be written to."""
    return {
        f"{folder}/kustomization-{get(data, 'metadata', 'name')}.yaml": emit_file(data, HEADER_LINES)
        for folder, data in made
        if folder is not None
    }


def _named(made: tuple[JsonObject, ...]) -> list[tuple[str, JsonObject]]:
    """Return a file name for each object; the namespace is in it only where there are several."""
    several = len({get(data, "metadata", "namespace") for data in made}) > 1
    named = []
    for data in made:
        kind, place = str(data["kind"]).lower(), str(get(data, "metadata", "namespace"))
        name = f"{place}.{get(data, 'metadata', 'name')}" if several else str(get(data, "metadata", "name"))
        named.append((f"{'argocd-cm/' if kind == 'configmap' else ''}{kind}-{name}.yaml", data))
    return named
