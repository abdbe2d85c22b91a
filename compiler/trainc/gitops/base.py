"""The type of the passes, and functions that several of them use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, existing, get, paths
from trainc.basics.regex import lazy
from trainc.findings import Finding, report
from trainc.findings.display import listed
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings, is_among
from trainc.inputs.source import Document
from trainc.plugins.base import manifest
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.upstream import RBAC_GROUP, RUN_PATH, TRAINC

JOBSET = "JobSet"
RUN_NUMBER: Final = lazy(r"[1-9][0-9]{0,8}")


def _nothing_caused(model: Model, path: Path, root: Json) -> Origin:
    raise AssertionError("a pass that changes objects must set cause")


class Pass(Struct, frozen=True):
    """An addition for a tree in git to the controller's objects.

    ``shape`` returns the objects of a job with additions and changes, or the same tuple if there are none. ``cause``
    returns the origin of a path that the pass set in an object. ``check`` checks the joined model before objects are
    built, ``check_objects`` the objects after the last pass.
    """

    name: str
    shape: Callable[[Model, Objects], Objects] = lambda model, objects: objects
    cause: Callable[[Model, Path, Json], Origin] = _nothing_caused
    check: Callable[[Model], Iterable[Finding]] = lambda model: ()
    check_objects: Callable[[Model, Objects], Iterable[Finding]] = lambda model, objects: ()


def jobset_of(objects: Objects) -> Object | None:
    """Return the JobSet among the objects of a job, or None."""
    return next((obj for obj in objects if obj.data["kind"] == JOBSET), None)


def with_jobset(objects: Objects, data: JsonObject) -> Objects:
    """Return the objects with the data of the JobSet replaced."""
    return tuple(replace(obj, data=data) if obj.kind == JOBSET else obj for obj in objects)


def option_origin(options: Options, name: str, *inside: str | int) -> Origin:
    """Return the origin of a value that an option of trainc.yaml sets; with a position if its text is available."""
    document, path = options.config_document, options.path_of(name)
    if document is None or path is None:
        return Origin("environment", name=name)
    return Origin("environment", document, existing(document.data, (*path, *inside)), name)


def rights(model: Model, name: str, rules: list[Json], account: str | None = None) -> tuple[JsonObject, ...]:
    """Return Role and RoleBinding for a service account, and a new account unless one is given."""
    version = f"{RBAC_GROUP}/v1"
    subject: JsonObject = {"kind": "ServiceAccount", "name": account or name, "namespace": model.namespace}
    reference: JsonObject = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": name}
    return (
        *(() if account else (manifest(model, "v1", "ServiceAccount", name, automountServiceAccountToken=False),)),
        manifest(model, version, "Role", name, rules=rules),
        manifest(model, version, "RoleBinding", name, roleRef=reference, subjects=[subject]),
    )


NOBODY: Final = 65534
"""A user without rights that exists in images: ssh-keygen requires an entry in /etc/passwd."""

_AMOUNTS: Final[JsonObject] = {"cpu": "100m", "memory": "128Mi"}


def small_container(name: str, image: str, command: list[Json], mounts: list[Json], **fields: Json) -> JsonObject:
    """Return a container without rights on its node (Pod Security profile restricted, except for the user)."""
    return {
        "name": name,
        "image": image,
        "command": command,
        **fields,
        "resources": {"requests": _AMOUNTS, "limits": _AMOUNTS},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def user_context(user: int) -> JsonObject:
    """Return the security context of a user other than root."""
    profile: JsonObject = {"type": "RuntimeDefault"}
    return {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "seccompProfile": profile}


def name_path(model: Model) -> Path:
    """Return the path in the TrainJob that determines the names of its objects: the name, or the run number."""
    return ("metadata", "name") if model.options.faithful else job_name_path(model.job)


def job_name_path(job: Document) -> Path:
    """Return the path in a TrainJob that determines the names of its objects in default output."""
    return ("metadata", "name") if run_of(job) == 1 else RUN_PATH


def run_of(job: Document) -> int:
    """Return the run number of a TrainJob; 1 if it has none or an invalid one. Run 1 has no suffix."""
    value = get(job.data, *RUN_PATH)
    return int(value) if isinstance(value, str) and RUN_NUMBER.fullmatch(value) else 1


def origins_of(model: Model, creator: Origin) -> dict[Path, Origin]:
    """Return the origins of an object that trainc adds to a job, with its name and namespace."""
    return {
        (): creator,
        ("metadata", "name"): Origin("input", model.job, name_path(model)),
        ("metadata", "namespace"): namespace_origin(model),
    }


def namespace_origin(model: Model) -> Origin:
    """Return the origin of the namespace of a job's objects: the TrainJob, or the environment that renames it."""
    if model.namespace != model.home:
        return option_origin(model.options, "namespaces", model.home)
    return Origin("input", model.job, ("metadata", "namespace"))


