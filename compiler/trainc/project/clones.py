"""Finds files with which Argo CD or Flux reads nothing of a repository, or reads it otherwise than trainc says."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from trainc.basics.jsonvalues import JsonObject
from trainc.findings import Finding
from trainc.gitops.flux import READS_NOTHING, is_used, refuses
from trainc.project.files import Kind, about, not_followed, unnamable
from trainc.project.git import RevisionError, entries_in_index, prefix_of, reader, top_for
from trainc.project.missing import MODULES, submodules
from trainc.project.names import INPUTS, OUT, is_text

_NOWHERE = "symbolic link in a circle or through a file: with it, Argo CD and Flux may read nothing of the repository"
_NUL = "symbolic link with a NUL character in its text: Flux reads nothing of the repository"
_SUBMODULE = "submodule that .gitmodules does not name: Argo CD reads nothing of the repository"
_UNFIT = f"a name that Flux refuses: {READS_NOTHING}"
_LONGEST = 3500
"""Linux takes paths of 4,095 bytes, counted from the root of its file system, and the folders of clones are long."""
_TOO_LONG = f"a path of more than {_LONGEST:,} bytes: Argo CD and Flux may read nothing of the repository"
_OVERRIDE = "with this file, Argo CD may read the folder by something else than its plugin, trainc cmp"


def source_overrides(root: Path) -> Iterator[Finding]:
    """Yield a finding for each file that Argo CD merges into the source of an Application of ``trainc cmp``.

    That replaces the plugin or its parameters (reposerver/repository, mergeSourceParameters). The path of such an
    Application is a folder of jobs/, or the project.
    """
    for place in ("", "jobs/*/"):
        for path in sorted(root.glob(f"{place}.argocd-source*.yaml")):
            name = path.relative_to(root).as_posix()
            yield _about(name, _OVERRIDE, "remove it: set the Application's source in its own spec")


def unreadable_clones(root: Path, config: JsonObject) -> Iterator[Finding]:
    """Yield findings on the entries of git's index with which Argo CD or Flux reads nothing of the repository.

    With an absolute link, or one out of the repository, Argo CD reads nothing (util/app/path,
    CheckOutOfBoundsSymlinks). With one that leads in a circle or through a file, it unpacks the repository for no
    plugin (util/io/files, Untgz), and if that is called .sourceignore, Flux reads nothing (fluxcd/pkg/sourceignore,
    ReadIgnoreFile); one without a target does no harm. git ends the text of a link at a NUL; with one, go-git fails, as
    with a link whose name is .gitmodules for strings.EqualFold of Go (worktree_fs.go). With a submodule that an
    existing .gitmodules does not name, git updates no submodule (util/git, Submodule). git itself checks out longer
    paths than both can read.
    """
    prefix, for_flux = prefix_of(root), is_used(config)
    top = os.fspath(top_for(root))
    named = submodules(top) or () if os.path.isfile(os.path.join(top, MODULES)) else None
    entries = list(_entries(root))
    for name in _links_with_nul(root, [(name, content) for kind, name, content in entries if kind is Kind.LINK]):
        yield _about(name, _NUL, "remove it from git")
    for kind, name, _ in entries:
        if kind is Kind.LINK and _leads_out(root, prefix, name):
            yield not_followed(name) if is_text(name) else unnamable(name)
        if kind is Kind.LINK and _leads_nowhere(root, name):
            yield _about(name, _NOWHERE, "remove it from git")
        if kind is Kind.OTHER and named is not None and prefix + name not in named:
            yield _about(name, _SUBMODULE, "remove it from git, or name it there")
        if len(os.fsencode(prefix + name)) > _LONGEST:
            yield _about(name, _TOO_LONG, "choose shorter names, or remove it from git")
        is_modules = kind is Kind.LINK and posixpath.basename(name).casefold() == MODULES  # the long s is an s
        if for_flux and (is_modules or refuses(name)):
            yield _about(name, _UNFIT, "choose another name, or remove it from git")


def _entries(root: Path) -> Iterator[tuple[Kind, str, str]]:
    with suppress(RevisionError):
        yield from (entry[1:] for entry in entries_in_index(root, *INPUTS, OUT))


def _links_with_nul(root: Path, links: list[tuple[str, str]]) -> list[str]:
    texts = {content: name for name, content in links}
    if texts:
        with suppress(RevisionError), reader(root) as read:
            found = read([(name, content) for content, name in texts.items()])
            wrong = {content for content, text in zip(texts, found, strict=True) if b"\0" in text}
            return [name for name, content in links if content in wrong]
    return []


def _about(name: str, message: str, hint: str) -> Finding:
    return about(name, message, hint=hint) if is_text(name) else unnamable(name)


def _leads_out(root: Path, prefix: str, name: str) -> bool:
    with suppress(OSError):  # it may be deleted, or git writes links as files
        target = posixpath.join(posixpath.dirname(prefix + name), os.readlink(root / name))
        return f"{posixpath.normpath(target)}/".startswith(("/", "../"))
    return False


def _leads_nowhere(root: Path, name: str) -> bool:
    try:
        os.stat(root / name)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
