# ruff: noqa: PTH100, PTH108, PTH123 - it calls the functions that it replaces
"""Runs trainc in forked processes that fail, or end, at the n-th call of the file system.

A server: each line of standard input has requests, each line of standard output their answers, both JSON. Every
function of Python that reaches the file system is replaced, so that calls can be counted and fail. An audit hook, which
cannot be removed, reports calls on the project that come past these functions.
"""

from __future__ import annotations

import _io
import _pyio
import builtins
import contextlib
import errno
import importlib
import io
import json
import mmap
import os
import signal
import stat
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

CALLS = (
    "access",
    "chmod",
    "close",
    "copy_file_range",
    "fchmod",
    "fdatasync",
    "fstat",
    "fsync",
    "ftruncate",
    "link",
    "listdir",
    "lstat",
    "mkdir",
    "open",
    "read",
    "readlink",
    "remove",
    "rename",
    "replace",
    "rmdir",
    "scandir",
    "sendfile",
    "stat",
    "symlink",
    "sync",
    "truncate",
    "unlink",
    "utime",
    "write",
)
"""The functions of ``os`` that reach the file system."""

WRITING = frozenset(
    (
        "chmod",
        "close",
        "copy_file_range",
        "create",
        "fchmod",
        "fdatasync",
        "fsync",
        "ftruncate",
        "link",
        "mkdir",
        "rename",
        "replace",
        "sendfile",
        "symlink",
        "sync",
        "syncfs",
        "write",
    )
)
"""The calls that a full disk can fail."""

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES, "full": errno.ENOSPC}
"""The faults that are errors. After ``full``, all later calls that write fail as well."""

SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
"""The signals that end a run in order, with its status. They come right after the call."""

FAULTS = (*ERRORS, *SIGNALS, "short", "torn", "kill", "killed-writing")
"""``short`` writes half, ``torn`` writes half and then fails, ``killed-writing`` writes half and ends the process."""

KILLED = 137
WARM_UP = (["render", "-q"], ["fix", "-q", "--diff"], ["report", "-q"], ["package", "-q"], ["rerun", "--diff", "one"])
HANG = 60

_EVENTS = ("open", "os.")
_real = {name: getattr(os, name) for name in CALLS if hasattr(os, name)}
_exit, _log_write = os._exit, os.write


