"""The objects that Argo CD 3.5 needs to sync out/: ApplicationSets, AppProjects, health checks, a plugin's definition.

docs/argocd.md lists what was tested with a real Argo CD.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET, Struct

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.basics.regex import lazy
from trainc.data import load_text
from trainc.gitops.base import SYNC_OPTIONS
from trainc.gitops.pods import Summary
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import Hydrator, Settings, in_repository
from trainc.upstream import ARGOCD_API, JOBSET_GROUP, TRAINER_GROUP

IN_CLUSTER = "https://kubernetes.default.svc"
"""The address of the cluster in which Argo CD runs."""

IN_CLUSTER_NAME = "in-cluster"
"""The name of that cluster."""

Kind = tuple[str, str]
"""Group and kind; the group of core kinds is empty."""


class Tree(Struct, frozen=True):
    """One environment's part of out/. ``namespaces`` and ``kinds`` are those of its objects, sorted.

    ``folders`` are those of jobs/ with a job of the environment, sorted.
    """

    environment: str
    settings: Settings
    namespaces: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, environment: str, settings: Settings, objects: Iterable[Summary], folders: Iterable[str]) -> Tree:
        """Return the tree that holds the objects of the jobs in some folders of jobs/."""
        found = {(obj.namespace, obj.identity[:2]) for obj in objects}
        namespaces, kinds = {namespace for namespace, _ in found}, {kind for _, kind in found}
        return cls(environment, settings, tuple(sorted(namespaces)), tuple(sorted(kinds)), tuple(sorted({*folders})))

    @property
    def repository(self) -> str:
        """The repository's URL. Raises ValueError if trainc.yaml has none, which callers report first."""
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
    def cluster(self) -> tuple[str, str]:
        """The destination without its namespace: name or server of the cluster, as Argo CD knows it."""
        found = self.settings.destination
        return ("name", found.name) if found.name else ("server", found.server.rstrip("/") or IN_CLUSTER)

    @property
    def allowed_namespaces(self) -> tuple[str, ...]:
        """The patterns of namespaces in trainc.yaml, or else all.

        A list of those with jobs would lose a namespace in the commit that removes its last job. Argo CD deletes
        nothing that the project does not allow, so the job would continue to run.
        """
        return self.settings.argocd.namespaces or ("*",)


# The AppProjects, which limit the Applications of jobs.
#
# Source: Argo CD v3.5.7, pkg/apis/application/v1alpha1/app_project_types.go. Without
# namespaceResourceWhitelist, all kinds with a namespace are allowed, else only those in it. Without
# clusterResourceWhitelist, no cluster-scoped kinds are allowed. Argo CD neither creates nor removes objects of other
# kinds (controller/appcontroller.go, getPermittedAppLiveObjects). CreateNamespace=true requires Namespace, by name, as
# long as the namespace is missing (gitops-engine, autoCreateNamespace, which checks permissions as well).

DEFAULT = "default"
"""Argo CD's built-in AppProject, which trainc uses but never generates."""

_SPECIAL: Final = lazy(r"[\\*?\[\]{}]")
"""The characters of a glob that do not match themselves."""

ALWAYS: frozenset[Kind] = frozenset(((JOBSET_GROUP, "JobSet"), ("", "ConfigMap")))
"""Kinds that are always allowed: otherwise Argo CD would not remove the last JobSet, which would continue to run, nor
the last ConfigMap, and an immutable one would later stop the sync of a job with the same name (measured)."""


def projects(trees: Iterable[Tree]) -> tuple[JsonObject, ...]:
    """Return the AppProjects, sorted by name; environments with the same name share one.

    Raises ValueError without argocd.repoURL.
    """
    sharing: dict[tuple[str, str], list[Tree]] = {}
    for tree in trees:
        if tree.project != DEFAULT:
            sharing.setdefault((tree.settings.argocd.namespace, tree.project), []).append(tree)
    return tuple(_project(namespace, name, found) for (namespace, name), found in sorted(sharing.items()))