_NAMED: Final = 20
"""The most allowed namespaces that an error names."""


def not_allowed(document: Document, path: Path, namespace: str, options: Options) -> tuple[Finding, ...]:
    """Return an error for a namespace that argocd.namespaces does not name: Argo CD would refuse the objects there."""
    allowed = options.settings.tool.namespaces
    if not allowed or is_among(namespace, allowed):
        return ()
    message = f"namespace {namespace} is not among argocd.namespaces of environment {options.environment}"
    return (report("TC612", document, path, message, found=namespace, expected=listed(allowed, _NAMED)),)


def labels_without_effect(document: Document, code: str, annotation: str) -> Iterator[Finding]:
    """Yield a finding for each label of trainc, which reads annotations only; ``annotation`` is the one to write."""
    for key, value in as_object(get(document.data, "metadata", "labels")).items():
        if key.startswith(TRAINC):
            message = f"label {key} has no effect: trainc reads annotations only"
            hint = f"write {annotation} in metadata.annotations"
            yield report(code, document, ("metadata", "labels", key), message, found=str(value), hint=hint)


# What keeps Argo CD or Flux from applying an object, or lets them create it again.
#
# Sources: Argo CD v3.5.1 reposerver/repository/repository.go (getPotentiallyValidManifestFile), gitops-engine/pkg/sync
# (hook/hook.go, sync_context.go, syncwaves/waves.go) and controller/appcontroller.go (finalizeApplicationDeletion);
# kustomize-controller internal/controller/kustomization_controller.go (apply) and fluxcd/pkg/ssa (AnyInMetadata);
# kustomize api/resource/factory.go (DropLocalNodes) and resource.go (NeedHashSuffix, PrevIds), and api/resmap (AsYaml);
# Argo CD commitserver/commit/hydratorhelper.go (writeManifests); fluxcd/cli-utils pkg/object/objmetadata.go, whose
# names of Roles and RoleBindings have "__" for a colon (so ":_" for "_:").

