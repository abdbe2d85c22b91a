"""What `argocd`, `flux` and `render` do alike: the objects by which out/ is synced, from the builds of environments."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.compiling import Outcome
from trainc.cli.echo import echo
from trainc.documents.emit import emit_inert
from trainc.gitops.argocd import Tree
from trainc.gitops.flux import kustomization
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings
from trainc.pipeline.layout import argocd_files, flux_files
from trainc.project.config import Config
from trainc.project.write import OUT


def settings(config: Config, environment: str) -> Settings:
    """Return what trainc.yaml says for an environment."""
    return Options(environment=environment, config=config.data).settings


def trees(config: Config, outcome: Outcome) -> tuple[Tree, ...]:
    """Return what Argo CD's objects say of each environment that Argo CD syncs."""
    found = (Tree.of(name, settings(config, name), made) for name, made in outcome.made.items())
    return tuple(tree for tree in found if tree.settings.target == "argocd")


def kustomizations(config: Config, outcome: Outcome) -> tuple[tuple[str | None, JsonObject], ...]:
    """Return the Kustomization of every job that Flux applies, each with the folder to write it to, if there is one."""
    found: list[tuple[str | None, JsonObject]] = []
    for name in outcome.jobs:
        options = settings(config, name)
        folders = sorted({path.rpartition("/")[0] for path in outcome.files if path.startswith(f"{OUT}/{name}/")})
        if options.target == "flux":
            found += ((options.flux.write or None, kustomization(folder, options)) for folder in folders)
    return tuple(found)


def deployment_files(config: Config, outcome: Outcome) -> dict[str, bytes]:
    """Return path to bytes of what trainc.yaml says to write beside out/."""
    return {**argocd_files(trees(config, outcome)), **flux_files(kustomizations(config, outcome))}


def deployment_folders(config: Config, environments: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that trainc.yaml says to write beside out/, sorted."""
    found = (settings(config, name) for name in environments)
    folders = {folder for each in found for folder in (each.argocd.write, each.flux.write) if folder}
    return tuple(sorted(folders))


def print_objects(made: Iterable[JsonObject]) -> None:
    """Print objects as a YAML stream."""
    echo("---\n".join(emit_inert(data) for data in made).encode("utf-8"), nl=False)
