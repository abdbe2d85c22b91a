"""Reads jobs/, runtimes/, policies/ and out/ of a git revision, with git and without network access.

Names are relative to the project root, as in read.py, which may be a folder of a larger git repository. Nothing is
checked out. Symbolic links are followed as in a working tree, except below out/.

Git runs at the top of the repository. Below it, a pull request could add files that look like a bare repository (HEAD,
objects/, refs/, config), and git, run there, would take revisions and configuration from these.
"""

from __future__ import annotations

import os
import posixpath
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from threading import current_thread, main_thread
from typing import Final

from trainc.findings import has_errors
from trainc.findings.display import is_printable
from trainc.inputs.options import Revision
from trainc.inputs.source import Packed, Source
from trainc.project.config import parse, read_document
from trainc.project.files import LIMIT, MAX_TOTAL, OWNED, Blob, Kind, parents, real_path, top_of
from trainc.project.links import LINK, Entry, TooManyLinksError, Tree
from trainc.project.read import CONFIG, LOCK, OUT, SUFFIXES, is_given, is_input

FOLDERS: Final = ("jobs", "runtimes", "policies", "out")
SETTINGS: Final = (CONFIG, LOCK)
"""Files at the root with settings."""

_KINDS: Final = {"100644": Kind.FILE, "100755": Kind.FILE, LINK: Kind.LINK, "040000": Kind.FOLDER}
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

_NO_CONTENT: Final = "fetch the content of the revision first: this clone is partial, or damaged"


class RevisionError(Exception):
    """A revision cannot be read."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def read_revision(root: Path, revision: str, given: Sequence[str] = ()) -> Revision:
    """Return the files of a revision (a branch, a tag, a commit, ``HEAD~1``), sorted by name; of out/ only its own.

    ``given`` are further files and folders, relative to root. An invalid trainc.yaml is ignored. Raises RevisionError
    if git, the repository, the revision or the content of a file is missing.
    """

    def is_wanted(name: str) -> bool:
        return name in SETTINGS or is_input(name) or is_given(name, given)

    entries = _entries(root, revision, *FOLDERS, *SETTINGS, *given)
    found = _sources(root, entries, is_wanted)
    config, wrong = parse(next((source for source in found if source.name == CONFIG), None))
    settings = tuple(read_document(source)[1] for source in found if source.name in SETTINGS)
    inputs = tuple(source for source in found if source.name not in SETTINGS)
    files = _files(entries, lambda name: name.startswith(OUT) and name.endswith(SUFFIXES[0]))
    with reader(root) as read:
        contents = zip(files, read([(entry.name, entry.content) for entry in files]), strict=True)
        output = tuple(Packed.of(entry.name, data) for entry, data in contents if data.startswith(OWNED))
    return Revision(revision, inputs, config.data, settings, output, not has_errors(wrong))


def read_inputs(root: Path, revision: str) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """Return the inputs of a revision, with trainc.yaml and images.lock.yaml, and the other files below policies/.

    Raises RevisionError.
    """

    entries = _entries(root, revision, *FOLDERS[:-1], *SETTINGS)
    sources = _sources(root, entries, lambda name: _is_read(name) or name.startswith("policies/"))
    return tuple(s for s in sources if _is_read(s.name)), tuple(s for s in sources if not _is_read(s.name))


def _is_read(name: str) -> bool:
    return name in SETTINGS or is_input(name)


def read_output(root: Path, revision: str, read: Callable[[Blob], bytes]) -> tuple[dict[str, Blob], dict[str, Kind]]:
    """Return all YAML and JSON files below out/ at a revision, and the kind of every entry. Raises RevisionError."""

    def is_wanted(name: str) -> bool:
        return name.lower().endswith(SUFFIXES) and not any(step.startswith(".") for step in name.split("/"))

    entries = _entries(root, revision, "out")
    files = {entry.name: Blob(entry.name, entry.content, read) for entry in _files(entries, is_wanted)}
    return files, {entry.name: _KINDS.get(entry.mode, Kind.OTHER) for entry in entries}


def index_of(root: Path, folder: str) -> dict[str, Kind] | None:
    """Return the kinds of the entries below a folder in git's index, by their names from root; none without git.

    None if the project is in a repository that git does not read, such as one of another user.
    """
    if top_of(root) is None:
        return {}
    prefix = _prefix(root)
    try:
        listing = _git(root, "ls-files", "--stage", "-z", "--", prefix + folder)
    except RevisionError:
        return None
    entries = (line.partition(b"\t") for line in filter(None, listing.split(b"\0")))
    kinds = {os.fsdecode(name)[len(prefix) :]: head.partition(b" ")[0].decode("ascii") for head, _, name in entries}
    return {name: _KINDS.get(mode, Kind.OTHER) for name, mode in kinds.items()}


def inputs_in_index(root: Path) -> dict[str, Kind]:
    """Return the kinds of the entries below the folders of inputs in git's index; none if git does not read it."""
    return {name: kind for folder in FOLDERS[:-1] for name, kind in (index_of(root, folder) or {}).items()}


