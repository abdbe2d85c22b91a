"""Secrets that a value gives away by its shape, whatever it is called: private keys, tokens of known services."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Iterator

from trainc.regex import lazy

_KEY = lazy(
    r"""
    ----[ -]BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE[ ]KEY(?:[ ]BLOCK)?[ -]----
        (?=(?:\\[nr]?|\s)*(?:[A-Za-z0-9+/]{16}|[A-Z][A-Za-z-]+:))       # not where a script only looks for one
        .*?(?:----[ -]END[ ](?:[A-Z0-9]+[ ])*PRIVATE[ ]KEY(?:[ ]BLOCK)?[ -]----|\Z)
    | PuTTY-User-Key-File-[0-9]:.*\Z
    | AGE-SECRET-KEY-1[0-9A-Z]{20,}
    """,
    re.VERBOSE | re.DOTALL,
)
_ENCODED = lazy(r"LS0tLS1CRUdJTi[A-Za-z0-9+/\s]{40,}={0,2}")
"""Base64 of what begins with ``-----BEGIN``."""

_WORD = lazy(r"[A-Za-z0-9+/_-]{40,}")
_NEEDLES = ("UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW")
"""Base64 of ``PRIVATE KEY``, as it stands at each of three places in what is encoded."""

_BODY = lazy(
    r"""
    (?<![A-Za-z0-9+/])(?:
        b3BlbnNzaC1rZXktdjEA                                           # OpenSSH
        | MII[A-Za-z0-9+/]{3}IB(?:AAK[BC]|ADANBgkqhkiG9w0BAQ)          # RSA and DSA, plain and in PKCS#8
        | MHcCAQEEI | MIGkAgEBBDA | MIG[A-Za-z0-9+/]AgEAM[A-Z]{2}GByqGSM49AgEG  # elliptic curves, likewise
        | MC4CAQAwBQYDK2VwBCIEI                                        # Ed25519
    )[A-Za-z0-9+/]{16}.*?(?:-----END[ ]|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
"""The lines of a private key by their beginning, where the line above them is elsewhere."""

_TOKEN = lazy(
    r"""
    (?<![A-Za-z0-9_-])(?:
        gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{22,} | glpat-[\w-]{20,} | hf_[A-Za-z0-9]{30,}
        | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9_-]) | AIza[\w-]{35} | npm_[A-Za-z0-9]{36} | nvapi-[\w-]{40,}
        | xox[abeoprs]-[A-Za-z0-9-]{10,} | sk-(?:proj|ant|svcacct|live|test)-[\w-]{20,}
        | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*
    )
    | (?<![A-Za-z0-9])[Bb]earer\s+(?P<bearer>[\w.~+/-]{20,}=*)
    | (?<![A-Za-z0-9])[Bb]asic\s+(?P<basic>[A-Za-z0-9+/]{8,}={0,2})
    | hooks\.slack\.com/services/(?P<hook>[A-Za-z0-9/]{20,})
    | [?&]sig=(?P<signature>[A-Za-z0-9%/+]{20,}=*)
    """,
    re.VERBOSE,
)
_HINTS = (
    *(
        "-begin ",
        "- begin ",
        "ls0tls1crudjti",
        "putty-user-key",
        "age-secret-key-",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
    ),
    *("github_pat_", "glpat-", "hf_", "akia", "asia", "aiza", "npm_", "nvapi-", "xox", "sk-proj-", "sk-ant-"),
    *(
        "b3blbnnzac1rzxktdjea",
        "ibaakb",
        "ibaakc",
        "ibadanbg",
        "mhccaqeei",
        "migkagebbda",
        "byqgsm49",
        "mc4caqawbqydk2vw",
    ),
    *(needle.lower() for needle in _NEEDLES),
    *("sk-svcacct-", "sk-live-", "sk-test-", "eyj", "bearer", "basic", "hooks.slack.com", "sig="),
)

_VARIED = 8
"""So many different characters has a token at least; one of fewer is a placeholder."""


def may_hold(lower: str) -> bool:
    """Tell whether a text in lower case may hold a secret of a known shape; most do not."""
    return any(hint in lower for hint in _HINTS)


def may_spell(text: str) -> bool:
    """Tell whether a value in the text of a file may hold such a secret, also one that is written with escapes."""
    return "\\" in text or may_hold(text.lower())


def shaped(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in a text secrets of known shapes stand."""
    if may_hold(text.lower()):
        for secret in (*private_keys(text), *tokens(text)):
            start = text.find(secret)
            yield start, start + len(secret)


def private_keys(text: str) -> Iterator[str]:
    """Yield the private keys in a text, each from its first line to its last, or encoded as it stands there."""
    if "KEY" in text or "PuTTY" in text:
        yield from (match[0] for match in _KEY.finditer(text))
    for match in _ENCODED.finditer(text) if "LS0tLS1CRUdJTi" in text else ():
        if b"PRIVATE KEY" in _decoded(re.sub(r"\s", "", match[0])[:60]):
            yield match[0]
    yield from (match[0] for match in _BODY.finditer(text))
    for match in _WORD.finditer(text) if any(needle in text for needle in _NEEDLES) else ():
        if any(needle in match[0] for needle in _NEEDLES) and _encodes_key(match[0]):
            yield match[0]


def _encodes_key(word: str) -> bool:
    """Tell whether a word is base64 of a private key, also where other letters stand before it."""
    plain = word.replace("-", "+").replace("_", "/")
    parts = (plain[start : start + (len(plain) - start) // 4 * 4] for start in range(4))
    return any("KEY" in (text := _decoded(part).decode("latin-1")) and _KEY.search(text) for part in parts)


def tokens(text: str) -> Iterator[str]:
    """Yield the other secrets of known shapes in a text."""
    for match in _TOKEN.finditer(text):
        token = match[match.lastgroup or 0]
        if len(set(token)) >= _VARIED and (match.lastgroup != "basic" or _is_basic(token)):
            yield token


def _is_basic(token: str) -> bool:
    """Tell whether a word after ``Basic`` is a user and a password: a text may speak of basic things."""
    return b":" in _decoded(token)


def _decoded(text: str) -> bytes:
    """Return what base64 stands for, padded or not; nothing of what is none."""
    try:
        return a2b_base64(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except Error:
        return b""
