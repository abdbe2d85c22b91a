"""What trainc.yaml says of Argo CD's and Flux's objects and no schema can judge: folders, and a repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.findings.severities import Problem as Fault
from trainc.settings import options_of
from trainc.source import Json, JsonObject, Path, as_object

TAKEN = ("out", "jobs", "runtimes", "policies")
"""Folders that have a meaning: a folder for Argo CD's or Flux's objects is in none of them."""

TOOLS = ("argocd", "flux")


def faults(data: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with ``argocd`` and ``flux`` of all environments, each place once."""
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
    if "\\" in folder or not folder.isprintable() or not all(step not in ("", ".", "..", ".git") for step in steps):
        return "not a plain path from the folder of trainc.yaml"
    return f"{steps[0]}/ has a meaning of its own" if steps[0].casefold() in TAKEN else None


def _options(data: JsonObject, name: str, tool: str) -> JsonObject:
    return as_object(options_of(data, name).get(tool))


def _place(data: JsonObject, name: str, tool: str) -> Path:
    """Return where the options of a tool stand for an environment, or where they would."""
    own: Json = as_object(data.get("environments")).get(name)
    if tool not in as_object(own) and tool in as_object(data.get("defaults")):
        return ("defaults", tool)
    return ("environments", name, tool) if tool in as_object(own) else ("environments", name)
