"""Runs git, without network access.

Git runs at the top of the repository. Below it, a pull request could add files that look like a bare repository (HEAD,
objects/, refs/, config), and git, run there, would take revisions and configuration from these.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import current_thread, main_thread
from typing import Final

from trainc.findings.display import is_printable
from trainc.project.files import Kind
from trainc.project.links import real_path, top_of

KINDS: Final = {"100644": Kind.FILE, "100755": Kind.FILE, "120000": Kind.LINK, "040000": Kind.FOLDER}
"""The kinds of entries by their mode; others are submodules."""

_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "GIT_LITERAL_PATHSPECS": "1",  # a folder may be called :x or [x]
    "GIT_NO_LAZY_FETCH": "1",  # of a partial clone: no network
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_PATTERNS: Final = ("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS")
_PLACE: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE")
"""The variables with which git finds a repository. Hooks have them, and they are for the repository of the hook.

Without that of the index, a hook of the same repository sees the index before 'git commit PATH', with the same names.
"""

_LONGEST: Final = 4096
"""The longest path on Linux. Folders below cannot be checked out, and a few objects may be thousands of them."""

_NO_CONTENT: Final = "fetch the content of the revision first: this clone is partial, or damaged"


class RevisionError(Exception):
    """A revision cannot be read."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def entries_in_index(root: Path, *paths: str) -> Iterator[tuple[str, Kind, str, str]]:
    """Yield the tag, kind, name from root and hash of each entry of git's index at or below paths; S is left out.

    Outside of a repository, there are none. Raises RevisionError.
    """
    if top_of(root) is None:
        return
    prefix = prefix_of(root)
    listing = git(root, "ls-files", "-t", "--stage", "-z", "--", *(prefix + path or "." for path in paths))
    for line in filter(None, listing.split(b"\0")):
        head, _, name = line.partition(b"\t")
        tag, mode, content, _ = head.decode("ascii").split()
        yield tag, KINDS.get(mode, Kind.OTHER), os.fsdecode(name)[len(prefix) :], content


def odd_folders(root: Path) -> Iterator[str]:
    """Yield the folders of HEAD, by their paths in the repository, that are not stored as git writes them.

    Of the digits of a mode, git reads the last 32 bits, of files with one name the last one. Of a file and a folder
    with one name, a first checkout has the file, and a later one may have the folder. No checkout has an empty folder,
    but Flux takes a minute for a million of them. A zero before a mode and 100664, as in old repositories, are the same
    to git and Flux; of millions of zeros, both read each one, in every folder of that content. Raises RevisionError.
    """
    commit = commit_of(root, "HEAD")
    size = len(commit) // 2
    entry = re.compile(rb"0?(40000|1006[46]4|100755|120000|160000) ([^\0/]+)\0((?s:.{%d}))" % size)
    folders, seen = {f"{commit}^{{tree}}": ""}, set[str]()
    with reader(root) as read:
        while folders:  # each content once: a few may be millions of folders, and git would list them all
            below = dict[str, str]()
            for name, data in zip(folders.values(), read([(n, c) for c, n in folders.items()]), strict=True):
                names, last, end = set[bytes](), b"", 0
                while found := entry.match(data, end):  # from one end to the next: a search would look from each byte
                    mode, step, content = found[1], found[2], found[3].hex()
                    key = step + b"/" if mode == b"40000" else step
                    if key <= last or step in names or len(name) > _LONGEST:
                        break
                    names.add(step)
                    last, end = key, found.end()
                    if mode == b"40000" and content not in seen:
                        seen.add(content)
                        below[content] = os.path.join(name, os.fsdecode(step))
                if end < len(data) or (name and not data):  # the first commit of a repository may have no files
                    yield name
            folders = below


def index_of(root: Path, *folders: str) -> dict[str, Kind] | None:
    """Return the kinds of the entries below folders in git's index, by their names from root; none without git.

    None if the project is in a repository that git does not read, such as one of another user.
    """
    try:
        return {name: kind for _, kind, name, _ in entries_in_index(root, *folders)}
    except RevisionError:
        return None


def with_other_content(root: Path, names: Iterable[str]) -> list[str]:
    """Return the files that attributes of git, but those of line ends, let it check out with other content.

    None without git, or in a repository that git does not read. For git, UTF-8 is no other encoding.
    """
    prefix, unchanged = prefix_of(root), (b"unspecified", b"unset", b"utf-8", b"utf8")
    with suppress(RevisionError), TemporaryFile() as paths:
        paths.write(b"\0".join(os.fsencode(prefix + name) for name in names))
        paths.seek(0)
        done = run(root, ("check-attr", "-z", "--stdin", "working-tree-encoding", "ident"), paths.fileno())
        fields = done.stdout.split(b"\0")
        found = {name for name, value in zip(fields[::3], fields[2::3], strict=False) if value.lower() not in unchanged}
        return sorted(os.fsdecode(name)[len(prefix) :] for name in found)
    return []


