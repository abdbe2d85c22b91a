"""Go's JSON: decoding into the typed structs of an API, and encoding them again.

data/gotypes.json is the table of structs, printed by tests/oracle/gotypes from the pinned modules: per struct its
fields with kind, omission flags and patch strategy. One closure per struct is compiled from it, on first use. Keys are
matched case-sensitively: webhooks (controller-runtime's admission.Decoder) and cached reads both go through
apimachinery's serializer, which does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted
from trainc.data import load_json
from trainc.kube.gojson import float_literal, json_literal
from trainc.kube.quantity import QuantityError, from_json

JOB_SET = "v1alpha2.JobSet"
JOB_SET_SPEC = "v1alpha2.JobSetSpec"
TRAIN_JOB = "v1alpha1.TrainJob"
JOB_SET_SPEC_PATCH = "v1alpha1.JobSetSpecPatch"
POD_SPEC = "v1.PodSpec"
VOLCANO_POD_GROUP_SPEC = "v1beta1.PodGroupSpec"
RESOURCE_REQUIREMENTS = "v1.ResourceRequirements"

_APPLY = "ApplyConfiguration"
_INTEGERS = {"int": 64, "int32": 32, "int64": 64}
_PLAIN: dict[str, type] = {"string": str, "bool": bool}
"""Kinds whose values are all values of the Python type, written unchanged."""


class GoDecodeError(ValueError):
    """A document that Go's JSON decoder refuses.

    ``message`` is Go's text, ``path`` leads to the value. ``go_type`` is the type that Go expected there; it is empty
    where the type decodes itself.
    """

    def __init__(self, path: Path, message: str, go_type: str = "") -> None:
        super().__init__(f"{dotted(path)}: {message}")
        self.path = path
        self.message = message
        self.go_type = go_type


class Field(msgspec.Struct, frozen=True):
    """A field of a Go struct: ``kind`` is a scalar or a struct's name after ``*``, ``[]`` and ``{}`` (a map)."""

    name: str
    kind: str
    omitempty: bool
    omitzero: bool
    patch_strategy: str
    patch_merge_key: str
    embedded: str
    """Go names of the embedded structs that the field lies in, which error messages name."""


@cache
def fields(struct: str) -> dict[str, Field]:
    """Return the fields of a struct by JSON name, in Go's order. Raises KeyError for a type outside of the table."""
    table = {}
    for row in load_json("gotypes.json")[struct]:
        name, kind, flags, strategy, merge_key, embedded = (*row, "", "", "", "")[:6]
        table[name] = Field(name, kind, "e" in flags, "z" in flags, strategy, merge_key, embedded)
    return table


def is_struct(kind: str) -> bool:
    """Return whether a kind is a struct of the table (pointers do not count)."""
    return kind in load_json("gotypes.json")


def unknown_fields(data: Json, kind: str, path: Path = ()) -> Iterator[Path]:
    """Yield the paths in data, which lies at ``path``, that are not fields of a kind's structs."""
    kind = kind.lstrip("*")
    if isinstance(data, list) and kind.startswith("[]"):
        for index, item in enumerate(data):
            yield from unknown_fields(item, kind[2:], (*path, index))
    elif isinstance(data, dict) and (kind.startswith("{}") or is_struct(kind)):
        known = None if kind.startswith("{}") else fields(kind)
        for key, item in data.items():
            if known is not None and key not in known:
                yield (*path, key)
            else:
                yield from unknown_fields(item, kind[2:] if known is None else known[key].kind, (*path, key))


def decode(data: Json, type_name: str) -> Json:
    """Return the JSON that Go writes after reading data into a struct.

    Unknown fields and zero fields with ``omitempty`` are removed, zero fields without it are added (``resources: {}``,
    ``containers: null``), quantities and times get Go's spelling, and keys are sorted. Values that Go would not change
    keep their identity. ``type_name`` is as Go prints it (``v1alpha2.JobSetSpec``; KeyError if unknown). Raises
    GoDecodeError.
    """
    codec = _codec(type_name)
    if data is None:
        return codec.zero()
    try:
        return codec.decode(data)
    except _Mismatch as mismatch:
        raise _error(mismatch, data, codec) from None


def apply_configuration(data: Json, type_name: str) -> Json:
    """Return the apply configuration that Trainer builds from a typed object (pkg/apply FromTypedObjWithFields).

    ``type_name`` is that of the struct. Its JSON is read again into the ApplyConfiguration struct, whose fields are all
    pointers with omitempty. DefaultUnstructuredConverter, in between, omits what encoding/json omits. Raises
    GoDecodeError.
    """
    return decode(decode(data, type_name), type_name + _APPLY)


