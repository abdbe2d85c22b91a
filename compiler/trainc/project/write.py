"""Writes out/: first a plan, which is data, then its changes.

A file is trainc's if its first line begins with the header. Nothing else is overwritten or removed, and symbolic links
are not followed. Files are replaced by rename once their bytes are on the disk, so readers always see either the old
bytes or the new ones. As waiting for the disk takes milliseconds, a run waits once for many files.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from unicodedata import normalize

import msgspec

from trainc.basics.regex import lazy
from trainc.findings import Finding
from trainc.pipeline.content import Content, bytes_of, writable
from trainc.project.files import (
    OUTSIDE,
    OWNED,
    IrregularFileError,
    Kind,
    about,
    first_bytes,
    has_content,
    is_own,
    nested,
    read_regular,
    read_start,
)
from trainc.project.links import leads_out, top_of
from trainc.project.names import OUT, all_parents, is_placed, parents
from trainc.project.read import name_below

MANY = 64
"""The number of files from which the run waits for the disk only once."""

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
"""The errors of file systems without hard links, such as FAT and many of networks."""

CHANGED = "changed since it was read"
LOCKED = "locked by another program, which may be about to write it"
"""Why a source is not written."""

_TEMPORARY = lazy(r"\.trainc-([0-9]+)-[0-9]+\.tmp")


def is_temporary(name: str) -> bool:
    """Return whether a file is a leftover of a run that was killed, by its name or path."""
    return _TEMPORARY.fullmatch(name.rpartition("/")[2]) is not None


class File(msgspec.Struct, frozen=True):
    """A file to write; ``name`` is its POSIX path from the root."""

    name: str
    data: Content


class Plan(msgspec.Struct, frozen=True):
    """The changes to make below ``root``; every part is sorted by name.

    ``blocked`` has a TC901 for each obstacle, and then nothing may be written. ``leftovers`` are temporary files of a
    run that was killed. ``unread`` are other files that cannot be read, with the reasons.
    """

    root: Path
    create: tuple[File, ...] = ()
    change: tuple[File, ...] = ()
    remove: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    blocked: tuple[Finding, ...] = ()
    leftovers: tuple[str, ...] = ()
    tops: tuple[str, ...] = (OUT,)
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def stale(self) -> bool:
        """Whether out/ differs from the rendered files."""
        return bool(self.create or self.change or self.remove)

    @property
    def written(self) -> set[str]:
        """The files that are up to date after the changes."""
        return {*self.unchanged, *(file.name for file in (*self.create, *self.change))}

    @property
    def removed(self) -> set[str]:
        """The files that do not exist after the changes."""
        return {*self.remove, *self.leftovers}

    def differences(self) -> tuple[str, ...]:
        """Return a line for each file that differs, by name: missing, changed or stale, and the file."""
        names = [(file.name, "missing") for file in self.create]
        names += [(file.name, "changed") for file in self.change]
        names += [(name, "stale") for name in self.remove]
        return tuple(f"{how} {name}" for name, how in sorted(names))


def plan(
    root: Path,
    files: Mapping[str, Content],
    scopes: Collection[str] = (OUT,),
    tops: Collection[str] = (OUT,),
    is_same: Callable[[str, Content], bool] | None = None,
    *,
    there: Mapping[str, Kind] | None = None,
) -> Plan:
    """Compare out/ with the wanted files, without writing.

    Only files in ``scopes``, out/ or folders below, are planned and removed. ``tops`` are the folders that files and
    scopes may be in: out/ and those of argocd.write and flux.write. ``is_same`` returns whether a file has a content,
    possibly without reading it; ``there`` is the result of ``look``. Raises OSError if a folder cannot be listed.
    """
    is_same, base = is_same or partial(has_content, root), os.fspath(root)
    allowed = re.compile(rf"(?:{'|'.join(map(re.escape, tops))})(?:/(?!\.\.?(?:/|\Z))[^/]+)*")
    if (wrong := next((name for name in (*files, *scopes) if not allowed.fullmatch(name)), None)) is not None:
        raise ValueError(f"not a path below {' or '.join(f'{top}/' for top in tops)}: {wrong}")
    chosen = frozenset(scopes)
    wanted = {name: data for name, data in files.items() if not chosen.isdisjoint(parents(name))}
    there = look(root, scopes) if there is None else there
    blocked = _folders_in_the_way(wanted, scopes, there)
    create, change, unchanged = [], [], []
    for name, data in sorted(wanted.items()):
        kind = there.get(name)
        if kind is None:
            if blocked.keys().isdisjoint(parents(name)):  # else it may exist behind a link, and have a digest
                create.append(File(name, writable(data)))
        elif kind is not Kind.FILE:
            blocked[name] = f"{kind.value} is in the way"
        elif is_same(name, data):
            unchanged.append(name)
        elif (obstacle := _obstacle(f"{base}/{name}")) is None:
            change.append(File(name, writable(data)))
        else:
            blocked[name] = obstacle
    extra = [name for name in sorted(there) if name not in wanted and there[name] is Kind.FILE]
    temporary = list(filter(is_temporary, extra))
    leftovers = _of_killed_runs(root, temporary, wanted)
    remove, unread = ours_among(base, sorted(set(extra).difference(temporary)))
    remove = sorted({*remove, *temporary}.difference(leftovers))
    blocked |= _same_file(wanted, sorted(set(extra).difference(remove, leftovers)))
    obstacles = tuple(about(name, message, code="TC901") for name, message in sorted(blocked.items()))
    done = (tuple(create), tuple(change), tuple(remove), tuple(unchanged))
    return Plan(root, *done, obstacles, tuple(leftovers), tuple(tops), tuple(unread.items()))


def _of_killed_runs(root: Path, temporary: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return the temporary files that only a killed run can have left.

    One that git has makes Argo CD sync the job of its folder again. One that is alone in a folder, which Argo CD has an
    Application for, counts as if git had it, so that this does not depend on git.
    """
    temporary, folders = list(temporary), all_parents(wanted)
    if not temporary:
        return []
    from trainc.project.git import index_of

    index = index_of(root, OUT)
    if index is None:
        return []
    return [name for name in temporary if name not in index and name.rpartition("/")[0] in folders]


