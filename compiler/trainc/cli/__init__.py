"""The command line. This module only has the entry point, so that completion and --help start fast."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from typing import NoReturn


class Stopped(SystemExit):
    """A signal asks the run to end, after cleaning up."""


def main() -> None:
    """Run trainc on the arguments of the process, and exit."""
    # Otherwise a tenth of a short run goes into garbage collection, which finds nothing to free.
    gc.set_threshold(250_000, 10, 10)
    _handle_signals()
    _replace_output()
    try:
        from trainc.cli.limits import Limits
        from trainc.cli.root import trainc

        trainc(prog_name="trainc", obj=Limits())
    except Stopped as end:
        # Without a last flush: the reader may have stopped, too.
        os._exit(end.code if isinstance(end.code, int) else 1)
    except SystemExit as end:
        _exit(end)
    except KeyboardInterrupt:  # while modules are loaded; later, click catches it
        os._exit(130)
    except OSError:  # of standard error: nothing can be reported
        os._exit(2)


def _handle_signals() -> None:
    """Exit with 128 plus the signal number after SIGTERM and SIGHUP, after cleaning up; SIGPIPE ends the run.

    The caller may have started trainc with SIGPIPE or SIGCHLD ignored. Like other Unix tools, trainc ends silently when
    the reader does (`| head`). With SIGCHLD ignored, Python takes each git that failed for one that succeeded.
    """

    def stop(number: int, _frame: object) -> NoReturn:
        raise Stopped(128 + number)

    for name in ("SIGPIPE", "SIGCHLD"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, stop)


def _replace_output() -> None:
    """Replace a standard output that the caller closed with a stream whose writes fail: the device is open for reading.

    Otherwise output would be lost, or go to a file with the same descriptor. With PYTHONUNBUFFERED, streams lose what
    one write does not take, as on a full disk: replace them with streams that write the rest, or fail.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(getattr(stream, "buffer", None), io.RawIOBase):
            buffered = os.fdopen(stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False)
            setattr(sys, name, buffered)


def _exit(end: SystemExit) -> NoReturn:
    """Exit at once, without freeing memory object by object, which takes a tenth of a short run.

    Python exits normally if the run is profiled or traced, or if an MPI library has to finish.
    """
    observed = sys.getprofile() is not None or sys.gettrace() is not None or "mpi4py" in sys.modules
    if isinstance(end.code, int) and not observed:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):  # already reported, or the reader is gone
            os._exit(end.code or 2)
        os._exit(end.code)
    raise end