def index_below(folder: Path) -> dict[str, Kind] | None:
    """Return what ``index_of`` does for a folder, in the repository where it is once all links are followed."""
    real = Path(real_path(folder))
    top = top_of(real)  # links and submodules may lead to another repository, or to a folder above the project
    return index_of(top, os.path.relpath(real, top)) if top is not None and os.path.isdir(real) else {}


def settings_in(handle: int, pattern: str) -> list[str]:
    """Return the values of the settings in an open file of git's format whose keys match. Raises RevisionError."""
    nowhere = Path(os.path.abspath(os.sep))  # in no repository
    done = run(nowhere, ("config", "--file", "-", "--no-includes", "--null", "--get-regexp", pattern), handle)
    if done.returncode > 1:
        raise RevisionError(f"git config: {_error(done.stderr)}")
    return [os.fsdecode(entry.partition(b"\n")[2]) for entry in filter(None, done.stdout.split(b"\0"))]


def remote_and_branch(root: Path) -> tuple[str, str]:
    """Return the URL of the remote origin and the name of its default branch; empty if unknown.

    git knows that name only after a clone or a recent fetch. The current branch may be one for a pull request.
    """
    try:
        remote = _line(root, "config", "--get", "remote.origin.url")
        head = _line(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
        known = branches_and_tags(root)
        usual = next((name for name in ("main", "master") if name in known or f"origin/{name}" in known), "")
        return remote, head or usual or _line(root, "symbolic-ref", "--short", "HEAD")
    except RevisionError:
        return "", ""


def _line(root: Path, *args: str) -> str:
    done = run(root, args)
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def is_revision(root: Path, text: str) -> bool:
    """Return whether a text is a git revision, or a range such as main..HEAD."""
    try:
        return all(commit_of(root, part) for part in text.replace("...", "..").split("..") if part)
    except RevisionError:
        return False


def branches_and_tags(root: Path) -> list[str]:
    """Return the short names of branches and tags. Raises RevisionError without git or a repository."""
    found = git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
    return found.decode("utf-8", "replace").splitlines()


def commit_of(root: Path, revision: str) -> str:
    """Return the hash of a revision's commit."""
    if not revision or revision.startswith(("-", "^")) or not is_printable(revision):
        raise RevisionError(f"{revision!r} is not a revision")
    options = ("--is-inside-work-tree", "--verify", f"{revision}^{{commit}}")
    found = run(root, ("-c", "core.warnAmbiguousRefs=true", "rev-parse", *options))
    inside, _, commit = found.stdout.decode("ascii", "replace").strip().partition("\n")
    if inside != "true":
        errors = run(root, ("rev-parse", "--show-toplevel")).stderr
        problem = _error(errors)
        hint = "run trainc where the repository is checked out"
        if b"safe.directory" in errors:  # as in a container with the checkout of another user
            hint = "if you trust its owner: git config --global --add safe.directory FOLDER"
        raise RevisionError(f"no git repository here: {problem}" if problem else "no git repository here", hint)
    is_ambiguous = b"is ambiguous" in found.stderr and revision not in (commit, "HEAD")  # for git, that is never a tag
    if found.returncode == 0 and is_ambiguous:
        hint = "pass the whole name of the branch or tag, such as refs/heads/main"
        raise RevisionError(f"revision {revision!r} is ambiguous: several branches or tags have this name", hint)
    if found.returncode == 0:
        return commit
    raise RevisionError(f"revision {revision!r} not found", _hint(root, revision))


def _hint(root: Path, revision: str) -> str:
    if revision == "HEAD" and run(root, ("rev-parse", "--verify", "HEAD")).returncode:
        return "the current branch has no commit yet: commit first"
    if run(root, ("rev-parse", "--is-shallow-repository")).stdout.strip() == b"true":
        return "this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)"
    remote, slash, branch = revision.partition("/")
    if slash and remote.encode() in run(root, ("remote",)).stdout.split():
        return f"fetch it first: git fetch {remote} {branch}"
    return "pass a branch, a tag or a commit that git rev-parse --verify accepts"


def git(root: Path, *args: str) -> bytes:
    """Return what git prints. Raises RevisionError."""
    done = run(root, args)
    if done.returncode != 0:
        hint = _NO_CONTENT if b"lazy fetching" in done.stderr else ""
        raise RevisionError(f"git {args[0]}: {_error(done.stderr)}", hint)
    return done.stdout


def top_for(root: Path) -> Path:
    """Return the real path of the folder in which git runs."""
    return top_of(root) or Path(real_path(root))


def prefix_of(root: Path) -> str:
    """Return the path of the project root in the repository, with a final slash; empty at the top."""
    name = os.path.relpath(real_path(root), top_for(root))
    return "" if name == os.curdir else f"{name}/"


def run(root: Path, args: Sequence[str], stdin: int | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git, which may fail. Raises RevisionError without git, and ChildProcessError if a signal ends it."""
    place, environment = top_for(root), _environment(root)
    try:
        done = subprocess.run(("git", *args), cwd=place, stdin=stdin, capture_output=True, check=False, env=environment)
    except FileNotFoundError:
        raise RevisionError("git not found on PATH", "install git, which trainc uses to read revisions") from None
    _check(done.returncode)
    return done


def _check(status: int) -> None:
    """Raise ChildProcessError if a signal ended git, as at the time limit: a check that needs its answer must fail."""
    if status < 0:
        raise ChildProcessError(errno.ECHILD, f"ended by signal {-status} (out of time or memory?)", "git")


def _environment(root: Path) -> dict[str, str]:
    """Return the environment of git. Where the project is in a repository, no variable leads to another one."""
    ignored = _PATTERNS if top_of(root) is None else (*_PATTERNS, *_PLACE)
    return {**{name: value for name, value in os.environ.items() if name not in ignored}, **_ENVIRONMENT}


def _error(text: bytes) -> str:
    """Return the line of git's error that is fatal, or else the first one, without its prefix."""
    lines = text.decode("utf-8", "replace").strip().splitlines()
    found = next((line for line in lines if line.startswith("fatal: ")), lines[0] if lines else "")
    return found.removeprefix("fatal: ")


def without_content(name: str) -> RevisionError:
    """Return the error of a file whose content git does not have."""
    return RevisionError(f"git does not have the content of {name}", _NO_CONTENT)


_Reader = Callable[[Sequence[tuple[str, str]]], Iterator[bytes]]
"""Yields the contents of files and folders, given by name and hash. Raises RevisionError."""

_AT_ONCE: Final = 60
"""The most hashes that git is sent before its answers are read; with more than a page of them, the least that a pipe
holds, both could wait for the other."""


@contextmanager
def reader(root: Path) -> Iterator[_Reader]:
    """Run one process of git that reads files and folders, which do not stay in memory."""
    command, pipe = ("git", "cat-file", "--batch"), subprocess.PIPE
    with (  # a file, since git would wait if nobody read its errors from a pipe
        TemporaryFile() as errors,
        subprocess.Popen(
            command, cwd=top_for(root), stdin=pipe, stdout=pipe, stderr=errors, env=_environment(root)
        ) as git,
    ):
        assert git.stdin is not None
        assert git.stdout is not None
        questions, answers = git.stdin, git.stdout

        def read(files: Sequence[tuple[str, str]]) -> Iterator[bytes]:
            for start in range(0, len(files), _AT_ONCE):
                chosen = files[start : start + _AT_ONCE]
                with _broken_pipes_as_errors():
                    try:
                        questions.write("".join(f"{content}\n" for _, content in chosen).encode("ascii"))
                        questions.flush()
                    except BrokenPipeError:  # git has ended, and the first answer is missing
                        with suppress(BrokenPipeError):
                            questions.close()
                for name, _ in chosen:
                    line = answers.readline()
                    size = line.rpartition(b" ")[2].strip()
                    if size == b"missing":
                        raise without_content(name)
                    if not size.isdigit() or len(data := answers.read(int(size) + 1)) <= int(size):
                        if size.isdigit() or not line.endswith(b"\n"):  # there is no more output
                            _check(git.wait())
                        errors.seek(0)
                        raise RevisionError(f"git cat-file: {_error(errors.read()) or 'ended unexpectedly'}")
                    yield data[:-1]

        yield read


@contextmanager
def _broken_pipes_as_errors() -> Iterator[None]:
    """Raise BrokenPipeError where the other end is closed; on the command line, SIGPIPE would end trainc silently."""
    number = getattr(signal, "SIGPIPE", None)  # not on Windows
    if number is None or current_thread() is not main_thread():  # only the main thread may set it
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
