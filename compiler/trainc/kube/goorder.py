"""Go's own order of keys, in which json.Marshal prints a struct (maps are sorted)."""

from __future__ import annotations

from trainc.basics.jsonvalues import Json
from trainc.kube.gotypes import decode, fields, is_struct


def typed(data: Json, type_name: str) -> Json:
    """Return data as Go prints it when it is of that type: decoded, keys in the struct's order.

    A list gives a list of items of that type. Raises GoDecodeError.
    """
    if isinstance(data, list):
        return [typed(item, type_name) for item in data]
    return _ordered(decode(data, type_name), type_name)


def _ordered(data: Json, kind: str) -> Json:
    kind = kind.removeprefix("*")
    if isinstance(data, list):
        return [_ordered(item, kind.removeprefix("[]")) for item in data]
    if not isinstance(data, dict):
        return data
    if kind.startswith("{}"):
        return {key: _ordered(data[key], kind[2:]) for key in sorted(data)}
    if not is_struct(kind):
        return {key: data[key] for key in sorted(data)}
    return {name: _ordered(data[name], field.kind) for name, field in fields(kind).items() if name in data}
