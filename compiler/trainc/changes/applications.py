"""Which Application or Kustomization syncs each directory of out/, before and after a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from trainc.basics import memo
from trainc.changes.model import Directory
from trainc.gitops.argocd import Tree
from trainc.gitops.base import FLUX_PREFIX, SYNC_OPTIONS
from trainc.gitops.flux import kustomization_name
from trainc.inputs.settings import Settings

_folders: Final = memo.keeping(lambda folders: {name: each for each, name in sorted(folders.items(), reverse=True)})
"""The first folder of jobs/ that is mapped to each namespace."""


def application(directory: Directory, settings: Settings) -> str:
    """Return the name of the Application, or of Flux's Kustomization, that a directory of out/ belongs to."""
    if settings.target == "flux":
        return kustomization_name(*directory)
    if settings.argocd.hydrator is not UNSET:  # one per folder of jobs/
        return f"{directory.environment}.{_folders(settings.namespaces).get(directory.namespace, directory.namespace)}"
    return ".".join(directory[:2] if settings.argocd.per_namespace else directory)


def placed(directory: Directory, settings: Settings) -> tuple[str, str]:
    """Return the namespace and name of the Application or Kustomization that a directory of out/ belongs to."""
    return settings.tool.namespace, application(directory, settings)


Home = tuple[tuple[str, str], tuple[str, str]]


def home_of(environment: str, settings: Settings) -> Home:
    """Return the AppProject of an environment, by namespace and name, and the cluster."""
    found = Tree(environment, settings)
    return (settings.argocd.namespace, found.project), found.cluster


def keeping(settings: Settings, *, last: bool) -> frozenset[str]:
    """Return the options of an object that stays in the cluster after its file is removed.

    ``last``: Argo CD deletes the application, too, and reads Delete; otherwise it prunes the object, and reads Prune
    (Argo CD 3.5 shouldBeDeleted in controller/appcontroller.go). With confirm, it waits until somebody confirms. Helm's
    annotation is Delete=false.
    """
    if settings.target == "flux":
        return frozenset((f"{FLUX_PREFIX}prune disabled",))
    option = f"{SYNC_OPTIONS} {'Delete' if last else 'Prune'}"
    of_helm = ("helm.sh/resource-policy keep",) if last else ()
    return frozenset((f"{option}=false", f"{option}=confirm", *of_helm))


def deciding_settings(
    old: Collection[Directory], new: Collection[Directory], now: Mapping[str, Settings], earlier: Mapping[str, Settings]
) -> dict[Directory, Settings]:
    """Return the settings that decide what happens to each directory."""
    found = {each: now.get(each.environment, Settings()) for each in new}
    remaining = {placed(directory, settings) for directory, settings in found.items()}
    written = {each.tool.deployment_folder for each in now.values()}
    for each in {*old} - {*new}:
        was = earlier.get(each.environment, Settings())
        if was.flux.write and was.flux.write not in written:  # the files stay there, and with them the Kustomizations
            was = replace(was, flux=replace(was.flux, write=""))
        remains = replace(now.get(each.environment, was), namespaces=was.namespaces)  # its name with a hydrator
        found[each] = remains if placed(each, was) in remaining else was
    return found


def replaced_settings(
    both: Collection[Directory],
    remaining: Collection[tuple[str, str]],
    now: Mapping[str, Settings],
    earlier: Mapping[str, Settings],
) -> dict[Directory, Settings]:
    """Return the earlier settings of the directories that have another application now, as with another argocd.per.

    The earlier one stays if its file does, in a folder to which nothing is written any more.
    """
    written = {"", *(each.tool.deployment_folder for each in now.values())}
    found = {each: earlier[each.environment] for each in both if each.environment in earlier}
    deleted = {each: was for each, was in found.items() if was.tool.deployment_folder in written}
    return {each: was for each, was in deleted.items() if placed(each, was) not in remaining}
