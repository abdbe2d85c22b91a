"""Attaches the origins of their fields to a job's objects; trace.py computes them when one is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from msgspec.structs import replace

from trainc.basics.jsonvalues import Path
from trainc.kube.gotypes import GoDecodeError
from trainc.kube.merge import MergeError
from trainc.plugins.model import Model, Objects, Origin


def with_origins(model: Model, objects: Objects) -> Objects:
    """Return the objects of a job with the origins of their fields.

    There are none where Go refuses what a later step replaces, such as a patch that it merges only with a fix.
    """

    @cache
    def traced() -> Sequence[Mapping[Path, Origin]]:
        from trainc.provenance.trace import trace  # only findings on generated objects and `trainc explain` need it

        try:
            return trace(model)
        except (GoDecodeError, MergeError):
            return [{}] * len(objects)

    origins = [partial(lambda number: traced()[number], index) for index in range(len(objects))]
    return tuple(replace(obj, origins=each) for obj, each in zip(objects, origins, strict=True))
