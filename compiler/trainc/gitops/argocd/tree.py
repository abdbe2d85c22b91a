"""What Argo CD's objects have to know of one environment: its options, and what render makes of its jobs."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from trainc.gitops.summary import Summary
from trainc.settings import Settings
from trainc.source import JsonObject

IN_CLUSTER = "https://kubernetes.default.svc"
"""The address by which Argo CD knows the cluster that it runs in."""

API_VERSION = "argoproj.io/v1alpha1"

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
        namespaces = {made.namespace for made in objects}
        kinds = {made.identity[:2] for made in objects}
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
