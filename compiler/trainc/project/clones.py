"""Finds files with which Argo CD or Flux reads nothing of a repository, or reads it otherwise than trainc says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from trainc.basics.jsonvalues import JsonObject
from trainc.findings import Finding
from trainc.gitops.flux import READS_NOTHING, is_used, refuses
from trainc.project.files import Kind, about, not_followed, unnamable
from trainc.project.git import RevisionError, entries_in_index, is_revision, odd_folders, prefix_of, top_for
from trainc.project.links import has_link
from trainc.project.missing import submodules
from trainc.project.names import (
    CONFIG,
    DEEPEST,
    INPUTS,
    JOBS,
    OUT,
    TOO_DEEP,
    all_parents,
    is_output,
    is_placed,
    is_read,
    is_text,
)

_SUBMODULE = "submodule that .gitmodules does not name: Argo CD may read nothing of the repository"
_UNFIT = f"a name that Flux refuses: {READS_NOTHING}"
_MOST = 64 << 20
"""For an ApplicationSet, Argo CD sends the paths of all folders in one message of at most 100 MiB (GetGitDirectories in
reposerver/repository).
"""
_MOST_OTHERS = 100_000
"""Argo CD's checkout may take 90 seconds: 950,000 files in ten folders took twice as long. Git may store them as a few
objects.
"""
_MOST_FOR_FLUX = 10_000
"""For each file in ten folders, Flux's checkout takes two milliseconds, half of them in the kernel."""
_TOO_MANY = f"the paths of this and all other folders have more than {_MOST:,} bytes: Argo CD may read none of them"
_OTHERS = "one of more than {:,} files that are copies or that trainc does not read: Argo CD and Flux may take too long"
_IGNORES = "Flux reads the patterns of this file, and a few million of them stop it for all repositories"
_ODD = "not stored as git writes a folder: Argo CD and Flux may read something else there, or nothing"
_REWRITE = "let git write it again: commit a change of a file in it, or beside it if it is empty"
_OVERRIDE = "with this file, Argo CD may read the folder by something else than its plugin, trainc cmp"


def source_overrides(root: Path) -> Iterator[Finding]:
    """Yield a finding for each file that Argo CD merges into the source of an Application of ``trainc cmp``.

    That replaces the plugin or its parameters (reposerver/repository, mergeSourceParameters). The path of such an
    Application is a folder of jobs/, or the project. Links there are findings of their own, and are not followed.
    """
    below = () if has_link(root, JOBS) else sorted((root / JOBS).glob("*"))
    folders = (root, *(folder for folder in below if not folder.is_symlink()))
    for path in (path for folder in folders for path in sorted(folder.glob(".argocd-source*.yaml"))):
        name = path.relative_to(root).as_posix()
        yield _about(name, _OVERRIDE, "remove it: set the Application's source in its own spec")


def unreadable_clones(root: Path, config: JsonObject) -> Iterator[Finding]:
    """Yield findings on the entries of git's index with which Argo CD or Flux reads nothing of the repository.

    So does Argo CD with a link out of the repository (util/app/path, CheckOutOfBoundsSymlinks) or, for plugins, in a
    circle (util/io/files, Untgz), and Flux with several others; trainc follows none. With a submodule that an existing
    .gitmodules does not name, git updates no submodule (util/git, Submodule). Without a .gitmodules, it is an empty
    folder of a checkout, whose path Argo CD sends with those of all others. A few KB may be hundreds of thousands.
    """
    prefix, for_flux = prefix_of(root), is_used(config)
    named = submodules(os.fspath(top_for(root))) or ()
    try:
        entries = list(entries_in_index(root, *INPUTS, OUT))
    except RevisionError:  # the repository of another user, or no program git
        return
    index, contents, others = set[str](), set[str](), list[str]()
    for _, kind, name, content in entries:
        if not is_placed(name) and (content in contents or not is_read(name)):
            others.append(name)
        index.add(name)
        contents.add(content)
        if kind is Kind.LINK and not is_output(name):  # those are TC903
            yield not_followed(name) if is_text(name) else unnamable(name)
        if kind is Kind.OTHER and prefix + name not in named:
            yield _about(name, _SUBMODULE, "remove it from git, or name it there")
        if for_flux and refuses(name):
            yield _about(name, _UNFIT, "choose another name, or remove it from git")
        if for_flux and name.endswith("/.sourceignore") and not is_output(name):  # that is TC903
            yield _about(name, _IGNORES, "move its lines to .sourceignore at the top of the repository")
        if name.count("/") > DEEPEST:
            yield _about(name, TOO_DEEP, "move it, or remove it from git")
    if len(others) > (most := _MOST_FOR_FLUX if for_flux else _MOST_OTHERS):
        yield _about(sorted(others)[most], _OTHERS.format(most), "move them to another repository")
    folders = all_parents(index)
    if sum(len(os.fsencode(prefix + folder)) for folder in folders) > _MOST:
        yield _about(max(sorted(folders), key=len), _TOO_MANY, "choose shorter names, or remove folders from git")


def oddly_stored_folders(root: Path) -> Iterator[Finding]:
    """Yield findings on the folders of HEAD, anywhere in the repository, that are not stored as git writes them."""
    prefix = prefix_of(root)
    try:
        for folder in odd_folders(root) if is_revision(root, "HEAD") else ():
            yield _about(os.path.relpath(folder or ".", prefix or "."), _ODD, _REWRITE)
    except RevisionError as error:  # such as at the limit of processor time, which counts for git, too
        yield about(CONFIG, f"git cannot read the folders of HEAD: {error.message}", hint=error.hint or None)


def _about(name: str, message: str, hint: str) -> Finding:
    return about(name, message, hint=hint) if is_text(name) else unnamable(name)