def links_leading_out(root: Path, index: Mapping[str, Kind]) -> Iterator[str]:
    """Yield the links in an index that are absolute or lead out of the repository.

    With one of any name, Argo CD reads nothing of the repository (util/app/path, CheckOutOfBoundsSymlinks).
    """
    prefix = _prefix(root)
    for name, kind in index.items():
        with suppress(OSError):  # it may be deleted, or git writes links as files
            if kind is Kind.LINK:
                target = posixpath.join(posixpath.dirname(prefix + name), os.readlink(root / name))
                if f"{posixpath.normpath(target)}/".startswith(("/", "../")):
                    yield name


def links_to_nowhere(root: Path, index: Mapping[str, Kind]) -> Iterator[str]:
    """Yield the links in an index that lead in a circle or through a file; one without a target does no harm.

    With one of any name, Argo CD unpacks the repository for no plugin (util/io/files, Untgz), and with one called
    .sourceignore, Flux reads nothing of it (fluxcd/pkg/sourceignore, ReadIgnoreFile).
    """
    for name, kind in index.items():
        try:
            if kind is Kind.LINK:
                os.stat(root / name)
        except FileNotFoundError:
            continue
        except OSError:
            yield name


def unnamed_submodules(root: Path, index: Mapping[str, Kind]) -> Iterator[str]:
    """Yield the submodules in an index that an existing .gitmodules does not name.

    With one, git updates no submodule, and Argo CD reads nothing of the repository (util/git, Submodule).
    """
    prefix, modules = _prefix(root), ".gitmodules"
    if not (_top(root) / modules).is_file():
        return
    listing = _run(root, ("config", "--file", modules, "--null", "--get-regexp", r"^submodule\..*\.path$")).stdout
    named = {os.fsdecode(entry.partition(b"\n")[2]) for entry in listing.split(b"\0")}
    yield from (name for name, kind in index.items() if kind is Kind.OTHER and prefix + name not in named)


