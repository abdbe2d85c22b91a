"""How large a ConfigMap may be: Kubernetes v1.34 pkg/apis/core/validation, ValidateConfigMap.

The bytes of all values count, those of binaryData as they are decoded; the keys do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object

CODE: Final = "TC022"
LIMIT: Final = 1024 * 1024
"""core.MaxSecretSize, which holds for ConfigMaps, too."""

UPSTREAM: Final = f"[]: Too long: may not be more than {LIMIT} bytes"
"""In ValidateConfigMap the field is ``field.NewPath("")``, for the whole object."""


def oversized(data: JsonObject) -> tuple[int, Path] | None:
    """Return the bytes of a ConfigMap that has too many, and the path of its largest value; else None."""
    if data.get("kind") != "ConfigMap" or data.get("apiVersion") != "v1":
        return None
    sizes = dict(_sizes(data))
    total = sum(sizes.values())
    return None if total <= LIMIT else (total, max(sizes, key=lambda path: sizes[path]))


def message(total: int) -> str:
    """Say what is wrong with a ConfigMap of so many bytes."""
    return f"a ConfigMap of {total:,} bytes, and the API server takes {LIMIT:,} (1 MiB)"


def _sizes(data: JsonObject) -> Iterator[tuple[Path, int]]:
    for key, value in as_object(data.get("data")).items():
        yield ("data", key), len(_text(value).encode("utf-8", "surrogatepass"))
    for key, value in as_object(data.get("binaryData")).items():
        text = "".join(_text(value).split())
        yield ("binaryData", key), len(text) * 3 // 4 - text.count("=")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
