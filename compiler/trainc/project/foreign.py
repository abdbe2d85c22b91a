"""Reports files below out/ that trainc did not write.

A file below out/ that Argo CD or Flux would read and trainc did not write is an error. Argo CD 3.5 reads files that end
in .yaml, .yml, .json and .jsonnet, treats a directory with Chart.yaml or a kustomization as one of Helm or kustomize,
and lets .argocd-source*.yaml override an Application (reposerver/repository, util/app/discovery). Its ApplicationSet
creates an Application for each folder of a job or a namespace, whatever is in it, and an Application without objects
does not delete those that it had. Flux reads .yaml and .yml, a kustomization and .sourceignore. Git reads
.gitattributes, with which a checkout may differ from what Flux reads. Case is ignored, as some file systems do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object
from trainc.findings import Finding, Severity
from trainc.findings.display import counted
from trainc.inputs.settings import Settings, read_settings
from trainc.project.config import UNMANAGED
from trainc.project.files import Kind, about
from trainc.project.links import real_path, top_of, up_to_top
from trainc.project.names import OUT, all_parents, is_output, is_placed, parents
from trainc.project.write import Plan, is_temporary, ours_among

FOREIGN: Final = "TC903"
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonnet", ".libsonnet")
_STARTS: Final = ("kustomization", ".argocd-source", ".sourceignore")
_APPLIED: Final = ".yaml"
"""The end of the names of files that the Applications of trainc include."""
_ATTRIBUTES: Final = ".gitattributes"


def foreign_files(root: Path, there: Mapping[str, Kind], todo: Plan | None, config: JsonObject) -> tuple[Finding, ...]:
    """Return a finding (TC903) for each entry of out/ that trainc did not write and that is not in the plan.

    ``there`` is the result of ``look``; ``config`` is the parsed trainc.yaml.
    """
    own: set[str] = set()
    if todo is not None:
        gone = todo.removed
        there = {name: kind for name, kind in there.items() if name not in gone}
        own.update(todo.written, (finding.file for finding in todo.blocked))
    rest = (name for name, kind in there.items() if kind is Kind.FILE and is_output(name))
    unread = {} if todo is None else dict(todo.unread)
    others = [name for name in rest if name not in own and name not in unread]
    ours, more = ours_among(os.fspath(root), filter(is_placed, others))
    own.update(ours, filter(is_temporary, others))
    changed = _with_other_content(root, own)
    return (*changed, *foreign(there, own, unmanaged(config), {**unread, **more}, kept_applications(config, root)))


def _with_other_content(root: Path, own: Collection[str]) -> Iterator[Finding]:
    """Yield a finding if Flux, which knows no attributes of git, may read other content of trainc's files.

    Git would wait for a pipe in place of attributes. A link in out/ may lead to a file system that does not answer.
    """
    from trainc.project.git import with_other_content

    home, top = Path(real_path(root)), top_of(root)
    if not own or top is None:
        return
    for folder in (*map(os.fspath, up_to_top(home, top)), *(f"{home}/{name}" for name in sorted(all_parents(own)))):
        path = f"{folder}/{_ATTRIBUTES}"
        if os.path.islink(path) or (os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))):
            yield about(os.path.relpath(path, home), "not a regular file, and git would read it")
            return
    if found := with_other_content(root, sorted(own)):
        more = f", as {counted(len(found) - 1, 'more file')}" if len(found) > 1 else ""
        message = f"by an attribute of git, its checkout may have other content than is committed{more}"
        yield _finding(
            found[0], message, hint="remove working-tree-encoding and ident of such files from .gitattributes"
        )


def kept_applications(config: JsonObject, root: Path | None = None) -> Callable[[str], str]:
    """Return a function for the folder of out/ for which a file that no tool reads keeps an Application, or nothing.

    Where git has files of out/, those that it does not have, such as .DS_Store, keep none. Without ``root``, the files
    are those of a revision.
    """

    @cache
    def index() -> Collection[str]:
        from trainc.project.git import index_of

        return index_of(root, OUT) or () if root is not None else ()

    @cache
    def settings(environment: str) -> Settings:
        return read_settings(config, environment)

    def folder_of(name: str) -> str:
        folder = application_folder(name, settings(name.partition("/")[2].partition("/")[0]))
        return folder if folder and (not index() or name in index()) else ""

    return folder_of


def unmanaged(config: Json) -> tuple[str, ...]:
    """Return the paths of ``unmanaged`` in a parsed trainc.yaml.

    One whose last part has a dot is that of a file, unless it ends with a slash; others may be of files or folders.
    """
    found = [(path, path.rstrip("/")) for path in as_list(as_object(config).get(UNMANAGED)) if isinstance(path, str)]
    return tuple(f"{bare}/" if bare != path and _is_file(bare) else bare for path, bare in found)


def _is_file(path: str) -> bool:
    return "." in path.rpartition("/")[2]


def application_folder(name: str, settings: Settings) -> str:
    """Return the folder above a file of out/ that Argo CD has an Application for; empty if there is none."""
    if settings.target != "argocd" or settings.argocd.hydrator is not UNSET:
        return ""  # the hydrator syncs another branch
    above = parents(name, 4)
    level = 2 if settings.argocd.per_namespace else 3
    return above[level] if level < len(above) and above[0] == OUT else ""


def folder_of_job(name: str) -> str:
    """Return ``application_folder`` with default settings."""
    return application_folder(name, Settings())


def foreign(
    there: Mapping[str, Kind],
    own: Collection[str],
    exceptions: Collection[str] = (),
    unread: Mapping[str, str] = MappingProxyType({}),
    folder_of: Callable[[str], str] = folder_of_job,
) -> Iterator[Finding]:
    """Yield a finding for each entry below out/ that is not in ``own``, nor in or below ``exceptions``.

    ``unread`` has the reason for each file that cannot be read, by name. ``folder_of`` returns the folder for which a
    file keeps an Application, or nothing.
    """
    folders = {"", *all_parents(own)}
    files = frozenset(path for path in exceptions if not path.endswith("/"))
    trees = frozenset(path.rstrip("/") for path in exceptions if path.endswith("/") or not _is_file(path))
    inside = _inside(trees, there) if trees else set()
    excepted: list[str] = []
    for name, kind in sorted(there.items()):
        if not is_output(name) or name in own:
            continue
        if kind is Kind.LINK:
            yield _finding(name, "a symbolic link, which trainc never creates", hint="remove it")
            continue
        if name in files or name in trees or name.rpartition("/")[0] in inside:
            excepted.append(name)
            continue
        last = name.rpartition("/")[2].casefold()
        read = last.endswith(_SUFFIXES) or last.startswith(_STARTS)
        if kind is Kind.FOLDER:
            if read and name not in folders:
                yield _finding(name, "a folder with a name that Argo CD or Flux looks for, without files of trainc")
        elif kind is Kind.OTHER:
            yield _finding(name, "a special file or a git submodule, which trainc never creates")
        elif read and name in unread:
            yield _finding(name, f"cannot be read: {unread[name]}")
        elif last == _ATTRIBUTES:
            yield _finding(name, "not written by trainc, and with it git may check out other content than is committed")
        elif not read and folder_of(name) not in folders:
            message = "not written by trainc, in a folder without files of trainc, for which Argo CD has an Application"
            yield _finding(name, message)
        elif not read:
            yield _finding(name, "not written by trainc; neither Argo CD nor Flux reads it", Severity.NOTE)
        else:
            yield _finding(name, "not written by trainc, and Argo CD or Flux reads it")
    alone = (name for name in excepted if there[name] is Kind.FILE and folder_of(name) not in folders)
    yield from _without_objects(tuple(alone), there, folder_of)


def _inside(trees: Collection[str], names: Iterable[str]) -> set[str]:
    """Return the folders above the names that are one of ``trees``, or in one."""
    found: set[str] = set()
    for folder in sorted(all_parents(names)):  # those above it come first
        if folder in trees or folder.rpartition("/")[0] in found:
            found.add(folder)
    return found


def _without_objects(
    names: Collection[str], there: Iterable[str], folder_of: Callable[[str], str]
) -> Iterator[Finding]:
    """Yield a warning for each file that keeps an Application for a folder in which it finds no object."""
    applied = {folder_of(name) for name in there if name.endswith(_APPLIED)} if names else set()
    for name in names:
        if folder_of(name) not in applied:
            message = "keeps the Application of its folder, which has no objects: Argo CD does not delete earlier ones"
            yield _finding(name, message, Severity.WARNING, "remove it, or move it out of out/")


def _finding(name: str, message: str, severity: Severity | None = None, hint: str | None = None) -> Finding:
    return about(name, message, code=FOREIGN, severity=severity, hint=hint)
