"""Where a finding on a generated object is reported: at the line that caused the value at fault."""

from __future__ import annotations

from trainc.model import Model, Object
from trainc.origins import nearest
from trainc.source import Document, Path, existing


def blamed(model: Model, made: Object, path: Path) -> tuple[Document, Path]:
    """Return the document and the place in it that the value at path comes from.

    Of a default, which nobody wrote, it is where that was left out; the TrainJob's name if nothing was written.
    """
    origins = made.origins()
    for end in range(len(path), 0, -1):
        origin = nearest(origins, path[:end])
        if origin is not None and origin.document is not None:
            return origin.document, existing(origin.document.data, origin.path)
    return model.job, ("metadata", "name")
