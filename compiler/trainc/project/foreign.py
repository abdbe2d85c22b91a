"""What lies below out/ and trainc did not write. What Argo CD or Flux would read of it is an error.

Argo CD 3.5 reads files that end in .yaml, .yml, .json and .jsonnet, takes a directory with Chart.yaml or a
kustomization for one of Helm or kustomize, and lets .argocd-source*.yaml override an Application
(reposerver/repository, util/app/discovery). Flux reads .yaml and .yml, a kustomization and .sourceignore. Names count
whatever their case: some file systems do not tell cases apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final

from trainc.basics.jsonvalues import Json, as_list, as_object
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import HEADER

OWNED: Final = f"# {HEADER}".encode()
"""How the first line of every file that trainc owns begins."""

KEY: Final = "unmanaged"
"""The key of trainc.yaml that lists paths below out/ that are left to others."""

FOREIGN: Final = "TC903"
_TOP: Final = "out"
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonnet", ".libsonnet")
_STARTS: Final = ("kustomization", ".argocd-source", ".sourceignore")
_STEPS: Final = 5
"""out, environment, namespace, job, file."""


class Kind(Enum):
    """What has a name below out/; no link is followed."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    OTHER = "a special file"


def is_own(head: bytes) -> bool:
    """Tell whether a file is trainc's by its first bytes, also one that a power cut left empty or cut off."""
    return head.startswith(OWNED) or OWNED.startswith(head) or not head[: len(OWNED)].strip(b"\0")


def is_placed(name: str) -> bool:
    """Tell whether trainc could write a file of this name: ``out/<environment>/<namespace>/<job>/<file>.yaml``."""
    steps = name.split("/")
    placed = len(steps) == _STEPS and all(steps) and steps[0] == _TOP
    return placed and name.endswith(".yaml") and not steps[-1].startswith(".")


def unmanaged(config: Json) -> tuple[str, ...]:
    """Return the paths that trainc.yaml, parsed, leaves to others."""
    return tuple(path.rstrip("/") for path in as_list(as_object(config).get(KEY)) if isinstance(path, str))


def foreign(there: Mapping[str, Kind], own: Collection[str], exceptions: Collection[str] = ()) -> Iterator[Finding]:
    """Yield a finding for all that is below out/ and not ``own``; what ``exceptions`` name or hold is left out."""
    folders = {folder for name in own for folder in _parents(name)}
    for name, kind in sorted(there.items()):
        if name.partition("/")[0] != _TOP or name in own:
            continue
        if not set(exceptions).isdisjoint((*_parents(name), name)):
            continue
        read = _is_read(name)
        if kind is Kind.LINK:
            yield _finding(name, "a symbolic link, and trainc makes none")
        elif kind is Kind.FOLDER:
            if read and name not in folders:
                yield _finding(name, "a folder with a name that Argo CD or Flux looks for, and nothing of trainc in it")
        elif kind is Kind.OTHER:
            yield _finding(name, "a special file or a git submodule, and trainc makes none")
        elif not read:
            yield _finding(name, "not written by trainc; neither Argo CD nor Flux reads it", Severity.NOTE)
        else:
            yield _finding(name, "not written by trainc, and Argo CD or Flux reads it")


def _is_read(name: str) -> bool:
    last = name.rpartition("/")[2].casefold()
    return last.endswith(_SUFFIXES) or last.startswith(_STARTS)


def _finding(name: str, message: str, severity: Severity | None = None) -> Finding:
    return report(FOREIGN, Document(Source(name, b""), {}), (), message, severity=severity)


def _parents(name: str) -> list[str]:
    steps = name.split("/")
    return ["/".join(steps[:end]) for end in range(1, len(steps))]
