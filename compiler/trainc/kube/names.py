"""Validates names, labels and annotations as Kubernetes does, with its texts.

Source: k8s.io/apimachinery v0.36.2, pkg/util/validation, pkg/api/validate/content and pkg/api/validation. Lengths count
bytes of UTF-8, as in Go. An empty tuple means valid. ``is_*`` return details, which follow a field and a value;
``validate_*`` and ``is_domain_prefixed_path`` return complete errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trainc.kube.fielderror import invalid

DNS1035_LABEL_MAX_LENGTH = 63
DNS1123_LABEL_MAX_LENGTH = 63
DNS1123_SUBDOMAIN_MAX_LENGTH = 253
QUALIFIED_NAME_MAX_LENGTH = 63
LABEL_VALUE_MAX_LENGTH = 63
PORT_NAME_MAX_LENGTH = 15
TOTAL_ANNOTATION_SIZE_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")

_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character"
)
_DNS1123_SUBDOMAIN = rf"{_DNS1123_LABEL}(\.{_DNS1123_LABEL})*"
_DNS1123_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character"
)
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS1035_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character"
)
_QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_VALUE = f"({_QUALIFIED_NAME})?"
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character"
)
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_CONFIG_MAP_KEY = "[-._a-zA-Z0-9]+"
_CONFIG_MAP_KEY_TEXT = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_ENV_NAME_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"

Details = tuple[str, ...]


def is_dns1123_label(value: str) -> Details:
    """Check a DNS label of RFC 1123: the rule for namespaces and containers."""
    details = _too_long(value, DNS1123_LABEL_MAX_LENGTH)
    if "." in value and re.fullmatch(_DNS1123_SUBDOMAIN, value):
        return (*details, "must not contain dots")
    return (*details, *_form(value, _DNS1123_LABEL_TEXT, _DNS1123_LABEL, "my-name", "123-abc"))


def is_dns1123_subdomain(value: str) -> Details:
    """Check a DNS subdomain of RFC 1123: the rule for the names of most kinds, custom resources included."""
    form = _form(value, _DNS1123_SUBDOMAIN_TEXT, _DNS1123_SUBDOMAIN, "example.com")
    return (*_too_long(value, DNS1123_SUBDOMAIN_MAX_LENGTH), *form)


def is_dns1123_subdomain_with_underscores(value: str) -> Details:
    """Check a DNS subdomain of RFC 1123 that may contain underscores: the rule for search domains."""
    text = _DNS1123_SUBDOMAIN_TEXT.replace("'-' or", "'_', '-' or")
    form = _form(value, text, _DNS1123_SUBDOMAIN.replace("[a-z0-9]([-a", "_?[a-z0-9]([-_a"), "example.com")
    return (*_too_long(value, DNS1123_SUBDOMAIN_MAX_LENGTH), *form)


def is_kube_finalizer(value: str) -> Details:
    """Check a finalizer of Kubernetes' own kinds, not of a custom resource: it has a domain, unless it is known."""
    if "/" in value or value in _STANDARD_FINALIZERS:
        return ()
    return ("name is neither a standard finalizer name nor is it fully qualified",)


def is_dns1035_label(value: str) -> Details:
    """Check a DNS label of RFC 1035, which must begin with a letter: the rule for Services."""
    form = _form(value, _DNS1035_LABEL_TEXT, _DNS1035_LABEL, "my-name", "abc-123")
    return (*_too_long(value, DNS1035_LABEL_MAX_LENGTH), *form)


def is_qualified_name(value: str) -> Details:
    """Check a qualified name, the rule for keys of labels: a name, before it an optional DNS subdomain and ``/``."""
    regex_error = _regex_error(_QUALIFIED_NAME_TEXT, _QUALIFIED_NAME, "MyName", "my.name", "123-abc")
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        example = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {regex_error}{example}",)
    details: list[str] = []
    if slash and not prefix:
        details.append("prefix part must be non-empty")
    elif slash:
        too_long = _too_long(prefix, DNS1123_SUBDOMAIN_MAX_LENGTH, "bytes")
        form = _form(prefix, _DNS1123_SUBDOMAIN_TEXT, _DNS1123_SUBDOMAIN, "example.com")
        details += (f"prefix part {detail}" for detail in (*too_long, *form))
    if not name:
        details.append("name part must be non-empty")
    elif _size(name) > QUALIFIED_NAME_MAX_LENGTH:
        details.append(f"name part must be no more than {QUALIFIED_NAME_MAX_LENGTH} bytes")
    if not re.fullmatch(_QUALIFIED_NAME, name):
        details.append(f"name part {regex_error}")
    return tuple(details)


