"""All functions that are no operators, macros or optionals: implementation by cel-go's overload id.

An implementation takes evaluated arguments whose types fit the overload, the receiver first, and raises EvalError.
Libraries that few expressions need are imported when one of their functions is called first, as are re2 and zoneinfo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from trainc.cel import conversions
from trainc.cel.library import lists, regex, sets, strings, times
from trainc.cel.values import Value

Overloads: TypeAlias = Mapping[str, Callable[..., Value]]

_AT_ONCE: tuple[Overloads, ...] = (
    *(conversions.OVERLOADS, times.OVERLOADS, strings.OVERLOADS, regex.OVERLOADS, lists.OVERLOADS, sets.OVERLOADS),
)


@cache
def _authz() -> Overloads:
    from trainc.cel.library import authz

    return authz.OVERLOADS


@cache
def _cidr() -> Overloads:
    from trainc.cel.library import cidr

    return cidr.OVERLOADS


@cache
def _format() -> Overloads:
    from trainc.cel.library import format  # noqa: A004 - named after the function

    return format.OVERLOADS


@cache
def _ip() -> Overloads:
    from trainc.cel.library import ip

    return ip.OVERLOADS


@cache
def _namedformat() -> Overloads:
    from trainc.cel.library import namedformat

    return namedformat.OVERLOADS


@cache
def _quantity() -> Overloads:
    from trainc.cel.library import quantity

    return quantity.OVERLOADS


@cache
def _semver() -> Overloads:
    from trainc.cel.library import semver

    return semver.OVERLOADS


@cache
def _urls() -> Overloads:
    from trainc.cel.library import urls

    return urls.OVERLOADS


_LATER: Mapping[Callable[[], Overloads], str] = {
    _authz: (
        "authorizer_path authorizer_group authorizer_serviceaccount authorizer_fieldselector "
        "authorizer_labelselector groupcheck_resource resourcecheck_subresource resourcecheck_namespace "
        "resourcecheck_name resourcecheck_check pathcheck_check decision_errored decision_error "
        "decision_allowed decision_reason"
    ),
    _cidr: (
        "string_to_cidr is_cidr cidr_contains_ip_ip cidr_contains_ip_string cidr_contains_cidr "
        "cidr_contains_cidr_string cidr_ip cidr_masked cidr_prefix_length cidr_to_string"
    ),
    _format: ("string_format"),
    _ip: (
        "string_to_ip is_ip ip_is_canonical ip_family ip_is_unspecified ip_is_loopback "
        "ip_is_link_local_multicast ip_is_link_local_unicast ip_is_global_unicast ip_to_string"
    ),
    _namedformat: (
        "format-named format-validate format.dns1123Label format.dns1123Subdomain format.dns1035Label "
        "format.qualifiedName format.dns1123LabelPrefix format.dns1123SubdomainPrefix "
        "format.dns1035LabelPrefix format.labelValue format.uri format.uuid format.byte format.date "
        "format.datetime"
    ),
    _quantity: (
        "string_to_quantity is_quantity_string quantity_sign quantity_is_integer quantity_get_int "
        "quantity_get_float quantity_add quantity_add_int quantity_sub quantity_sub_int "
        "quantity_is_greater_than quantity_is_less_than quantity_compare_to"
    ),
    _semver: (
        "string_to_semver string_bool_to_semver is_semver_string is_semver_string_bool semver_major "
        "semver_minor semver_patch semver_compare_to semver_is_greater_than semver_is_less_than"
    ),
    _urls: (
        "string_to_url is_url_string url_get_scheme url_get_host url_get_hostname url_get_port "
        "url_get_escaped_path url_get_query"
    ),
}
"""What each library that is imported later has."""


def _later(library: Callable[[], Overloads], overload: str) -> Callable[..., Value]:
    def call(*args: Value) -> Value:
        return library()[overload](*args)

    return call


OVERLOADS: Overloads = MappingProxyType(
    {overload: function for library in _AT_ONCE for overload, function in library.items()}
    | {overload: _later(library, overload) for library, names in _LATER.items() for overload in names.split()}
)
"""The implementations by overload id."""

METERED = lists.METERED | sets.METERED | regex.METERED
"""The overloads whose implementation takes a meter (work.py) behind its arguments."""