Allowed = Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]]
"""The patterns of namespaces that an AppProject allows in each of its clusters."""


def project_of(environment: str, settings: Settings) -> tuple[tuple[str, str], str]:
    """Return the AppProject of an environment, by namespace and name, and the cluster."""
    return (settings.argocd.namespace, Tree(environment, settings).project), cluster_name(settings)


def cluster_name(settings: Settings) -> str:
    """Return the name or address of the cluster of an environment. Argo CD's own one has both."""
    found = settings.destination.name or settings.destination.server.rstrip("/")
    return IN_CLUSTER_NAME if found in ("", IN_CLUSTER) else found


def allowed_namespaces(settings_of: Mapping[str, Settings]) -> Allowed:
    """Return what each AppProject allows that ``trainc render`` writes for some environments."""
    found: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for environment, settings in settings_of.items():
        written = settings.target == "argocd" and settings.argocd.deployment_folder
        if written and settings.argocd.project != DEFAULT:
            project, cluster = project_of(environment, settings)
            clusters = found.setdefault(project, {})
            clusters[cluster] = (*clusters.get(cluster, ()), *Tree(environment, settings).allowed_namespaces)
    return found


def _project(namespace: str, name: str, trees: list[Tree]) -> JsonObject:
    environments = ", ".join(tree.environment for tree in trees)
    # Argo CD matches clusters, such as IPv6 addresses, with the globs of AppProjects.
    clusters = [(tree.cluster[0], _SPECIAL.sub(r"\\\g<0>", tree.cluster[1]), tree) for tree in trees]
    destinations = {(key, cluster, each) for key, cluster, tree in clusters for each in tree.allowed_namespaces}
    kinds = ALWAYS.union(*(tree.kinds for tree in trees))
    spec: JsonObject = {
        "description": f"TrainJobs of {environments}, compiled by trainc"[:255],
        "sourceRepos": [*sorted({tree.repository for tree in trees})],
        "destinations": [{key: value, "namespace": each} for key, value, each in sorted(destinations)],
        "namespaceResourceWhitelist": [{"group": group, "kind": kind} for group, kind in sorted(kinds)],
    }
    creating = [tree for tree in trees if tree.settings.create_namespace]
    created = {each for tree in creating for each in tree.settings.argocd.namespaces or tree.namespaces}
    if created:
        rules: list[Json] = [{"group": "", "kind": "Namespace", "name": each} for each in sorted(created)]
        spec["clusterResourceWhitelist"] = rules
    # Before the ApplicationSets: one without its project fails, and Argo CD retries it only minutes later. Nor is an
    # Application deleted without its project, which the finalizer keeps until then (finalizeProjectDeletion). Without
    # PruneLast, a sync would wait for that before it applies the ApplicationSet with another project (all measured).
    annotations: JsonObject = {"argocd.argoproj.io/sync-wave": "-1", SYNC_OPTIONS: "PruneLast=true"}
    last: list[Json] = ["resources-finalizer.argocd.argoproj.io"]
    metadata: JsonObject = {"name": name, "namespace": namespace, "annotations": annotations, "finalizers": last}
    return {"apiVersion": ARGOCD_API, "kind": "AppProject", "metadata": metadata, "spec": spec}


# The ApplicationSet of an environment, from which Argo CD creates an Application per directory of a job.
#
# Names are joined by dots, since with hyphens job b-c of team a and job c of team a-b would have the same name. They
# have less than 253 characters, since each of their three parts is a DNS label.

