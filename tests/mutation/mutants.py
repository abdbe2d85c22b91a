"""Mutants: small changes of a module, one at a time, each of which a test should notice.

What no test has to notice is not changed: docstrings, annotations, texts with spaces (wording), formatted texts,
``__repr__``, decorators, bases of classes, arguments of ``cast`` and ``lru_cache``. A mutant that compiles to the code
of the original is left out.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}
METHODS = {"startswith": "endswith", "endswith": "startswith", "lstrip": "rstrip", "rstrip": "lstrip"}
WORDING = frozenset(("message", "hint", "expected", "found", "detail"))
"""Keyword arguments whose texts are wording."""

UNTESTED_CALLS = frozenset(("cast", "lru_cache", "TypeVar", "NewType", "NamedTuple", "ParamSpec"))
UNTESTED_FUNCTIONS = frozenset(("__repr__", "__str__", "__hash__"))
SKIPPED_FIELDS = frozenset(("annotation", "returns", "decorator_list", "bases", "keywords_of_class", "type_comment"))


class Mutant(NamedTuple):
    """One change: the ``number``-th of its file. ``lines``: those of the statement, for a compound one of its head."""

    file: str
    number: int
    function: str
    lines: tuple[int, int]
    old: str
    new: str
    name: str
    """The same for the same change as long as its function has as many equal changes before it."""


class Change(NamedTuple):
    function: str
    lines: tuple[int, int]
    old: ast.AST
    new: ast.AST
    apply: Callable[[], None]


def mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file in the order of their positions."""
    seen: Counter[str] = Counter()
    found = []
    for number, change in enumerate(_changes(ast.parse(text))):
        old, new = _shown(change.old), _shown(change.new)
        key = f"{file}:{change.function}:{old}:{new}"
        seen[key] += 1
        name = hashlib.sha256(f"{key}:{seen[key]}".encode()).hexdigest()[:10]
        found.append(Mutant(file, number, change.function, change.lines, old, new, name))
    return found


def sample(files: dict[str, str], count: int, seed: int) -> list[Mutant]:
    """Return a random sample of the mutants of files, by path, that a change elsewhere in the files leaves as it is."""

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed}:{mutant.name}".encode()).digest()

    everything = sorted((m for file, text in files.items() for m in mutants(file, text)), key=rank)
    originals = {file: compile(text, file, "exec", dont_inherit=True) for file, text in files.items()}
    chosen: list[Mutant] = []
    for mutant in everything:
        if len(chosen) == count:
            break
        if compiled(mutant, files[mutant.file], mutant.file) != originals[mutant.file]:
            chosen.append(mutant)
    return chosen


def compiled(mutant: Mutant, text: str, path: str) -> CodeType:
    """Return the code of the module with a mutant. All lines keep their numbers."""
    tree = ast.parse(text)
    for number, change in enumerate(_changes(tree)):
        if number == mutant.number:
            change.apply()
            break
    return compile(tree, path, "exec", dont_inherit=True)


def users(texts: dict[str, str], mutant: Mutant) -> dict[str, set[int]]:
    """Return the lines of functions that depend on what a mutant changes while modules are imported, by file.

    These are functions that use a name that the changed statement sets or that the changed function has, or a name that
    such a statement or function sets, and so on.
    """
    scopes = [(file, *scope) for file, text in texts.items() for scope in _scopes(text)]
    names: set[str] = set()
    found: dict[str, set[int]] = {}
    changed = set(range(mutant.lines[0], mutant.lines[1] + 1))
    rest = scopes
    while True:
        now = [s for s in rest if s[2] & names or (s[0] == mutant.file and s[3] & changed)]
        if not now:
            return found
        rest = [s for s in rest if s not in now]
        for file, sets, _, lines in now:
            names |= sets
            found.setdefault(file, set()).update(lines)


@cache
def _scopes(text: str) -> list[tuple[set[str], set[str], set[int]]]:
    nodes = ast.parse(text).body
    return [_scope(part) for node in nodes for part in (node.body if isinstance(node, ast.ClassDef) else [node])]


def _scope(part: ast.stmt) -> tuple[set[str], set[str], set[int]]:
    """Return the names that a statement sets, those that it uses, and its lines."""
    if isinstance(part, ast.FunctionDef | ast.ClassDef):
        sets = {part.name}
    else:
        sets = {n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    uses = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
    uses |= {n.attr for n in ast.walk(part) if isinstance(n, ast.Attribute)}
    return sets, uses - sets, set(range(part.lineno, (part.end_lineno or 0) + 1))


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:60] + " ... " + text[-35:]


def _changes(tree: ast.Module) -> Iterator[Change]:
    yield from _Walk().children(tree)


