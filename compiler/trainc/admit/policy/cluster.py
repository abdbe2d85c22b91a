"""What a cluster holds beside policies, as far as it is given: namespaces and params."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.admit.policy.selectors import Labels, labels_of
from trainc.documents import Key
from trainc.records import dataclass
from trainc.schema.kinds import Registry
from trainc.source import Document, JsonObject, as_object

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its own name."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """The objects given, by identity, and the kinds known."""

    objects: Mapping[Key, Document]
    registry: Registry

    def namespace(self, name: str) -> JsonObject | None:
        """Return a namespace given, with the label that a server adds."""
        document = self.objects.get(("v1/Namespace", "", name))
        return named(document.data, name) if document is not None else None

    def namespace_labels(self, name: str) -> Labels:
        """Return the labels of a namespace; of one that is not given, one is known."""
        given = self.namespace(name)
        return labels_of(given) if given is not None else Labels({NAME_LABEL: name}, complete=False)

    def of_kind(self, api_version: str, kind: str) -> tuple[tuple[str, str, Document], ...]:
        """Return namespace, name and document of all objects of a kind, sorted."""
        wanted = f"{api_version}/{kind}"
        rows = [(key[1], key[2], document) for key, document in self.objects.items() if key[0] == wanted]
        return tuple(sorted(rows, key=lambda row: row[:2]))


def named(namespace: JsonObject, name: str) -> JsonObject:
    """Return a namespace with the label of its name."""
    metadata = as_object(namespace.get("metadata"))
    labels: JsonObject = {**as_object(metadata.get("labels")), NAME_LABEL: name}
    return {**namespace, "metadata": {**metadata, "name": name, "labels": labels}}
