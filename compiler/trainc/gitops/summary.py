"""Summaries of objects, which take much less memory than the objects."""

from __future__ import annotations

import msgspec

from trainc.admission.base_revision import Identity, identify
from trainc.basics.jsonvalues import get
from trainc.gitops.pods import image_names
from trainc.plugins.model import Object


class Summary(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An object's identity (as in ``base.identify``), its namespace, its name without run number, and its images."""

    identity: Identity
    namespace: str
    plain: str
    images: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The object's kind."""
        return self.identity[1]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.identity[3]


def summarize(obj: Object) -> Summary:
    """Return the summary of an object."""
    namespace = get(obj.data, "metadata", "namespace")
    return Summary(identify(obj.data), str(namespace or ""), obj.plain, image_names(obj.data))
