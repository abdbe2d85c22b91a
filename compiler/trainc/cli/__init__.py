"""The command line. Only the process's entry stands here: completion and --help must not pay for the rest."""

from __future__ import annotations


def main() -> None:
    """Run trainc on the arguments of the process, and exit."""
    import signal

    from trainc.cli.root import trainc

    if (pipe := getattr(signal, "SIGPIPE", None)) is not None:
        # As other Unix tools: a reader that has enough (`| head`) ends us without a word.
        signal.signal(pipe, signal.SIG_DFL)
    trainc(prog_name="trainc")
