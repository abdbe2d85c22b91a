"""The text of a Python function while the code generator writes it: blocks, names, constants, costs and positions.

Expressions never become part of the text: names are numbered, and constants are passed beside it. ``marks`` map each
line to a position in the expression; a failure without a position gets that of the line that raised it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct

from trainc.basics.regex import lazy
from trainc.cel.declarations import Checked, Environment
from trainc.cel.values import Value

_DEEPEST: Final = 12
"""The nesting limit of blocks in a function; Python allows 20 loops and try statements."""

_COMPUTED: Final = object()


class Term(NamedTuple):
    """A value in the generated function, in a name that can be read repeatedly.

    ``kind``: its class, if certain. ``value``: the value of a constant.
    """

    text: str
    kind: type | None = None
    value: Value = _COMPUTED

    @property
    def constant(self) -> bool:
        """Whether the value is known before evaluation."""
        return self.value is not _COMPUTED


Steps: TypeAlias = Generator[Any, Term, Term]


class Variable(Struct, eq=False):
    """A variable of the expression or of a macro.

    ``free``: it is an input, or one of the second values of a loop, and may be a failure. ``bind``: the function that
    evaluates it at its first use. ``kind``: it is a list, a map or a count that a loop builds.
    """

    text: str
    free: bool = False
    bind: str = ""
    kind: type | None = None


class Writer:
    """The generated function."""

    def __init__(self, checked: Checked, environment: Environment) -> None:
        self.checked = checked
        self.environment = environment
        self.scope: ChainMap[str, Variable] = ChainMap()
        self.position = 0
        self.constants: dict[str, Value] = {}
        self._lines: list[tuple[str, int]] = []
        self._costs = [0]
        self._functions: list[list[tuple[str, int]]] = []
        self._names = 0
        self._variables = 0
        self._strings: dict[str, str] = {}

    def put(self, line: str) -> None:
        """Add a line."""
        self._lines.append(("    " * len(self._costs) + line, self.position))

    def charge(self, cost: int) -> None:
        """Add a fixed cost to the current block."""
        self._costs[-1] += cost

    def name(self) -> str:
        """Return a new name."""
        self._names += 1
        return f"t{self._names}"

    def variable(self, free: bool = False) -> Variable:
        """Return a new variable."""
        self._variables += 1
        return Variable(f"v{self._variables}", free)

    def find(self, name: str) -> Variable:
        """Return the variable of a name; one that no macro declares is an input."""
        if name not in self.scope:
            self.scope.maps[-1][name] = self.variable(free=True)
        return self.scope[name]

    @contextmanager
    def scoped(self, names: dict[str, Variable]) -> Iterator[None]:
        """Declare variables, which shadow those of the same name."""
        self.scope = self.scope.new_child(names)
        yield
        self.scope = self.scope.parents

    def constant(self, value: Value) -> str:
        """Return the name of a constant; equal texts share one."""
        if value.__class__ is str and value in self._strings:
            return self._strings[value]
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        if value.__class__ is str:
            self._strings[value] = name
        return name

    def known(self, value: Value) -> Term:
        """Return the term of a constant."""
        return Term(self.constant(value), value.__class__, value)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block, which adds its fixed cost when it runs."""
        self.put(header)
        start = len(self._lines)
        self._costs.append(0)
        self.put("pass")
        yield
        if self._costs[-1]:
            self._lines[start] = ("    " * len(self._costs) + f"c += {self._costs[-1]}", 0)
        self._costs.pop()

    @property
    def deep(self) -> bool:
        """Whether the next lines need an inner function."""
        return len(self._costs) > _DEEPEST

    @contextmanager
    def function(self, name: str) -> Iterator[None]:
        """Write an inner function, which shares the variables."""
        outer = self._lines, self._costs
        self._lines, self._costs = [], [0]
        with self.block(f"def {name}():"):
            yield
        header, *body = self._lines
        self._functions.append([header, (_DECLARATION, 0), *body])
        self._lines, self._costs = outer

    def text(self, result: str) -> tuple[str, list[int]]:
        """Return the whole function, and the position of each line."""
        variables = [f"v{number + 1}" for number in range(self._variables)]
        free = {each.text: self.constant(name) for name, each in self.scope.items()}
        lines = [("def run(names, L):", 0), (f"    f = [0, B]; w = 0; c = {self._costs[0]}", 0)]
        if self._functions:
            lines += [(f"    {' = '.join(variables)} = UNSET", 0)] if variables else []
        for function in self._functions:
            # Only its own variables: there may be thousands of functions, each with one.
            used = dict.fromkeys(name for line, _ in function for name in _VARIABLE.findall(line))
            shared = f"        nonlocal {', '.join(('c', 'w', *used))}"
            lines += [(shared if line is _DECLARATION else line, at) for line, at in function]
        lines.append(("    try:", 0))
        lines += [(f"        {text} = names.get({name}, MISSING)", 0) for text, name in free.items()]
        lines += [(f"    {line}", at) for line, at in self._lines]
        lines += [(line, 0) for line in _END.format(result).splitlines()]
        return "\n".join(line for line, _ in lines), [0, *(at for _, at in lines)]


_DECLARATION: Final = "nonlocal"
_VARIABLE: Final = lazy(r"\bv[0-9]+\b")
CHECK: Final = "if c > L or w > B: raise exceeded(c > L)"
_END: Final = f"""\
        w += B - f[1]; c += f[0]
        {CHECK}
        return {{}}, c, w
    except FAILURES as e:
        return failed(e), c, w + B - f[1]
"""


def joined(terms: Iterable[Term]) -> str:
    """Return the names of terms, each with a comma."""
    return "".join(f"{term.text}, " for term in terms)


def require_bool(writer: Writer, term: Term) -> str:
    """Write the check that a value is a bool, and return its name."""
    if term.kind is not bool:
        writer.put(f"if {term.text}.__class__ is not bool: raise no_overload()")
    return term.text
