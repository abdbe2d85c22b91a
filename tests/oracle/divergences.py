"""The one list of divergences from upstream. Each matches as little as can be, is counted, and must be needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from oracle.compare import Difference

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


def _ours_are(starts: tuple[str, ...]) -> Callable[[Difference], bool]:
    def applies(difference: Difference) -> bool:
        ours = difference.ours
        return isinstance(ours, list) and bool(ours) and all(text.startswith(starts) for text in ours)

    return applies


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
        "accepted|crd|runtime-crd|decode",
        "stage",
        "a document that YAML or JSON can hold in no clear way, or that has no name, is an input error of ours",
        _ours_are(("decode: TC004", "decode: TC006", "decode: TC009")),
    ),
    Divergence(
        "cel",
        "crd|runtime-crd|jobset-crd",
        "stage",
        "the CRDs' x-kubernetes-validations are not evaluated yet",
        _all_errors(lambda error: error.get("cel", False)),
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
