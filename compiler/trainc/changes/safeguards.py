"""Finds policies, severities and comments that are less strict than before, and settings that restart jobs.

Whether a changed expression forbids less cannot be decided in general. Only changes that clearly forbid as much or more
are accepted; all others are reported, so that no rule is weakened unnoticed. Pure.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from trainc.admission.companions import admit_companions
from trainc.admission.policy.documents import BINDING, POLICY, RULES, is_policy, namespaced_params, rows
from trainc.admission.policy.documents import read as read_policy
from trainc.admission.policy.match import requirements
from trainc.admission.rules import BUDGET
from trainc.basics.differences import changes, same, with_keys
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, existing, get
from trainc.basics.starts import Starts
from trainc.cel.codegen import LIMIT
from trainc.cel.lalr import BROKEN, scan
from trainc.changes.applications import application_key
from trainc.changes.model import Directory
from trainc.documents.classify import JOBS, Key, classify, identity
from trainc.documents.load import comments, load
from trainc.findings import CODES, Finding, report, sort_key
from trainc.findings.severities import IGNORE, KEY, locked, rank
from trainc.findings.severities import read as read_levels
from trainc.findings.suppression import WORD, Suppressions
from trainc.gitops.argocd import DEFAULT, allowed_namespaces, project_of
from trainc.gitops.environment import destination_of
from trainc.gitops.naming import MODE
from trainc.inputs.imagelock import prefix_spelt_out
from trainc.inputs.options import Revision
from trainc.inputs.settings import ArgoCD, Settings, deployment_folders, is_among, option_path, settings_of_all
from trainc.inputs.source import Document, Source
from trainc.project.config import UNMANAGED
from trainc.project.foreign import unmanaged
from trainc.schema.kinds import GroupKind, Registry

Weaker = Iterator[tuple[Path, str]]
"""The path of a less strict field, and the message."""

_DOCUMENTS = "TC520"
_SETTINGS = "TC521"
_BRANCH: Final = ("argocd", "hydrator", "branch")
RESTARTING = "TC616"


def weakened(
    before: Revision, after: Revision, config: Document | None, unread: Iterable[Source] = ()
) -> tuple[Finding, ...]:
    """Return findings about checks that are less strict than before, and settings that restart jobs, sorted.

    ``config`` is trainc.yaml after the change. ``unread`` are files below policies/ that are not read as policies, to
    which a missing policy may have been moved.
    """
    config = config or Document(Source("trainc.yaml", b""), {})
    found = [*_weaker_documents(before, after, unread), *_new_comments(before, after)]
    if not before.is_valid:
        found.append(report(_SETTINGS, config, (), f"not compared: trainc.yaml of {before.name} is not valid"))
    for path, message in (*_severities(before.config.get(KEY), after.config.get(KEY)), *_settings(before, after)):
        found.append(report(_SETTINGS, config, existing(config.data, path), f"{message} since {before.name}"))
    for path, change, effect, hint in _restarting(before, after):
        where = existing(config.data, path)
        found.append(report(RESTARTING, config, where, f"{change} since {before.name}: {effect}", hint=hint))
    return tuple(sorted(found, key=sort_key))


def _weaker_documents(before: Revision, after: Revision, unread: Iterable[Source]) -> Iterator[Finding]:
    """Yield a warning for each way in which policies forbid less than before."""
    (old, old_kinds), (new, new_kinds) = _documents(before.sources), _documents(after.sources)
    hidden = _documents(unread, anywhere=True)[0] if old.keys() - new.keys() else {}
    deciding = _deciding_kinds(old.values()) if new.keys() - old.keys() else frozenset()
    for added in (new[key] for key in sorted(new.keys() - old.keys())):
        if is_policy(added):
            continue
        if get(added.data, "metadata", "labels"):
            labels = ("metadata", "labels")
            yield report(_DOCUMENTS, added, labels, f"{_label(added)} added with labels since {before.name}")
        elif (added.data["apiVersion"], added.data["kind"]) in deciding:
            yield report(_DOCUMENTS, added, ("metadata", "name"), f"{_label(added)} added since {before.name}")
    for key, was in sorted(old.items()):
        if (now := new.get(key)) is None:
            removed = replace(was, source=replace(was.source, name=f"{before.name}:{was.source.name}"))
            hint = f"it is in {hidden[key].source.name}, where trainc reads no policies" if key in hidden else None
            message = f"{_label(was)} removed since {before.name}"
            yield report(_DOCUMENTS, removed, ("metadata", "name"), message, hint=hint)
        elif not same(was.data, now.data):
            for path, message in _weaker_fields(was, now):
                yield report(_DOCUMENTS, now, existing(now.data, path), f"{_label(now)}: {message} since {before.name}")
    otherwise = _served_otherwise(old_kinds, new_kinds)
    for now in (new[key] for key in sorted(old.keys() & new.keys()) if is_policy(new[key])):
        if namespaced_params(now, old_kinds) != namespaced_params(now, new_kinds):
            path, message = ("spec", "paramKind"), f"{_label(now)}: the scope of its params changed since {before.name}"
            yield report(_DOCUMENTS, now, existing(now.data, path), message)
        for group, kind in otherwise:
            if _names_versions(now, group):
                message = f"{_label(now)}: the served versions of {kind} changed since {before.name}"
                yield report(_DOCUMENTS, now, ("spec",), message, hint="a CRD says which versions are equivalent")


def _served_otherwise(old: Registry, new: Registry) -> list[GroupKind]:
    """Return group and kind of what CRDs now serve in other versions, or with another plural."""
    keys = sorted({*old.given, *new.given})
    before, after = (
        [{(one.version, one.plural) for one in kinds.served(*key)} for key in keys] for kinds in (old, new)
    )
    return [key for key, was, now in zip(keys, before, after, strict=True) if was != now]


def _names_versions(document: Document, group: str) -> bool:
    """Return whether rules of a policy or binding name versions of a group, and match equivalent ones, too."""
    given = read_policy(document).constraints
    named = [each for key in RULES for each in rows(given, key) if "*" not in as_list(each.get("apiVersions"))]
    groups = {str(item) for each in named for item in as_list(each.get("apiGroups"))}
    return given.get("matchPolicy") != "Exact" and not groups.isdisjoint(("*", group))


def _documents(sources: Iterable[Source], *, anywhere: bool = False) -> tuple[Mapping[Key, Document], Registry]:
    """Return policies and bindings, the other documents of policies/ as a cluster stores them, and the kinds.

    With ``anywhere`` all documents.
    """
    loaded = [document for source in sources if not source.name.startswith(JOBS) for document in load(source)[0]]
    given = classify(loaded)[0].cluster
    admitted = admit_companions(given.values(), (), faithful=False)
    stored = {identity(each): each for each in admitted.documents}
    found = {
        key: document if is_policy(document) else stored.get(key, document)
        for key, document in given.items()
        if anywhere or is_policy(document) or document.source.name.startswith("policies/")
    }
    return found, admitted.registry


def _deciding_kinds(documents: Iterable[Document]) -> frozenset[tuple[Json, Json]]:
    """Return API version and kind of objects whose mere existence decides about policies among documents.

    A Namespace without labels is one that a selector does not select. Params end the denial for missing ones.
    """
    kinds: set[tuple[Json, Json]] = set()
    for each in map(read_policy, filter(is_policy, documents)):
        params = as_object(each.spec.get("paramKind"))
        kinds.add((params.get("apiVersion"), params.get("kind")))
        if requirements(each.constraints.get("namespaceSelector")) or "namespaceObject" in str(each.spec):
            kinds.add(("v1", "Namespace"))
    return frozenset(kinds)


def _label(document: Document) -> str:
    """Return the kind and name of a document for messages."""
    kind, (_, namespace, name) = str(document.data["kind"]), identity(document)
    if is_policy(document) and kind == BINDING:
        return f"binding {name!r} of policy {str(get(document.data, 'spec', 'policyName'))!r}"
    if is_policy(document) and kind == POLICY:
        return f"policy {name!r}"
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _weaker_fields(was: Document, now: Document) -> Weaker:
    if not is_policy(now):
        yield from ((change.name, f"{dotted(change.name)} changed") for change in changes(now.data, was.data))
        return
    old, new = read_policy(was), read_policy(now)
    if not (old.decoded and new.decoded):
        return  # an invalid one has no effect, and another finding reports it
    weaker = _weaker_policy if now.data["kind"] == POLICY else _weaker_binding
    yield from ((("spec", *path), message) for path, message in weaker(old.spec, new.spec))


class _Ignored(NamedTuple):
    """A code in a comment, and the number of the values that it covers."""

    file: str
    code: str
    reason: str
    covered: int | None


_Place = tuple[Key, tuple[Hashable, ...]]
"""An object, and a path with the keys of list items."""

_Places = dict[frozenset[_Place], int]


def _new_comments(before: Revision, after: Revision) -> Iterator[Finding]:
    """Yield a note for each code that a comment newly suppresses, or now suppresses elsewhere."""
    old = {source.name: source for source in before.sources}
    for source in after.sources:
        was = old.get(source.name)
        if WORD not in source.decoded() or (was is not None and was.text == source.text):
            continue
        places: _Places = {}
        shown: dict[tuple[int, str], Finding] = {}
        known = Counter(ignored for ignored, _ in _ignored(was, places)) if was is not None else Counter[_Ignored]()
        for ignored, document in _ignored(source, places):
            known[ignored] -= 1
            if known[ignored] < 0:
                key = document.locate(()).line, ignored.reason
                if key not in shown:  # a comment may have a hundred codes, and a long reason to search for secrets
                    shown[key] = report("TC522", document, (), ignored.reason)
                message = f"new comment ignores {ignored.code}: {shown[key].message}"
                yield replace(shown[key], document=document, message=message)


def _ignored(source: Source, places: _Places) -> Iterator[tuple[_Ignored, Document]]:
    """Yield the codes that the comments of a file suppress, with documents for findings on them.

    ``places`` are the numbers of the values that are covered together. All comments of a line cover the same ones.
    """
    documents = load(source)[0]
    suppressions = Suppressions.read((source,), documents, comments)
    covered = defaultdict[int, set[_Place]](set)
    for document in documents:
        lines = suppressions.covered.get((source, document.index), {})
        for path, by_code in lines.items():
            if path == () or lines.get(path[:-1]) is not by_code:
                line = next(iter(by_code.values())).line
                covered[line].add((identity(document), with_keys(document.data, path)))
    numbers = {line: places.setdefault(frozenset(values), len(places)) for line, values in covered.items()}
    for ignore in suppressions.ignores:
        for code, document in ignore.codes.items():
            yield _Ignored(source.name, code, ignore.reason, numbers.get(ignore.line)), document


def _severities(before: Json, after: Json) -> Weaker:
    old, new = read_levels(before), read_levels(after)
    for code in sorted({*old, *new}):
        was, now = (levels.get(code, CODES[code].severity) for levels in (old, new))
        if rank(now) > rank(was):
            yield (KEY, code), f"severity of {code} lowered from {was or IGNORE} to {now or IGNORE}"
    for code in sorted(locked(before) - locked(after)):
        yield (KEY, code), f"{code} no longer locked"


def _settings(before: Revision, after: Revision) -> Weaker:
    if get(before.config, "policies", "pods") is True and get(after.config, "policies", "pods") is not True:
        yield ("policies", "pods"), "policies no longer evaluated on pods"
    wanted = map(str, as_list(get(after.config, "lock", "required")))
    required = Starts((prefix_spelt_out(prefix), prefix) for prefix in wanted)
    for prefix in as_list(get(before.config, "lock", "required")):
        if not any(True for _ in required.of(prefix_spelt_out(str(prefix)))):
            yield ("lock", "required"), f"images of {prefix} no longer have to be locked"
    known = {*unmanaged(before.config)}
    for path in unmanaged(after.config):
        if known.isdisjoint((path, f"{path}/")):
            yield (UNMANAGED,), f"files at {path} that trainc did not write are no longer an error"
    yield from _deployment(before.config, after.config)
    earlier, current = settings_of_all(before.config), settings_of_all(after.config)
    for name in (name for name in current if name in earlier):
        was, now = _most_reruns(earlier[name]), _most_reruns(current[name])
        if was is not None and (now is None or now > was):
            change = f"maxReruns raised from {was} to {now}"
            if now is None:  # naming by content has ended
                change = f"all jobs run again with other names, and maxReruns of {was} removed"
            yield option_path(after.config, name, "naming", "maxReruns"), f"environment {name}: {change}"


def _deployment(before: JsonObject, after: JsonObject) -> Weaker:
    """Yield each option with which Argo CD or Flux applies more, or other files, than this repository's checks see."""
    others, current = settings_of_all(before), settings_of_all(after)
    for name, now in current.items():
        was = others.get(name)
        limits = [] if was is None else [was.tool.namespaces]
        if arrives := was is None or destination_of(was) != destination_of(now):
            limits.append(_limits(others.values(), now))
        more = {each: None for limit in limits for each in _more_namespaces(limit, now.tool.namespaces)}
        origin: dict[Path, str] = {}
        if was is None or arrives or was.target != now.target or not _origin(was):
            origin |= _new_origin(others.values(), now)
        if was is not None and was.target == now.target:
            origin |= _other_files(was, now)
        for path, message in (*more, *origin.items()):
            yield option_path(after, name, *path), f"environment {name}: {message}"
    folder, old_folder = after.get("folder") or "none", before.get("folder") or "none"
    if folder != old_folder:
        yield ("folder",), f"folder changed from {old_folder} to {folder}: Argo CD and Flux read another out/"
    there = deployment_folders(current.values())
    for folder in (each for each in deployment_folders(others.values()) if each not in there):
        yield ("defaults",), f"files of trainc in {folder} are no longer checked, nor removed with their jobs"


