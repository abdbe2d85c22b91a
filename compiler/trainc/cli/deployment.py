"""What `argocd` and `render` do alike: the objects by which out/ is synced, from the builds of environments."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.applications import files
from trainc.cli.work import Outcome
from trainc.config import Config
from trainc.gitops.argocd import Tree
from trainc.options import Options
from trainc.settings import Settings


def settings(config: Config, environment: str) -> Settings:
    """Return what trainc.yaml says for an environment."""
    return Options(environment=environment, config=config.data).settings


def trees(config: Config, outcome: Outcome) -> tuple[Tree, ...]:
    """Return what Argo CD's objects say of each environment that Argo CD syncs."""
    found = (
        Tree.of(name, settings(config, name), (made.data for job in jobs for made in job.objects))
        for name, jobs in outcome.jobs.items()
    )
    return tuple(tree for tree in found if tree.settings.target == "argocd")


def deployment_files(config: Config, outcome: Outcome) -> dict[str, bytes]:
    """Return path to bytes of what trainc.yaml says to write beside out/."""
    return files(trees(config, outcome))


def deployment_folders(config: Config, environments: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that trainc.yaml says to write beside out/, sorted."""
    found = (settings(config, name) for name in environments)
    return tuple(sorted({each.argocd.write for each in found if each.argocd.write is not None}))
