"""The table of kinds that can be imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from trainc.migrate import pytorch
from trainc.migrate.documents import Converted, Old
from trainc.schema.inputs import TRAINING_OPERATOR

Converter = Callable[[Old], Converted | None]

KINDS: Final[Mapping[tuple[str, str, str], Converter]] = {
    (TRAINING_OPERATOR, "v1", "PyTorchJob"): pytorch.convert,
}
"""The converters by group, version and kind."""
