"""What trainc.yaml says of Argo CD's and Flux's objects and no schema can judge: folders, and a repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.diagnostics.display import is_printable
from trainc.findings.severities import Problem as Fault
from trainc.foreign import KEY
from trainc.settings import options_of
from trainc.source import Json, JsonObject, Path, as_list, as_object

TAKEN = ("out", "jobs", "runtimes", "policies")
"""Folders that have a meaning: a folder for Argo CD's or Flux's objects is in none of them."""

HIDDEN = (".git", "git~1", ".github")
"""Folders that git and GitHub read: what is written there could run."""

TOOLS = ("argocd", "flux")


def faults(data: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with ``argocd`` and ``flux`` of all environments, each place once, and with ``unmanaged``."""
    for index, path in enumerate(as_list(data.get(KEY))):
        if isinstance(path, str) and path.startswith("out/") and not _is_plain(path.rstrip("/")):
            yield Fault((KEY, index), "not a plain path from the folder of trainc.yaml", path, "out/prod/README.md")
    names = as_object(data.get("environments"))
    found = {fault.path: fault for name in names for fault in (*_writes(data, name), *_written(data, name))}
    yield from found.values()


def without_repository(data: JsonObject, environments: Iterable[str]) -> Iterator[Fault]:
    """Yield a fault for each of some environments that has no argocd.repoURL, at the place to write it."""
    for name in environments:
        if not isinstance(_options(data, name, "argocd").get("repoURL"), str):
            message = f"environment {name} has no argocd.repoURL, which Argo CD's objects need"
            expected = "the URL by which Argo CD clones this repository"
            yield Fault(_place(data, name, "argocd"), message, expected=expected)


def _written(data: JsonObject, name: str) -> Iterator[Fault]:
    if _options(data, name, "argocd").get("write") is not None:
        yield from without_repository(data, (name,))


def _writes(data: JsonObject, name: str) -> Iterator[Fault]:
    for tool in TOOLS:
        folder = _options(data, name, tool).get("write")
        if isinstance(folder, str) and (reason := _unfit(folder)) is not None:
            expected = "a folder of this repository, such as deploy/argocd"
            yield Fault((*_place(data, name, tool), "write"), reason, found=folder, expected=expected)


def _unfit(folder: str) -> str | None:
    """Say why a folder cannot be written to, or None."""
    steps = folder.split("/")
    if not _is_plain(folder):
        return "not a plain path from the folder of trainc.yaml"
    hidden = next((step for step in steps if _as_windows(step) in HIDDEN), None)
    if hidden is not None:
        return f"{hidden}/ belongs to git or GitHub"
    return f"{steps[0]}/ has a meaning of its own" if _as_windows(steps[0]) in TAKEN else None


def _is_plain(path: str) -> bool:
    steps = path.split("/")
    return "\\" not in path and is_printable(path) and all(step not in ("", ".", "..") for step in steps)


def _as_windows(step: str) -> str:
    """Return a step of a path as file systems read it that tell no cases apart and drop dots and spaces at the end."""
    return step.casefold().rstrip(". ")


def _options(data: JsonObject, name: str, tool: str) -> JsonObject:
    return as_object(options_of(data, name).get(tool))


def _place(data: JsonObject, name: str, tool: str) -> Path:
    """Return where the options of a tool stand for an environment, or where they would."""
    own: Json = as_object(data.get("environments")).get(name)
    if tool not in as_object(own) and tool in as_object(data.get("defaults")):
        return ("defaults", tool)
    return ("environments", name, tool) if tool in as_object(own) else ("environments", name)
