"""Companions: objects in the file of a runtime that its jobs need, emitted once per namespace, in a separate folder.

A companion without a namespace is emitted for each namespace with a job of its runtime. Cluster-scoped companions, such
as a ClusterRole, must be applied by an administrator.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from trainc.admission.base_revision import Identity, identify
from trainc.admission.native import CLAIM_DEFAULTS
from trainc.basics.differences import same
from trainc.basics.jsonvalues import JsonObject, Path, as_object, existing, get, paths, put
from trainc.basics.regex import lazy
from trainc.documents.classify import (
    POLICIES,
    RUNTIMES,
    SUPERSEDED,
    TRAINJOB,
    Documents,
    Key,
    group_and_kind,
    is_cluster_scoped,
    is_companion,
)
from trainc.findings import Finding, Related, report
from trainc.gitops import flux
from trainc.gitops.base import NOT_APPLIED, not_allowed, option_origin, sync_obstacles
from trainc.gitops.naming import reserved_folder, unfit_name
from trainc.gitops.patches import bound, go_encoded, patched_companion, problems
from trainc.gitops.pods import Summary
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.plugins.model import Object, Origin
from trainc.plugins.origins import nearest
from trainc.upstream import SERVER_FIELDS

FOLDER: Final = "0-shared"
"""The folder of a namespace's companions. It is not the name of a job, since those start with a letter."""

KEPT: Final[Mapping[str, str]] = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
}
"""Annotations of claims, which keep them when their file is deleted. Argo CD reads the first from the live object, so
they are always added. Flux has another annotation."""

READ: Final = frozenset(
    (
        *(TRAINJOB, *RUNTIMES, *POLICIES, "CustomResourceDefinition"),
        *("Namespace", "PriorityClass", "Secret", "JobSet", "PodGroup"),
    )
)
"""The kinds of documents that trainc uses, besides companions."""

_NAME: Path = ("metadata", "name")
_NAMESPACE: Path = ("metadata", "namespace")
_LONGEST: Final = 255
"""The most bytes of a file's name, on most file systems."""
_NOT_A_FILE: Final = lazy(r"[\0\n]")
"""Characters that names of files cannot have. Argo CD reads no file with a line break in its name (manifestFile in
reposerver/repository/repository.go)."""
_NOT_IN_WINDOWS: Final = lazy(r'[\x00-\x1f<>:"\\|?*]')
"""Characters that the names of files cannot have in Windows:
https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""


_BESIDE: Final = "put it into the file of a runtime whose jobs need it"
_ONE_FOLDER: Final = "leave out its namespace, map no two namespaces to one, or apply the object separately"


class Use(NamedTuple):
    """The runtime of a compiled job, the job's namespace in the cluster, and that below jobs/."""

    runtime: Document
    namespace: str
    home: str


class Shared(NamedTuple):
    """A companion to emit: the object, its namespace in the cluster, and the document."""

    obj: Object
    namespace: str
    document: Document


