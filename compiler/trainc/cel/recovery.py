"""What cel-go says of text that is no expression (v0.26.0): ANTLR's way of reporting an error and going on behind it.

Source: the default error strategy of antlr4-go v4.13.0 (error_strategy.go), with the limits of cel-go's parser.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from trainc.cel.depth import LIMIT
from trainc.cel.issues import Issue
from trainc.cel.syntaxrules import (
    EOF,
    EPSILON,
    ORDER,
    RULES,
    Choose,
    Dead,
    Invoke,
    Lookahead,
    Match,
    Maybe,
    Repeat,
    Set,
    Step,
    Steps,
)
from trainc.cel.tokens import BROKEN, SKIP, Token
from trainc.records import dataclass, field

REPORTED, ATTEMPTS, SKIPPED = 100, 30, 256
NOWHERE = -1
RESERVED = re.compile("no viable alternative at input '.(true|false|null)'")
QUOTED = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


TERMINALS = {
    "FLOAT_LIT": "NUM_FLOAT",
    "INT_LIT": "NUM_INT",
    "UINT_LIT": "NUM_UINT",
    "STRING_LIT": "STRING",
    "MLSTRING_LIT": "STRING",
    "BYTES_LIT": "BYTES",
    "IDENT": "IDENTIFIER",
    "ESC_IDENT": "ESC_IDENTIFIER",
}
"""cel-go's names of the terminals that have no fixed text."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token as ANTLR's lexer gives it: without a sign. ``number``: its place among all tokens, white space too."""

    terminal: str
    start: int
    text: str
    number: int


class _Mismatch(Exception):
    """A token that does not fit: the rule ends."""


class _NoAlternative(_Mismatch):
    """A choice of which nothing fits; ``offset`` tokens on is what decided it."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Stop(Exception):
    """A limit is reached."""


def reports(scanned: Sequence[Token], length: int) -> list[Issue]:
    """Return what lexer and parser say of tokens, each in the order in which it comes upon them.

    ``scanned``: all tokens of a text of that length, what is broken included.
    """
    whole = [token for token in scanned if token.kind != BROKEN]
    issues = [
        Issue(token.start, f"Syntax error: token recognition error at: '{token.text}'")
        for token in scanned
        if token.kind == BROKEN
    ]
    pieces = [
        Piece(TERMINALS.get(token.kind, f"'{token.text}'"), token.start, token.text, number)
        for number, token in enumerate(whole)
        if token.kind != SKIP
    ]
    pieces.append(Piece(EOF, length, EOF, len(whole)))
    parser = _Parser(pieces, [token.text for token in whole], issues[:REPORTED])
    with suppress(_Stop):
        parser.run()
    return parser.issues