def _obstacle(path: str) -> str | None:
    """Return why a file cannot be replaced; None if it is trainc's."""
    try:
        return None if is_own(read_start(path, len(OWNED))) else "a file not generated by trainc is in the way"
    except FileNotFoundError:  # a concurrent run removed it
        return None
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def apply(todo: Plan, advance: Callable[[], object] = lambda: None) -> None:
    """Carry out a plan, and remove the folders that become empty; ``advance`` is called for each file written.

    Raises ValueError, before writing, for a blocked plan. After an OSError, changes made so far are kept, and the next
    run continues. No empty folder stays, which the next run could take for a submodule.
    """
    if todo.blocked:
        raise ValueError("a blocked plan cannot be applied")
    root, gone = os.fspath(todo.root), sorted(todo.removed)
    try:
        for name in gone:
            (todo.root / name).unlink(missing_ok=True)
        replace_files(root, [(f"{root}/{file.name}", file.data) for file in (*todo.create, *todo.change)], advance)
    except BaseException:
        gone += (file.name for file in todo.create)
        raise
    finally:
        for folder in sorted({PurePosixPath(name).parent for name in gone}, reverse=True):
            _remove_empty(todo.root, folder)


def ours_among(base: str, names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the files that are trainc's, and the reason for each that cannot be read."""
    ours, unread = [], dict[str, str]()
    for name in names:
        try:
            if is_ours(base, name):
                ours.append(name)
        except FileNotFoundError:  # a concurrent run removed it
            ours.append(name)
        except OSError as error:
            unread[name] = str(error.strerror)
    return ours, unread


def is_ours(base: str, name: str) -> bool:
    """Return whether a file is trainc's by its first line; an empty one only if trainc could write its name.

    Raises OSError.
    """
    try:
        head = read_start(f"{base}/{name}", len(OWNED))
    except IrregularFileError:
        return False
    return head == OWNED or (is_placed(name) and is_own(head))


def look(root: Path, scopes: Iterable[str]) -> dict[str, Kind]:
    """Return the kind of every entry at, above and below the scopes, by name as the file system spells it.

    An empty folder counts as a special file if it may be a submodule that is not checked out, as git has no empty
    folders: if the repository has a .gitmodules, or its index has the folder, which Argo CD then checks out, too, or
    git cannot read the index, as in a container without git, or in a repository of another user.
    """
    there: dict[str, Kind] = {}
    waiting = []
    base = os.fspath(root)
    for scope in scopes:
        for name in (*parents(scope), scope):
            if (kind := there.get(name) or kind_of(f"{base}/{name}")) is None:
                break
            there[name] = kind
            if kind is not Kind.FOLDER:
                break
        else:
            waiting.append(scope)
    empty = []
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{base}/{folder}") as entries:
                listed = list(entries)
        except FileNotFoundError:  # a concurrent run removed it
            continue
        if not listed:
            empty.append(folder)
        for entry in listed:
            name = f"{folder}/{entry.name}"
            there[name] = kind = _kind(entry)
            if kind is Kind.FOLDER:
                waiting.append(name)
    if empty and not ((top_of(root) or root) / ".gitmodules").exists():
        from trainc.project.git import index_of

        index = index_of(root, OUT)
        empty = [folder for folder in empty if index is None or index.get(folder) is Kind.OTHER]
    there.update((folder, Kind.OTHER) for folder in empty if folder.count("/"))
    return there


def kind_of(path: str) -> Kind | None:
    """Return the kind of an entry, without following links; None if it does not exist. Raises OSError."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _kind(Path(path))


def _kind(entry: os.DirEntry[str] | Path) -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    if entry.is_dir():
        return Kind.FOLDER
    return Kind.FILE if entry.is_file() else Kind.OTHER


def _folders_in_the_way(files: Iterable[str], scopes: Iterable[str], there: Mapping[str, Kind]) -> dict[str, str]:
    folders = all_parents((*files, *scopes)).union(scopes)
    kinds = {folder: there[folder] for folder in folders if folder in there}
    words = {Kind.OTHER: "a special file, or an empty folder that may be a submodule,"}  # as ``look`` says
    wrong = {folder: words.get(kind, kind.value) for folder, kind in kinds.items() if kind is not Kind.FOLDER}
    return {folder: f"{what} in place of a folder" for folder, what in wrong.items()}


def _same_file(wanted: Iterable[str], kept: Iterable[str]) -> dict[str, str]:
    """Find wanted files whose names are one name, in macOS or Windows, with those of others, wanted or kept."""
    seen: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for name in sorted(wanted):
        if (other := seen.setdefault(_folded(name), name)) != name:
            clashes[name] = _difference(name, other)
    for name in kept:
        if (other := seen.get(_folded(name), name)) != name:
            clashes[name] = _difference(name, other)
    return clashes


def _folded(name: str) -> str:
    """Return what is equal for canonical caseless matches: https://www.unicode.org/versions/latest, section 3.13."""
    return name.lower() if name.isascii() else normalize("NFD", normalize("NFD", name).casefold())


def _difference(name: str, other: str) -> str:
    what = "case" if name.casefold() == other.casefold() else "case or Unicode normalization"
    return f"differs only in {what} from {other}"


def _remove_empty(root: Path, folder: PurePosixPath) -> None:
    while folder.as_posix() not in (OUT, "."):
        try:
            (root / folder).rmdir()
        except OSError:  # not empty, or already removed
            return
        folder = folder.parent


def create(root: Path, name: str, text: str) -> bool:
    """Create a file below ``root``, and return whether it did: False if anything exists there, even a broken link.

    The file appears with all its bytes, or not at all. Raises OSError.
    """
    path = root / name
    if leads_out(root, path.parent):
        raise OSError(None, OUTSIDE, name)
    if os.path.lexists(path):
        return False
    with _named(path):
        _remove_leftovers(path.parent)
        written: list[str] = []
        try:
            _write_beside(written, os.fspath(path), text.encode(), sync=True)
            return _rename_to_new(written[0], path)
        finally:
            _remove(written)


def _rename_to_new(old: str, path: Path) -> bool:
    """Give a file a name that nothing has, and return whether it did; the old name may remain. Raises OSError."""
    try:
        os.link(old, path)  # unlike a rename, it replaces nothing
    except FileExistsError:  # created meanwhile
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            return False
        os.replace(old, path)
    return True


def replace_file(path: str, data: bytes) -> None:
    """Write a file that people read and edit, as ``replace_files`` does; it keeps its mode."""
    replace_files(path.rpartition("/")[0], [(path, data)], sources=True)


def replace_sources(folder: str, files: Iterable[tuple[str, bytes | None, bytes]]) -> None:
    """Write files in or below a folder that people edit, each given with its old bytes, or None for a new one.

    Raises OSError; one that has other bytes by now is left alone, and so are those after it.
    """
    files = tuple(files)
    old = {path: before for path, before, _ in files}

    def rename(temporary: str, path: str) -> None:
        if not _replace_unchanged(temporary, path, old[path]):
            raise OSError(errno.EBUSY, CHANGED, path)

    replace_files(folder, [(path, data) for path, _, data in files], sources=True, rename=rename)


def _replace_unchanged(temporary: str, path: str, old: bytes | None) -> bool:
    """Rename a temporary file to a source that has its old bytes, or did not exist, and return whether that is so.

    A lock keeps a concurrent run from doing the same in between. Raises OSError.
    """
    if old is None:
        is_new = _rename_to_new(temporary, Path(path))
        _remove([temporary])
        return is_new
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be replaced
        if is_same := read_regular(path) == old:
            os.replace(temporary, path)
        return is_same
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # lockf needs the right to write the file
        except BlockingIOError:
            raise OSError(errno.EBUSY, LOCKED, path) from None
        except OSError:  # a file system without locks
            pass
        is_same = os.path.samestat(os.fstat(handle), os.lstat(path)) and first_bytes(handle, len(old) + 1) == old
        if is_same:
            os.replace(temporary, path)
        return is_same
    finally:
        os.close(handle)


def replace_files(
    folder: str,
    files: Sequence[tuple[str, Content]],
    advance: Callable[[], object] = lambda: None,
    *,
    sources: bool = False,
    rename: Callable[[str, str], object] | None = None,
) -> None:
    """Write files in or below a folder by ``rename``, once their bytes are on the disk, and create missing folders.

    After an OSError every file is either the old or the new one. ``sources`` keep their modes, and temporary files that
    a killed run left beside them are removed; for out/, the plan does that.
    """
    written: list[str] = []
    rename = rename or os.replace
    # Opened before anything is written: errors of writing until then are not reported.
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC) if len(files) >= MANY else None
    try:
        for parent in {Path(path).parent for path, _ in files} if sources else ():
            _remove_leftovers(parent)
        for path, data in files:
            with _named(path):
                _write_beside(written, path, bytes_of(data), sync=handle is None, keep_mode=sources)
            advance()
        if handle is not None:
            _sync(handle)
        for number, (path, data) in enumerate(files):
            with _named(path):
                try:
                    rename(written[number], path)
                except FileNotFoundError:
                    # A concurrent run removed the temporary file as a leftover, and perhaps its folder as empty.
                    _write_beside(written, path, bytes_of(data), sync=True, keep_mode=sources)
                    rename(written[-1], path)
    except BaseException:
        _remove(written)
        raise
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def _named(path: str | Path) -> Iterator[None]:
    """Raise an OSError with the name of a file, not with that of a temporary one, or none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def make_folder(folder: str | Path) -> None:
    """Create a folder, and those above it that are missing. Raises OSError."""
    with nested(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of runs that were killed."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if (found := _TEMPORARY.fullmatch(name)) is not None and not _is_running(int(found[1])):
                (folder / name).unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        if os.name == "posix":  # elsewhere, this would end the process
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # of another user
        return True
    return True


def _write_beside(written: list[str], path: str, data: bytes, *, sync: bool, keep_mode: bool = False) -> None:
    """Write bytes to a new temporary file in the folder of another file, and add its name to ``written``.

    With ``keep_mode``, it has the mode of the other file, if that exists.
    """
    folder = path.rpartition("/")[0]
    temporary = f"{folder}/.trainc-{os.getpid()}-{int.from_bytes(os.urandom(8), 'big')}.tmp"
    written.append(temporary)  # before it exists: a signal may end the run at any time
    try:
        file = open(temporary, "xb")  # noqa: SIM115
    except FileNotFoundError:
        make_folder(folder)
        file = open(temporary, "xb")  # noqa: SIM115
    with file:
        if keep_mode:
            with suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _remove(files: Iterable[str]) -> None:
    for name in files:
        try:
            Path(name).unlink(missing_ok=True)
        except OSError:  # a read-only file system also refuses to remove what does not exist
            if os.path.lexists(name):
                raise


def _sync(handle: int) -> None:
    """Wait until the file system of an open folder (on Linux), or all of them, is written to the disk."""
    import ctypes

    try:
        failed = ctypes.CDLL(None, use_errno=True).syncfs(handle)
    except AttributeError:  # not on this system
        os.sync()
        return
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def check_folder(root: Path, folder: Path) -> None:
    """Refuse a folder that is named as one of the project, but that links lead out of it. Raises OSError.

    A pull request may bring links.
    """
    if name_below(root, Path.cwd(), os.fspath(folder)) is not None and leads_out(root, folder):
        raise OSError(None, OUTSIDE, os.fspath(folder))


def write_output(root: Path, path: Path, text: str) -> None:
    """Write the file that an option names, completely or not at all; a link in its place is replaced. Raises OSError.

    A pipe or device is written to.
    """
    check_folder(root, path.parent)
    if path.exists() and not path.is_symlink() and not path.is_file():
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    with _named(path):
        replace_file(os.path.abspath(path), text.encode())