def _limits(others: Collection[Settings], now: Settings) -> tuple[str, ...]:
    """Return the patterns of the only namespaces that environments could use on the cluster of one that is new there.

    If it is the first one on a cluster, those of all environments with such patterns: a cluster may have two names.
    """
    same_cluster = [each for each in others if destination_of(each) == destination_of(now)]
    if not all(each.tool.namespaces for each in same_cluster):
        return ()
    return tuple(pattern for each in same_cluster or others for pattern in each.tool.namespaces)


def _more_namespaces(was: tuple[str, ...], now: tuple[str, ...]) -> Weaker:
    path = ("argocd", "namespaces")
    if was and not now:
        yield path, "the namespaces of jobs are no longer limited"
    known = frozenset(was)
    more = [pattern for pattern in now if pattern not in known] if was else []
    wide = [pattern for pattern in was if "*" in pattern]
    too_many = len(more) * len(wide) > _MOST_PAIRS
    for pattern in more:
        if too_many or not any(fnmatchcase(pattern, each) for each in wide):
            yield path, f"jobs are also allowed in {pattern}"


def _other_files(was: Settings, now: Settings) -> Weaker:
    """Yield each option with which the same tool applies other files. URLs are not shown: they may have passwords."""
    before, after, old, new = _origin(was), _origin(now), was.argocd, now.argocd
    for path in (path for path in after if path in before and path[-1] != "project"):
        if before[path] != after[path]:
            values = "" if path[-1] == "repoURL" else f" from {before[path]} to {after[path]}"
            yield path, f"{'.'.join(path)} changed{values}"
    if now.target == "argocd" and new.project not in ("", old.project):
        reason = ", which allows everything" if new.project == DEFAULT else ", which may allow more"
        yield ("argocd", "project"), f"argocd.project changed to {new.project}{reason}"
    if ("argocd", "repoURL") in before.keys() & after:
        yield from _unmerged([old], new)


