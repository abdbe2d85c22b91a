"""The command line. Only the process's entry stands here: completion and --help must not pay for the rest."""

from __future__ import annotations


def main() -> None:
    """Run trainc on the arguments of the process, and exit."""
    import gc
    import signal

    # A tenth of a short run goes into looking for cycles among modules, schemas and documents, which all stay.
    gc.set_threshold(50_000, 10, 10)
    from trainc.cli.root import trainc

    if (pipe := getattr(signal, "SIGPIPE", None)) is not None:
        # As other Unix tools: a reader that has enough (`| head`) ends us without a word.
        signal.signal(pipe, signal.SIG_DFL)
    trainc(prog_name="trainc")
