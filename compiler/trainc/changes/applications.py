"""Which Application or Kustomization syncs each directory of out/, before and after a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from trainc.basics import memo
from trainc.changes.model import Directory
from trainc.gitops.base import FLUX_PREFIX, SYNC_OPTIONS
from trainc.gitops.flux import kustomization_name
from trainc.inputs.settings import Settings, deployment_folders

_folders: Final = memo.keeping(lambda folders: {name: each for each, name in sorted(folders.items(), reverse=True)})
"""The first folder of jobs/ that is mapped to each namespace."""


def application(directory: Directory, settings: Settings) -> str:
    """Return the name of the Application, or of Flux's Kustomization, that a directory of out/ belongs to."""
    if settings.target == "flux":
        return kustomization_name(*directory)
    if settings.argocd.hydrator is not UNSET:  # one per folder of jobs/
        return f"{directory.environment}.{_folders(settings.namespaces).get(directory.namespace, directory.namespace)}"
    return ".".join(directory[:2] if settings.argocd.per_namespace else directory)


ApplicationKey = tuple[str, str, str]


def application_key(directory: Directory, settings: Settings) -> ApplicationKey:
    """Return tool, namespace and name of the Application or Kustomization that a directory of out/ belongs to."""
    return settings.target, settings.tool.namespace, application(directory, settings)


class Applications(Struct, frozen=True):
    """The applications, or Kustomizations, of all directories of out/, those that the change removes included.

    ``settings_of`` are the settings that decide what happens to each directory. ``replaced`` are the earlier ones of
    directories that have another application now, as with another argocd.per. ``remaining`` are the applications after
    the change. ``now`` are the settings of the environments that remain.
    """

    settings_of: Mapping[Directory, Settings]
    replaced: Mapping[Directory, Settings]
    remaining: Collection[ApplicationKey]
    now: Mapping[str, Settings]

    @classmethod
    def of(
        cls,
        old: Collection[Directory],
        new: Collection[Directory],
        now: Mapping[str, Settings],
        earlier: Mapping[str, Settings],
    ) -> Applications:
        """Return the applications of directories before and after, with the settings of environments then."""
        settings_of = {each: now.get(each.environment, Settings()) for each in new}
        remaining = {application_key(directory, settings) for directory, settings in settings_of.items()}
        written = {"", *deployment_folders(now.values())}
        for each in {*old} - {*new}:
            was = earlier.get(each.environment, Settings())
            if was.flux.write and was.flux.write not in written:  # the files stay there, and so do the Kustomizations
                was = replace(was, flux=replace(was.flux, write=""))
            remains = replace(now.get(each.environment, was), namespaces=was.namespaces)  # its name with a hydrator
            settings_of[each] = remains if application_key(each, was) in remaining else was
        both = {each: earlier[each.environment] for each in {*old} & {*new} if each.environment in earlier}
        # In a folder to which nothing is written any more, the file stays, and with it the earlier application.
        deleted = {each: was for each, was in both.items() if was.tool.deployment_folder in written}
        replaced = {each: was for each, was in deleted.items() if application_key(each, was) not in remaining}
        return cls(settings_of, replaced, remaining, now)

    def name(self, directory: Directory) -> str:
        """Return the name of the application of a directory."""
        return application(directory, self.settings_of[directory])

    def removes(self, directory: Directory) -> bool:
        """Return whether the change removes the application of a directory: no other one is left in it."""
        key = application_key(directory, self.settings_of[directory])
        return directory in self.replaced or key not in self.remaining

    def settings_of_removed(self, directory: Directory) -> Settings:
        """Return the settings that decide what happens to the objects of a directory that are removed."""
        return self.replaced.get(directory, self.settings_of[directory])

    def keep_options(self, directory: Directory) -> frozenset[str]:
        """Return the options of an object that stays in the cluster after its file is removed.

        When it deletes the application, too, Argo CD reads Delete; otherwise it prunes the object, and reads Prune
        (Argo CD 3.5 shouldBeDeleted in controller/appcontroller.go). With confirm, it waits until somebody confirms.
        Helm's annotation is Delete=false.
        """
        if self.settings_of_removed(directory).target == "flux":
            return frozenset((f"{FLUX_PREFIX}prune disabled",))
        last = self.removes(directory)
        option = f"{SYNC_OPTIONS} {'Delete' if last else 'Prune'}"
        of_helm = ("helm.sh/resource-policy keep",) if last else ()
        return frozenset((f"{option}=false", f"{option}=confirm", *of_helm))
