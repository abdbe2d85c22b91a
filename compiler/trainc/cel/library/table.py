"""All functions that are no operators, macros or optionals: implementation by cel-go's overload id.

An implementation takes evaluated arguments whose types fit the overload, the receiver first, and raises EvalError.
What only some of them need (re2, zoneinfo) is imported when called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trainc.cel import conversions
from trainc.cel.library import (
    authz,
    cidr,
    format,  # noqa: A004 - named after the function
    ip,
    lists,
    namedformat,
    quantity,
    regex,
    semver,
    sets,
    strings,
    times,
    urls,
)
from trainc.cel.values import Value

_LIBRARIES = (
    *(conversions.OVERLOADS, times.OVERLOADS, strings.OVERLOADS, format.OVERLOADS, regex.OVERLOADS),
    *(lists.OVERLOADS, sets.OVERLOADS, urls.OVERLOADS, quantity.OVERLOADS, ip.OVERLOADS, cidr.OVERLOADS),
    *(namedformat.OVERLOADS, semver.OVERLOADS, authz.OVERLOADS),
)

OVERLOADS: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {overload: function for library in _LIBRARIES for overload, function in library.items()}
)
"""The implementations by overload id."""