def _unmerged(was: Collection[ArgoCD], now: ArgoCD) -> Weaker:
    """Yield the branch from which Argo CD syncs, if it now commits to it, and people had to merge before."""
    if now.hydrator and not _is_staged(now) and was and all(map(_is_staged, was)):
        path, branch = ("argocd", "hydrator", "staging"), now.hydrator.branch
        yield path, f"what Argo CD commits to {branch} no longer has to be merged from argocd.hydrator.staging"


def _is_staged(argocd: ArgoCD) -> bool:
    """Return whether the hydrator commits to another branch than that from which Argo CD syncs."""
    return argocd.hydrator is not UNSET and argocd.hydrator.staging not in ("", argocd.hydrator.branch)


def _new_origin(others: Iterable[Settings], now: Settings) -> Weaker:
    """Yield each option with which an environment applies other files than those on its cluster did before.

    If it is the first one there, than those of all clusters: a cluster may have two names. A branch of one repository
    says nothing of that in another one.
    """
    known = [(origin, each) for each in others if each.target == now.target and (origin := _origin(each))]
    there = [row for row in known if destination_of(row[1]) == destination_of(now)] or known
    related = [row for row in there if row[1].argocd.repo_url == now.argocd.repo_url] or there
    for path, value in _origin(now).items():
        if related and not any(origin.get(path) == value for origin, _ in related):
            yield path, f"added with another {'.'.join(path)}"
        if path == _BRANCH:
            equal = [each.argocd for origin, each in known if origin.get(path) == value]
            yield from _unmerged([each for each in equal if each.repo_url == now.argocd.repo_url], now.argocd)