class _Walk:
    """Goes over a tree in a fixed order and yields the changes of each node."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lines = (1, 1)

    def children(self, parent: ast.AST) -> Iterator[Change]:
        for field, value in ast.iter_fields(parent):
            if field in SKIPPED_FIELDS or (isinstance(parent, ast.ClassDef) and field == "keywords"):
                continue
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, ast.AST):
                    yield from self.node(parent, field, index, node)

    def node(self, parent: ast.AST, field: str, index: int | None, node: ast.AST) -> Iterator[Change]:
        if _skipped(parent, field, node):
            return
        if isinstance(node, ast.stmt):
            self.lines = _head(node)
        lines = self.lines
        for new in _variants(parent, field, node):

            def apply(new: ast.AST = new) -> None:
                ast.fix_missing_locations(ast.copy_location(new, node))
                if index is None:
                    setattr(parent, field, new)
                else:
                    getattr(parent, field)[index] = new

            yield Change(".".join(self.names), lines, node, new, apply)
        if isinstance(node, ast.Call):
            yield from self.without_keywords(node)
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if named:
            self.names.append(node.name)
        yield from self.children(node)
        if named:
            self.names.pop()
        self.lines = lines

    def without_keywords(self, call: ast.Call) -> Iterator[Change]:
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg in WORDING:
                continue
            rest = [other for other in call.keywords if other is not keyword]
            new = ast.copy_location(ast.Call(call.func, call.args, rest), call)

            def apply(call: ast.Call = call, rest: list[ast.keyword] = rest) -> None:
                call.keywords = rest

            yield Change(".".join(self.names), self.lines, call, new, apply)


def _head(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, or of what precedes its body."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.lineno, node.end_lineno or node.lineno
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return node.lineno, max(node.lineno, first.lineno - 1)


def _skipped(parent: ast.AST, field: str, node: ast.AST) -> bool:
    """Return whether nothing in a node is mutated."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr() | ast.alias() | ast.Global():
            return True
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring
        case ast.FunctionDef(name=name) if name in UNTESTED_FUNCTIONS:
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.Call(func=ast.Name(id=name)) if name in UNTESTED_CALLS:
            return True
        case ast.keyword(arg=name) if name in WORDING:
            return True
    if field == "slice" and isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Name):
        return parent.value.id[0].isupper() or parent.value.id in ("dict", "list", "tuple", "type", "frozenset")
    return False


def _variants(parent: ast.AST, field: str, node: ast.AST) -> Iterator[ast.AST]:  # noqa: PLR0912 - one per kind
    """Return the nodes that replace a node, one after the other."""
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                new = copy.copy(node)
                new.ops = [*node.ops[:index], COMPARISONS[type(operator)](), *node.ops[index + 1 :]]
                yield new
        case ast.BoolOp():
            new_op = copy.copy(node)
            new_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield new_op
            for index in range(len(node.values)):
                rest = node.values[:index] + node.values[index + 1 :]
                yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
        case ast.BinOp() if not _of_types(node):
            yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
        case ast.AugAssign():
            yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
            yield ast.Pass()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant():
            yield from _constants(parent, node)
        case ast.Call():
            yield from _calls(node)
        case ast.List() | ast.Set() if node.elts and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            yield (
                ast.List([], ast.Load())
                if isinstance(node, ast.List)
                else ast.Call(ast.Name("set", ast.Load()), [], [])
            )
        case ast.Dict() if node.keys:
            yield ast.Dict([], [])
        case ast.Tuple() if (
            field != "slice"
            and isinstance(node.ctx, ast.Load)
            and isinstance(parent, ast.Assign | ast.AnnAssign | ast.Return | ast.For)
        ):
            yield ast.Tuple([], ast.Load())
        case ast.Slice():
            if node.lower is not None:
                yield ast.Slice(None, node.upper, node.step)
            if node.upper is not None:
                yield ast.Slice(node.lower, None, node.step)
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case _ if isinstance(node, ast.stmt):
            yield from _statements(node)
    if field == "test" or (field == "ifs" and isinstance(parent, ast.comprehension)):
        simple = isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], _ORDER)
        if isinstance(node, ast.expr) and not simple and not isinstance(node, ast.UnaryOp):
            yield ast.UnaryOp(ast.Not(), node)


_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _of_types(node: ast.BinOp) -> bool:
    """Return whether a | b is a union of types."""

    def is_type(side: ast.expr) -> bool:
        match side:
            case ast.BinOp(op=ast.BitOr()):
                return _of_types(side)
            case ast.Constant(value=None) | ast.Subscript():
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name in ("str", "int", "float", "bool", "bytes", "list", "dict", "tuple") or (
                    name[0].isupper() and not name.isupper()
                )
        return False

    return isinstance(node.op, ast.BitOr) and is_type(node.left) and is_type(node.right)


def _constants(parent: ast.AST, node: ast.Constant) -> Iterator[ast.expr]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)
    elif isinstance(value, str) and " " not in value.strip() and not isinstance(parent, ast.Raise):
        yield ast.Constant(value + "X" if value else "X")
    elif isinstance(value, bytes):
        yield ast.Constant(value + b"X")


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    match node.func:
        case ast.Name(id=name) if name in FUNCTIONS:
            yield ast.Call(
                ast.Name(FUNCTIONS[name], ast.Load()),
                node.args[:1] if name == "sorted" else node.args,
                [] if name == "sorted" else node.keywords,
            )
        case ast.Attribute(attr=name) if name in METHODS:
            yield ast.Call(ast.Attribute(node.func.value, METHODS[name], ast.Load()), node.args, node.keywords)


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.Expr() | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Return(value=value) if value is not None and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield ast.Return(ast.Constant(None))
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
