"""All functions of Kubernetes' CEL, in cel-go's order of declaration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec.structs import replace

from trainc.cel.functions import Function


@cache
def functions() -> Mapping[str, Function]:
    """Return the functions by name, with the overloads of all modules."""
    from trainc.cel.library import conversions, kubernetes, lists, net, operators, regex, strings

    found: dict[str, Function] = {}
    for module in (operators, conversions, lists, strings, regex, kubernetes, net):
        for row in module.FUNCTIONS:
            known = found.get(row.name)
            found[row.name] = row if known is None else replace(known, overloads=known.overloads + row.overloads)
    return found
