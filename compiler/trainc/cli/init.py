"""`trainc init`."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from trainc import __version__
from trainc.cli.command import CLEAN, Command, echo, echo_line, is_terminal
from trainc.cli.options import check_name, project_root
from trainc.cli.paths import in_git
from trainc.findings.display import counted
from trainc.kube.names import is_dns1123_label
from trainc.project.files import read_regular
from trainc.project.git import remote_and_branch
from trainc.project.links import top_of
from trainc.project.names import CONFIG, parents
from trainc.project.read import has_config
from trainc.project.scaffold import NewFile, Setup, init_files
from trainc.project.write import create

EPILOG = """\b
Examples:
  trainc init                       the working directory
  trainc init fleet --policies      a new folder, with policies to start from
  trainc init --dry-run             only show what would be written
  trainc init --print Makefile      print one file, to merge it with your own
"""

_REMOTE: Final = re.compile(r"(https?://|ssh://git@|git@)(?:[^/@]*@)?([\w.-]+)((?::\d+)?/|:)([\w.-]+)(/[\w./~+-]+)")
"""The URL of a remote: how to connect, without name and password, the host, and the path."""
OTHER_NAMES: Final = {
    "Makefile": ("GNUmakefile", "makefile"),
    "CODEOWNERS": (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS"),
}
"""Names under which a repository may have a file already."""
_RENDER: Final = re.compile(rb"^render\s*:(?!=)", re.M)
"""The target render in a Makefile."""
_BRANCH: Final = re.compile(r"[\w./-]+")
_OWNERS: Final = re.compile(r"[^\s@#]*@[\w@./-]+(?: +[^\s@#]*@[\w@./-]+)*")


@click.command("init", cls=Command, epilog=EPILOG)
@click.option(
    "--ci",
    type=click.Choice(("github", "gitlab", "none")),
    help="The CI system to write a workflow for.  [default: that of the remote origin, else github]",
)
@click.option(
    "--env", "environments", metavar="NAME", multiple=True, help="An environment. May be repeated.  [default: prod]"
)
@click.option("--policies", is_flag=True, help="Write admission policies to start from, with tests.")
@click.option("--owner", metavar="OWNER", help="Who approves changes, for CODEOWNERS, such as @my-org/platform.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--print", "printed", metavar="FILE", help="Print one of the files, and write nothing.")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
def command(
    *,
    ci: str | None,
    environments: tuple[str, ...],
    policies: bool,
    owner: str | None,
    yes: bool,
    dry_run: bool,
    printed: str | None,
    folder: Path,
) -> int:
    """Set up a repository of your own in DIR, which may exist and contain files.

    Writes trainc.yaml, the folders jobs/, runtimes/ and policies/, a Makefile, CI,
    and settings of git, pre-commit and code owners. The files are listed first, and
    on a terminal you are asked to confirm. A file that exists is never changed.
    """
    for environment in environments:
        check_name(is_dns1123_label(environment), environment, "'--env'")
    if owner and not _OWNERS.fullmatch(owner):  # code hosts skip such a line of CODEOWNERS
        wanted = "not owners such as @user, @organization/team or user@example.com, with blanks between them"
        raise click.BadParameter(f"{owner!r}: {wanted}", param_hint="'--owner'")
    root = Path(os.path.normpath(Path.cwd() / folder))
    existing = next(each for each in (root, *root.parents) if each.exists())
    _refuse(root, existing)
    environments = tuple(dict.fromkeys(environments)) or ("prod",)
    setup = _setup(root, existing, ci=ci, owner=owner, environments=environments, policies=policies)
    files = init_files(setup)
    if printed is not None:
        chosen = next((file for file in files if file.name == printed), None)
        if chosen is None:
            listed = ", ".join(file.name for file in files)
            raise click.BadParameter(f"{printed!r} is not one of the files: {listed}", param_hint="'--print'")
        echo(chosen.text.encode("utf-8"), nl=False)
        return CLEAN
    names = {file.name: (file.name, *OTHER_NAMES.get(file.name, ())) for file in files}
    kept = {name: there for name in names for there in names[name] if os.path.lexists(root / there)}
    new = [file for file in files if file.name not in kept]
    for name in (above for file in new for above in parents(file.name)):
        if os.path.lexists(root / name) and not (root / name).is_dir():
            raise click.UsageError(f"{folder / name} is a file, and a project needs a folder of this name")
    _show(folder, files, kept)
    if dry_run or not new:
        return CLEAN
    asks = not yes and is_terminal(sys.stdin, sys.stdout)
    if asks and not click.confirm(f"Create {counted(len(new), 'file')}?", default=True):
        return CLEAN
    written = [file for file in new if create(root, file.name, file.text)]
    echo_line(f"created {counted(len(written), 'file')}", err=True)
    if not setup.whole and setup.ci != "none":
        what = "CI, CODEOWNERS and pre-commit belong at the top of the git repository"
        echo_line(f"note: {what}: {top_of(existing)}", err=True)
    where = "" if root == Path.cwd() else f"cd {shlex.quote(os.fspath(folder))} && "
    echo_line(f"next: {where}trainc new job --runtime torch-distributed first && {setup.command}", err=True)
    return CLEAN


def _refuse(root: Path, existing: Path) -> None:
    """Raise UsageError for a folder that cannot become a project; ``existing`` is it, or its nearest parent."""
    if not existing.is_dir():
        raise click.UsageError(f"{existing} is a file")
    if in_git(root):
        raise click.UsageError(f"{root} is inside a .git folder")
    parent = root if has_config(root) else project_root(existing, None)
    if parent != root and has_config(parent):
        where = f"{root} is already inside the project of {parent / CONFIG}"
        raise click.UsageError(f"{where}; to add what is missing there: trainc init {os.path.relpath(parent)}")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise click.UsageError(f"{existing} is not writable")


def _setup(
    root: Path, existing: Path, *, ci: str | None, owner: str | None, environments: tuple[str, ...], policies: bool
) -> Setup:
    """Return what to set up: from the options, else from the git repository that the folder is in."""
    top = top_of(existing)
    remote, branch = remote_and_branch(existing) if top else ("", "")
    found = _REMOTE.fullmatch(remote)
    host, organization = found.group(2, 4) if found else ("", "example")
    return Setup(
        version=__version__,
        ci=ci or ("gitlab" if "gitlab" in host or (root / ".gitlab-ci.yml").exists() else "github"),
        branch=branch if _BRANCH.fullmatch(branch) else "main",
        repository="".join(found.groups()) if found else "",
        command=_render_command(root),
        owner=owner or f"@{organization}/platform-team",
        environments=environments,
        policies=policies,
        whole=top is None or top == root,
    )


def _render_command(root: Path) -> str:
    """Return the command that renders: make render, unless the folder has a Makefile without that target."""
    # in the order in which make looks for them
    found = next((root / name for name in (*OTHER_NAMES["Makefile"], "Makefile") if (root / name).exists()), None)
    return "make render" if found is None or _RENDER.search(read_regular(found) or b"") else "trainc render"


def _show(folder: Path, files: Iterable[NewFile], kept: dict[str, str]) -> None:
    """Show what is created, and what exists and is kept."""
    rows = [(kept.get(file.name, file.name), file) for file in files]
    size = max(len(str(folder / name)) for name, _ in rows)
    for name, file in rows:
        verb, why = ("keep", "exists") if file.name in kept else ("create", file.purpose)
        echo_line(f"{verb:<6}  {folder / name!s:<{size}}  {why}")
    if kept:
        echo_line("'trainc init --print FILE' prints what trainc would write to a file that exists")
