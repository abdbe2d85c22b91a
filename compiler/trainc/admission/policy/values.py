"""The values available to expressions of policies: the request, its objects, its namespace and params.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/cel/activation.go and condition.go (CreateAdmissionRequest,
CreateNamespaceObject). A server knows more about an object than its manifest: a uid, creationTimestamp,
managedFields and often a generation, on update also resourceVersion and status. Reading these makes an expression
undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from trainc.admission.policy.documents import Request
from trainc.admission.policy.match import NAME_LABEL, Cluster, GroupVersionName, Match, own
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get
from trainc.cel.composition import LazyNames
from trainc.cel.maps import equal, is_map
from trainc.cel.values import Container, EvalError, Undecided, Value
from trainc.cel.work import Meter
from trainc.inputs.source import Document
from trainc.kube.generated import NAME, OTHER_UID, Generated
from trainc.schema.kinds import split_version

_NOTHING = object()
_NAME: Final[Path] = ("metadata", "name")
_GENERATED: Final[Path] = ("metadata", "generateName")


def hiding(name: str, data: Json, paths: tuple[Path, ...], generated: Generated | None = None) -> Value:
    """Return data whose values at some paths are unknown; copied dicts and lists keep their types.

    ``generated`` has values for placeholders at these paths, or none.
    """
    if not paths:
        return data
    below: dict[str | int, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).extend([tuple(rest)] if rest else [])
    if isinstance(data, list):
        items = ((f"{name}[{index}]", item, tuple(below.get(index, ()))) for index, item in enumerate(data))
        return [hiding(*item, generated) for item in items]
    if not isinstance(data, dict):
        return data
    hidden = frozenset(str(path[0]) for path in paths if len(path) == 1)
    known: dict[str, Value] = {
        key: _Unknown(f"{name}.{key}", value)
        if key in hidden
        else hiding(f"{name}.{key}", value, tuple(below.get(key, ())), generated)
        for key, value in data.items()
    }
    return Partial(name, known, hidden - data.keys(), generated) if hidden else known


class _Unknown(Undecided):
    """An unknown value, and the placeholder for it."""

    def __init__(self, name: str, placeholder: Json = None) -> None:
        super().__init__(f"{name}: not known offline")
        self.placeholder = placeholder if isinstance(placeholder, str) else ""


class Partial(Container):
    """A map with unknown fields: reading the value of one of them makes an expression undecided.

    ``hidden`` names the fields that may exist, or is None if any other field may. All others are absent. If there are
    hidden fields, reading the keys makes an expression undecided, too. A value in ``known`` is an Undecided if only the
    field's value is unknown, unless ``generated`` has it. ``name`` is the name of the map in the reason.
    """

    __slots__ = ("_generated", "_hidden", "_known", "_name")

    def __init__(
        self,
        name: str,
        known: Mapping[str, Value],
        hidden: frozenset[str] | None,
        generated: Generated | None = None,
    ) -> None:
        self._generated = generated.values if generated is not None else {}
        self._name = name
        self._known = known
        self._hidden = hidden

    def get(self, key: Value, default: Value) -> Value:
        """Return a field. Raises Undecided."""
        if not isinstance(key, str):
            return default
        found = self._known.get(key, _NOTHING)
        if found is not _NOTHING:
            if isinstance(found, _Unknown) and found.placeholder in self._generated:
                return self._generated[found.placeholder]
            if isinstance(found, Undecided):
                raise Undecided(found.reason)
            return found
        if self._hidden is None or key in self._hidden:
            raise _Unknown(f"{self._name}.{key}")
        return default

    def has(self, key: Value) -> bool:
        """Return whether there is a field. Raises Undecided if it may exist."""
        return (isinstance(key, str) and key in self._known) or super().has(key)

    def __len__(self) -> int:
        return len(self._keys())

    def size(self) -> int:
        """Return the size for run-time cost: the number of known fields."""
        return len(self._known)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._keys())

    def elements(self) -> Iterable[Value]:
        """Return the keys; all() and exists() are decided if a known one decides."""
        return _Keys(self._known, self._undecided()) if self._hidden is None or self._hidden else self._keys()

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare as ``other == self``, which reads this map. Raises Undecided."""
        if other is self:
            return True
        if isinstance(other, Partial):
            other = {key: other[key] for key in other}
        return is_map(other) and equal(other, self, meter)

    def _keys(self) -> list[str]:
        if self._hidden is None or self._hidden:
            raise self._undecided()
        return [*self._known]

    def _undecided(self) -> Undecided:
        return Undecided(f"{self._name}: not completely known offline")


class _Keys:
    """An iterator over some keys, which fails after the last one."""

    def __init__(self, keys: Iterable[str], end: Undecided) -> None:
        self._keys = iter([*keys])
        self._end = end

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for key in self._keys:
            return key
        raise self._end

    def __length_hint__(self) -> int:
        return 1  # there may be more


