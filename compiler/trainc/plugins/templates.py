"""The jinja2 templates of scripts; jinja2 is imported when the first one is needed."""

from __future__ import annotations

from functools import cache
from typing import Any

from trainc.data import load_text


@cache
def template(name: str) -> Any:
    """Return a compiled template of the package; an undefined variable in it is an error."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    return environment.from_string(load_text(f"templates/{name}"))
