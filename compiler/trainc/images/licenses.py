"""Debian's machine-readable copyright files (DEP-5) to SPDX licence expressions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from trainc.images.debian import stanzas

NOTHING: Final = "NOASSERTION"
"""SPDX for: nothing is said here."""

_GNU = re.compile(
    r"(?P<name>gpl|lgpl|agpl)-?v?(?P<major>[123])(\.(?P<minor>[01]))?(?P<later>\+|-or-later|-only)?", re.I
)
_GNU_KNOWN: Final = frozenset(
    ("GPL-1.0", "GPL-2.0", "GPL-3.0", "LGPL-2.0", "LGPL-2.1", "LGPL-3.0", "AGPL-1.0", "AGPL-3.0")
)
_SPDX: Final = {
    "apache-2": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "artistic": "Artistic-1.0",
    "artistic-2": "Artistic-2.0",
    "artistic-2.0": "Artistic-2.0",
    "beerware": "Beerware",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-4-clause": "BSD-4-Clause",
    "bsd-4-clause-uc": "BSD-4-Clause-UC",
    "cc0": "CC0-1.0",
    "cc0-1.0": "CC0-1.0",
    "cpl-1.0": "CPL-1.0",
    "curl": "curl",
    "expat": "MIT",
    "fsfap": "FSFAP",
    "fsfullr": "FSFULLR",
    "fsful": "FSFUL",
    "gfdl-1.3+-no-invariant": "GFDL-1.3-no-invariants-or-later",
    "gfdl-niv-1.3": "GFDL-1.3-no-invariants-only",
    "gfdl-niv-1.3+": "GFDL-1.3-no-invariants-or-later",
    "isc": "ISC",
    "latex2e": "Latex2e",
    "mit": "MIT",
    "sleepycat": "Sleepycat",
    "x11": "X11",
    "zlib": "Zlib",
}
"""SPDX identifiers by the short names of DEP-5, in lower case. Expat is what SPDX calls MIT."""

_JOINT = re.compile(r",?\s+(?:and|or)\s+", re.I)


def license_of(copyright_text: str, source: str) -> tuple[str, Mapping[str, str]]:
    """Return the licence expression of a copyright file, and the texts of the licences that SPDX has no name for.

    The expression joins what all parts of the source package are under; NOASSERTION where the file is not DEP-5. What
    SPDX does not know is named with the source package before it: another one may mean another licence by its name.
    """
    found = list(stanzas(copyright_text))
    if not found or "format" not in found[0]:
        return NOTHING, {}
    texts: dict[str, str] = {}
    synopses: list[str] = []
    for each in found:
        synopsis, _, text = each.get("license", "").partition("\n")
        synopsis = " ".join(synopsis.split())
        if synopsis and len(synopsis) < 120:
            texts[synopsis] = text or texts.get(synopsis, "")
            synopses.append(synopsis)
    expression = joined(_expression(synopsis, source) for synopsis in synopses)
    names = sorted({name for synopsis in synopses for name in _JOINT.split(synopsis)})
    return expression, {reference(source, name): _text(name, texts) for name in names if spdx(name) is None}


def joined(expressions: Iterable[str]) -> str:
    """Return expressions that all hold, as one, sorted; NOASSERTION if there are none."""
    parts: set[str] = set()
    for each in expressions:
        parts |= set(_conjuncts(each))
    kept = sorted(parts - {NOTHING})
    if len(kept) == 1:
        return kept[0]
    return " AND ".join(f"({part})" if " OR " in part else part for part in kept) or NOTHING


def _conjuncts(expression: str) -> list[str]:
    """Return the parts of an expression that AND joins, without the parentheses around them."""
    found, depth = [""], 0
    for word in expression.split(" "):
        depth += word.count("(") - word.count(")")
        if word == "AND" and depth == 0:
            found.append("")
        else:
            found[-1] += f" {word}"
    return [_bare(part.strip()) for part in found]


def _bare(part: str) -> str:
    """Return an expression without a pair of parentheses around the whole of it."""
    depths = [part[: end + 1].count("(") - part[: end + 1].count(")") for end in range(len(part))]
    return part[1:-1] if part.startswith("(") and depths.index(0) == len(part) - 1 else part


def _expression(synopsis: str, source: str) -> str:
    """Return a synopsis as SPDX writes it. By DEP-5 `and` binds before `or`, but not after a comma."""
    for separator, operator in ((", and ", " AND "), (", or ", " OR "), (" or ", " OR "), (" and ", " AND ")):
        parts = [part for part in re.split(separator, synopsis, flags=re.I) if part]
        if len(parts) > 1:
            inner = sorted({_expression(part, source) for part in parts})
            if operator == " AND ":
                return joined(inner)
            return " OR ".join(f"({part})" if " AND " in part else part for part in inner)
    return spdx(synopsis) or reference(source, synopsis)


def spdx(name: str) -> str | None:
    """Return the SPDX identifier that a short name of DEP-5, or SPDX's own, stands for; None where there is none."""
    if (match := _GNU.fullmatch(name)) is not None:
        found = f"{match['name'].upper()}-{match['major']}.{match['minor'] or 0}"
        later = match["later"] in ("+", "-or-later")
        return f"{found}-{'or-later' if later else 'only'}" if found in _GNU_KNOWN else None
    return _SPDX.get(name.lower())


def reference(source: str, name: str) -> str:
    """Return the name by which a document calls a licence that SPDX does not know."""
    return f"LicenseRef-{_plain(source)}-{_plain(name)}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name.replace("+", "-plus")).strip("-.") or "unnamed"


def _text(name: str, texts: Mapping[str, str]) -> str:
    """Return the text of a licence, without the dots that stand for empty lines; its short name where there is none."""
    lines = ["" if line.strip() == "." else line for line in texts.get(name, "").split("\n")]
    return "\n".join(lines).strip() or name