def left_out(root: Path, name: str, links: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return the inputs and settings at or below a name that a sparse checkout leaves out, sorted by their names.

    ``links`` are names at or below it, with their real paths: a file behind several links has one of their names.
    Links, which may lead to inputs, and submodules count, too. Raises RevisionError if git cannot be asked.
    """
    prefix, places = _prefix(root), _places(root, name, links)
    paths = [prefix + place for place in places] if len(places) == 1 else [prefix or "."]
    listing = _git(root, "ls-files", "-t", "--stage", "-z", "--", *paths)
    found = list[str]()
    for line in filter(None, listing.split(b"\0")):
        head, _, path = line.partition(b"\t")
        tag, mode, *_ = head.decode("ascii").split()
        file = os.fsdecode(path)[len(prefix) :]
        if tag == "S" and not os.path.lexists(root / file):
            names = (name + file[len(place) :] for place in (*parents(file), file) for name in places.get(place, ()))
            wanted = (name for name in names if _KINDS.get(mode) is not Kind.FILE or _is_read(name))
            found += islice(wanted, 1)
    return sorted(found)


def _places(root: Path, name: str, links: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the paths from root to which links lead, with the names of the links; ``name`` is one of both.

    Many links may lead to one place: of those for which the same files are read, one is enough.
    """
    home, alike = real_path(root), dict[tuple[str, ...], str]()
    for link, real in ((name, os.path.join(home, name)), *links):
        read = (end for end in ("", "/x.yaml", "/x/x.yaml") if is_input(link + end))
        alike.setdefault((os.path.relpath(real, home), *read), link)
    places: dict[str, list[str]] = {}
    for (place, *_), link in alike.items():
        places.setdefault(place, []).append(link)
    return places


def remote_and_branch(root: Path) -> tuple[str, str]:
    """Return the URL of the remote origin and the name of its default branch; empty if unknown."""
    try:
        remote = _line(root, "config", "--get", "remote.origin.url")
        head = _line(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
        return remote, head or _line(root, "symbolic-ref", "--short", "HEAD")
    except RevisionError:
        return "", ""


def _line(root: Path, *args: str) -> str:
    done = _run(root, args)
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def _entries(root: Path, revision: str, *paths: str) -> list[Entry]:
    """Return what a revision has at and below some paths, sorted by name; links that lead to something are followed.

    As in a working tree, hidden links are not, and the limit of links holds for each path.
    """
    commit, prefix = commit_of(root, revision), _prefix(root)
    places = [posixpath.normpath(prefix + path) for path in paths]
    listed = _listing(root, commit, *places)
    out = prefix + OUT
    links = {entry.name: entry for entry in listed if entry.mode == LINK and not f"{entry.name}/".startswith(out)}
    if links:
        whole = _listing(root, commit)
        texts = _contents(root, [entry for entry in whole if entry.mode == LINK])
        tree = Tree(whole, texts, prefix, str(_top(root)))
        listed = [entry for entry in listed if entry.name not in links]
        try:
            for place in places:
                found = sorted(name for name in links if _is_shown(name, place))
                listed += tree.behind([links.pop(name) for name in found])
        except TooManyLinksError as error:
            raise RevisionError(str(error)) from None
    return sorted(entry._replace(name=entry.name[len(prefix) :]) for entry in listed if entry.name.startswith(prefix))


def _is_shown(name: str, place: str) -> bool:
    """Return whether a path is at or below a place, and not hidden there."""
    if place == ".":
        return "/." not in f"/{name}"
    return f"{name}/".startswith(f"{place}/") and "/." not in name[len(place) :]


def _listing(root: Path, commit: str, *paths: str) -> list[Entry]:
    listing = _git(root, "ls-tree", "-r", "-t", "-z", "-l", commit, "--", *paths)
    found = []
    for line in filter(None, listing.split(b"\0")):
        head, _, name = line.partition(b"\t")
        mode, _, content, size = head.decode("ascii").split()
        found.append(Entry(os.fsdecode(name), mode, content, size))
    return found


def _sources(root: Path, entries: Iterable[Entry], wanted: Callable[[str], bool]) -> list[Source]:
    chosen = _files(entries, wanted)
    contents = _contents(root, chosen)
    return [Source(entry.name, contents[entry.content]) for entry in chosen]


def _files(entries: Iterable[Entry], wanted: Callable[[str], bool]) -> list[Entry]:
    """Return the regular files with a wanted name and within the size limit."""
    return [e for e in entries if _KINDS.get(e.mode) is Kind.FILE and wanted(e.name) and _size(e) <= LIMIT]


def _size(entry: Entry) -> int:
    """Return the size of a file or link. Raises RevisionError if git does not have its content."""
    if not entry.size.isdecimal():
        raise _without_content(entry.name)
    return int(entry.size)


def _without_content(name: str) -> RevisionError:
    return RevisionError(f"git does not have the content of {name}", _NO_CONTENT)


def _contents(root: Path, entries: Sequence[Entry]) -> dict[str, bytes]:
    """Return the contents of files and links by their hashes."""
    if not entries:
        return {}
    if sum(map(_size, entries)) > MAX_TOTAL:
        raise RevisionError(f"the inputs of the revision have more than {MAX_TOTAL >> 20} MiB in all")
    with reader(root) as read:
        contents = read([(entry.name, entry.content) for entry in entries])
        return {entry.content: data for entry, data in zip(entries, contents, strict=True)}


_Reader = Callable[[Sequence[tuple[str, str]]], Iterator[bytes]]
"""Yields the contents of files, given by name and hash. Raises RevisionError."""

_AT_ONCE: Final = 200
"""The most hashes that git is sent before its answers are read; with more, both could wait for the other."""


@contextmanager
def reader(root: Path) -> Iterator[_Reader]:
    """Run one process of git that reads files and links, which do not stay in memory."""
    command, pipe = ("git", "cat-file", "--batch"), subprocess.PIPE
    with (  # a file, since git would wait if nobody read its errors from a pipe
        TemporaryFile() as errors,
        subprocess.Popen(
            command, cwd=_top(root), stdin=pipe, stdout=pipe, stderr=errors, env=_environment(root)
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
                    size = answers.readline().rpartition(b" ")[2].strip()
                    if size == b"missing":
                        raise _without_content(name)
                    if not size.isdigit() or len(data := answers.read(int(size) + 1)) <= int(size):
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


def is_revision(root: Path, text: str) -> bool:
    """Return whether a text is a git revision, or a range such as main..HEAD."""
    try:
        return all(commit_of(root, part) for part in text.replace("...", "..").split("..") if part)
    except RevisionError:
        return False


def branches_and_tags(root: Path) -> list[str]:
    """Return the short names of branches and tags. Raises RevisionError without git or a repository."""
    found = _git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
    return found.decode("utf-8", "replace").splitlines()


def commit_of(root: Path, revision: str) -> str:
    """Return the hash of a revision's commit."""
    if not revision or revision.startswith(("-", "^")) or not is_printable(revision):
        raise RevisionError(f"{revision!r} is not a revision")
    if _run(root, ("rev-parse", "--is-inside-work-tree")).stdout.strip() != b"true":
        errors = _run(root, ("rev-parse", "--show-toplevel")).stderr
        problem = _error(errors)
        hint = "run trainc where the repository is checked out"
        if b"safe.directory" in errors:  # as in a container with the checkout of another user
            hint = "if you trust its owner: git config --global --add safe.directory FOLDER"
        raise RevisionError(f"no git repository here: {problem}" if problem else "no git repository here", hint)
    found = _run(root, ("-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", f"{revision}^{{commit}}"))
    commit = found.stdout.decode("ascii").strip()
    if found.returncode == 0 and b"is ambiguous" in found.stderr and commit != revision:
        hint = "pass the whole name of the branch or tag, such as refs/heads/main"
        raise RevisionError(f"revision {revision!r} is ambiguous: several branches or tags have this name", hint)
    if found.returncode == 0:
        return commit
    raise RevisionError(f"revision {revision!r} not found", _hint(root, revision))


def _hint(root: Path, revision: str) -> str:
    if revision == "HEAD" and _run(root, ("rev-parse", "--verify", "HEAD")).returncode:
        return "the current branch has no commit yet: commit first"
    if _run(root, ("rev-parse", "--is-shallow-repository")).stdout.strip() == b"true":
        return "this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)"
    remote, slash, branch = revision.partition("/")
    if slash and remote.encode() in _run(root, ("remote",)).stdout.split():
        return f"fetch it first: git fetch {remote} {branch}"
    return "pass a branch, a tag or a commit that git rev-parse --verify accepts"


def _git(root: Path, *args: str) -> bytes:
    done = _run(root, args)
    if done.returncode != 0:
        hint = _NO_CONTENT if b"lazy fetching" in done.stderr else ""
        raise RevisionError(f"git {args[0]}: {_error(done.stderr)}", hint)
    return done.stdout


def _top(root: Path) -> Path:
    """Return the real path of the folder in which git runs."""
    return top_of(root) or Path(real_path(root))


def _prefix(root: Path) -> str:
    """Return the path of the project root in the repository, with a final slash; empty at the top."""
    name = os.path.relpath(real_path(root), _top(root))
    return "" if name == os.curdir else f"{name}/"


def _run(root: Path, args: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(("git", *args), cwd=_top(root), capture_output=True, check=False, env=_environment(root))
    except FileNotFoundError:
        raise RevisionError("git not found on PATH", "install git, which trainc uses to read revisions") from None


def _environment(root: Path) -> dict[str, str]:
    """Return the environment of git. Where the project is in a repository, no variable leads to another one."""
    ignored = _PATTERNS if top_of(root) is None else (*_PATTERNS, *_PLACE)
    return {**{name: value for name, value in os.environ.items() if name not in ignored}, **_ENVIRONMENT}


def _error(text: bytes) -> str:
    """Return the line of git's error that is fatal, or else the first one, without its prefix."""
    lines = text.decode("utf-8", "replace").strip().splitlines()
    found = next((line for line in lines if line.startswith("fatal: ")), lines[0] if lines else "")
    return found.removeprefix("fatal: ")
