"""Collects the lines of a function of Python that evaluates a plan, block by block, with the cost that is certain.

Nothing of an expression becomes text of the function: names are numbered, and constants come in beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from trainc.cel import interpretable as plan
from trainc.cel.fastattributes import fields
from trainc.cel.values import Value
from trainc.records import NamedTuple

Chain: TypeAlias = tuple[int, tuple[str, ...]]
"""A slot and the fields that follow."""

MOST_LINES: Final = 2_000
MOST_BLOCKS: Final = 40
"""What a function may have; what needs more stays with the closures. Python takes 100 blocks, 20 of them loops."""

MOST_LOOPS: Final = 12
MOST_FIELDS: Final = 64


class Facts:
    """What is known of the variables of an expression before it is written. Raises NotImplementedError.

    ``given``: slots of the variables of the whole expression. ``fixed``: those, and slots that keep a value for a
    round of their loop. ``prefixes``: how many attributes begin with a chain.
    """

    __slots__ = ("fixed", "given", "prefixes")

    def __init__(self, root: Any, given: frozenset[int]) -> None:
        found: Counter[Chain] = Counter()
        rounds: set[int] = set()
        waiting = [root]
        while waiting:
            part = waiting.pop()
            waiting += plan.parts(part)
            if isinstance(part, plan.Fold):
                rounds |= {part.first, part.second} - {0}
            if isinstance(part, plan.AbsoluteAttribute):
                if len(part.qualifiers) > MOST_FIELDS:
                    raise NotImplementedError
                keys = leading(part.qualifiers)
                found.update((part.names[0].slot, keys[:end]) for end in range(1, len(keys) + 1))
        self.prefixes = found
        self.given = given
        self.fixed = given | rounds


def leading(qualifiers: tuple[plan.Qualifier, ...]) -> tuple[str, ...]:
    """Return the fields that qualifiers begin with."""
    count = next((at for at in range(len(qualifiers)) if fields(qualifiers[at : at + 1]) is None), len(qualifiers))
    return fields(qualifiers[:count]) or ()


class Term(NamedTuple):
    """A value of the function being written, as a name that may be read any number of times.

    ``kind``: the class that it certainly has, if that is known. ``maybe``: it is an optional, and the name holds what
    is in it, or MISSING.
    """

    text: str
    kind: type | None = None
    maybe: bool = False


class _Block:
    """The part of a function between two indentations; ``known``: chains that have been read when it runs."""

    __slots__ = ("charge", "known", "start")

    def __init__(self, start: int, known: dict[Chain, str]) -> None:
        self.start = start
        self.charge = 0
        self.known = known


class Writer:
    """The function so far.

    ``constants``: what its names k0, k1 ... stand for. ``filled``: slots of accumulators that are filled in place,
    with their class. ``outer``: chains from variables of the whole
    expression that a loop reads, and where they are kept over its rounds. ``standing``: nodes that have been
    evaluated, and the names that hold their values.
    """

    def __init__(self, facts: Facts, walk: Callable[[Writer, Any], Term]) -> None:
        self.facts = facts
        self._walk = walk
        self._lines: list[str | None] = []
        self._blocks = [_Block(0, {})]
        self._temporaries = 0
        self._loops = 0
        self._places: dict[tuple[type, Any], str] = {}
        self.constants: dict[str, Value] = {}
        self.filled: dict[int, type] = {}
        self.outer: dict[Chain, str] = {}
        self.standing: dict[Any, str] = {}

    def walk(self, node: Any) -> Term:
        """Write a node of the plan. Raises NotImplementedError for what only the closures can do."""
        return self._walk(self, node)

    @property
    def in_loop(self) -> bool:
        """Whether what is written next may run more than once."""
        return self._loops > 0

    @property
    def known(self) -> dict[Chain, str]:
        """The chains that have been read wherever the next line runs, with the names that hold them."""
        return self._blocks[-1].known

    def put(self, line: str) -> None:
        """Add a line. Raises NotImplementedError for a function that grows too long."""
        if len(self._lines) >= MOST_LINES:
            raise NotImplementedError
        self._lines.append("    " * len(self._blocks) + line)

    def reserve(self) -> int:
        """Add a line that is written later, or never; return its number."""
        self._lines.append(None)
        return len(self._lines) - 1

    def fill(self, number: int, line: str, deeper: int = 0) -> None:
        """Write a reserved line, in a block that is so many levels deeper than the one that is open."""
        self._lines[number] = "    " * (len(self._blocks) + deeper) + line

    def charge(self, cost: int) -> None:
        """Add a cost that is certain once the open block runs."""
        self._blocks[-1].charge += cost

    @property
    def charged(self) -> int:
        """What the open block certainly costs so far."""
        return self._blocks[-1].charge

    def temporary(self) -> str:
        """Return a name that nothing else has."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def constant(self, value: Value) -> str:
        """Return the name of a constant; equal texts share one."""
        if value.__class__ is str:
            found = self._places.get((str, value))
            if found is not None:
                return found
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        if value.__class__ is str:
            self._places[(str, value)] = name
        return name

    def open(self, header: str, *, loop: bool = False) -> None:
        """Begin a block. Raises NotImplementedError for one that is too deep."""
        self.put(header)
        self._loops += loop
        if len(self._blocks) >= MOST_BLOCKS or self._loops > MOST_LOOPS:
            raise NotImplementedError
        self._blocks.append(_Block(self.reserve(), dict(self.known)))

    def close(self, *, loop: bool = False, paid: bool = False) -> int:
        """End a block and return what it certainly costs; ``paid``: whoever opened it adds that, not the block."""
        self._loops -= loop
        block = self._blocks.pop()
        if not paid and block.charge:
            self.fill(block.start, f"c += {block.charge}", deeper=1)
        elif all(line is None for line in self._lines[block.start :]):
            self.fill(block.start, "pass", deeper=1)
        return block.charge

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block that costs what it costs when it runs."""
        self.open(header)
        yield
        self.close()

    @contextmanager
    def standing_for(self, names: dict[Any, str]) -> Iterator[None]:
        """Read nodes from names as long as this lasts."""
        before, self.standing = self.standing, self.standing | names
        yield
        self.standing = before

    def body(self) -> tuple[list[str], int]:
        """Return the lines, and what they certainly cost."""
        [block] = self._blocks
        return [line for line in self._lines if line is not None], block.charge
