"""The names of files and folders of a project, and which of them are read. Pure.

Names are POSIX paths from the project root, the folder with trainc.yaml. jobs/ has a folder per namespace; files of
runtimes/ and policies/ are directly there or in one folder. Hidden entries are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable

JOBS = "jobs"
RUNTIMES = "runtimes"
POLICIES = "policies"
CONFIG = "trainc.yaml"
LOCK = "images.lock.yaml"
SETTINGS = (CONFIG, LOCK)
"""Files at the root with settings."""

INPUTS = (JOBS, RUNTIMES, POLICIES)
OUT = "out"
POLICY_TESTS = "policies/tests"
"""The tests of policies, which are not read as policies or other objects."""

SUFFIXES = (".yaml", ".yml", ".json")
DEPTHS = {"jobs": (3,), "runtimes": (2, 3), "policies": (2, 3)}
DEEPEST = 10
"""The most folders around a file. The time that Flux takes to check one out grows with the square of their number, and
more: a file in 1,700 takes minutes, and so do 10,000 files in 48. For files in 1,700 folders each, git takes longer
than Argo CD lets it. In so few folders, no path is longer than Argo CD and Flux can read, since a name has at most 255
bytes.
"""
TOO_DEEP = f"more than {DEEPEST} folders in each other: Argo CD and Flux may read nothing of the repository"


def parents(name: str, most: int | None = None) -> list[str]:
    """Return the folders above a path, outermost first; at most ``most`` of them, if it is given."""
    steps = name.split("/")
    return ["/".join(steps[:end]) for end in range(1, len(steps))[:most]]


def all_parents(names: Iterable[str]) -> set[str]:
    """Return the folders above any of the paths, each found once: a deep one has many above it, with long paths."""
    found: set[str] = set()
    for name in names:
        while (name := name.rpartition("/")[0]) and name not in found:
            found.add(name)
    return found


def is_text(name: str) -> bool:
    """Return whether the name of a file is text, as names in outputs and caches must be: UTF-8 in a UTF-8 locale."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def is_hidden(name: str) -> bool:
    """Return whether a file, or a folder above it, is hidden."""
    return "/." in f"/{name}"


def is_output(name: str) -> bool:
    """Return whether a path is out/ or below it."""
    return name.partition("/")[0] == OUT


def is_input(name: str) -> bool:
    """Return whether read_tree reads a regular file of this name."""
    steps = name.split("/")
    placed = len(steps) in DEPTHS.get(steps[0], ()) and steps[-1] != CONFIG and not is_policy_test(name)
    return placed and not is_hidden(name) and name.lower().endswith(SUFFIXES)


def is_read(name: str) -> bool:
    """Return whether a file is an input, or has settings."""
    return name in SETTINGS or is_input(name)


def may_have_inputs(folder: str) -> bool:
    """Return whether read_tree reads files of a folder, or of a folder in it."""
    return any(is_input(f"{folder}/{name}.yaml") for name in ("x", "x/x"))


def is_given(name: str, places: Iterable[str]) -> bool:
    """Return whether read_given reads a regular file of this name for one of ``places``, names from root."""
    if is_output(name) or name in SETTINGS or is_policy_test(name) or not name.lower().endswith(SUFFIXES):
        return False
    return any(is_shown(name, place) for place in places)


def is_shown(name: str, place: str) -> bool:
    """Return whether a path is at or below a place, and not hidden there."""
    if place == ".":
        return not is_hidden(name)
    return f"{name}/".startswith(f"{place}/") and "/." not in name[len(place) :]


def is_policy_test(name: str) -> bool:
    """Return whether a file is below policies/tests/."""
    return name.startswith(POLICY_TESTS + "/")


def is_placed(name: str) -> bool:
    """Return whether trainc could write a file of this name: ``out/<environment>/<namespace>/<job>/<file>.yaml``."""
    steps = name.split("/")
    placed = len(steps) == 5 and all(steps) and steps[0] == OUT
    return placed and name.endswith(".yaml") and not steps[-1].startswith(".")
