"""The page itself: one HTML file without any request, whose only script and style are those of this package."""

from __future__ import annotations

import base64
import hashlib

from trainc.basics.jsonvalues import JsonObject
from trainc.data import load_text
from trainc.findings.display import one_line
from trainc.report.fleet import totals

TITLE = "Training jobs"


def page(data: JsonObject, title: str = TITLE, note: str = "") -> str:
    """Return the page for the data of ``fleet``. The same data gives the same text."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "sort_keys": True}
    style, script = load_text("templates/report.css"), load_text("templates/report.js")
    return environment.from_string(load_text("templates/report.html.j2")).render(
        title=one_line(title),
        note=one_line(note),
        data=data,
        totals=totals(data),
        style=style,
        script=script,
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {_allow(style)};"
        f" script-src {_allow(script)}",
    )


def _allow(text: str) -> str:
    """Return the source of a content security policy that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
