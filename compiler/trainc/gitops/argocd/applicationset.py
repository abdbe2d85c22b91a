"""The ApplicationSet of an environment: Argo CD makes an Application of every directory of a job.

Names are joined by dots: by hyphens, job b-c of team a and job c of team a-b would be one Application. They stay
below 253 characters, since each of their three parts is a DNS label.
"""

from __future__ import annotations

from trainc.gitops.argocd.tree import API_VERSION, Tree
from trainc.source import Json, JsonObject

RETRY: JsonObject = {"limit": 5, "refresh": True, "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}}
"""Without ``refresh`` a retry repeats the commit that failed, and newer ones wait for minutes (measured)."""

DIRECTORY: JsonObject = {"include": "*.yaml"}
"""Says that an Application is a plain directory. Without it Argo CD looks for Chart.yaml, kustomizations and plugins,
and takes the directory for one of those. An empty mapping would not do: Argo CD removes it (NormalizeSource). In
``include`` a ``*`` also stands for slashes."""

_NAMESPACE = "{{ index .path.segments 2 }}"
"""The third folder of out/<environment>/<namespace>/<job>."""


def applicationset(tree: Tree) -> JsonObject:
    """Return the ApplicationSet of an environment. Raises ValueError without argocd.repoURL."""
    options = tree.settings.argocd
    spec: JsonObject = {
        "goTemplate": True,
        "goTemplateOptions": ["missingkey=error"],
        "generators": [{"git": _generator(tree)}],
        "template": {"metadata": _metadata(tree), "spec": _application(tree)},
    }
    if options.on_delete == "keep":
        spec["syncPolicy"] = {"preserveResourcesOnDeletion": True}
    return {
        "apiVersion": API_VERSION,
        "kind": "ApplicationSet",
        "metadata": {"name": tree.name, "namespace": options.namespace},
        "spec": spec,
    }


def _generator(tree: Tree) -> JsonObject:
    depth = "*" if _per_namespace(tree) else "*/*"
    return {
        "repoURL": tree.repository,
        "revision": tree.settings.argocd.revision,
        "directories": [{"path": f"out/{tree.environment}/{depth}"}],
    }


def _metadata(tree: Tree) -> JsonObject:
    job = "" if _per_namespace(tree) else ".{{ index .path.segments 3 }}"
    annotations: JsonObject = {
        "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
        "argocd.argoproj.io/manifest-generate-paths": ".",
    }
    return {"name": f"{tree.environment}.{_NAMESPACE}{job}", "annotations": annotations}


def _application(tree: Tree) -> JsonObject:
    options = tree.settings.argocd
    source: JsonObject = {
        "repoURL": _literal(tree.repository),
        "targetRevision": _literal(options.revision),
        "path": "{{ .path.path }}",
    }
    source["directory"] = {"recurse": True, **DIRECTORY} if _per_namespace(tree) else {**DIRECTORY}
    cluster: JsonObject = {key: _literal(str(value)) for key, value in tree.cluster.items()}
    return {
        "project": _literal(tree.project),
        "source": source,
        "destination": {**cluster, "namespace": _NAMESPACE},
        "syncPolicy": _sync_policy(tree),
    }


def _sync_policy(tree: Tree) -> JsonObject:
    options: list[Json] = ["ServerSideApply=true"]
    if tree.settings.create_namespace:
        options.append("CreateNamespace=true")
    policy: JsonObject = {"retry": RETRY, "syncOptions": options}
    if tree.settings.argocd.automated:
        # With selfHeal a JobSet that is gone, by a TTL or by hand, is made again and its job run again.
        policy["automated"] = {"prune": True, "selfHeal": False}
    return policy


def _per_namespace(tree: Tree) -> bool:
    return tree.settings.argocd.per == "namespace"


def _literal(text: str) -> str:
    """Return a text so that Go's template engine prints it as it is."""
    return text.replace("{{", '{{ "{{" }}')