def share(
    stored: Mapping[Key, Document], unplaced: frozenset[Key], uses: Iterable[Use], options: Options
) -> tuple[tuple[Shared, ...], tuple[Finding, ...]]:
    """Return the companions of the runtimes in use, and findings on them.

    ``stored`` holds the documents as a cluster stores them, ``unplaced`` the keys of those without a namespace.
    """
    used: dict[Source, dict[str, set[str]]] = {}
    for use in uses:
        used.setdefault(use.runtime.source, {}).setdefault(use.namespace, set()).add(use.home)
    found: dict[Identity, Shared] = {}
    findings: list[Finding] = []
    for key, document in stored.items():
        if not is_companion(document) or document.source not in used:
            continue
        if is_cluster_scoped(document.data):
            kind, name = document.data["kind"], str(get(document.data, *_NAME))
            message = f"{kind} {name} is cluster-scoped: trainc does not write it, an administrator must apply it"
            findings.append(report("TC607", document, _NAME, message, found=name))
            continue
        findings += _unsuitable_name(document, options)
        home = str(get(document.data, "metadata", "namespace"))
        folders: Mapping[str, set[str]] = used[document.source]
        if key not in unplaced:
            placed = options.settings.namespaces.get(home, home)
            findings += not_allowed(document, _NAMESPACE, placed, options)
            findings += reserved_folder(document, _NAMESPACE, placed, options)
            folders = {placed: set().union(*folders.values())}
        for namespace in sorted(folders):
            findings += _applied_twice(document, namespace, folders[namespace], options)
            emitted = _emitted(document, namespace, home, options, options.settings.namespaces)
            one = Shared(_protected(patched_companion(emitted, options), options), namespace, document)
            first = found.setdefault(identify(one.obj.data), one)
            if first.obj.data != one.obj.data:
                message = f"{one.obj.kind} {one.namespace}/{one.obj.name} is defined twice, with different content"
                related = (Related("first defined here", first.document, _NAME),)
                findings.append(report("TC608", document, _NAME, message, related=related))
            elif first is one:
                findings += problems(options, document, one.obj)
                findings += _not_applied(one, options)
    shared = tuple(found[key] for key in sorted(found))
    return shared, (*findings, *_in_one_file(shared))


def _in_one_file(shared: Iterable[Shared]) -> Iterator[Finding]:
    """Report companions whose files have one name where case does not count: names of Roles may have capitals."""
    first: dict[tuple[str, str, str], Shared] = {}
    for one in shared:
        other = first.setdefault((one.obj.kind, one.namespace, one.obj.name.casefold()), one)
        if other is not one:
            message = f"{one.obj.kind} {one.namespace}/{one.obj.name} differs only in case from {other.obj.name}"
            related = (Related("defined here", other.document, _NAME),)
            yield report("TC608", one.document, _NAME, message, found=one.obj.name, related=related)


def _applied_twice(document: Document, namespace: str, folders: set[str], options: Options) -> Iterator[Finding]:
    """Report a companion that several Applications of the source hydrator contain, one per folder of jobs/."""
    if len(folders) > 1 and options.settings.tool.hydrator is not UNSET:
        kind, name = document.data["kind"], get(document.data, *_NAME)
        names = " and ".join(f"{options.environment}.{folder}" for folder in sorted(folders)[:2])
        message = f"{kind} {namespace}/{name} is part of two Applications of argocd.hydrator, {names}"
        yield report("TC608", document, _NAME, message, found=str(name), hint=_ONE_FOLDER)


def _not_applied(one: Shared, options: Options) -> Iterator[Finding]:
    """Report what keeps Argo CD or Flux from applying a companion, or lets them create it again."""
    for path, message in sync_obstacles(one.obj.data, options.settings, (one.document.source.name,)):
        origin = nearest(one.obj.origins(), path)
        document, where = one.document, path
        if origin is not None and origin.document is not None:
            document, where = origin.document, origin.path
        text = f"{one.obj.kind} {one.obj.name}: {message}"
        yield report(NOT_APPLIED, document, existing(document.data, where), text)


def collisions(shared: Iterable[Shared], objects: Iterable[Summary]) -> tuple[Finding, ...]:
    """Return an error for each companion that is also an object of a job."""
    generated = {one.identity for one in objects}
    return tuple(
        report(
            "TC608",
            one.document,
            _NAME,
            f"{one.obj.kind} {one.namespace}/{one.obj.name} is also generated for a job",
            found=one.obj.name,
        )
        for one in shared
        if identify(one.obj.data) in generated
    )