class _Mismatch(Exception):
    """A value that does not fit the Go type. Go keeps the first error and continues, unless it is ``fatal``."""

    def __init__(self, text: str, go_type: str = "", *, fatal: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.go_type = go_type
        self.fatal = fatal
        self.struct = ""
        self.names: list[str] = []
        self.steps: list[str | int] = []

    def leave(self, step: str | int, struct: str = "", embedded: str = "") -> None:
        """Raise it with the key or index that was being read before its steps, unless the value is read as null."""
        if not self.fatal and _READING_ON.get():
            return
        self.steps.append(step)
        if struct:
            self.struct = self.struct or struct
            self.names.append(str(step))
            self.names.extend(reversed(embedded.split(".")) if embedded else ())
        raise self

    def message(self) -> str:
        """Return Go's text (UnmarshalTypeError.Error), or that of the type's own decoder."""
        if not self.go_type:
            return self.text
        field = ".".join((self.struct.rpartition(".")[2], *reversed(self.names)))
        where = f"Go struct field {field}" if self.struct else "Go value"
        return f"json: cannot unmarshal {self.text} into {where} of type {self.go_type}"


_READING_ON: Final = ContextVar("_READING_ON", default=False)
"""Whether a value that does not fit its type is read as null, as Go does after the first one, unless that is fatal."""


def _error(first: _Mismatch, data: Json, codec: _Codec) -> GoDecodeError:
    """Return the error that Go returns: the first fatal one, or else the first one."""
    found, token = first, _READING_ON.set(True)
    try:
        if not first.fatal and first.steps:
            codec.decode(data)
    except _Mismatch as fatal:
        found = fatal
    finally:
        _READING_ON.reset(token)
    return GoDecodeError(tuple(found.steps[::-1]), found.message(), found.go_type)


class _Codec(NamedTuple):
    """``decode`` reads any value except null. ``zero`` returns the JSON of Go's zero value.

    ``omit``: omitempty drops zero and empty values of the kind. ``absent`` returns whether a value in the input results
    in Go's zero value, for omitzero.
    """

    decode: Callable[[Json], Json]
    zero: Callable[[], Json]
    omit: bool
    absent: Callable[[Json], bool]


_Run: TypeAlias = tuple[type | None, bool, Callable[[Json], Json], Callable[[Json], bool] | None, str]
"""How a field is read: the type of unchanged values, whether falsy ones are dropped, and the codec of all others."""


@cache
def _codec(kind: str) -> _Codec:
    """Compile a kind."""
    if kind.startswith("*"):
        # A pointer to an empty value is not empty: only null is, and that is never read.
        return _Codec(_codec(kind[1:]).decode, _null, False, _is_null)
    if kind.startswith(("[]", "{}")):
        return _Codec(_collection(kind), _null, True, _is_null)
    if kind in _CUSTOM:
        return _CUSTOM[kind]
    base, _, named = kind.partition(":")
    if base in _INTEGERS:
        return _Codec(_integer(_INTEGERS[base], named or base), lambda: 0, True, _is_zero)
    if base in _PLAIN:
        return _scalar(_PLAIN[base], named or base)
    return _struct(kind)


def _null() -> Json:
    return None


def _is_null(value: Json) -> bool:
    return value is None


def _is_zero(value: Json) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value == 0)


def _struct(struct: str) -> _Codec:
    """Compile a struct. Its fields' codecs are looked up on first use, since structs may hold themselves."""
    table = fields(struct)
    runs: dict[str, _Run] = {}
    always: list[tuple[str, Callable[[], Json]]] = []

    def decode_struct(data: Json) -> Json:
        if not isinstance(data, dict):
            raise _Mismatch(_json_kind(data), struct)
        if table and not runs:
            fields_read, always[:] = _fields_read(table)
            runs.update(fields_read)  # all at once, and last: where Ctrl-C interrupts this, the next call repeats it
        result: JsonObject = {}
        changed = False
        keys = sorted(data)
        for key in keys:
            value = data[key]
            if value is None or (run := runs.get(key)) is None:
                changed = True
                continue
            plain, omit, decode_field, skip, embedded = run
            read: Json = value
            if type(value) is not plain:
                if skip is not None and skip(value):
                    changed = True
                    continue
                try:
                    read = decode_field(value)
                except _Mismatch as mismatch:
                    mismatch.leave(key, struct, embedded)
                    changed = True
                    continue
            if read or not omit:
                result[key] = read
                changed = changed or read is not value
            else:
                changed = True
        for key, zero in always:
            if key not in result:
                result[key] = zero()
                changed = True
        return result if changed or keys != list(data) else data

    def absent(data: Json) -> bool:
        if not isinstance(data, dict):
            return data is None
        return all(_codec(table[key].kind).absent(value) for key, value in data.items() if key in table)

    return _Codec(decode_struct, lambda: decode_struct({}), False, absent)


