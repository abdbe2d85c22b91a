"""The jinja2 templates of scripts.

A template that only names what is to be put in, as those of the package do, is filled here: loading jinja2 takes longer
than compiling ten jobs. Any other is jinja2's, and so are its words where a name has no value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from trainc.data import load_text
from trainc.regex import lazy

_HOLE: Final = lazy(r"\{\{ *([a-z_]+) *\}\}")
_MARKS: Final = lazy(r"\{[{%#]|\r")  # the beginnings of what jinja2 knows, and what it makes a newline of
_WORDS: Final = frozenset(("and", "else", "false", "if", "in", "is", "none", "not", "or", "self", "true"))


def filled(name: str, **values: str) -> str:
    """Return the text of a template of the package with values put in; jinja2.UndefinedError where one is missing."""
    return fill(load_text(f"templates/{name}"), values)


def fill(text: str, values: dict[str, str]) -> str:
    """Return a template's text with values put in, as jinja2 does it; jinja2.TemplateError where it refuses."""
    parts = _parts(text)
    if parts is None or not values.keys() >= set(parts[1::2]):
        from jinja2 import Environment, StrictUndefined

        environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
        return environment.from_string(text).render(values)
    return "".join(values[part] if place % 2 else part for place, part in enumerate(parts))


@lru_cache(16)
def _parts(text: str) -> list[str] | None:
    """Return the texts of a template and, between them, its names; None where there is more to it."""
    parts = _HOLE.split(text)
    if any(_MARKS.search(part) or part.endswith("{") for part in parts[::2]) or not _WORDS.isdisjoint(parts[1::2]):
        return None
    return parts
