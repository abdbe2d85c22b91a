"""The one list of divergences from upstream. Each matches as little as can be, is counted, and must be needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from oracle.compare import STAGES, Difference

MEMORY = "Out of memory"


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where we differ on purpose. ``stage`` and ``path`` (a regular expression) are those of the Difference."""

    name: str
    stage: str
    path: str
    reason: str
    applies: Callable[[Difference], bool] = lambda difference: True

    def matches(self, difference: Difference) -> bool:
        """Tell whether this entry is about the difference."""
        return (
            difference.stage in self.stage.split("|")
            and re.fullmatch(self.path, difference.path) is not None
            and self.applies(difference)
        )


def _all_errors(test: Callable[[dict[str, Any]], bool]) -> Callable[[Difference], bool]:
    def applies(difference: Difference) -> bool:
        errors = difference.result.get("errors", [])
        return bool(errors) and all(test(error) for error in errors)

    return applies


def _input_error(difference: Difference) -> bool:
    """Tell whether we say that a value or a name is unclear, or that a document is there twice."""
    ours = difference.ours if isinstance(difference.ours, list) else []
    unclear = bool(ours) and all(text.startswith(("decode: TC004", "decode: TC006")) for text in ours)
    return unclear or any(text.startswith("decode: TC009") for text in ours)


def _said_before(difference: Difference) -> bool:
    """Tell whether we leave out nothing but what else the API server says of an empty label key."""
    errors = [error["message"] for error in difference.result.get("errors", [])]
    first = {text: f"{text.partition(': name part ')[0]}: name part must be non-empty" for text in difference.upstream}
    return not difference.ours and all(text != said and said in errors for text, said in first.items())


DIVERGENCES = (
    Divergence(
        "flux-scripts",
        "objects",
        r"ConfigMap/[^/]+-flux-entrypoint/data\.(entrypoint|init)\.sh",
        "the scripts are our own; what they do is tested apart",
        lambda difference: isinstance(difference.upstream, str) and isinstance(difference.ours, str),
    ),
    Divergence(
        "memory",
        "build",
        "errors",
        "upstream writes a hostfile until it has no memory left; we refuse above a documented limit (TC407)",
        _all_errors(lambda error: error["type"] == MEMORY),
    ),
    Divergence(
        "input",
        "|".join(("accepted", *STAGES)),
        "stage",
        "a value that JSON cannot hold, a document without a name or one that is there twice is an input error of ours",
        _input_error,
    ),
    Divergence(
        "one-finding",
        "runtime-crd",
        "errors",
        "an empty label key of a runtime is two errors of the API server, and one mistake: one finding",
        _said_before,
    ),
)


class Ledger:
    """Counts which entry explained how many differences."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter({entry.name: 0 for entry in DIVERGENCES})

    def unexplained(self, differences: Iterable[Difference]) -> list[Difference]:
        """Return the differences that no entry explains; count the others."""
        rest = []
        for difference in differences:
            entry = next((entry for entry in DIVERGENCES if entry.matches(difference)), None)
            if entry is None:
                rest.append(difference)
            else:
                self.counts[entry.name] += 1
        return rest

    def unused(self) -> list[str]:
        """Return the entries that explained nothing."""
        return [name for name, count in self.counts.items() if not count]