RETRY: JsonObject = {"limit": 5, "refresh": True, "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}}
"""Without ``refresh``, a retry repeats the commit that failed, and newer ones wait for minutes (measured)."""

DIRECTORY: JsonObject = {"include": "*.yaml"}
"""Marks an Application as a plain directory. Without it, Argo CD looks for Chart.yaml, kustomizations and plugins. An
empty mapping has no effect, since Argo CD removes it (NormalizeSource). In ``include``, ``*`` also matches slashes."""


def _step(tree: Tree, index: int) -> str:
    """Return the expression for a folder of the path of a job, counted from the folder of trainc.yaml."""
    above = in_repository("", tree.settings).count("/")
    return f"index .path.segments {above + index}"


def applicationset(tree: Tree) -> JsonObject:
    """Return the ApplicationSet of an environment. Raises ValueError without argocd.repoURL."""
    options, (key, cluster) = tree.settings.argocd, tree.cluster
    per_namespace = options.per_namespace
    depth, job = ("*", "") if per_namespace else ("*/*", f".{{{{ {_step(tree, 3)} }}}}")
    sync_options: list[Json] = ["ServerSideApply=true"]
    if tree.settings.create_namespace:
        sync_options.append("CreateNamespace=true")
    sync: JsonObject = {"retry": RETRY, "syncOptions": sync_options}
    if options.automated:
        # With selfHeal, a JobSet that a TTL or a user has deleted would be created, and its job run, again.
        sync["automated"] = {"prune": True, "selfHeal": False}
    if options.hydrator is UNSET:
        namespace = f"{{{{ {_step(tree, 2)} }}}}"
        name = f"{tree.environment}.{namespace}{job}"
        directories: list[Json] = [{"path": in_repository(f"out/{tree.environment}/{depth}", tree.settings)}]
        source: JsonObject = {
            "source": {
                "repoURL": _literal(tree.repository),
                "targetRevision": _literal(options.revision),
                "path": "{{ .path.path }}",
                "directory": {"recurse": True, **DIRECTORY} if per_namespace else {**DIRECTORY},
            }
        }
        needed = _refreshed_by(tree)
    else:
        name, namespace = f"{tree.environment}.{_folder(tree)}", _mapped(tree)
        # In a folder without a job of the environment, `trainc cmp` fails, which stops the hydration of all.
        directories = [{"path": in_repository(f"jobs/{folder}", tree.settings)} for folder in tree.folders]
        # Without any, Argo CD reports an error, and keeps the Applications of removed jobs (generators/git.go).
        directories = directories or [{"path": in_repository("jobs/*", tree.settings), "exclude": True}]
        source = {"sourceHydrator": _hydrator(tree, options.hydrator)}
        needed = "/"  # a name beyond ASCII and the target of a link count, too; it is not read for the branch
    annotations: JsonObject = {
        "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
        "argocd.argoproj.io/manifest-generate-paths": needed,
    }
    application: JsonObject = {
        "project": _literal(tree.project),
        **source,
        "destination": {key: _literal(cluster), "namespace": namespace},
        "syncPolicy": sync,
    }
    generator: JsonObject = {
        "repoURL": tree.repository,
        "revision": options.revision,
        "directories": directories,
    }
    spec: JsonObject = {
        "goTemplate": True,
        "goTemplateOptions": ["missingkey=error"],
        "generators": [{"git": generator}],
        "template": {"metadata": {"name": name, "annotations": annotations}, "spec": application},
    }
    if options.on_delete == "keep":
        spec["syncPolicy"] = {"preserveResourcesOnDeletion": True}
    metadata: JsonObject = {"name": tree.name, "namespace": options.namespace}
    return {"apiVersion": ARGOCD_API, "kind": "ApplicationSet", "metadata": metadata, "spec": spec}


def _refreshed_by(tree: Tree) -> str:
    """Return the paths whose changes refresh an Application: its folder, or more if objects may move to another one.

    Argo CD asks git for changed files (ChangedFiles in util/git/client.go), which takes a removed file and a similar
    new one, anywhere in the repository, for one that moved, and lists the new path only: nothing would be pruned where
    it was. It lists the path of a Role or RoleBinding with a name beyond ASCII in quotation marks.
    """
    if tree.settings.argocd.per_namespace:
        return "/"
    return f'{{{{ if eq ({_step(tree, 3)}) "{FOLDER}" }}}}/{{{{ else }}}}.{{{{ end }}}}'


# With the source hydrator, Argo CD runs `trainc cmp` on each folder of jobs/ and commits its output to a branch.


def _folder(tree: Tree) -> str:
    """Return the template of the second folder of jobs/<namespace>."""
    return f"{{{{ {_step(tree, 1)} }}}}"


def _mapped(tree: Tree) -> str:
    """Return the template of the namespace in the cluster of a folder of jobs/."""
    namespaces = tree.settings.namespaces
    if not namespaces:
        return _folder(tree)
    pairs = " ".join(f'"{name}"' for pair in sorted(namespaces.items()) for name in pair)
    return f"{{{{ $folder := {_step(tree, 1)} }}}}{{{{ get (dict {pairs}) $folder | default $folder }}}}"


def _hydrator(tree: Tree, hydrator: Hydrator) -> JsonObject:
    """Return the sourceHydrator of the Applications."""
    parameters: list[Json] = [{"name": ENV, "string": tree.environment}]
    made: JsonObject = {
        "drySource": {
            "repoURL": _literal(tree.repository),
            "targetRevision": _literal(tree.settings.argocd.revision),
            "path": "{{ .path.path }}",
            "plugin": {"name": PLUGIN, "parameters": parameters},
        },
        "syncSource": {
            "targetBranch": _literal(hydrator.branch),
            "path": in_repository(f"out/{tree.environment}/{_folder(tree)}", tree.settings),
        },
    }
    if hydrator.staging:
        made["hydrateTo"] = {"targetBranch": _literal(hydrator.staging)}
    return made


def _literal(text: str) -> str:
    """Escape a text for Go's template engine."""
    return text.replace("{{", '{{ "{{" }}')


# Health checks for argocd-cm. Argo CD has none for JobSet and TrainJob, so failed jobs would be shown as Healthy.

CHECKS: Final[Mapping[str, str]] = {f"{JOBSET_GROUP}_JobSet": "jobset", f"{TRAINER_GROUP}_TrainJob": "trainjob"}
"""Group and kind, as Argo CD's key has them, to the name of the script."""


def health_checks(namespace: str) -> JsonObject:
    """Return the checks as a part of ConfigMap argocd-cm, to be merged into Argo CD's in ``namespace``."""
    data: JsonObject = {
        f"resource.customizations.health.{kind}": load_text(f"argocd/{name}.lua") for kind, name in CHECKS.items()
    }
    metadata: JsonObject = {
        "name": "argocd-cm",
        "namespace": namespace,
        # Argo CD requires the label. An Application that no longer contains the part must not delete the ConfigMap.
        "labels": {"app.kubernetes.io/part-of": "argocd"},
        "annotations": {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false,ServerSideApply=true"},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


# The definition of the config management plugin that runs `trainc cmp`, and its parameters.

PLUGIN: Final = "trainc"
ENV: Final = "env"
JOB: Final = "job"
PARAMETERS: Final = (ENV, JOB)
"""The parameters of the plugin. TRAINC_ENV and TRAINC_JOB in spec.source.plugin.env are equivalent."""


def plugin_definition() -> JsonObject:
    """Return plugin.yaml: not an API object, but a file of the sidecar of Argo CD's repo-server.

    It has no discovery, so it applies only to Applications that name it.
    """
    parameters: list[Json] = [
        {"name": name, "title": title, "tooltip": tooltip, "collectionType": "string"}
        for name, title, tooltip in (
            (ENV, "Environment", "An environment of trainc.yaml; optional if there is only one."),
            (JOB, "Job", "The name of one job, or 0-shared. Default: the whole namespace."),
        )
    ]
    return {
        "apiVersion": ARGOCD_API,
        "kind": "ConfigManagementPlugin",
        "metadata": {"name": PLUGIN},
        "spec": {
            "generate": {"command": ["trainc", "cmp"]},
            "parameters": {"static": parameters},
        },
    }
