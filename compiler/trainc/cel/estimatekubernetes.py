"""The greatest cost of calls of Kubernetes' own functions.

Source: k8s.io/apiserver v0.34 pkg/cel/library/cost.go (EstimateCallCost).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainc.cel.ast import Literal
from trainc.cel.callcost import LIST, ONE, REGEX, STRUCT, TRAVERSAL, Argument, CallCost, first, fixed, match_cost, table
from trainc.cel.sizes import MOST, UNKNOWN, Range, exactly
from trainc.cel.types import Kind, Type

_CHECK = 350_000
_MAX_NAME_REGEX, _MAX_FORMAT = 128, 64
_ADDRESS = Range(4, 16)


def _url(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(TRAVERSAL), args[0].bound) if len(args) == 1 else None


def _same_length(_overload: str, target: Argument | None, _args: Sequence[Argument]) -> CallCost | None:
    return CallCost(target.bound.scaled(TRAVERSAL), target.bound) if target is not None else None


def _selector(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if len(args) != 1:
        return None
    size = args[0].bound
    requirements = size.scaled(0.5).scaled(float(LIST + STRUCT))
    return CallCost(exactly(LIST).plus(size.scaled(TRAVERSAL)).plus(requirements))


def _item(target: Argument) -> tuple[Type, Range] | None:
    if not target.type.parameters:
        return None
    return target.type.parameters[0], target.item or UNKNOWN


def _over_items(_overload: str, target: Argument | None, _args: Sequence[Argument]) -> CallCost | None:
    if target is None:
        return None
    if (item := _item(target)) is None:
        return CallCost(target.bound.scaled(TRAVERSAL))
    kind, size = item
    each = ONE.plus(size.scaled(TRAVERSAL)) if kind.kind in (Kind.STRING, Kind.BYTES) else ONE
    return CallCost(target.bound.times(each))


def _replace(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.bound, args[0].bound, args[1].bound
    most, kept_most = 0, 0
    if old.least == 0:
        most, kept_most = min(size.most + 1, MOST), size.most
    elif new.most <= old.least:
        kept_most = size.most
    else:
        most = math.ceil(float(size.most) / float(old.least))
    least, kept_least = 0, 0
    if old.most == 0:
        least, kept_least = min(size.least + 1, MOST), size.least
    elif old.most <= new.least:
        kept_least = size.least
    else:
        least = math.ceil(float(size.least) / float(old.most))
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return CallCost(size.scaled(2 * TRAVERSAL), result)


def _split(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None:
        return None
    most = target.bound.most
    if len(args) > 1 and isinstance(args[1].node, Literal) and args[1].node.value.__class__ is int:
        most = args[1].node.value % 2**64  # negative ones wrap
    return CallCost(target.bound.scaled(2 * TRAVERSAL), Range(0, most))


def _join(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None:
        return None
    count, size = target.bound, exactly(0)
    if (item := _item(target)) is not None:
        size = count.times(item[1])
    if args:
        gaps = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(args[0].bound.times(gaps))
    return CallCost(size.scaled(TRAVERSAL), size)


def _find(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or not args:
        return None
    return CallCost(match_cost(target, args[0]), Range(0, target.bound.most))


def _ip(overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(ONE) if overload == "cidr_ip" else first(overload, target, args)


def _canonical(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(2 * TRAVERSAL)) if args else None


def _contains_address(overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    if overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE)
    if overload.endswith("_string"):
        cost = cost.plus(args[0].bound.scaled(TRAVERSAL))
    return CallCost(cost)


def _validate(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(TRAVERSAL).scaled(_MAX_NAME_REGEX * REGEX)) if args else None


_ATOMIC = frozenset(
    {
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.authorization.Authorizer",
        "kubernetes.authorization.PathCheck",
        "kubernetes.authorization.GroupCheck",
        "kubernetes.authorization.ResourceCheck",
        "kubernetes.authorization.Decision",
    }
)


def _equal(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if len(args) != 2 or args[0].type != args[1].type:
        return None
    name = args[0].type.name
    if name in _ATOMIC:
        return CallCost(ONE)
    if name == "kubernetes.NamedFormat":
        return CallCost(Range(1, _MAX_FORMAT).scaled(TRAVERSAL))
    if name == "kubernetes.URL":
        size = args[1].size
        return CallCost(Range(1, size.most if size is not None else 1).scaled(TRAVERSAL))
    return None


KUBERNETES = table(
    ("check", fixed(_CHECK)),
    ("serviceAccount path group resource subresource namespace name allowed reason error errored", fixed(1)),
    ("fieldSelector labelSelector", _selector),
    ("isSorted sum max min indexOf lastIndexOf", _over_items),
    ("url jsonpatch.escapeKey", _url),
    ("lowerAscii upperAscii substring trim", _same_length),
    ("replace", _replace),
    ("split", _split),
    ("join", _join),
    ("find findAll", _find),
    ("cidr isIP isCIDR quantity isQuantity semver isSemver", first),
    ("ip", _ip),
    ("ip.isCanonical", _canonical),
    ("masked prefixLength family isUnspecified isLoopback", fixed(1)),
    ("isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast", fixed(1)),
    ("containsIP containsCIDR", _contains_address),
    ("validate", _validate),
    ("format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo", fixed(1)),
    ("add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery", fixed(1)),
    ("_==_", _equal),
)
"""By function."""
