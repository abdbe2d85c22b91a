"""Flux instead of Argo CD: annotations for kustomize-controller, and the Kustomizations that apply out/."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, as_object, get, put
from trainc.basics.regex import lazy
from trainc.gitops.base import FLUX_PREFIX, Pass, option_origin
from trainc.inputs.settings import Settings, in_repository, read_settings, settings_of_all
from trainc.plugins.model import Model, Objects
from trainc.upstream import FLUX_API

# Annotations for Flux's kustomize-controller, with target: flux.
#
# Source: fluxcd/kustomize-controller v1.10.1 and fluxcd/pkg/ssa v0.83.0.
#
# - ``substitute: disabled``: a Kustomization with postBuild would replace every unknown ``${...}`` with nothing, also
# in shell commands and scripts.
# - ``ssa: IfNotPresent`` on a Secret without data, which is set in the cluster.
# - ``prune: disabled`` on a PersistentVolumeClaim, whose data outlives the jobs.
#
# A JobSet has no more. With ``force: enabled``, a change of an immutable field would delete the running job.
# ``force: disabled`` has no effect, since spec.force of the Kustomization wins. With ``ssa: IfNotPresent``, git could
# neither stop nor resume a job, and changes that cannot be applied would not be reported.


def annotated(data: JsonObject) -> JsonObject:
    """Return an object with the annotations for Flux."""
    path = ("metadata", "annotations")
    annotations: JsonObject = {**as_object(get(data, *path)), f"{FLUX_PREFIX}substitute": "disabled"}
    if data["kind"] == "Secret" and "data" not in data:
        annotations[f"{FLUX_PREFIX}ssa"] = "IfNotPresent"
    if data["kind"] == "PersistentVolumeClaim":
        annotations[f"{FLUX_PREFIX}prune"] = "disabled"
    return put(data, path, annotations)


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with annotations if Flux applies them."""
    if model.options.settings.target != "flux":
        return objects
    return tuple(replace(obj, data=annotated(obj.data)) for obj in objects)


PASS = Pass("flux", shape, lambda model, *_: option_origin(model.options, "target"))


# Paths in a repository.
#
# Source: source-controller v1.10.0 checks commits out with go-git v5.19.3, which refuses names of Windows' devices on
# each system, control characters (validPath in worktree_fs.go, internal/pathutil/ntfs.go), what HFS+ takes for .git
# (ValidTreePath in tree.go and hfs.go there), which git itself refuses on macOS only, and .git and git~1 with a dotted
# capital I, which strings.ToLower makes an i (dotgit.go). kustomize-controller refuses an artifact with a backslash or
# "../" in a path (validRelPath in fluxcd/pkg/tar v1.4.0).

_DOT_GIT: Final = "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]*".join(["", r"\.", "g", "i", "t", ""])
"""With characters that HFS+ ignores."""
_REFUSED: Final = lazy(
    r"(?ai:(?:^|/)(?:con|prn|aux|nul|com[1-9]|lpt[1-9]|conin\$|conout\$)(?:[ .:/]|$)"
    rf"|(?:^|/)(?:{_DOT_GIT}|\.g\u0130t|g[i\u0130]t~1)(?:/|$))|[\x00-\x1f\x7f\\]|\.\./"
)
READS_NOTHING: Final = "Flux reads nothing of a repository that has one"


def refuses(path: str) -> bool:
    """Return whether Flux refuses a repository because of the path of a file or folder in it."""
    return _REFUSED.search(path) is not None


def is_used(config: JsonObject) -> bool:
    """Return whether Flux applies an environment of a parsed trainc.yaml."""
    found = settings_of_all(config).values() or (read_settings(config, "prod"),)
    return any(each.target == "flux" for each in found)


# The Kustomization of one directory of out/. With one per job, a change of an immutable field stops only that job's
# Kustomization.

LONGEST: Final = 63
"""The longest name, since Flux uses it as the value of a label."""


def kustomization_name(*names: str) -> str:
    """Return the name of the Kustomization of an environment, namespace and job; too long a name ends with a hash."""
    name = ".".join(names)
    if len(name) <= LONGEST:
        return name
    # A folder in out/ that trainc did not write may have a name that is not UTF-8.
    end = f"-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return name[: LONGEST - len(end)].rstrip("-.") + end


def kustomization(directory: str, settings: Settings) -> JsonObject:
    """Return the Kustomization of ``out/<environment>/<namespace>/<job>``."""
    options, name = settings.flux, kustomization_name(*directory.split("/")[1:])
    spec: JsonObject = {
        "interval": options.interval,
        "path": f"./{in_repository(directory, settings)}",
        "prune": True,
        # Explicit: forced, a change of an immutable field would delete the running job.
        "force": False,
        "sourceRef": {"kind": "GitRepository", "name": options.source},
    }
    if options.on_delete == "keep":
        spec["deletionPolicy"] = "Orphan"
    metadata: JsonObject = {"name": name, "namespace": options.namespace}
    return {"apiVersion": FLUX_API, "kind": "Kustomization", "metadata": metadata, "spec": spec}