def _origin(settings: Settings) -> Mapping[tuple[str, ...], str]:
    """Return the options that say what is applied, and what is allowed."""
    argocd = settings.argocd
    if settings.target == "flux":
        return {("flux", "source"): settings.flux.source}
    if not argocd.repo_url:
        return {}
    project = DEFAULT if argocd.project == DEFAULT else "its own"
    values = {"repoURL": argocd.repo_url, "revision": argocd.revision, "project": project}
    return {
        **{("argocd", key): value for key, value in values.items()},
        _BRANCH: argocd.hydrator.branch if argocd.hydrator else "none",
    }


def _restarting(before: Revision, after: Revision) -> Iterator[tuple[Path, str, str, str | None]]:
    """Yield each setting with which Argo CD or Flux deploys all jobs of an environment anew.

    It is the path in trainc.yaml, the change, its effect, and a hint.
    """
    current = settings_of_all(after.config)
    written = deployment_folders(current.values())
    for name, was in settings_of_all(before.config).items():
        now = current.get(name)
        if not _origin(was):
            continue  # its Applications are not trainc's
        kept, folder = was.tool.on_delete == "keep", was.tool.deployment_folder
        tool, earlier, by_flux = was.target, _KEEP.format(was.target), was.target == "flux"
        what, written_as = ("Kustomizations", "Kustomizations") if by_flux else ("Applications", "ApplicationSet")
        removed = f"render removes its {written_as} from {folder}, "
        removed += "and no later change reaches its jobs" if kept else "which stops running jobs"
        if now is None:
            effect = removed if folder in written else ""
            if not effect and not by_flux and was.argocd.hydrator is UNSET:  # which read out/
                effect = f"render removes out/{name}, and its ApplicationSet the Applications, which stops running jobs"
            if effect and not kept:
                yield ("environments",), f"environment {name}: removed", effect, earlier
            continue
        placement = _placement(now)
        for path, old in _placement(was).items():
            new, moved = placement.get(path, old), path == ("destination",)
            if new == old or (kept and not moved):
                continue
            effect = f"its {what} are replaced by others, which stops running jobs and runs all jobs again"
            hint = earlier
            if moved:
                effect = "jobs in the old cluster continue without Argo CD, and run in the new one when next synced"
                hint = "remove the jobs from the environment in a commit that is applied before"
            change = f"environment {name}: {'.'.join(path)} changed from {old} to {new}"
            yield option_path(after.config, name, *path), change, effect, hint
        for home, old, new, continues in _moved(name, was, now, before, after):
            effect = f"those in {old} {'continue' if continues else 'are deleted, which stops running jobs'}"
            change = f"environment {name}: namespace of jobs/{home} changed from {old} to {new}"
            where = option_path(after.config, name, "namespaces", home)
            yield where, change, f"all its jobs run again there, and {effect}", None
        if now.target != tool:
            continue
        if now.tool.automated and not was.tool.automated:
            change = f"environment {name}: argocd.automated changed from false to true"
            hint = "remove finished jobs in a commit that is applied before"
            yield option_path(after.config, name, tool, "automated"), change, _BY_ITSELF, hint
        moved_to = now.tool.deployment_folder
        if moved_to != folder and folder in written and not (kept and moved_to):
            change = f"environment {name}: no longer in {tool}.write {folder}"
            hint = f"set {tool}.write as before: a section {tool} of an environment replaces that of defaults"
            yield ("environments", name, tool, "write"), change, removed, hint


