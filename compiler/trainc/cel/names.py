"""Where names lie while an expression runs: slots of a frame, found when it is planned."""

from __future__ import annotations

from trainc.cel.work import COST, LIMIT, WORK

FIRST_SLOT = max(COST, WORK, LIMIT) + 1


class Slots:
    """The slots given out so far. Variables of macros hide others of their names, from the innermost outwards."""

    __slots__ = ("_scopes", "size", "variables")

    def __init__(self) -> None:
        self._scopes: list[dict[str, int]] = []
        self.variables: dict[str, int] = {}
        self.size = FIRST_SLOT

    def new(self) -> int:
        """Return a slot that nothing else has."""
        self.size += 1
        return self.size - 1

    def enter(self, names: dict[str, int]) -> None:
        """Open a scope in which names have these slots."""
        self._scopes.append(names)

    def leave(self) -> None:
        """Close the innermost scope."""
        self._scopes.pop()

    def find(self, name: str) -> int:
        """Return the slot of a name; one that no macro has is a variable of the whole expression."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        slot = self.variables.get(name)
        if slot is None:
            slot = self.variables[name] = self.new()
        return slot
