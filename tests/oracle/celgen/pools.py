"""Literals to choose from: by type as cel-go spells it, and texts for what a function reads from a string."""

from __future__ import annotations

import json
from pathlib import Path

LITERALS: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false"),
    "bytes": ("b'abc'", "b''", r"b'\xff\x00'", "b'ü'", "bytes('é')"),
    "double": ("0.0", "1.0", "1.5", "-2.25", "1e3", "-0.0", "2.5e-3", "1e308", "9007199254740993.0", "double('NaN')"),
    "google.protobuf.Duration": (
        "duration('1s')",
        "duration('1h30m')",
        "duration('-1.5s')",
        "duration('0')",
        "duration('1ms5us3ns')",
    ),
    "google.protobuf.Timestamp": (
        "timestamp('2024-02-29T12:34:56.789Z')",
        "timestamp('1970-01-01T00:00:00Z')",
        "timestamp('2023-12-31T23:59:59-08:00')",
        "timestamp('0001-01-01T00:00:00Z')",
        "timestamp(1700000000)",
    ),
    "int": ("0", "1", "-1", "2", "3", "5", "0x1F", "100", "9223372036854775807", "-9223372036854775808"),
    "kubernetes.NamedFormat": ("format.dns1123Label()", "format.uuid()", "format.named('date').value()"),
    "kubernetes.Quantity": (
        "quantity('1Gi')",
        "quantity('500m')",
        "quantity('-2')",
        "quantity('1e3')",
        "quantity('0')",
    ),
    "kubernetes.Semver": ("semver('1.2.3')", "semver('0.1.0-alpha.1')", "semver('1.2.3+build')", "semver('2.0.0')"),
    "kubernetes.URL": (
        "url('https://user:pw@example.com:8080/a%20b/c?x=1&x=2&y=#top')",
        "url('http://[::1]:80/')",
        "url('/path/only?q')",
    ),
    "kubernetes.authorization.Authorizer": ("authorizer", "authorizer.serviceAccount('ns', 'sa')"),
    "kubernetes.authorization.Decision": ("authorizer.path('/healthz').check('get')",),
    "kubernetes.authorization.GroupCheck": ("authorizer.group('apps')",),
    "kubernetes.authorization.PathCheck": ("authorizer.path('/healthz')",),
    "kubernetes.authorization.ResourceCheck": ("authorizer.group('').resource('pods')", "authorizer.requestResource"),
    "net.CIDR": ("cidr('10.0.0.0/8')", "cidr('192.168.1.0/24')", "cidr('2001:db8::/32')", "cidr('0.0.0.0/0')"),
    "net.IP": ("ip('10.1.2.3')", "ip('::1')", "ip('fe80::1')", "ip('224.0.0.1')", "ip('0.0.0.0')"),
    "null_type": ("null",),
    "string": ("'abc'", "''", "'a,b,c'", "'Grüße'", "'日本語'", "'👍x'", "'1'", "' a b '", '"it\'s"', "r'a\\d'", "'A'"),
    "uint": ("0u", "1u", "2u", "5u", "18446744073709551615u"),
}

SIMPLE = ("bool", "int", "uint", "double", "string", "bytes", "google.protobuf.Duration", "google.protobuf.Timestamp")
NESTED = ("list(int)", "list(string)", "map(string, int)", "list(list(int))", "map(string, string)", "map(int, bool)")
OPAQUE = ("kubernetes.Quantity", "net.IP", "net.CIDR", "kubernetes.Semver", "kubernetes.URL")

_TEXTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
QUANTITIES = tuple(_TEXTS["quantities"])
IPS = tuple(_TEXTS["ips"])
CIDRS = tuple(_TEXTS["cidrs"])
URLS = tuple(_TEXTS["urls"])
SEMVERS = tuple(_TEXTS["semvers"])
DURATIONS = tuple(_TEXTS["durations"])
TIMESTAMPS = tuple(_TEXTS["timestamps"])
NUMBERS = tuple(_TEXTS["numbers"])
BOOLS = tuple(_TEXTS["bools"])
REGEXES = tuple(_TEXTS["regexes"])
ZONES = tuple(_TEXTS["zones"])
NAMED_FORMATS = tuple(_TEXTS["named_formats"])
FORMATTED = tuple(_TEXTS["formatted"])
FORMATS = tuple(_TEXTS["formats"])
ESCAPES = tuple(_TEXTS["escapes"])
