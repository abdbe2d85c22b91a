"""What commands read alike, beside jobs and files given. It loads nothing of the compiler."""

from __future__ import annotations

from pathlib import Path

from trainc.read import Inputs, merge, read_tree
from trainc.records import NamedTuple

RUNTIMES = "runtimes"
POLICIES = "policies"


class Read(NamedTuple):
    """All that a build reads.

    ``config``, ``lock`` and ``platform`` are what a repository adds, None where nothing is to be added; ``folders``
    are those of --crd-dir.
    """

    given: Inputs
    config: Inputs | None
    lock: Inputs
    platform: Inputs
    folders: tuple[tuple[str, Inputs], ...]

    @property
    def parts(self) -> tuple[Inputs, ...]:
        """All that was read, each at its place."""
        return (self.given, self.config or Inputs(), self.lock, self.platform, *(part for _, part in self.folders))


def read_platform(root: Path) -> Inputs:
    """Read runtimes/ and policies/ of the repository: what every job meets. The tests of policies are no part of it."""
    return merge([read_tree(root, RUNTIMES), read_tree(root, POLICIES)])
