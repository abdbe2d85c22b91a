"""What `trainc import` does: documents of other operators and of older releases become TrainJobs and runtimes.

``importing.import_documents`` is the way in; it is pure. For each document it looks up a converter in ``kinds.KINDS``,
by group, version and kind. A converter is a function

    def convert(old: Old) -> Converted | None

It reads ``old`` (``documents.Old``) and builds new documents from its parts:

- ``old.get(*path)`` returns a value as kubectl reads it; ``old.read(*path)`` does so too and marks it as imported.
- ``old.put(target, key, *path)`` moves a value into a new mapping, with its comments, quotes and layout. The target is
  a ``CommentedMap``, or a ``CommentedSeq`` with the key None, which appends.
- ``old.done(*path)`` marks a value that needs nothing in the new documents, ``old.undo(*path)`` takes that back, and
  ``old.same(path, other)`` marks a value that is the same as another one, with which its comments go.
- ``old.moved(target, key, *path)`` attaches the comments of a value to a new one that was computed from it,
  ``old.anchor`` those of a mapping whose parts are moved one by one, and ``old.remark`` adds a comment of our own.
- ``old.note``, ``old.warn`` and ``old.refuse`` report a field, by its path in the old document, and mark it.

Whatever is neither read, moved nor marked when the converter returns is reported as TC030, so that no field is dropped
in silence. A converter returns None if nothing can be imported: the document is of today, or has no pods.

``Converted.job`` is the TrainJob without runtimeRef if ``Converted.runtime`` is set. Such a runtime is compared with
the runtimes that exist; one that fits is used instead, and jobs of one run share the rest (``runtimes.py``). Without
``runtime``, the TrainJob names one itself. ``Converted.edits`` change the old document in place instead of a new one.
"""

from __future__ import annotations

from trainc.migrate.importing import Imported, NewFile, import_documents

__all__ = ["Imported", "NewFile", "import_documents"]
