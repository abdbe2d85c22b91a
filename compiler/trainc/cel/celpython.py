"""Kubernetes' CEL for users of cel-python: an environment and a runner in place of those of celpy.

Input and output are values of ``celpy.celtypes``. Types that celpy lacks become strings (quantities, addresses, URLs
...), an optional becomes its value or null, and times are cut to microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import lark
from celpy import Environment, Runner, celtypes
from celpy.celparser import CELParseError
from celpy.evaluation import Annotation, CELEvalError, CELFunction, CELUnsupportedError, Context
from lark.visitors import Transformer_NonRecursive

from trainc.cel import types
from trainc.cel.ast import Ident, postorder
from trainc.cel.checker import check
from trainc.cel.codegen import Program
from trainc.cel.declarations import Checked, base, free
from trainc.cel.declarations import Environment as Declarations
from trainc.cel.issues import CompileError, display, location
from trainc.cel.maps import is_list, is_map, items, make_map
from trainc.cel.parser import parse
from trainc.cel.types import Kind, Type
from trainc.cel.values import Duration, EvalError, Opaque, Optional, Timestamp, TypeValue, Uint, Value

T = TypeVar("T")


class KubernetesExpression(lark.Tree[lark.Token]):
    """An expression compiled by `KubernetesEnvironment`, for `KubernetesRunner`."""

    def __init__(self, text: str, checked: Checked, declarations: Declarations) -> None:
        super().__init__("kubernetes", [lark.Token("EXPRESSION", text)])
        self.text = text
        self.checked = checked
        self.declarations = declarations


class KubernetesRunner(Runner):
    """Evaluates an expression as a Kubernetes API server does.

    It runs expressions of KubernetesEnvironment and trees of ``celpy.Environment``. Raises CELParseError for a tree
    that the API server would reject, and CELUnsupportedError for custom functions, which Kubernetes does not have.
    """

    def __init__(
        self, environment: Environment, ast: lark.Tree[lark.Token], functions: dict[str, CELFunction] | None = None
    ) -> None:
        super().__init__(environment, ast, functions)
        if functions:
            raise CELUnsupportedError(f"Kubernetes has no function {', '.join(functions)}", line=1, column=1)
        if not isinstance(ast, KubernetesExpression):
            ast = _compile(_Source().transform(ast), environment)
        self.text = ast.text
        self.program: Program = _located(self.text, lambda: Program(ast.checked, ast.declarations))

    def evaluate(self, activation: Context) -> celtypes.Value:
        """Return the value for variables. Raises CELEvalError, also for a value that has no counterpart in celpy."""
        value, _, _ = self.program.run(
            _converted(lambda: {name: from_celpy(each) for name, each in activation.items()})
        )
        if isinstance(value, EvalError):
            error = CELEvalError(value.message)
            if value.position is not None:
                error.line, error.column = _position(self.text, value.position)
            raise error
        found: celtypes.Value = _converted(lambda: to_celpy(value))
        return found


class KubernetesEnvironment(Environment):
    """A ``celpy.Environment`` for Kubernetes' CEL: its syntax, types, macros, libraries, errors and limits.

    ``package`` is the container of unqualified names. ``annotations`` declare types of variables; a variable without
    one may have any type.
    """

    def __init__(
        self,
        package: str | None = None,
        annotations: Mapping[str, Annotation] | None = None,
        runner_class: type[Runner] | None = None,
    ) -> None:
        # celpy's __init__ would create the process-wide parser with the tree class of its first caller.
        self.package = package
        self.annotations = dict(annotations or {})
        self.runner_class = runner_class or KubernetesRunner

    def compile(self, text: str) -> KubernetesExpression:
        """Parse and check an expression. Raises CELParseError with line and column, both counted from 1."""
        return _compile(text, self)

    def program(self, expr: lark.Tree[lark.Token], functions: dict[str, CELFunction] | None = None) -> Runner:
        """Return the runner of an expression; ``functions`` must be empty."""
        return self.runner_class(self, expr, functions)


def _compile(text: str, environment: Environment) -> KubernetesExpression:
    def compiled() -> KubernetesExpression:
        tree = parse(text, base(new=False).macros)
        found = {node.name.removeprefix(".") for node in postorder(tree) if isinstance(node, Ident)}
        names = dict.fromkeys(found - base(new=False).names.keys(), types.DYN)
        for name, annotation in environment.annotations.items():
            if annotation in _TYPES and "google." not in name:  # neither a function nor a message
                names[name] = _TYPES[annotation]
        declarations = free(names, container=environment.package or "")
        return KubernetesExpression(text, check(tree, declarations), declarations)

    return _located(text, compiled)


def _located(text: str, step: Callable[[], T]) -> T:
    """Run a step of compilation; raises CELParseError with the position."""
    try:
        return step()
    except CompileError as error:
        line, column = _position(text, min(issue.position for issue in error.issues))
        raise CELParseError(display(text, error.issues), line=line, column=column) from error


def _position(text: str, offset: int) -> tuple[int, int]:
    line, column = location(text, offset)
    return line, column + 1


# Trees of celpy's own parser

_RELATIONS: Final = (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="), ("in", "in"))
_TEXTS: Final[Mapping[str, str]] = {
    "expr": "{} ? {} : {}",
    "conditionalor": "{} || {}",
    "conditionaland": "{} && {}",
    **{f"relation_{name}": f"{{}} {sign}" for name, sign in _RELATIONS},
    "addition_add": "{} +",
    "addition_sub": "{} -",
    "multiplication_mul": "{} *",
    "multiplication_div": "{} /",
    "multiplication_mod": "{} %",
    "unary_not": "!",
    "unary_neg": "-",
    "member_dot": "{}.{}",
    "member_dot_arg": "{}.{}({})",
    "member_index": "{}[{}]",
    "member_object": "{}{{{}}}",
    "dot_ident_arg": ".{}({})",
    "dot_ident": ".{}",
    "ident_arg": "{}({})",
    "paren_expr": "({})",
    "list_lit": "[{}]",
    "map_lit": "{{{}}}",
}
"""The text of each rule of cel.lark, with a placeholder per child; an argument list may be missing."""
_RENAMING: Final = frozenset(("expr", "conditionalor", "conditionaland"))


class _Source(Transformer_NonRecursive[lark.Token, str]):
    """Converts a tree back to text, which celpy does not keep."""

    def __default__(self, data: str, children: list[Any], meta: object) -> str:
        if data in ("mapinits", "fieldinits"):
            return ", ".join(f"{key}: {value}" for key, value in zip(children[::2], children[1::2], strict=True))
        if data == "exprlist":
            return ", ".join(children)
        if data not in _TEXTS or (data in _RENAMING and len(children) == 1):
            return " ".join(children)
        return _TEXTS[data].format(*children, "")


# Values

_TYPES: Final[Mapping[Any, Type]] = {
    celtypes.BoolType: types.BOOL,
    celtypes.BytesType: types.BYTES,
    celtypes.DoubleType: types.DOUBLE,
    celtypes.DurationType: types.DURATION,
    celtypes.IntType: types.INT,
    celtypes.ListType: types.list_of(types.DYN),
    celtypes.MapType: types.map_of(types.DYN, types.DYN),
    celtypes.StringType: types.STRING,
    celtypes.TimestampType: types.TIMESTAMP,
    celtypes.TypeType: types.TYPE,
    celtypes.UintType: types.UINT,
    type(None): types.NULL,
}
_CLASSES: Final[Mapping[Kind, Any]] = {found.kind: kind for kind, found in _TYPES.items()}
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_MICROSECOND: Final = timedelta(microseconds=1)


def from_celpy(value: Any) -> Value:
    """Convert a value of celpy or Python to ours."""
    for kind, convert in _READERS:
        if isinstance(value, kind):
            return convert(value)
    raise CELEvalError(f"CEL has no type for a value of {type(value)}")


def _timestamp(value: datetime) -> Timestamp:
    value = value if value.tzinfo else value.replace(tzinfo=_EPOCH.tzinfo)
    offset = value.utcoffset() or timedelta()
    return Timestamp((value - _EPOCH) // _MICROSECOND * 1000, int(offset.total_seconds()))


def _map(value: Mapping[Any, Any]) -> Value:
    pairs = [(from_celpy(key), from_celpy(item)) for key, item in value.items()]
    return dict(pairs) if all(key.__class__ is str for key, _ in pairs) else make_map(pairs)


_READERS: Final[tuple[tuple[Any, Callable[[Any], Value]], ...]] = (
    (type(None), lambda value: None),
    ((bool, celtypes.BoolType), bool),
    (celtypes.UintType, lambda value: Uint(int(value))),
    (int, int),
    (float, float),
    (str, str),
    (bytes, bytes),
    (datetime, _timestamp),
    (timedelta, lambda value: Duration(value // _MICROSECOND * 1000)),
    (Mapping, _map),
    ((list, tuple), lambda value: [from_celpy(item) for item in value]),
    (type, lambda value: TypeValue(_TYPES.get(value, types.DYN))),
)
"""Converters by class: bool before int."""


def _converted(conversion: Callable[[], T]) -> T:
    """Return the result of a conversion. Raises CELEvalError, such as for a map with keys that celpy cannot have."""
    try:
        return conversion()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CELEvalError(f"celpy cannot represent the value: {error}") from error


def to_celpy(value: Value) -> Any:
    """Convert a value of ours to celpy."""
    if isinstance(value, Optional):
        return to_celpy(value.value)
    if isinstance(value, Opaque):
        return celtypes.StringType(value.text())
    if is_map(value):
        return celtypes.MapType({to_celpy(key): to_celpy(item) for key, item in items(value)})
    if is_list(value):
        return celtypes.ListType(map(to_celpy, value))
    return _WRITERS[value.__class__](value)


_WRITERS: Final[Mapping[type, Callable[[Any], Any]]] = {
    type(None): lambda _: None,
    bool: celtypes.BoolType,
    int: celtypes.IntType,
    Uint: lambda value: celtypes.UintType(value.value),
    float: celtypes.DoubleType,
    str: celtypes.StringType,
    bytes: celtypes.BytesType,
    Timestamp: lambda value: celtypes.TimestampType(_EPOCH + timedelta(microseconds=value.nanos // 1000)),
    Duration: lambda value: celtypes.DurationType(timedelta(microseconds=value.nanos // 1000)),
    TypeValue: lambda value: _CLASSES.get(value.type.kind, celtypes.MessageType),
}
