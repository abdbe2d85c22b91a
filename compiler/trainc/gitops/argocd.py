"""The objects that Argo CD 3.5 needs to sync out/: ApplicationSets, AppProjects, health checks, a plugin's definition.

What they say was run against a real Argo CD where docs/argocd.md says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.data import load_text
from trainc.gitops.summary import Summary
from trainc.inputs.settings import Settings
from trainc.upstream import ARGOCD_API, JOBSET_GROUP, TRAINER_GROUP

# What Argo CD's objects have to know of one environment: its options, and what render makes of its jobs.

IN_CLUSTER = "https://kubernetes.default.svc"
"""The address by which Argo CD knows the cluster that it runs in."""

Kind = tuple[str, str]
"""Group and kind; the group of core kinds is empty."""


class Tree(Struct, frozen=True):
    """One environment's part of out/. ``namespaces`` and ``kinds`` are those of its objects, sorted."""

    environment: str
    settings: Settings
    namespaces: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()

    @classmethod
    def of(cls, environment: str, settings: Settings, objects: Iterable[Summary]) -> Tree:
        """Return the tree that holds the objects."""
        objects = tuple(objects)
        namespaces = {obj.namespace for obj in objects}
        kinds = {obj.identity[:2] for obj in objects}
        return cls(environment, settings, tuple(sorted(namespaces)), tuple(sorted(kinds)))

    @property
    def repository(self) -> str:
        """The repository's URL; ValueError where trainc.yaml has none: callers tell of that before."""
        if not self.settings.argocd.repo_url:
            raise ValueError(f"environment {self.environment} has no argocd.repoURL")
        return self.settings.argocd.repo_url

    @property
    def name(self) -> str:
        """The name of the ApplicationSet, and of the AppProject unless trainc.yaml names another."""
        return f"trainc-{self.environment}"

    @property
    def project(self) -> str:
        """The name of the AppProject."""
        return self.settings.argocd.project or self.name

    @property
    def cluster(self) -> JsonObject:
        """The destination without its namespace: the name or the server of the cluster."""
        found = self.settings.destination
        return {"name": found.name} if found.name else {"server": found.server or IN_CLUSTER}


# The AppProjects: what Applications of jobs may do at most.
#
# Source: Argo CD v3.5.7, pkg/apis/application/v1alpha1/app_project_types.go. Of kinds with a namespace everything is
# allowed where namespaceResourceWhitelist is absent, and nothing else than what it names where it is there; of cluster
# resources nothing where clusterResourceWhitelist is absent. What is not allowed is neither made nor removed
# (controller/appcontroller.go, getPermittedAppLiveObjects). CreateNamespace=true needs Namespace there, by name, while
# the namespace is missing (gitops-engine, autoCreateNamespace: permissions are checked of that task, too).

DEFAULT = "default"
"""Argo CD's own AppProject: it is used, but never replaced."""

ALWAYS: frozenset[Kind] = frozenset(((JOBSET_GROUP, "JobSet"),))
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
    return {"apiVersion": ARGOCD_API, "kind": "AppProject", "metadata": metadata, "spec": spec}


def _cluster(tree: Tree) -> tuple[str, str]:
    [(key, value)] = tree.cluster.items()
    return key, str(value)


def _namespaces(tree: Tree) -> tuple[str, ...]:
    """Return the namespaces allowed: those that trainc.yaml names, or those that have jobs."""
    return tree.settings.argocd.namespaces or tree.namespaces


def _kinds(kinds: frozenset[Kind]) -> list[Json]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]


# The ApplicationSet of an environment: Argo CD makes an Application of every directory of a job.
#
# Names are joined by dots: by hyphens, job b-c of team a and job c of team a-b would be one Application. They stay
# below 253 characters, since each of their three parts is a DNS label.

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
        "apiVersion": ARGOCD_API,
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


# Health checks for argocd-cm. Argo CD has none for JobSet and TrainJob: a job that failed would look Healthy.

CHECKS: Final[Mapping[str, str]] = {f"{JOBSET_GROUP}_JobSet": "jobset", f"{TRAINER_GROUP}_TrainJob": "trainjob"}
"""Group and kind, as Argo CD's key has them, to the name of the script."""


def health_checks(namespace: str) -> JsonObject:
    """Return the part of ConfigMap argocd-cm that holds the checks, to be merged into Argo CD's in ``namespace``."""
    data: JsonObject = {
        f"resource.customizations.health.{kind}": load_text(f"argocd/{name}.lua") for kind, name in CHECKS.items()
    }
    metadata: JsonObject = {
        "name": "argocd-cm",
        "namespace": namespace,
        # Argo CD reads no ConfigMap without this label, and an Application that once held the part must not remove
        # the whole.
        "labels": {"app.kubernetes.io/part-of": "argocd"},
        "annotations": {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false,ServerSideApply=true"},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


# The definition of the config management plugin that runs `trainc cmp`, and what it takes from an Application.

PLUGIN: Final = "trainc"
ENV: Final = "env"
JOB: Final = "job"
PARAMETERS: Final = (ENV, JOB)
"""The parameters of the plugin. TRAINC_ENV and TRAINC_JOB in spec.source.plugin.env say the same."""


def plugin_definition() -> JsonObject:
    """Return plugin.yaml: no object of the API, but a file of the sidecar beside Argo CD's repo-server.

    It has no discovery, so it never takes an Application that does not name it.
    """
    environment = _parameter(ENV, "Environment", "One of trainc.yaml; not needed where that has one only.")
    job = _parameter(JOB, "Job", "The name of one job, or 0-shared; without it: all of the namespace.")
    return {
        "apiVersion": ARGOCD_API,
        "kind": "ConfigManagementPlugin",
        "metadata": {"name": PLUGIN},
        "spec": {
            "generate": {"command": ["trainc", "cmp"]},
            "parameters": {"static": [environment, job]},
        },
    }


def _parameter(name: str, title: str, tooltip: str) -> JsonObject:
    return {"name": name, "title": title, "tooltip": tooltip, "collectionType": "string"}
