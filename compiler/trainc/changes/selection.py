"""The directories of out/ that paths mean: those below out/, and what is made from files of jobs/ and runtimes/."""

from __future__ import annotations

from collections.abc import Collection

from trainc.changes.folders import Files, folders, sources


def select(before: Files, after: Files, names: Collection[str]) -> tuple[Files, Files]:
    """Return both trees without what names, paths from the repository's root, do not mean; all of them for no name."""
    if not names:
        return before, after
    wanted = {
        f"out/{place}/"
        for tree in (before, after)
        for place, files in folders(tree).items()
        if any(is_below(source, names) for data in files.values() for source in sources(data))
    }
    return _only(before, names, wanted), _only(after, names, wanted)


def _only(tree: Files, names: Collection[str], wanted: Collection[str]) -> Files:
    return {name: data for name, data in tree.items() if name[: name.rfind("/") + 1] in wanted or is_below(name, names)}


def is_below(name: str, places: Collection[str]) -> bool:
    """Tell whether a path is one of some places, or lies below one."""
    return any(place in (".", name) or name.startswith(f"{place}/") for place in places)
