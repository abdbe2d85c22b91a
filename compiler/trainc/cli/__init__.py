"""The command line. Only the process's entry stands here: completion and --help must not pay for the rest."""

from __future__ import annotations

from typing import NoReturn


class Stopped(SystemExit):
    """A signal asks the run to end: what is half done is cleaned up on the way out."""


def main() -> None:
    """Run trainc on the arguments of the process, and exit."""
    import gc
    import os

    # A tenth of a short run goes into looking for cycles among modules, schemas and documents, which all stay.
    gc.set_threshold(250_000, 10, 10)
    _hear_signals()
    _hold_output()
    try:
        _run()
    except Stopped as end:
        # Without a last flush: whoever reads may have stopped, too.
        os._exit(end.code if isinstance(end.code, int) else 1)
    except SystemExit as end:
        _leave(end)
    except OSError:  # of standard error: nothing can be told
        os._exit(2)


def _hear_signals() -> None:
    """Let SIGTERM and SIGHUP clean up, then exit with 128 and their number as shells count; SIGPIPE ends the run."""
    import signal

    def stop(number: int, _frame: object) -> NoReturn:
        raise Stopped(128 + number)

    if (pipe := getattr(signal, "SIGPIPE", None)) is not None:
        # As other Unix tools: a reader that has enough (`| head`) ends us without a word.
        signal.signal(pipe, signal.SIG_DFL)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, stop)


def _hold_output() -> None:
    """Where the caller closed standard output, put a stream there that refuses all text.

    Otherwise what is meant for the caller would vanish, or reach a file that got its number.
    """
    import sys

    if sys.stdout is None:
        from trainc.cli.echo import closed

        sys.stdout = closed()


def _run() -> None:
    from trainc.cli.root import trainc

    trainc(prog_name="trainc")


def _leave(end: SystemExit) -> NoReturn:
    """Exit at once, where nothing but freeing memory is left to do: object by object that takes a tenth of a short run.

    Where the run is profiled or traced, or an MPI library has a last word to say to mpiexec, Python exits as it always
    does.
    """
    import os
    import sys

    observed = sys.getprofile() is not None or sys.gettrace() is not None or "mpi4py" in sys.modules
    if isinstance(end.code, int) and not observed:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):  # it was told, or nobody listens
            os._exit(end.code or 2)
        os._exit(end.code)
    raise end
