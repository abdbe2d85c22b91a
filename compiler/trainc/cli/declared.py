"""What a command may be asked, as data: click parses it, and what is simple is parsed here.

Loading click takes longer than telling that nothing has changed. So the commands that people and machines run all the
time declare their options here, and a line of arguments that is plainly right is read without click: options and values
as words of their own, and paths that are there. All else is click's, and so is every word about what is wrong.
``clicked.py`` makes click's command of the same declaration; the tests compare both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from trainc.records import NamedTuple


class Kind(Protocol):
    """What the value of an option or argument may be."""

    def take(self, word: str) -> Any:
        """Return the value that a word stands for, None where it is not plainly one."""


class Text(NamedTuple):
    """Any text."""

    def take(self, word: str) -> str | None:
        """Return the word."""
        return word


class Choice(NamedTuple):
    """One of some words."""

    words: tuple[str, ...]

    def take(self, word: str) -> str | None:
        """Return the word if it is one of them."""
        return word if word in self.words else None


class Count(NamedTuple):
    """A number from 1 on."""

    def take(self, word: str) -> int | None:
        """Return the number."""
        return int(word) if word.isascii() and word.isdigit() and len(word) < 9 and int(word) else None


class Existing(NamedTuple):
    """A file or folder that is there; with ``dash`` also -, standard input; a folder alone without ``file``."""

    dash: bool = False
    file: bool = True

    def take(self, word: str) -> str | None:
        """Return the path if it can be read."""
        return word if os.access(word, os.R_OK) and (self.file or os.path.isdir(word)) else None  # noqa: PTH112 - a word


class Option(NamedTuple):
    """An option: its spellings, the name of its value, and what --help says.

    ``flag`` is the value that an option without one stands for, None for an option with a value, which may be given
    more than once with ``many``.
    """

    spellings: tuple[str, ...]
    name: str
    help: str
    kind: Kind = Text()
    default: str | bool | tuple[str, ...] | None = None
    flag: bool | None = None
    many: bool = False
    metavar: str | None = None


class Paths(NamedTuple):
    """The arguments that are no options; ``required``: there is at least one."""

    metavar: str
    kind: Existing
    required: bool = False


class Declared(NamedTuple):
    """A command: its name, what runs it and returns the exit status, what it may be asked, and the end of its help."""

    name: str
    run: Callable[..., int]
    options: tuple[Option, ...]
    paths: Paths
    epilog: str

    def parse(self, words: Sequence[str]) -> Mapping[str, Any] | None:
        """Return what to run the command with; None where click has to decide."""
        spelt = {spelling: option for option in self.options for spelling in option.spellings}
        found: dict[str, Any] = {option.name: option.default for option in self.options}
        paths: list[str] = []
        left = iter(words)
        for word in left:
            option = spelt.get(word)
            if option is None:
                if word.startswith("-") or self.paths.kind.take(word) is None:
                    return None
                paths.append(word)
            elif option.flag is not None:
                found[option.name] = option.flag
            else:
                given = next(left, "-")
                value = None if given.startswith("-") else option.kind.take(given)
                if value is None:
                    return None
                found[option.name] = (*found[option.name], value) if option.many else value
        return None if self.paths.required and not paths else {**found, "paths": tuple(paths)}
