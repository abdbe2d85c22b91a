"""Images as the node has them: unpacked root folders with the part of the image's configuration that counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import Unsupported


@dataclass(frozen=True, slots=True)
class Image:
    """A root folder, never written to, and the image's configuration: what a pod does not say comes from here."""

    root: Path
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = "/"
    user: str = ""
    stop_signal: str = "SIGTERM"

    @classmethod
    def from_layout(cls, layout: Path, root: Path) -> Image:
        """Return the image of an OCI layout (its first manifest), unpacked at ``root``.

        Raises:
            OSError: A file of the layout cannot be read.
            KeyError, ValueError: The layout is none.
        """
        index = json.loads((layout / "index.json").read_bytes())
        manifest = _blob(layout, index["manifests"][0]["digest"])
        config = _blob(layout, manifest["config"]["digest"]).get("config") or {}
        return cls(
            root,
            tuple(config.get("Entrypoint") or ()),
            tuple(config.get("Cmd") or ()),
            dict(entry.split("=", 1) for entry in config.get("Env") or ()),
            config.get("WorkingDir") or "/",
            config.get("User") or "",
            config.get("StopSignal") or "SIGTERM",
        )


def resolve(images: Mapping[str, Path | Image], reference: str) -> Image:
    """Return the image of a reference: as it is written, else without its digest, else without its tag.

    Raises:
        Unsupported: There is none; the text names the reference and those that there are.
    """
    plain = reference.partition("@")[0]
    folder, slash, last = plain.rpartition("/")
    for name in (reference, plain, folder + slash + last.partition(":")[0]):
        found = images.get(name)
        if found is not None:
            return found if isinstance(found, Image) else Image(found)
    raise Unsupported(f"image {reference}: the node has only {', '.join(sorted(images)) or 'none'}")


def _blob(layout: Path, digest: str) -> Any:
    algorithm, _, value = digest.partition(":")
    return json.loads((layout / "blobs" / algorithm / value).read_bytes())
