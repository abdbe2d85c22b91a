"""What `trainc diff` reads beside out/: the inputs of both sides, by which it tells what judges less than before."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from trainc.changes import Difference
from trainc.changes.cluster import unexplained
from trainc.cli.reading import read_platform
from trainc.cli.work import JOBS
from trainc.config import Config, parse
from trainc.options import Revision
from trainc.read import CONFIG, LOCK, merge, read_beside_policies, read_config, read_lock, read_tree
from trainc.records import NamedTuple
from trainc.revisions import read_inputs
from trainc.safeguards import weakened
from trainc.source import Document, Source


class Side(NamedTuple):
    """One side of a comparison: its inputs, the files below policies/ that are not read as policies, and settings.

    ``settings`` are the texts of trainc.yaml and images.lock.yaml.
    """

    inputs: Revision
    config: Document | None
    unread: tuple[Source, ...]
    settings: tuple[Source, ...]

    @classmethod
    def of(cls, root: Path, revision: str | None) -> Side:
        """Read the inputs of a revision, or of the working tree. RevisionError where that cannot be done."""
        if revision is not None:
            sources, unread = read_inputs(root, revision)
        else:
            read = merge([read_tree(root, JOBS), read_platform(root), read_config(root), read_lock(root)])
            sources, unread = read.sources, read_beside_policies(root).sources
        config = next((parse(source)[0] for source in sources if source.name == CONFIG), Config())
        settings = tuple(source for source in sources if source.name in (CONFIG, LOCK))
        inputs = tuple(source for source in sources if source.name not in (CONFIG, LOCK))
        return cls(Revision(revision or "", inputs, config.data), config.document, unread, settings)


def with_sources(difference: Difference, before: Side, after: Side) -> Difference:
    """Return a difference that knows what judges less, and which changes of out/ no source explains."""
    found = weakened(before.inputs, after.inputs, after.config, after.unread)
    texts = [{source.name: source.text for source in side.inputs.sources} for side in (before, after)]
    same = {name for name in texts[0].keys() & texts[1].keys() if texts[0][name] == texts[1][name]}
    by_hand = unexplained(difference, same) if before.settings == after.settings else ()
    return replace(difference, weakened=found, unexplained=by_hand)