def overwritten_params(
    stored: Mapping[Key, Document], shared: Iterable[Shared], objects: Iterable[Summary], options: Options
) -> Iterator[Finding]:
    """Yield an error for each document of policies/ that out/ has with other content, as trainc would write it.

    In a cluster, policies would use that as their params. ``stored`` has the documents as a cluster stores them.
    """
    of_runtimes, generated = {identify(one.obj.data): one for one in shared}, {one.identity for one in objects}
    for document in stored.values():
        if not is_companion(document) or not document.source.name.startswith("policies/"):
            continue
        key = _, kind, namespace, name = identify(document.data)
        label = f"{kind} {namespace}/{name}"
        if key in generated:
            yield report("TC608", document, _NAME, f"{label} is also generated for a job")
        elif (one := of_runtimes.get(key)) is not None:
            renamed = {**options.settings.namespaces, namespace: namespace}
            emitted = _emitted(document, namespace, namespace, options, renamed)
            if same(one.obj.data, _protected(emitted, options).data):
                continue
            related = (Related("in policies/", document, _NAME),)
            message = f"{label} is also in policies/, with different content"
            yield report("TC608", one.document, _NAME, message, related=related)


def unused_resources(
    documents: Iterable[Document], runtimes: Iterable[Document], uses: Iterable[Use], *, faithful: bool
) -> tuple[Finding, ...]:
    """Return one note per file with companions that are not emitted, since no job uses its runtimes.

    In faithful output they are never emitted.
    """
    used = frozenset() if faithful else frozenset(use.runtime.source for use in uses)
    files = {runtime.source for runtime in runtimes} - used
    found: dict[Source, list[Document]] = {}
    for document in documents:
        if is_companion(document) and document.source in files:
            found.setdefault(document.source, []).append(document)
    kinds = {source: ", ".join(dict.fromkeys(str(d.data["kind"]) for d in group)) for source, group in found.items()}
    return tuple(
        report("TC015", group[0], ("kind",), f"{kinds[source]} not written: unused runtime, or faithful output")
        for source, group in found.items()
    )


def unread_resources(
    documents: Iterable[Document],
    runtimes: Iterable[Document],
    unknown: Iterable[Document],
    defined: Container[tuple[str, str]],
) -> tuple[Finding, ...]:
    """Return a warning for each document in the file of a runtime, or below runtimes/, that trainc does not use.

    ``unknown`` are those of unknown kinds, which have another finding, like v1 jobs. ``defined`` holds group and kind
    of the given CRDs, which check objects in files without a runtime.
    """
    documents, files = tuple(documents), {runtime.source for runtime in runtimes}
    named = {(document.source.name, document.index) for document in unknown}
    policies = (document.data for document in documents if document.data["kind"] in POLICIES)
    read = READ.union(str(get(policy, "spec", "paramKind", "kind")) for policy in policies)
    found = []
    for document in documents:
        _, kind = key = group_and_kind(document.data)
        below = document.source.name.startswith("runtimes/") and key not in defined
        beside = document.source in files
        reported = (document.source.name, document.index) in named or key in SUPERSEDED
        is_read = beside if is_companion(document) else kind in read
        if (beside or below) and not reported and not is_read:
            message = f"trainc does not write {kind} {get(document.data, *_NAME)} to out/"
            hint = _BESIDE if is_companion(document) and not is_cluster_scoped(document.data) else None
            found.append(report("TC834", document, ("kind",), message, found=kind, hint=hint))
    return tuple(found)


def _unsuitable_name(document: Document, options: Options) -> Iterator[Finding]:
    """Report a name that files cannot have: that of a Role or RoleBinding only has to fit into a URL."""
    name = str(get(document.data, *_NAME))
    file = f"{str(document.data['kind']).lower()}-{name}.yaml"
    length = len(file.encode("utf-8", "surrogatepass"))
    if _NOT_A_FILE.search(name) or length > _LONGEST:
        message = "metadata.name cannot be the name of a file"
        expected = f"no NUL or line break, and at most {_LONGEST} bytes with kind and extension; it has {length}"
        yield report("TC108", document, _NAME, message, found=name, expected=expected)
    elif _NOT_IN_WINDOWS.search(name):
        message, severity = unfit_name("file", file, options)
        yield report("TC023", document, _NAME, message, severity=severity, found=name)


