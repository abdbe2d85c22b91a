"""The text of a Python function while the code generator writes it: blocks, names, constants, costs and positions.

Expressions never become part of the text: names are numbered, and constants are passed beside it. ``marks`` map each
line to a position in the expression; a failure without a position gets that of the line that raised it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

from trainc.cel.values import Value

Chain: TypeAlias = tuple[int, tuple[str, ...]]
"""A slot and the selected fields."""

Mark: TypeAlias = tuple[int, int]
"""The position of a line in the expression, and the number of enclosing calls, up to the next operator that absorbs
failures, whose computed cost is added after the call; if the line fails, each costs 1."""

NOWHERE: Final[Mark] = (0, 0)

_DEEPEST: Final = 12
"""The nesting limit of blocks in a function; Python allows 20 loops and try statements."""


class Term(NamedTuple):
    """A value in the generated function, in a name that can be read repeatedly.

    ``kind``: its class, if certain. ``maybe``: it is an optional, and the name holds its value or MISSING.
    """

    text: str
    kind: type | None = None
    maybe: bool = False


Steps: TypeAlias = Generator[Any, Term, Term]


class _Block:
    """An indented block. ``known``: the chains that have been read when it runs."""

    __slots__ = ("cost", "known", "start")

    def __init__(self, start: int, known: dict[Chain, str]) -> None:
        self.start = start
        self.cost = 0
        self.known = known


class Writer:
    """The generated function. ``filled``: the slots of lists, maps and counts that loops build, with their class."""

    def __init__(self, given: frozenset[int]) -> None:
        self.given = given
        self.filled: dict[int, type] = {}
        self.lazy: dict[int, str] = {}
        self.position = 0
        self.pending = 0
        self._lines: list[tuple[str, Mark]] = []
        self._blocks = [_Block(0, {})]
        self._functions: list[list[tuple[str, Mark]]] = []
        self._temporaries = 0
        self._names: dict[tuple[type, Any], str] = {}
        self._slots: set[int] = set()
        self.constants: dict[str, Value] = {}

    def put(self, line: str) -> None:
        """Add a line."""
        self._lines.append(("    " * len(self._blocks) + line, (self.position, self.pending)))

    def reserve(self) -> int:
        """Reserve a line for fill(); return its number."""
        self.put("")
        return len(self._lines) - 1

    def fill(self, number: int, line: str) -> None:
        """Write a reserved line in the current block."""
        self._lines[number] = ("    " * len(self._blocks) + line, self._lines[number][1])

    def charge(self, cost: int) -> None:
        """Add a fixed cost to the current block."""
        self._blocks[-1].cost += cost

    def temporary(self) -> str:
        """Return a new name."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def slot(self, slot: int) -> str:
        """Return the name of a slot."""
        self._slots.add(slot)
        return f"v{slot}"

    def constant(self, value: Value) -> str:
        """Return the name of a constant; equal texts share one."""
        key = (value.__class__, value)
        if value.__class__ is str and key in self._names:
            return self._names[key]
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        if value.__class__ is str:
            self._names[key] = name
        return name

    @property
    def known(self) -> dict[Chain, str]:
        """The chains that have been read before the next line, with the names that hold them."""
        return self._blocks[-1].known

    @contextmanager
    def block(self, header: str) -> Iterator[_Block]:
        """Write a block, which adds its fixed cost when it runs."""
        with self.unpaid(header) as opened:
            yield opened
            cost = opened.cost
        self._lines[opened.start] = ("    " * (len(self._blocks) + 1) + (f"c += {cost}" if cost else "pass"), NOWHERE)

    @contextmanager
    def unpaid(self, header: str) -> Iterator[_Block]:
        """Write a block whose fixed cost the caller adds."""
        self.put(header)
        opened = _Block(len(self._lines), dict(self.known))
        self._blocks.append(opened)
        self.put("pass")
        yield opened
        self._blocks.pop()

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Write a block whose failures are absorbed."""
        before, self.pending = self.pending, 0
        with self.block("try:"):
            yield
        self.pending = before

    @property
    def deep(self) -> bool:
        """Whether the next lines need an inner function."""
        return len(self._blocks) > _DEEPEST

    @contextmanager
    def function(self, name: str) -> Iterator[None]:
        """Write an inner function, which shares the variables."""
        outer = self._lines, self._blocks
        self._lines, self._blocks = [], [_Block(0, {}), _Block(0, {})]
        self.put("")
        yield
        cost = self._blocks[-1].cost
        self._lines[0] = (f"        c += {cost}", NOWHERE)
        self._functions.append([(f"    def {name}():", NOWHERE), *self._lines])
        self._lines, self._blocks = outer

    def text(self, result: str, variables: Mapping[str, int]) -> tuple[str, list[Mark]]:
        """Return the whole function, and the marks of its lines."""
        shared = ", ".join(["c", "w", *(f"v{slot}" for slot in sorted(self._slots))])
        head = ["def run(names, L):", f"    f = [0, B, L]; w = 0; c = {self._blocks[0].cost}"]
        if self._functions:
            head += [f"    v{slot} = UNSET" for slot in sorted(self._slots)]
        lines = [(line, NOWHERE) for line in head]
        for definition, *body in self._functions:
            lines += [definition, (f"        nonlocal {shared}", NOWHERE), *body]
        lines.append(("    try:", NOWHERE))
        lines += [
            (f"        v{slot} = names.get({self.constant(name)}, MISSING)", NOWHERE)
            for name, slot in variables.items()
        ]
        lines += [("    " + line, mark) for line, mark in self._lines]
        lines += [
            (line, NOWHERE)
            for line in (
                "        w += B - f[1]; c += f[0]",
                "        if c > L or w > B: raise exceeded(c, L)",
                f"        return {result}, c, w",
                "    except FAILURES as e:",
                "        return failed(e), c, w + B - f[1]",
                "",
            )
        ]
        return "\n".join(line for line, _ in lines), [NOWHERE, *(mark for _, mark in lines)]


def plain(writer: Writer, term: Term) -> str:
    """Return the name of a value, converted to an Optional if necessary."""
    if not term.maybe:
        return term.text
    name = writer.temporary()
    writer.put(f"{name} = NONE if {term.text} is MISSING else Optional({term.text})")
    return name


def require_bool(writer: Writer, term: Term) -> str:
    """Write the check that a value is a bool, and return its name."""
    text = plain(writer, term)
    if term.kind is not bool or term.maybe:
        writer.put(f"if {text}.__class__ is not bool: raise EvalError(NO_OVERLOAD)")
    return text
