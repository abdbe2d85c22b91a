"""The page itself: one HTML file without any request, whose only script and style are those of this package."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import TYPE_CHECKING, Any

from trainc.basics.jsonvalues import Json, JsonObject, as_object, mapped
from trainc.data import load_text
from trainc.findings.display import COMMAND, escape_json, one_line
from trainc.report.fleet import totals

if TYPE_CHECKING:
    from markupsafe import Markup

TITLE = "Training jobs"


def page(data: JsonObject, title: str = TITLE, note: str = "") -> str:
    """Return the page for the data of ``fleet``. The same data gives the same text.

    All text of inputs is on one line, with control and bidirectional characters escaped, as in a terminal.
    """
    from jinja2 import Environment, StrictUndefined

    data = as_object(mapped(data, lambda _path, value: one_line(value) if isinstance(value, str) else value))

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_function"] = _dumps
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "sort_keys": True}
    style, script = load_text("templates/report.css"), load_text("templates/report.js")
    return environment.from_string(load_text("templates/report.html.j2")).render(
        title=_shown(title),
        note=_shown(note),
        data=data,
        totals=totals(data),
        style=style,
        script=script,
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {_allow(style)};"
        f" script-src {_allow(script)}",
    )


def _dumps(value: Json, **options: Any) -> str:
    return escape_json(json.dumps(value, **options))  # a page that a CI job prints contains no command


def _shown(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(COMMAND.sub("#&#35;", escape(one_line(text))))


def _allow(text: str) -> str:
    """Return the source of a content security policy that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