NOT_APPLIED: Final = "TC615"
_SKIPPED: Final = "+argocd:skip-file-rendering"
_HOOK: Final = "argocd.argoproj.io/hook"
_HELM_HOOK: Final = "helm.sh/hook"
SYNC_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_TRACKED: Final = "argocd.argoproj.io/tracking-id"
_WAVES: Final = ("argocd.argoproj.io/sync-wave", "helm.sh/hook-weight")
_FINALIZERS: Final = lazy(r"kubernetes\Z|(?!kubernetes\.io/pvc-protection\Z).*/")
"""Those that Kubernetes neither removes by itself nor refuses."""
_CLAIMS: Final = frozenset(("volumeClaimPolicies", "volumeClaimTemplate"))
"""The fields with the templates of claims that controllers create."""
_REPLACED: Final = frozenset(("Replace=true", "Force=true"))
_CLIENT_SIDE: Final = frozenset(("Replace=true", "ServerSideApply=false"))
"""The options with which a field belongs to another manager, from which a later server-side apply does not take it."""
FLUX_PREFIX: Final = "kustomize.toolkit.fluxcd.io/"
_IGNORED: Final = ((f"{FLUX_PREFIX}reconcile", "disabled"), (f"{FLUX_PREFIX}ssa", "ignore"))
_KUSTOMIZE: Final = "internal.config.kubernetes.io/"
"""The prefix of kustomize's own annotations: with needsHashSuffix it renames an object, with others it may panic."""
_LOCAL: Final = "config.kubernetes.io/local-config"
_UNREADABLE: Final = lazy("[\x7f-\x9f\ufffe\uffff]")
"""Characters that are refused, or replaced, where JSON is read as YAML: by an API server in each server-side apply
(applyPatcher in k8s.io/apiserver/pkg/endpoints/handlers/patch.go), between the steps of kustomize, and of what a plugin
of Argo CD prints (SplitYAML in gitops-engine/pkg/utils/kube/kube.go).
"""
_QUOTED: Final = lazy("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]| \n| \\Z")
"""What a text has that go-yaml never writes as a block of lines."""
_ODD: Final = lazy(r"""\\x(?:7f|[89])|\\uff(?:fe|ff)|\\u202[89]['"]|['"](?:\\t|<<['"])""")
"""What ``repr`` writes for an object that an API server, kustomize or Argo CD's hydrator may spoil."""
_STATEFUL: Final = (JOBSET, "Job", "PersistentVolumeClaim", "Secret", "ExternalSecret")
"""Kinds whose objects lose their progress or their data, such as keys, if they are replaced or created again."""

_NOT: Final = "does not apply it"
_AGAIN: Final = "may delete it and create it again"


def sync_options(metadata: Json) -> frozenset[str]:
    """Return the options for Argo CD and Flux in the metadata of an object, each with its annotation or label.

    Flux reads both, in any case (AnyInMetadata in fluxcd/pkg/ssa/utils); Argo CD reads annotations only.
    """
    found = {
        f"{key} {option.strip()}"
        for key, value in as_object(get(metadata, "annotations")).items()
        if key.startswith(("argocd.argoproj.io/", "helm.sh/resource-policy"))
        for option in str(value).split(",")
    }
    for kind in ("annotations", "labels"):
        values = as_object(get(metadata, kind)).items()
        found.update(f"{key} {str(value).casefold()}" for key, value in values if key.startswith(FLUX_PREFIX))
    return frozenset(found)


