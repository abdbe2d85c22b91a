"""The jinja2 templates of scripts. jinja2 is imported for the first job that uses one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from trainc.data import load_text

if TYPE_CHECKING:
    from jinja2 import Template


def filled(name: str, **values: str) -> str:
    """Render a template of the package. Raises jinja2.UndefinedError for a missing value."""
    return _template(name).render(values)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    return environment.from_string(load_text(f"templates/{name}"))