def _emitted(document: Document, namespace: str, home: str, options: Options, renamed: Mapping[str, str]) -> Object:
    """Return a companion with its namespace, with the defaults of a server, and without what a server sets.

    ``renamed`` maps namespaces to those in the cluster.
    """
    data = document.data
    metadata = {key: value for key, value in as_object(data["metadata"]).items() if key not in SERVER_FIELDS}
    metadata["namespace"] = namespace
    if data["kind"] == "PersistentVolumeClaim":
        data = {**data, "spec": {**CLAIM_DEFAULTS, **as_object(data.get("spec"))}}
    emitted: JsonObject = {key: value for key, value in go_encoded(data).items() if key != "status"}
    emitted["metadata"] = metadata
    if data["kind"] == "RoleBinding":
        emitted = bound(emitted, renamed)

    def origins() -> Mapping[Path, Origin]:
        """Return the document as the origin, except for the namespace."""
        found = {path: Origin("input", document, path) for path in paths(emitted)}
        if namespace != home:
            found["metadata", "namespace"] = option_origin(options, "namespaces", home)
        return found

    return Object(emitted, origins)


def _protected(obj: Object, options: Options) -> Object:
    """Return a patched companion with the annotations that keep a claim, and with those for Flux."""
    path: Path = ("metadata", "annotations")
    if options.settings.target == "flux":
        data, added = flux.annotated(obj.data), option_origin(options, "target")
    elif obj.kind == "PersistentVolumeClaim":
        data, added = put(obj.data, path, _kept(as_object(get(obj.data, *path)))), Origin("plugin", name="companions")
    else:
        return obj

    def origins() -> Mapping[Path, Origin]:
        own = obj.origins()
        new = (each for each in paths(data) if each[:2] == path and get(data, *each) != get(obj.data, *each))
        return {**dict.fromkeys(new, added), **own}

    return replace(obj, data=data, origins=origins)


def _kept(annotations: JsonObject) -> JsonObject:
    """Return the annotations of a claim with those that keep it; options that it sets itself stay as they are."""
    kept: JsonObject = {}
    for key, options in KEPT.items():
        own = str(annotations.get(key, ""))
        found = [option.strip() for option in own.split(",")]
        # As Argo CD finds options: by their start, so "Prune = false" is none.
        added = [
            option
            for option in options.split(",")
            if not any(each.startswith("".join(option.partition("=")[:2])) for each in found)
        ]
        kept[key] = ",".join([*([own] if own else []), *added])
    return {**kept, **{key: value for key, value in annotations.items() if key not in KEPT}}


def without_namespace(documents: Documents, loaded: Iterable[Document]) -> frozenset[Key]:
    """Return the keys of namespaced documents in the files of runtimes that had no namespace when they were loaded."""
    files = {runtime.source.name for runtime in documents.runtimes}
    bare = {(d.source.name, d.index) for d in loaded if d.source.name in files and not get(d.data, *_NAMESPACE)}
    return frozenset(
        key
        for key, document in documents.cluster.items()
        if key[1]
        and document.data["kind"] not in (TRAINJOB, *RUNTIMES)
        and (document.source.name, document.index) in bare
    )


def in_namespaces(
    cluster: Mapping[Key, Document], unplaced: Iterable[Key], uses: Iterable[tuple[Source, str]]
) -> dict[Key, Document]:
    """Return the documents without a namespace by their keys in each namespace with a job of their runtime.

    ``uses`` has the source of each job's runtime, and the job's namespace.
    """
    beside: dict[Source, list[Key]] = {}
    for key in unplaced:
        beside.setdefault(cluster[key].source, []).append(key)
    return {(key[0], home, key[2]): cluster[key] for source, home in uses for key in beside.get(source, ())}