def sync_obstacles(data: JsonObject, settings: Settings, names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yield path and message of what keeps Argo CD or Flux from applying an object, or lets them create it again.

    ``names`` are those of its sources, with which its file begins.
    """
    by_flux, kind, text = settings.target == "flux", str(data["kind"]), repr(data)
    tool, effect = ("Flux", _flux_effect) if by_flux else ("Argo CD", _argocd_effect)
    for field in ("annotations", "labels") if by_flux else ("annotations",):
        for key, value in as_object(get(data, "metadata", field)).items():
            if found := effect(key, str(value), kind):
                yield ("metadata", field, key), f"with {key}: {value}, {tool} {found}"
    message = f"Argo CD ignores every file that contains {_SKIPPED}"
    if not by_flux and any(_SKIPPED in name for name in (*names, settings.render_command)):
        yield (), f"{message}, and its first line names its sources"
    elif not by_flux and _SKIPPED in text:  # faster than a walk, and hardly ever true
        yield [path for path in paths(data) if path and _SKIPPED in f"{path[-1]} {get(data, *path)}"][-1], message
    # Argo CD sets its own id on what it applies, but controllers create claims. One of an ephemeral volume has no owner
    # any more once the Job controller deletes its pod, if that has the finalizer orphan.
    for path in paths(data) if not by_flux and _TRACKED in text else ():
        if path and path[-1] == _TRACKED and not _CLAIMS.isdisjoint(path):
            yield path, f"with {_TRACKED}, Argo CD may take the claim for one of another Application, and delete it"
    for path in paths(data) if not by_flux and "'finalizers'" in text else ():
        if path[-3:-1] == ("metadata", "finalizers") and _FINALIZERS.match(str(get(data, *path))):
            message = f"until something removes the finalizer {get(data, *path)}, Argo CD waits for what is deleted"
            yield path, f"{message}: it applies no later commits of the job, and does not stop it"
    name = str(get(data, "metadata", "name"))
    if by_flux and (taken := name.replace(":", "__").replace("__", ":")) != name:
        part = "__" if "__" in name else "_:"
        yield ("metadata", "name"), f"with {part} in its name, Flux prunes {taken} in place of it"
    if _ODD.search(text):
        yield from _spoilt(data, by_flux=by_flux, is_rewritten=by_flux or settings.argocd.hydrator is not UNSET)


def _spoilt(data: JsonObject, *, by_flux: bool, is_rewritten: bool) -> Iterator[tuple[Path, str]]:
    """Yield path and message of each key and text that is changed, or that spoils the file, on its way to a cluster.

    An API server reads the JSON that Argo CD and Flux apply as YAML. Before that, Flux reads what kustomize writes, and
    Argo CD what its hydrator writes: with go-yaml, which cannot read it all. Of texts, kustomize writes only those of
    annotations anew.
    """
    tool, unreadable = "Argo CD", "Argo CD cannot read what its hydrator writes"
    if by_flux:
        tool, unreadable = "Flux", "Flux cannot read the file"
    last = _last(data)
    for path in filter(None, paths(data)):
        value = get(data, *path)
        text = value if isinstance(value, str) else ""
        if found := _UNREADABLE.search(f"{path[-1]}{text}"):
            effect = "replaces it by a blank or a line break" if found[0] == "\x85" else "refuses the object"
            yield path, f"with the character U+{ord(found[0]):04X}, an API server {effect}"
        elif not is_rewritten:
            continue
        elif path[-1] == "<<":
            yield path, f"with the key <<, {'Flux leaves it out' if by_flux else unreadable}"
        elif "\n" not in text or _QUOTED.search(text):
            continue
        elif text[0] == "\t" and (not by_flux or path[:2] == ("metadata", "annotations")):
            yield path, f"with several lines, and a tab before the first, {unreadable}"
        elif path == last and text[-1] in "\u2028\u2029":
            yield path, f"with U+{ord(text[-1]):04X} at its end, {tool} may leave out the next object"


def _last(data: Json) -> Path:
    """Return the path of the last value of an object whose keys are sorted."""
    path: Path = ()
    while isinstance(data, dict | list) and data:
        step = max(data) if isinstance(data, dict) else len(data) - 1
        path, data = (*path, step), get(data, step)
    return path


def _argocd_effect(key: str, value: str, kind: str) -> str | None:
    # Helm takes crd-install for a hook, and Argo CD does not; as a hook of Argo CD, it is one that never runs.
    if key == _HOOK or (key == _HELM_HOOK and value != "crd-install"):
        return f"{_NOT}, or deletes it and creates it again at each sync"
    options = {option.strip() for option in value.split(",")} if key == SYNC_OPTIONS else set[str]()
    if (key in _WAVES and value != "0") or "PruneLast=true" in options:
        return "may wait for a job that runs: it then applies no later commits, and does not stop the job"
    if kind in _STATEFUL and options & _REPLACED:
        return f"{_AGAIN} at each sync"
    return "may leave in the cluster what later commits remove from it" if options & _CLIENT_SIDE else None


def _flux_effect(key: str, value: str, kind: str) -> str | None:
    pair = key, value.casefold()  # as strings.EqualFold, for which the long s is an s
    if pair in _IGNORED or (key == _LOCAL and value != "false"):
        return _NOT
    if key.startswith(_KUSTOMIZE):
        return "may apply it under another name, or not at all"
    if kind != "Secret" and pair == (f"{FLUX_PREFIX}ssa", "ifnotpresent"):  # a Secret is filled in the cluster
        return "creates it and never changes it"
    return _AGAIN if kind in _STATEFUL and pair == (f"{FLUX_PREFIX}force", "enabled") else None