class Plan:
    """What fails in this process: call number ``at``, from 1, among those on ``folders``."""

    def __init__(self, at: int, fault: str, log: int, folders: tuple[str, ...], count: mmap.mmap) -> None:
        self.at, self.fault, self.log, self.folders, self.count = at, fault, log, folders, count
        self.number, self.depth, self.full, self.opening = 0, 0, False, False
        self.owner = os.getpid()
        self.handles: dict[int, str] = {}
        self.edits: dict[str, str | None] = {}
        self.rival: list[str] = []

    def path_of(self, what: object) -> str | None:
        """Return the path of a file or a descriptor if it is in one of the folders."""
        if isinstance(what, int):
            return self.handles.get(what)
        path = os.path.abspath(os.fsdecode(os.fspath(what)))  # type: ignore[call-overload]
        return path if any(f"{path}/".startswith(folder) for folder in self.folders) else None

    def call(self, name: str, what: object, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """Make a call, unless it is the one that fails."""
        if self.depth or os.getpid() != self.owner or (path := self.path_of(what)) is None:
            return real(*args, **more)
        self.depth = 1
        try:
            self.number += 1
            self.count[:8] = struct.pack("q", self.number)
            if self.log >= 0:
                _log_write(self.log, f"{name} {path}\n".encode())
            if self.full and name in WRITING and name != "close":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            result = self.fail(name, what, real, args, more) if self.number == self.at else real(*args, **more)
            if name in ("open", "create"):
                self.handles[result] = path
            elif name == "close" and isinstance(what, int):
                self.handles.pop(what, None)
            return result
        finally:
            self.depth = 0

    def fail(self, name: str, what: object, real: Callable[..., Any], args: tuple[Any, ...], more: Any) -> Any:
        """Carry out the fault; one that cannot happen to this call leaves the call alone."""
        if self.fault == "kill":
            _exit(KILLED)
        if self.fault in SIGNALS:
            try:
                real(*args, **more)
            finally:
                os.kill(os.getpid(), getattr(signal, self.fault))
            raise AssertionError("the signal was not heard")
        if self.fault == "meanwhile":
            self.meanwhile()
        if name == "write" and self.fault in ("short", "torn", "killed-writing"):
            data = memoryview(args[-1]).cast("B")
            written = real(*args[:-1], data[: (len(data) + 1) // 2])
            if self.fault == "killed-writing":
                _exit(KILLED)
            if self.fault == "short":
                return written
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        number = ERRORS.get(self.fault)
        is_of_folder = name == "close" and isinstance(what, int) and stat.S_ISDIR(os.fstat(what).st_mode)
        if number is None or is_of_folder or (number == errno.ENOSPC and name not in WRITING):
            return real(*args, **more)
        self.full = self.fault == "full"
        if name == "close":
            real(*args, **more)  # the descriptor is gone even so
        path = what if isinstance(what, str | bytes | os.PathLike) else None
        raise OSError(number, os.strerror(number), *([os.fspath(path)] if path is not None else []))

    def meanwhile(self) -> None:
        """Change files, and run trainc with other arguments to its end, in the middle of this run."""
        for name, text in self.edits.items():
            if text is None:
                os.unlink(name)
                continue
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        if self.rival and (pid := os.fork()) == 0:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            _trainc(self.rival)
        elif self.rival:
            os.waitpid(pid, 0)

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        """Report a call on one of the folders that is not counted."""
        if self.depth or self.opening or self.log < 0 or os.getpid() != self.owner:
            return
        is_about_path = event.startswith(_EVENTS) and bool(args) and isinstance(args[0], str | bytes)
        if is_about_path and self.path_of(args[0]) is not None:
            _log_write(self.log, f"BYPASS {event} {args}\n".encode())


def _replace(plan: Plan) -> None:
    """Replace the functions of the file system in this process."""

    def counted(name: str) -> Callable[..., Any]:
        real = _real[name]

        def function(*args: Any, **more: Any) -> Any:
            what = args[0] if args else None
            creates = name == "open" and len(args) > 1 and args[1] & os.O_CREAT
            return plan.call("create" if creates else name, what, real, *args, **more)

        return function

    for name in _real:
        setattr(os, name, counted(name))

    class File(io.FileIO):
        """A file whose calls are counted; it is opened by ``os.open``."""

        def write(self, data: Any) -> int:
            return int(plan.call("write", self.fileno(), super().write, data))

        def read(self, size: int | None = -1) -> bytes | None:
            return plan.call("read", self.fileno(), super().read, size)

        def readall(self) -> bytes | None:
            return plan.call("read", self.fileno(), super().readall)

        def readinto(self, buffer: Any) -> int | None:
            return plan.call("read", self.fileno(), super().readinto, buffer)

        def close(self) -> None:
            if self.closed or plan.depth:
                super().close()
            else:
                plan.call("close", self.fileno(), super().close)

    def raw(file: Any, mode: str, closefd: bool = True, opener: Any = None) -> File:
        plan.opening = True  # the opener tells
        try:
            return File(file, mode, closefd, opener=opener or (lambda path, flags: os.open(path, flags, 0o666)))
        finally:
            plan.opening = False

    pure: Any = _pyio
    pure.FileIO, pure.BufferedReader, pure.BufferedWriter = raw, io.BufferedReader, io.BufferedWriter
    pure.BufferedRandom, pure.TextIOWrapper = io.BufferedRandom, io.TextIOWrapper
    for module in (builtins, io, _io):
        module.open = pure.open  # type: ignore[attr-defined]
    sys.addaudithook(plan.heard)

    from trainc.project import write

    sync: Callable[[int], None] = write._sync
    write._sync = lambda handle: plan.call("syncfs", handle, sync, handle)  # by way of ctypes


def _trainc(arguments: list[str]) -> None:
    from trainc.cli import main

    sys.argv = ["trainc", *arguments]
    main()


def _child(request: dict[str, Any], log: int, out: int, err: int, count: mmap.mmap) -> None:
    """Run trainc as ``main`` does, or the function that ``call`` names; never returns."""
    status = 70
    try:
        os.chdir(request["folder"])
        os.environ.update(request.get("environment", {}))
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = open(1, "w", encoding="utf-8"), open(2, "w", encoding="utf-8")  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        from trainc.project import write

        write.MANY = request.get("many", write.MANY)
        folders = tuple(f"{os.path.abspath(name)}/" for name in request["watched"])
        plan = Plan(request.get("at", 0), request.get("fault", ""), log, folders, count)
        plan.edits, plan.rival = request.get("edits", {}), request.get("rival", [])
        _replace(plan)
        if (call := request.get("call")) is None:
            _trainc(request["args"])
        module, _, function = call.rpartition(".")
        try:
            getattr(importlib.import_module(module), function)(*request["args"])
        except Exception as error:  # noqa: BLE001 - a notebook shows it
            sys.stderr.write(f"trainc: error: {error}\n")
            status = 2
        else:
            status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - shown, and a failure of the test
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        _exit(status)


def answers(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run requests side by side, each in a forked process; one that hangs is killed."""
    with contextlib.ExitStack() as stack:
        begun = []
        for request in requests:
            if (call := request.get("call")) is not None:
                importlib.import_module(call.rpartition(".")[0])  # once, and not in each process
            count = mmap.mmap(-1, 8)
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            log, out, err = (file.fileno() for file in files)
            if (pid := os.fork()) == 0:
                _child(request, log if request.get("log") else -1, out, err, count)
            begun.append((pid, files, count))
        return [_answer(*each) for each in begun]


def _answer(pid: int, files: list[Any], count: mmap.mmap) -> dict[str, Any]:
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(HANG)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.alarm(0)
    texts = []
    for file in files:
        file.seek(0)
        texts.append(file.read().decode("utf-8", "backslashreplace"))
    number = struct.unpack("q", count[:8])[0]
    return {"status": status, "calls": texts[0].splitlines(), "count": number, "out": texts[1], "err": texts[2]}


def main() -> None:
    """Render a project, so that the package is loaded, then answer requests until standard input ends."""
    from trainc.cache.store import fingerprint
    from trainc.cli.root import trainc

    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 1)
    os.chdir(sys.argv[1])
    for arguments in WARM_UP:
        with contextlib.suppress(SystemExit):
            trainc(arguments, prog_name="trainc")
    fingerprint()
    for line in sys.stdin:
        output.write(json.dumps(answers(json.loads(line))) + "\n")
        output.flush()


if __name__ == "__main__":
    main()
