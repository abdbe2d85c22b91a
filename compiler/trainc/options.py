"""What a caller can choose."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainc.source import JsonObject


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one compilation.

    ``faithful``: exactly what API server, Trainer v2.3.0 and JobSet v0.12.0 make of the documents given.
    ``environment``: a key of ``environments`` in trainc.yaml; the first folder below out/.
    ``config``: the parsed trainc.yaml. ``fixes``: names from the table of fixes.
    """

    faithful: bool = False
    environment: str = "prod"
    config: JsonObject = field(default_factory=dict, hash=False)
    fixes: tuple[str, ...] = ()