_CREATED: Final = frozenset(("uid", "creationTimestamp", "generation", "managedFields"))
_STORED: Final = _CREATED | {"resourceVersion"}
_NAMESPACE: Final = _STORED | {"deletionTimestamp", "deletionGracePeriodSeconds", "finalizers"}
_STATUS: Final = frozenset(("status",))
_AUTHORIZERS: Final = ("authorizer", "authorizer.requestResource")
_OFFLINE: Final = Undecided("authorizer: cannot be evaluated offline")
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def object_names(request: Request, matched: Match, generated: Generated) -> dict[str, Value]:
    """Return object and oldObject in the version as which the request is evaluated."""
    version = matched.kind[1]
    reason = f"{request.kind} of version {version}: not converted offline"
    created = request.operation == "CREATE"
    hidden = (_CREATED, frozenset[str]()) if created else (_STORED, _STATUS)
    found: dict[str, Value] = {
        "object": _object("object", request.object, *hidden, request.unknown, generated=generated),
        "oldObject": _object("oldObject", request.old_object, _STORED, _STATUS, request.unknown, generated=generated),
    }
    if version != request.version:
        found["object"] = Undecided(f"object: {reason}")
    if request.old_object is not None and version != split_version(str(request.old_object["apiVersion"]))[1]:
        found["oldObject"] = Undecided(f"oldObject: {reason}")
    return found


def names(
    request: Request,
    matched: Match,
    objects: Mapping[str, Value],
    params: Callable[[], Value],
    cluster: Cluster | None,
    *,
    generated: Generated,
) -> LazyNames:
    """Return all names except variables that expressions may use. Without a cluster, namespaceObject is null."""
    return LazyNames(
        {
            **objects,
            "request": partial(request_value, request, matched, generated),
            "params": params,
            "namespaceObject": partial(namespace_value, request, cluster),
            **dict.fromkeys(_AUTHORIZERS, _OFFLINE),
        }
    )


def without_authorizer(known: Mapping[str, Value]) -> LazyNames:
    """Return names as messages and audit annotations see them: the server evaluates these without an authorizer.

    The environment of annotations, and of variables, declares it, so only reading it is an error.
    """
    return LazyNames({**known, **{name: EvalError(f"no such attribute(s): {name}") for name in _AUTHORIZERS}})


def params_value(params: Document | None, version: str) -> Value:
    """Return ``params``: null for a policy without any, unknown in another version than ``version``, the policy's."""
    if params is not None and (given := params.data["apiVersion"]) != version:
        return Undecided(f"params: {params.data['kind']} of version {given}: not converted offline")
    return _object("params", params.data, _STORED, _STATUS) if params is not None else None


def request_value(request: Request, matched: Match, generated: Generated) -> Value:
    """Return ``request``. Empty fields are absent, as in the JSON of the server's type."""
    original = own(request)
    options: Value = Undecided("request.options: not known offline")
    if kind := _OPTIONS.get(request.operation):
        options = Partial("request.options", {"kind": kind, "apiVersion": "meta.k8s.io/v1"}, None)
    known: dict[str, Value] = {
        "kind": _named("kind", matched.kind),
        "resource": _named("resource", matched.resource),
        "requestKind": _named("kind", original.kind),
        "requestResource": _named("resource", original.resource),
        "operation": request.operation,
        "userInfo": Partial("request.userInfo", {}, None),
        "options": options,
        "dryRun": False,
    }
    texts = {
        "subResource": request.sub_resource,
        "requestSubResource": request.sub_resource,
        "name": request.name,
        "namespace": request.scope,
    }
    known.update((name, text) for name, text in texts.items() if text)
    hidden = ["uid", "object", "oldObject"]
    if not request.name and get(request.object, *_GENERATED):
        known["name"] = _Unknown("request.name", NAME)  # the server generates it before it asks policies
    elif not request.name and _NAME in request.unknown:
        hidden.append("name")  # it begins with a name that the server generates
    return Partial("request", known, frozenset(hidden), generated)


def namespace_value(request: Request, cluster: Cluster | None) -> Value:
    """Return ``namespaceObject``: null for namespaces and cluster-scoped objects."""
    if cluster is None or not request.scope or (request.version == "v1" and request.is_namespace):
        return None
    name = "namespaceObject.metadata"
    given = cluster.namespace(request.scope)
    if given is not None:
        metadata = as_object(given.get("metadata"))
    else:
        labels = Partial(f"{name}.labels", {NAME_LABEL: request.scope}, None)
        metadata = {"name": request.scope, "labels": labels}  # type: ignore[dict-item]  # a value, not JSON
    hidden = _NAMESPACE if given is not None else _NAMESPACE | {"annotations"}
    known: dict[str, Value] = {"apiVersion": "v1", "kind": "Namespace", **(given or {})}
    known["metadata"] = Partial(name, metadata, hidden)
    return Partial("namespaceObject", known, frozenset(("spec", "status")))


def _object(
    name: str,
    data: JsonObject | None,
    hidden: frozenset[str],
    top: frozenset[str],
    unknown: tuple[Path, ...] = (),
    *,
    generated: Generated | None = None,
) -> Value:
    """Return an object. Absent fields ``hidden`` of metadata and ``top`` are unknown, fields at ``unknown`` always.

    The uid and a generated name are there, with the values of ``generated``.
    """
    if data is None:
        return None
    given = data.get("metadata")
    if given is not None and not isinstance(given, dict):
        return data
    added: JsonObject = {"uid": OTHER_UID, **({"name": NAME} if get(data, *_GENERATED) else {})}
    absent = [("metadata", key) for key in (hidden | added.keys()) - (given or {}).keys()]
    paths = (*((key,) for key in top - data.keys()), *absent, *unknown)
    return hiding(name, {**data, "metadata": {**added, **(given or {})}}, paths, generated)


def _named(field: str, names: GroupVersionName) -> dict[str, Value]:
    return dict(zip(("group", "version", field), names, strict=True))
