"""The command line. Only the process's entry stands here: completion and --help must not pay for the rest."""

from __future__ import annotations

from typing import NoReturn


def main() -> None:
    """Run trainc on the arguments of the process, and exit."""
    import gc
    import signal

    # A tenth of a short run goes into looking for cycles among modules, schemas and documents, which all stay.
    gc.set_threshold(250_000, 10, 10)
    if (pipe := getattr(signal, "SIGPIPE", None)) is not None:
        # As other Unix tools: a reader that has enough (`| head`) ends us without a word.
        signal.signal(pipe, signal.SIG_DFL)
    try:
        _run()
    except SystemExit as end:
        _leave(end)


def _run() -> None:
    import sys

    from trainc.cli.plain import run

    status = run(sys.argv[1:])
    if status is not None:
        sys.exit(status)
    from trainc.cli.root import trainc

    trainc(prog_name="trainc")


def _leave(end: SystemExit) -> NoReturn:
    """Exit at once, where nothing but freeing memory is left to do: object by object that takes a tenth of a short run.

    Where a stream cannot be written to its end, the run is profiled or traced, or an MPI library has a last word to say
    to mpiexec, Python exits as it always does.
    """
    import os
    import sys

    observed = sys.getprofile() is not None or sys.gettrace() is not None or "mpi4py" in sys.modules
    if isinstance(end.code, int) and not observed:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            raise end from None
        os._exit(end.code)
    raise end
