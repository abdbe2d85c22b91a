"""Renames the namespaces that pods name, as the environment renames those of the objects.

Patches come later: they have the names in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, paths, put, replaced
from trainc.gitops.base import Pass, option_origin
from trainc.gitops.pods import with_pods
from trainc.inputs.settings import renamed_to
from trainc.plugins.model import Model, Objects, Origin

_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_TERMS: Final[tuple[tuple[str, Path], ...]] = (
    ("requiredDuringSchedulingIgnoredDuringExecution", ()),
    ("preferredDuringSchedulingIgnoredDuringExecution", ("podAffinityTerm",)),
)
"""Lists of an affinity, and the path of the term in an item."""

_NAMES: Path = ("namespaces",)
_LABELS: Path = ("namespaceSelector", "matchLabels")
_RULES: Path = ("namespaceSelector", "matchExpressions")
_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that each Namespace has, with its name."""

_FREE: Final = frozenset(("labels", "annotations"))
"""Maps whose keys are not fields."""

_ACCOUNTS: Final = ("system:serviceaccount:", "system:serviceaccounts:")
"""What the names of service accounts as users, and of the groups of a namespace, begin with."""


def _renamed(model: Model, objects: Objects) -> Objects:
    """Return the objects with the namespaces in the affinities of their pods renamed."""
    renames = model.options.settings.namespaces
    return with_pods(objects, lambda spec: _in_pod(spec, renames)) if renames else objects


def _in_pod(spec: JsonObject, renames: Mapping[str, str]) -> JsonObject:
    def in_item(item: Json, inside: Path) -> Json:
        return _changed(item, inside, lambda term: _in_term(term, renames))

    for affinity in _AFFINITIES:
        for kind, inside in _TERMS:
            place: Path = ("affinity", affinity, kind)
            if items := as_list(get(spec, *place)):
                spec = put(spec, place, [in_item(item, inside) for item in items])
    return spec


def _in_term(term: Json, renames: Mapping[str, str]) -> Json:
    """Return a term of an affinity, which names namespaces in a list and in a selector."""

    def in_list(names: Json) -> Json:
        return [*dict.fromkeys(renames.get(str(name), str(name)) for name in as_list(names))]  # two may become one

    def in_rule(rule: Json) -> Json:
        return _changed(rule, ("values",), in_list) if get(rule, "key") == _LABEL else rule

    term = _changed(term, _NAMES, in_list)
    term = _changed(term, (*_LABELS, _LABEL), lambda name: renames.get(str(name), name))
    return _changed(term, _RULES, lambda rules: [*map(in_rule, as_list(rules))])


def _changed(value: Json, path: Path, change: Callable[[Json], Json]) -> Json:
    """Return a value with the part at a path changed, if there is one."""
    part = get(value, *path)
    return value if part is None else replaced(value, path, change(part))


def has_names(job: JsonObject) -> bool:
    """Return whether ``names_in`` finds a namespace in a TrainJob besides its own; hardly any has one of the words."""
    metadata = {key: value for key, value in as_object(job["metadata"]).items() if key != "namespace"}
    rest: JsonObject = {**job, "metadata": metadata}
    text = repr(rest)
    return any(word in text for word in ("namespace", _LABEL, *_ACCOUNTS)) and any(names_in(rest))


def names_in(document: JsonObject) -> Iterator[str]:
    """Yield the namespaces that a document names in fields that may be renamed; labels and annotations are not."""
    for path in paths(document):
        value, field = get(document, *path), next((step for step in reversed(path) if isinstance(step, str)), "")
        if isinstance(value, str) and _FREE.isdisjoint(path):
            rule = get(document, *path[:-2], "key") if field == "values" else field
            if rule in ("namespace", "namespaces", _LABEL):
                yield value
            elif field == "name" and value.startswith(_ACCOUNTS):
                yield value.split(":")[2]


def renamed_subject(name: str, renames: Mapping[str, str]) -> str:
    """Return the name of a user or group, which of service accounts contains the namespace."""
    start = next((start for start in _ACCOUNTS if name.startswith(start)), None)
    if start is None:
        return name
    namespace, colon, account = name.removeprefix(start).partition(":")
    return f"{start}{renames.get(namespace, namespace)}{colon}{account}"


def _cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the entry for the namespace in trainc.yaml."""
    names = renamed_to(model.options.settings.namespaces).get(str(get(root, *path)), ())
    return option_origin(model.options, "namespaces", *(names if len(names) == 1 else ()))


PASS: Final = Pass("namespaces", _renamed, _cause)
