"""The AppProjects: what Applications of jobs may do at most.

Source: Argo CD v3.5.7, pkg/apis/application/v1alpha1/app_project_types.go. Of kinds with a namespace everything is
allowed where namespaceResourceWhitelist is absent, and nothing else than what it names where it is there; of cluster
resources nothing where clusterResourceWhitelist is absent. What is not allowed is neither made nor removed
(controller/appcontroller.go, getPermittedAppLiveObjects). CreateNamespace=true needs Namespace there, by name, while
the namespace is missing (gitops-engine, autoCreateNamespace: permissions are checked of that task, too).
"""

from __future__ import annotations

from collections.abc import Iterable

from trainc.gitops.argocd.tree import API_VERSION, Kind, Tree
from trainc.source import Json, JsonObject

DEFAULT = "default"
"""Argo CD's own AppProject: it is used, but never replaced."""

ALWAYS: frozenset[Kind] = frozenset((("jobset.x-k8s.io", "JobSet"),))
"""Argo CD does not remove what an AppProject does not allow: the last JobSet of all would run on without its file."""


def projects(trees: Iterable[Tree]) -> tuple[JsonObject, ...]:
    """Return one AppProject for each that is named, sorted; environments that name the same one share it.

    Raises ValueError without argocd.repoURL.
    """
    sharing: dict[tuple[str, str], list[Tree]] = {}
    for tree in trees:
        if tree.project != DEFAULT:
            sharing.setdefault((tree.settings.argocd.namespace, tree.project), []).append(tree)
    return tuple(_project(namespace, name, found) for (namespace, name), found in sorted(sharing.items()))


def _project(namespace: str, name: str, trees: list[Tree]) -> JsonObject:
    environments = ", ".join(tree.environment for tree in trees)
    destinations = {(*_cluster(tree), place) for tree in trees for place in _namespaces(tree)}
    spec: JsonObject = {
        "description": f"TrainJobs of {environments}, compiled by trainc"[:255],
        "sourceRepos": [*sorted({tree.repository for tree in trees})],
        "destinations": [{key: value, "namespace": place} for key, value, place in sorted(destinations)],
        "namespaceResourceWhitelist": _kinds(ALWAYS.union(*(tree.kinds for tree in trees))),
    }
    created = {place for tree in trees if tree.settings.create_namespace for place in _namespaces(tree)}
    if created:
        spec["clusterResourceWhitelist"] = [
            {"group": "", "kind": "Namespace", "name": place} for place in sorted(created)
        ]
    # Before the ApplicationSets: one whose project is missing stays in error until its next turn, minutes later.
    first: JsonObject = {"argocd.argoproj.io/sync-wave": "-1"}
    metadata: JsonObject = {"name": name, "namespace": namespace, "annotations": first}
    return {"apiVersion": API_VERSION, "kind": "AppProject", "metadata": metadata, "spec": spec}


def _cluster(tree: Tree) -> tuple[str, str]:
    [(key, value)] = tree.cluster.items()
    return key, str(value)


def _namespaces(tree: Tree) -> tuple[str, ...]:
    """Return the namespaces allowed: those that trainc.yaml names, or those that have jobs."""
    return tree.settings.argocd.namespaces or tree.namespaces


def _kinds(kinds: frozenset[Kind]) -> list[Json]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]