def is_valid_label_value(value: str) -> Details:
    """Check the value of a label; it may be empty."""
    form = _form(value, _LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345")
    return (*_too_long(value, LABEL_VALUE_MAX_LENGTH, "bytes"), *form)


def is_config_map_key(value: str) -> Details:
    """Check a key of a ConfigMap's or Secret's data."""
    form = _form(value, _CONFIG_MAP_KEY_TEXT, _CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name")
    details = (*_too_long(value, DNS1123_SUBDOMAIN_MAX_LENGTH), *form)
    if value in (".", ".."):
        return (*details, f"must not be '{value}'")
    return (*details, "must not start with '..'") if value.startswith("..") else details


def is_relaxed_env_var_name(value: str) -> Details:
    """Check the name of an environment variable (the rule since Kubernetes 1.34)."""
    if not value:
        return ("environment variable name must be non-empty",)
    printable = all(" " <= char <= "~" and char != "=" for char in value)
    return () if printable else (_ENV_NAME_TEXT,)


def is_valid_port_name(value: str) -> Details:
    """Check the name of a container's port (an IANA service name)."""
    details = _too_long(value, PORT_NAME_MAX_LENGTH)
    if not re.fullmatch("[-a-z0-9]+", value):
        details = (*details, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        details = (*details, "must contain at least one letter (a-z)")
    if "--" in value:
        details = (*details, "must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        details = (*details, "must not begin or end with a hyphen")
    return details


def is_domain_prefixed_path(field: str, value: str) -> Details:
    """Check ``acme.io/foo``: a DNS subdomain, a slash, an HTTP path. Returns whole errors, for field."""
    if not value:
        return (f"{field}: Required value",)
    host, _, path = value.partition("/")
    if not host or not path:
        return (invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")'),)
    errors = [invalid(field, host, detail) for detail in is_dns1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, path):
        errors.append(invalid(field, path, _regex_error("Invalid path", _HTTP_PATH)))
    return tuple(errors)


def mask_trailing_dash(value: str) -> str:
    """Return a name prefix as Kubernetes checks it: a dash at the end, and the character before it, become ``a``."""
    if _size(value) > 1 and value.endswith("-"):
        # Cut in bytes, as Go does; half a character is invalid either way.
        return value.encode()[:-2].decode("utf-8", "replace") + "a"
    return value


def validate_labels(labels: Mapping[str, str], field: str) -> Details:
    """Check labels, keys sorted (Go's order is random); returns whole errors, for field."""
    errors: list[str] = []
    for key in sorted(labels):
        errors += (invalid(field, key, detail) for detail in is_qualified_name(key))
        errors += (invalid(field, labels[key], detail) for detail in is_valid_label_value(labels[key]))
    return tuple(errors)


def validate_annotations(annotations: Mapping[str, str], field: str) -> Details:
    """Check annotations, keys sorted (Go's order is random): keys in lower case, and the size of all together."""
    # Go lowers a dotted capital I to a plain i, Python to i and a combining dot.
    lower = {key: key.replace("\u0130", "i").lower() for key in sorted(annotations)}
    errors = [invalid(field, key, detail) for key in lower for detail in is_qualified_name(lower[key])]
    size = sum(_size(key) + _size(value) for key, value in annotations.items())
    if size > TOTAL_ANNOTATION_SIZE_LIMIT:
        errors.append(f"{field}: Too long: may not be more than {TOTAL_ANNOTATION_SIZE_LIMIT} bytes")
    return tuple(errors)


def _form(value: str, text: str, pattern: str, *examples: str) -> Details:
    """Check a value by a pattern, which ``text`` describes."""
    return () if re.fullmatch(pattern, value) else (_regex_error(text, pattern, *examples),)


def _too_long(value: str, limit: int, unit: str = "characters") -> Details:
    """Check a length; Go has these rules in two packages, which use different words for bytes."""
    return (f"must be no more than {limit} {unit}",) if _size(value) > limit else ()


def _size(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))


def _regex_error(text: str, pattern: str, *examples: str) -> str:
    shown = "(" + ("e.g. " if examples else "") + " or ".join(f"'{example}', " for example in examples)
    return f"{text} {shown}regex used for validation is '{pattern}')"
