"""Makes expressions at random by CEL's grammar, whole and broken: what they mean, if anything, does not matter."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

SPACES = ("",) * 8 + (" ", " ", "\n", "\t", "  ", "// c\n", " // é\n", "\r\n", "\f")
NAMES = ("a", "b", "x", "y", "r", "obj")
ODD_NAMES = ("rb", "_", "__a", "in1", "for", "namespace", "as", "has", "map", "all", "U1", "__result__")
LITERALS = ("1", "0", "42", "0x1F", "9223372036854775807", "1u", "0xFFu", "1.5", ".5", "1e3", "2.5E-3", "true", "null")
TOO_LARGE = ("9223372036854775808", "18446744073709551616u", "1e999")
ESCAPES = ("\\n", "\\x41", "\\377", "\\101", "\\\\", '\\"', "\\'", "\\`", "\\?")
CODE_POINTS = ("\\u00e9", "\\U0001F600", "\\ud800", "\\U00110000")
MACROS = (
    *(("all", 1, 1), ("all", 2, 1), ("exists", 1, 1), ("exists", 2, 1), ("exists_one", 1, 1), ("exists_one", 2, 1)),
    *(("existsOne", 1, 1), ("existsOne", 2, 1), ("map", 1, 1), ("map", 1, 2), ("filter", 1, 1), ("sortBy", 1, 1)),
    *(("transformList", 2, 1), ("transformList", 2, 2), ("transformMap", 2, 1), ("transformMap", 2, 2)),
    *(("transformMapEntry", 2, 1), ("transformMapEntry", 2, 2), ("optMap", 1, 1), ("optFlatMap", 1, 1)),
)
"""Name, number of variables and of other arguments."""
BITS = (
    *("+", "-", "!", "(", ")", "[", "]", "{", "}", "?", ":", ".", ",", "&&", "||", "&", "|", "=", "==", "<", "in", " "),
    *(
        "a",
        "1",
        '"',
        "'",
        "`",
        "`a b`",
        "for",
        "true",
        "null",
        "$",
        "\\",
        "é",
        "\n",
        "1.",
        "0x",
        "//",
        '"""',
        'b"',
        "r'",
    ),
    *("has(", ".all(", ".map(x,", "x", "_", "@", "#", "😀", "1u", ".5", "\x00", "?.", ".?"),
)


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes expressions; ``depth`` bounds how much is in each other."""

    random: random.Random

    def expression(self, depth: int) -> str:
        """Return an expression that the grammar allows."""
        if depth <= 0:
            return self.primary(0)
        if self.random.random() < 0.12:
            return self.joined(self.any_of(depth - 1), "?", self.any_of(depth - 1), ":", self.expression(depth - 1))
        return self.any_of(depth)

    def any_of(self, depth: int) -> str:
        return self.chain(("||",), lambda: self.all_of(depth - 1))

    def all_of(self, depth: int) -> str:
        return self.chain(("&&",), lambda: self.relation(depth - 1))

    def relation(self, depth: int) -> str:
        return self.chain(("<", "<=", ">", ">=", "==", "!=", "in"), lambda: self.sum(depth - 1))

    def sum(self, depth: int) -> str:
        return self.chain(("+", "-", "*", "/", "%"), lambda: self.unary(depth - 1))

    def unary(self, depth: int) -> str:
        operators = self.random.choice(("",) * 6 + ("!", "-", "-"))
        return self.joined(*operators * self.count(0.4), self.member(depth))

    def member(self, depth: int) -> str:
        text = self.primary(depth)
        while self.random.random() < 0.35:
            kind = self.random.random()
            if kind < 0.4:
                text = self.joined(text, ".", self.name())
            elif kind < 0.45:
                text = self.joined(text, ".", "?", self.name())
            elif kind < 0.6:
                text = self.joined(text, "[", self.random.choice("? "), self.expression(depth - 1), "]")
            elif kind < 0.75:
                text = self.joined(text, ".", self.name(), "(", self.arguments(depth), ")")
            else:
                text = self.joined(text, ".", *self.macro(depth))
        return text

    def macro(self, depth: int) -> tuple[str, ...]:
        name, variables, others = self.random.choice(MACROS)
        names = [self.expression(1) if self.random.random() < 0.04 else self.random.choice(("x", "y", "i"))]
        names += [self.random.choice(("v", "w", "x"))] * (variables - 1)
        return name, "(", ",".join((*names, *(self.expression(depth - 1) for _ in range(others)))), ")"

    def primary(self, depth: int) -> str:
        kind = self.random.random()
        if depth <= 0 or kind < 0.45:
            return self.literal() if self.random.random() < 0.5 else self.dotted()
        if kind < 0.5:
            return self.joined("has", "(", self.member(depth - 1) + self.random.choice((".a", ".b.c", "")), ")")
        if kind < 0.6:
            return self.joined(self.dotted(), "(", self.arguments(depth), ")")
        if kind < 0.72:
            return self.joined("(", self.expression(depth - 1), ")")
        end = self.random.choice((" ", " ", ","))
        if kind < 0.82:
            return self.joined("[", self.items(lambda: self.expression(depth - 1)), end, "]")
        if kind < 0.93:
            entry = self.items(lambda: self.joined(self.expression(depth - 1), ":", self.expression(depth - 1)))
            return self.joined("{", entry, end, "}")
        fields = self.items(lambda: self.joined(self.name(), ":", self.expression(depth - 1)))
        return self.joined(
            ".".join([self.dotted(), *(self.name() for _ in range(self.count(0.3)))]), "{", fields, end, "}"
        )

    def literal(self) -> str:
        if self.random.random() < 0.4:
            return self.string()
        return self.random.choice(LITERALS if self.random.random() < 0.95 else TOO_LARGE)

    def string(self) -> str:
        prefix = self.random.choice(("", "", "", "r", "b", "R", "B", "br", "bR"))
        quote = self.random.choice(('"', "'", '"""', "'''"))
        raw = "r" in prefix.lower()
        body = ""
        for _ in range(self.random.randrange(5)):
            body += self.random.choice(("a", "é", "😀", " ", "\t", *(("\\",) if raw else ESCAPES)))
            if not raw and self.random.random() < 0.05:
                body += self.random.choice(CODE_POINTS)
            if len(quote) == 3 and not body.endswith(quote[0]):
                body += self.random.choice(("", "", "\n", "\r\n", "\r", '"', "'"))
        return prefix + quote + body + ("" if body[-1:].isalnum() else " ") + quote

    def name(self) -> str:
        return self.random.choice(NAMES if self.random.random() < 0.9 else ODD_NAMES)

    def dotted(self) -> str:
        return self.random.choice(("", "", "", ".")) + self.name()

    def arguments(self, depth: int) -> str:
        return ",".join(self.expression(depth - 1) for _ in range(self.random.randrange(4)))

    def items(self, item: Callable[[], str]) -> str:
        return ",".join(self.random.choice(("", "", "", "?")) + item() for _ in range(self.random.randrange(4))) or " "

    def chain(self, operators: tuple[str, ...], operand: Callable[[], str]) -> str:
        parts = [operand()]
        for _ in range(self.count(0.25) - 1):
            parts += (self.random.choice(operators), operand())
        return self.joined(*parts)

    def count(self, more: float) -> int:
        number = 1
        while number < 9 and self.random.random() < more:
            number += 1
        return number

    def joined(self, *parts: str) -> str:
        """Return the parts with white space and comments between them, where they would run together at least one."""
        text = ""
        for part in parts:
            space = self.random.choice(SPACES)
            if (
                text
                and part
                and not space
                and ((_wordy(text[-1]) and _wordy(part[0])) or (text[-1], part[0]) == ("/", "/"))
            ):
                space = " "
            text += space + part
        return text

    def broken(self, text: str) -> str:
        """Return a text with something in it dropped, repeated or put in, once or a few times."""
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
            kind, place = self.random.random(), self.random.randrange(len(text) + 1)
            if kind < 0.4:
                text = text[:place] + text[place + self.random.randrange(1, 5) :]
            elif kind < 0.75:
                text = text[:place] + self.random.choice(BITS) + text[place:]
            elif kind < 0.85:
                text = text[:place]
            else:
                start = self.random.randrange(len(text) + 1)
                text = text[:place] + text[min(start, place) : max(start, place)] + text[place:]
        return text


def _wordy(letter: str) -> bool:
    return letter.isalnum() or letter in "_\"'`."


def expressions(seed: int, count: int, broken: bool = False) -> list[str]:
    """Return expressions of at most 400 code points, the same for the same seed."""
    maker = Maker(random.Random(seed))
    made: list[str] = []
    while len(made) < count:
        text = maker.expression(maker.random.choice((2, 4, 6, 8)))
        if len(text) <= 400:
            made.append(maker.broken(text) if broken else text)
    return made


def soup(seed: int, count: int) -> list[str]:
    """Return what only looks like expressions: tokens in any order."""
    source = random.Random(seed)
    return [soup_of(source) for _ in range(count)]


def soup_of(source: random.Random) -> str:
    """Return tokens in any order."""
    return " ".join(source.choice(BITS) for _ in range(source.randrange(1, 14)))