def _moved(
    name: str, was: Settings, now: Settings, before: Revision, after: Revision
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each folder with jobs, before and after, that is mapped to another namespace, and both namespaces.

    Last comes whether its jobs continue. An Application that remains, such as that of a namespace to which other
    folders are mapped, prunes them also with onDelete: keep; without flux.write, nobody deletes a Kustomization.
    """
    if was.namespaces == now.namespaces:
        return
    earlier, current = (
        {each.name.split("/")[1] for each in one.sources if each.name.startswith(JOBS)} for one in (before, after)
    )
    # Argo CD deletes nothing that the AppProject of the same commit does not allow.
    (project, cluster), written = project_of(name, was), allowed_namespaces({name: now})
    allowed = written[project].get(cluster, ()) if project in written else ("*",)
    # With one Application per job, no other folder has that of the job that is called like this folder.
    remaining = {application_key(Directory(name, now.namespaces.get(each, each), each), now) for each in current}
    for folder in sorted(earlier & current):
        old, new = (each.namespaces.get(folder, folder) for each in (was, now))
        if old != new:
            is_kept = was.tool.on_delete == "keep" or (was.target == "flux" and not was.flux.write)
            is_kept = is_kept and application_key(Directory(name, old, folder), was) not in remaining
            yield folder, old, new, is_kept or not is_among(old, allowed)


_KEEP: Final = "set {}.onDelete: keep in a commit that is applied before, so that running jobs continue"
_BY_ITSELF: Final = (
    "it syncs without people, and creates each JobSet that is missing, such as one that its TTL has deleted, "
    "at the latest with the next commit in its folder"
)


def _placement(settings: Settings) -> Mapping[tuple[str, ...], str]:
    """Return the options that name the cluster and the Applications or Kustomizations of an environment."""
    found = {("target",): settings.target, (settings.target, "namespace"): settings.tool.namespace}
    if settings.target == "argocd":
        found["destination",] = destination_of(settings)
        found["argocd", "hydrator"] = "none" if settings.argocd.hydrator is UNSET else "a branch"
        if settings.argocd.hydrator is UNSET:  # with one, per has no effect
            found["argocd", "per"] = settings.argocd.per
    return found


def _most_reruns(settings: Settings) -> int | None:
    """Return how many jobs one change may run again, or None if any number."""
    return settings.naming.max_reruns if settings.naming.mode == MODE else None


def _weaker_policy(old: JsonObject, new: JsonObject) -> Weaker:
    """Yield each way in which a policy forbids less, or may."""
    yield from _lowered(old, new, "failurePolicy", "Ignore")
    yield from _weaker_match(old, new, "matchConstraints")
    known = Counter(_tokens(row) for row in rows(old, "matchConditions"))
    for index, row in enumerate(rows(new, "matchConditions")):  # a copy may exceed their cost budget, too
        known[tokens := _tokens(row)] -= 1
        if known[tokens] < 0:
            yield ("matchConditions", index), f"match condition {str(row.get('name'))!r} added or changed"
    if old.get("failurePolicy") != "Ignore":
        yield from _without_errors(old, new)
    for row in _missing_rows(new, old, "validations"):
        shown = " ".join(str(row.get("expression", "")).split())
        yield ("validations",), f"validation {shown!r} removed or changed"
    variables = {str(row.get("name")): _tokens(row) for row in rows(new, "variables")}
    for row in rows(old, "variables"):
        if variables.get(name := str(row.get("name"))) not in (None, _tokens(row)):
            yield ("variables",), f"variable {name!r} changed"
    if old.get("paramKind") != new.get("paramKind"):
        yield ("paramKind",), "paramKind changed"
    if new.get("failurePolicy") == "Ignore" and _may_exceed_budget(new) and _expressions(new) - _expressions(old):
        yield ("failurePolicy",), "Ignore admits what exceeds the cost budget, and expressions were added"


_EXPRESSIONS = (
    ("variables", "expression"),
    ("validations", "expression"),
    ("validations", "messageExpression"),
    ("auditAnnotations", "valueExpression"),
)


def _without_errors(old: JsonObject, new: JsonObject) -> Weaker:
    """Yield the match conditions and annotations that are missing: with failurePolicy Fail, an error in one denies."""
    before, after = ({_tokens(row): row for row in rows(spec, "matchConditions")} for spec in (old, new))
    for tokens in sorted(before.keys() - after.keys()) if after.keys() <= before.keys() else ():  # others are reported
        message = f"match condition {str(before[tokens].get('name'))!r}, an error in which denies, removed"
        yield ("matchConditions",), message
    for row in _missing_rows(new, old, "auditAnnotations", "valueExpression"):
        message = f"audit annotation {str(row.get('key'))!r}, an error in which denies, removed or changed"
        yield ("auditAnnotations",), message


def _missing_rows(spec: JsonObject, other: JsonObject, field: str, key: str = "expression") -> Iterator[JsonObject]:
    """Yield the rows of ``other`` whose expressions ``spec`` does not have in the same field."""
    known = {_tokens(row, key) for row in rows(spec, field)}
    yield from (row for row in rows(other, field) if _tokens(row, key) not in known)


def _expressions(spec: JsonObject) -> Counter[tuple[str, ...]]:
    """Return how often a policy evaluates each expression."""
    return Counter(_tokens(row, key) for field, key in _EXPRESSIONS for row in rows(spec, field) if row.get(key))


def _may_exceed_budget(spec: JsonObject) -> bool:
    """Return whether the expressions that share a cost budget exceed it if each costs as much as one may."""
    variables, checks, messages, annotations = (
        sum(bool(row.get(key)) for row in rows(spec, field)) for field, key in _EXPRESSIONS
    )
    again = variables if messages else 0  # messages evaluate the variables once more
    return max(variables + checks + again + messages, variables + annotations) * LIMIT > BUDGET


def _weaker_binding(old: JsonObject, new: JsonObject) -> Weaker:
    """Yield each way in which a binding forbids less, or may."""
    if old.get("policyName") != new.get("policyName"):
        yield ("policyName",), f"policyName changed from {old.get('policyName')}"
    was, now = (as_list(spec.get("validationActions")) for spec in (old, new))
    if any(action not in now for action in was):
        shown = " to ".join(f"[{', '.join(map(str, actions))}]" for actions in (was, now))
        yield ("validationActions",), f"validationActions changed from {shown}"
    if old.get("paramRef") != new.get("paramRef"):
        yield ("paramRef",), "paramRef changed"
    yield from _weaker_match(old, new, "matchResources")


def _lowered(old: JsonObject, new: JsonObject, field: str, lowest: str) -> Weaker:
    if old.get(field) != lowest and new.get(field) == lowest:
        yield (field,), f"{field} changed from {old.get(field)} to {lowest}"


def _weaker_match(old_spec: JsonObject, new_spec: JsonObject, field: str) -> Weaker:
    """Yield each way in which the constraints at a field match less."""
    old, new = as_object(old_spec.get(field)), as_object(new_spec.get(field))
    yield from (((field, *path), message) for path, message in _lowered(old, new, "matchPolicy", "Exact"))
    before, after = rows(old, "resourceRules"), rows(new, "resourceRules")
    if after and not (before and _all_covered(before, after)):
        yield (field, "resourceRules"), "resourceRules match less"
    before, after = rows(old, "excludeResourceRules"), rows(new, "excludeResourceRules")
    wider = old.get("matchPolicy") == "Exact" and new.get("matchPolicy") != "Exact"  # also other versions of a kind
    if (after and wider) or not _all_covered(after, before):
        yield (field, "excludeResourceRules"), "excludeResourceRules match more"
    for selector in ("namespaceSelector", "objectSelector"):
        required = frozenset(requirements(old.get(selector)))
        if any(each not in required for each in requirements(new.get(selector))):
            yield (field, selector), f"{selector} selects less"


_MOST_PAIRS = 100_000
"""The most pairs of rules, or patterns, that are compared."""


def _all_covered(rules: list[JsonObject], wide: list[JsonObject]) -> bool:
    """Return whether some rules clearly match everything that others do; False if there are too many to compare."""
    same_as = {json.dumps(rule, sort_keys=True) for rule in wide}
    rest = [rule for rule in rules if json.dumps(rule, sort_keys=True) not in same_as]
    return len(rest) * len(wide) <= _MOST_PAIRS and all(any(_covers(other, rule) for other in wide) for rule in rest)


def _covers(wide: JsonObject, rule: JsonObject) -> bool:
    """Return whether a rule clearly matches everything that another does."""
    for field in ("apiGroups", "apiVersions", "operations", "resources"):
        all_of = frozenset(map(str, as_list(wide.get(field))))
        for item in map(str, as_list(rule.get(field))):
            is_sub = field == "resources" and "/" in item  # * is no subresource
            if item not in all_of and ("*/*" if is_sub else "*") not in all_of:
                return False
    names, all_names = (frozenset(map(str, as_list(each.get("resourceNames")))) for each in (rule, wide))
    scope = wide.get("scope") in ("*", rule.get("scope"))
    return scope and (not all_names or (bool(names) and names <= all_names))


def _tokens(row: JsonObject, key: str = "expression") -> tuple[str, ...]:
    """Return the tokens of an expression, without the white space and comments between them."""
    text = str(row.get(key, ""))
    tokens = scan(text)
    return (text,) if tokens[-1].kind == BROKEN else tuple(token.text for token in tokens)