def _fields_read(table: dict[str, Field]) -> tuple[dict[str, _Run], list[tuple[str, Callable[[], Json]]]]:
    """Return how each field of a struct is read, and the zero values of those that are always written."""
    runs: dict[str, _Run] = {}
    always: list[tuple[str, Callable[[], Json]]] = []
    for name, field in table.items():
        codec = _codec(field.kind)
        # omitzero calls IsZero of a time; within a struct, a decoded time has a location, so it is not zero.
        skip = None if not field.omitzero else _is_zero_time if field.kind == "Time" else codec.absent
        plain = _PLAIN.get(field.kind.removeprefix("*").partition(":")[0])
        omit = field.omitempty and codec.omit
        if plain is not None and skip is not None:  # strings and booleans are absent if they are falsy
            omit = omit or codec.omit
        runs[name] = plain, omit, codec.decode, skip, field.embedded
        if not field.omitzero and not (field.omitempty and (codec.omit or field.kind.startswith("*"))):
            always.append((name, codec.zero))
    return runs, always


def _collection(kind: str) -> Callable[[Json], Json]:
    """Compile a list or a map."""
    is_list = kind.startswith("[]")
    plain = _PLAIN.get(kind[2:].partition(":")[0])

    def decode_collection(data: Any) -> Json:
        if not isinstance(data, list if is_list else dict):
            raise _Mismatch(_json_kind(data), _go_type(kind))
        item = _codec(kind[2:])
        keys: list[Any] = list(range(len(data))) if is_list else sorted(data)
        result: list[Json] = []
        changed = not is_list and keys != list(data)
        for key in keys:
            value = read = data[key]
            if type(value) is not plain:
                try:
                    read = item.decode(value) if value is not None else item.zero()
                except _Mismatch as mismatch:
                    mismatch.leave(key)
                    read = item.zero()
                changed = changed or read is not value
            result.append(read)
        if not changed:
            return data
        return result if is_list else dict(zip(keys, result, strict=True))

    return decode_collection


def _scalar(of: type, go_type: str) -> _Codec:
    def decode_scalar(data: Json) -> Json:
        if type(data) is not of:
            raise _Mismatch(_json_kind(data), go_type)
        return data

    return _Codec(decode_scalar, of, True, lambda value: value is None or (type(value) is of and not value))


def _integer(bits: int, go_type: str) -> Callable[[Json], Json]:
    limit = 1 << (bits - 1)

    def decode_integer(data: Json) -> Json:
        number = data
        if isinstance(number, float) and "." not in (text := float_literal(number)) and "e" not in text:
            number = int(text)
        if type(number) is not int or not -limit <= number < limit:
            raise _Mismatch(_json_kind(data, literal=True), go_type)
        return number

    return decode_integer


def _json_kind(data: Json, *, literal: bool = False) -> str:
    """Return the name of a value's type in Go's errors."""
    if isinstance(data, bool):
        return "bool"
    if isinstance(data, int | float):
        return f"number {json_literal(data)}" if literal else "number"
    return "string" if isinstance(data, str) else "array" if isinstance(data, list) else "object"


def _go_type(kind: str) -> str:
    """Return the type of a list or map as Go prints it; only that of quantities has a name."""
    named = kind.rpartition(":")[2] if ":" in kind else kind.lstrip("[]{}")
    return "v1.ResourceList" if kind == "{}Quantity" else kind[:2].replace("{}", "map[string]") + named


def _quantity(data: Json) -> Json:
    try:
        text = from_json(data).canonical()
    except QuantityError as error:
        raise _Mismatch(str(error), fatal=True) from None
    return data if data == text else text


def _int_or_string(data: Json) -> Json:
    if isinstance(data, str):
        return data
    try:
        return _integer(32, "int32")(data)
    except _Mismatch as mismatch:
        mismatch.fatal = True
        raise


def _time(data: Json) -> Json:
    if not isinstance(data, str):
        raise _Mismatch(_json_kind(data), "string", fatal=True)
    from trainc.kube.gotime import TimeError, normalize_time

    try:
        text = normalize_time(data)
    except TimeError as error:
        raise _Mismatch(str(error), fatal=True) from None
    return data if data == text else text


def _is_zero_time(value: Json) -> bool:
    return value is None or (isinstance(value, str) and _time(value) is None)


_CUSTOM: dict[str, _Codec] = {
    "Quantity": _Codec(_quantity, lambda: "0", False, _is_null),
    "IntOrString": _Codec(_int_or_string, lambda: 0, False, _is_zero),
    "Time": _Codec(_time, _null, False, _is_null),
    "FieldsV1": _Codec(lambda data: data, _null, False, _is_null),
}


def typed(data: Json, type_name: str) -> Json:
    """Return data as Go prints a value of that type: decoded, keys in the struct's order.

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