@dataclass(slots=True)
class _Parser:
    pieces: Sequence[Piece]
    everything: Sequence[str]
    issues: list[Issue]
    position: int = 0
    state: Step = field(default_factory=Step)
    follows: list[Set] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    depths: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))
    recovering: bool = False
    attempts: int = 0
    error_position: int = -1
    error_states: set[Step] = field(default_factory=set)

    def run(self) -> None:
        """Go through all rules, each a generator: they are in each other more often than Python's stack allows."""
        open_rules = [self._rule("start", 0)]
        while open_rules:
            call = next(open_rules[-1], None)
            if call is None:
                open_rules.pop()
            else:
                open_rules.append(self._rule(call.rule, call.level, call))

    def _rule(self, name: str, level: int, call: Invoke | None = None) -> Iterator[Invoke]:
        self.depths[name] += 1
        if self.depths[name] > LIMIT:
            self.issues.append(Issue(NOWHERE, f"expression recursion limit exceeded: {LIMIT}"))
            raise _Stop
        self.levels.append(level)
        if call is not None:
            self.follows.append(call.after)
        try:
            yield from self._steps(RULES[name])
        except _Mismatch as error:
            self._report_error(error)
            self._recover()
        self.levels.pop()
        self.depths[name] -= 1
        if call is not None:
            self.follows.pop()
            self.state = call

    def _steps(self, steps: Steps) -> Iterator[Invoke]:
        for step in steps:
            self.state = step
            match step:
                case Match():
                    self._match(step)
                case Invoke():
                    yield step
                case Maybe():
                    self._synchronize()
                    if self._at(1) in step.begins:
                        yield from self._steps(step.body)
                case Repeat():
                    yield from self._repeat(step)
                case Choose():
                    self._synchronize()
                    which = step.which(self._lookahead())
                    if isinstance(which, Dead):
                        raise _NoAlternative(which.offset)
                    yield from self._steps(step.bodies[which])

    def _repeat(self, step: Repeat) -> Iterator[Invoke]:
        self._synchronize()
        again = step.once or self._again(step)
        while again:
            yield from self._steps(step.body)
            self.state = step.back
            self._synchronize_loop()
            again = self._again(step)

    def _again(self, step: Repeat) -> bool:
        if step.again is None:
            return self._at(1) in step.begins
        again = step.again(self._lookahead())
        if isinstance(again, Dead):
            raise _NoAlternative(again.offset)
        return again

    def _at(self, offset: int) -> str:
        index = self.position + offset - 1
        return self.pieces[index].terminal if index < len(self.pieces) else EOF

    def _lookahead(self) -> Lookahead:
        return Lookahead(self._at, self.levels[-1])

    def _current(self, offset: int = 0) -> Piece:
        return self.pieces[min(self.position + offset, len(self.pieces) - 1)]

    def _consume(self) -> None:
        self.position = min(self.position + 1, len(self.pieces) - 1)

    # Errors

    def _match(self, step: Match) -> None:
        if self._at(1) in step.terminals:
            self._matched()
            self._consume()
            return
        self._count_attempt()
        if self._delete():
            self._consume()
        elif self._at(1) in self._in_context(step.after):
            self._report_once("missing", self._expected(), "at")
        else:
            raise _Mismatch

    def _matched(self) -> None:
        self.recovering = False
        self.error_states = set()
        self.error_position = -1

    def _synchronize(self) -> None:
        """Before a body: drop one token that is too much, or end the rule."""
        expected = self.state.expected
        if not (self.recovering or EPSILON in expected or self._at(1) in expected or self._delete()):
            raise _Mismatch

    def _synchronize_loop(self) -> None:
        """Behind a round of a loop: skip what neither goes on with it nor comes after it."""
        expected = self.state.expected
        if not (self.recovering or EPSILON in expected or self._at(1) in expected):
            self._report_unwanted()
            self._skip(self._expected() | self._recovery_set())

    def _delete(self) -> bool:
        """Drop a token if the one after it is what should be here."""
        if self._at(2) not in self._expected():
            return False
        self._report_unwanted()
        self._consume()
        self._matched()
        return True

    def _expected(self) -> Set:
        return self._in_context(self.state.expected)

    def _in_context(self, following: Set) -> Set:
        """Return a rule's set with what comes after the rule, where it may end."""
        result = following
        for follow in reversed(self.follows):
            if EPSILON not in following:
                break
            following = follow
            result |= follow
        return (result | {EOF} if EPSILON in following else result) - {EPSILON}

    def _recovery_set(self) -> Set:
        return frozenset[str]().union(*self.follows) - {EPSILON}

    def _recover(self) -> None:
        """End a rule behind an error: go on to where a rule around it goes on."""
        self._count_attempt()
        skipped = 0
        if self.error_position == self.position and self.state in self.error_states:
            self._consume()
            skipped = 1
        self.error_position = self.position
        self.error_states.add(self.state)
        self._skip(self._recovery_set(), SKIPPED - skipped)

    def _skip(self, until: Set, limit: int | None = None) -> None:
        skipped = 0
        while self._at(1) != EOF and self._at(1) not in until:
            if skipped == limit:
                self.issues.append(Issue(NOWHERE, f"error recovery token lookahead limit exceeded: {SKIPPED}"))
                raise _Stop
            self._consume()
            skipped += 1

    def _count_attempt(self) -> None:
        if self.attempts == ATTEMPTS:
            self._report(self._current(), f"error recovery attempt limit exceeded: {ATTEMPTS}")
            raise _Stop
        self.attempts += 1

    # Messages

    def _report_error(self, error: _Mismatch) -> None:
        if self.recovering:
            return
        if not isinstance(error, _NoAlternative):
            self._report_once("mismatched input", self._expected())
            return
        self.recovering = True
        first, last = self._current(), self._current(error.offset)
        text = EOF if first.terminal == EOF else "".join(self.everything[first.number : last.number + 1])
        message = f"no viable alternative at input '{text.translate(QUOTED)}'"
        self._report(last, RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", message))

    def _report_unwanted(self) -> None:
        self._report_once("extraneous input", self._expected())

    def _report_once(self, what: str, expected: Set, joint: str = "") -> None:
        """Report something about the next token, unless there has been no match since the last report."""
        if self.recovering:
            return
        self.recovering = True
        names = [name for name in ORDER if name in expected]
        wanted = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        found = f"'{self._current().text.translate(QUOTED)}'"
        message = f"{what} {wanted} {joint} {found}" if joint else f"{what} {found} expecting {wanted}"
        self._report(self._current(), message)

    def _report(self, piece: Piece, message: str) -> None:
        full = len(self.issues) >= REPORTED
        self.issues.append(
            Issue(piece.start, f"Syntax error: {f'More than {REPORTED} syntax errors' if full else message}")
        )
        if full:
            raise _Stop
