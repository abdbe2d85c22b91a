"""Values that look like passwords, keys and tokens, which findings must not show. When in doubt, a value is hidden.

A value is secret by its name: ``data`` and ``stringData`` of a Secret, the ``value`` (or a misspelt one) beside a
``name`` that looks secret, a scalar under a key that looks secret, and within texts ``NAME=value``, ``--name value``,
``"name": "value"``, ``Name: value`` as in a header, the password or token of a URL, and what programs such as curl and
mysql take as one. Or it is secret by its shape: private keys, and tokens of well-known services.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, get
from trainc.basics.memo import keeping
from trainc.basics.regex import lazy
from trainc.inputs.source import Document, Source

_WORD = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET = lazy(r".*(?:passwords?|passwd|passphrase|passcode|secret|token|apikey|accesskey|privatekey)\Z")
_WORDS = frozenset(("pass", "pwd", "pw", "pat", "credential", "credentials", "creds", "bearer", "authorization"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYS = _words(
    "api access secret private ssh signing encryption account auth license client"
    " anthropic aws azure clearml cohere comet datadog gcp gitea github gitlab groq hf hmac huggingface jwt mistral"
    " mlflow neptune ngc openai pem rsa sendgrid slack stripe tls twilio wandb"
)
"""Words before "key" that make it a secret: API_KEY, accessKey, WANDB_KEY."""

_ABOUT = _words(
    "name names namespace ref refs id path file files dir mount type mode seconds expiry expiration ttl length len"
    " limit count size max min audience enabled required policy provider resolver"
)
"""Last words of names that only refer to a secret: secretName, PASSWORD_FILE."""

_NO_SECRET = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none", "~", ""))
_HINTS = ("pass", "pw", "secret", "token", "key", "cred", "bearer", "auth")
_PROGRAMS = ("curl", "login", "mariadb", "mysql", "redis-cli", "sshpass")
_MAYBE = lazy("|".join((*_HINTS, *_PROGRAMS, "://")), re.I)
_MAYBE_NAME = lazy(f"(?i:{'|'.join(_HINTS)}|(?<![a-z])pat(?![a-z]))|Pat(?![a-z])")
_RUN = r"(?!\"?(?:\$\(|`))"
"""Not before the output of a command, which is no secret: a reader has to see what runs."""

_OUTPUT = lazy(r"\$\(|`[^`]*`")
"""The output of a command within a text."""

_LEAST: Final = 4
"""The fewest characters before the output of a command that may be a secret."""

_ASSIGNED = lazy(rf"(?<![\w.-])(?:--?)?([A-Za-z][\w.-]*)={_RUN}(\"[^\"]*\"|'[^']*'|[^\s\"']+)")
_FLAG = lazy(r"--?([A-Za-z][\w.-]*)\Z")
_FLAGGED = lazy(rf"(?<![\w.-])--?([A-Za-z][\w.-]*)[ \t]+{_RUN}(\"[^\"]*\"|'[^']*'|[^\s\"'\\|&;<>)-][^\s\"';)]*)")
_PAIRED = lazy(r"([\"'])([A-Za-z][\w.-]*)\\?\1\s*:\s*(\\?[\"'])((?:(?!\3)(?:[^\\\n]|\\.))*)")
_EXPRESSION = lazy(r"=|[A-Za-z_]\w*(?:\.\w+)*\(|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\[")
"""The beginning of Python code behind ``name=``: a comparison, a call, an item of an attribute."""

_CALL = lazy(r"\w\(")
_NEAR = 500
"""The characters before an argument in which its call begins."""

_URL = lazy(r"://[^\s/:@]*:([^\s/@]+)@")
_USER = lazy(r"https?://(?=[A-Za-z_-]*[0-9])([A-Za-z0-9_-]{20,})@")
"""A token as the user in a URL; names of people and organizations are shorter, or have no digit."""

_HEADER = lazy(
    r"(?<![\w.-])([A-Za-z][\w-]*):[ \t]+(?:(?:[Bb]asic|[Bb]earer|[Tt]oken)[ \t]+)?"
    r"(?=[A-Za-z_-]*[0-9])([A-Za-z0-9][\w~+/=!-]{5,})(?![\w.\[(<{$-])"
)
"""A value with a digit after a name and a colon: others are words and types, as in Python."""

_OPTION = lazy(r"(?<!\S)(-[uUpa]|--(?:proxy-)?user)([ \t=]*)[\"']?([^\s\"'|;&]+)")
_COMMAND = lazy(r"(?<![\w.-])(curl|mariadb|mysql|redis-cli|sshpass|(?:docker|podman) login)[\w-]*(?=[ \t])")
_BREAK = lazy(r"[|;&\n]")
_LOGINS = {"curl": "-u -U --user --proxy-user", "redis-cli": "-a"}
"""The options with which a program takes a password, and for curl a user before it; -p for all others."""

_PARAMETER = lazy(r"[?&;]\s*([A-Za-z][\w .-]*)=([^\s&;\"'#]+)")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


_PRIVATE_KEY = lazy(
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

_BASE64 = lazy(r"[A-Za-z0-9+/_-]{40,}")
_NEEDLES = ("UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW")
"""Base64 of ``PRIVATE KEY``, at each of the three possible offsets."""

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
"""A private key without its first line."""

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
    | wandb[ \t]+login[ \t]+(?P<wandb>[\w-]{40,})
    | hooks\.slack\.com/services/(?P<hook>[A-Za-z0-9/]{20,})
    | [?&]sig=(?P<signature>[A-Za-z0-9%/+]{20,}=*)
    """,
    re.VERBOSE,
)
_SHAPE_HINTS = (
    *("-begin ", "- begin "),
    *_words(
        "putty-user-key age-secret-key- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- hf_ akia asia aiza npm_ nvapi- xox"
        " sk-proj- sk-ant- sk-svcacct- sk-live- sk-test- eyj bearer basic wandb hooks.slack.com sig= ls0tls1crudjti"
        " b3blbnnzac1rzxktdjea ibaakb ibaakc ibadanbg mhccaqeei migkagebbda byqgsm49 mc4caqawbqydk2vw"
    ),
    *(needle.lower() for needle in _NEEDLES),
)
"""A text without any of these, in lower case, has no secret of a known shape."""

_VARIED = 8
"""A token has at least as many different characters; one with fewer is a placeholder."""


class Hidden(Struct, frozen=True):
    """A value to hide: the path of its scalar, its text, and whether it is the whole scalar.

    ``name`` is that of its flag or in a text, and ``is_code`` says that it is an expression of Python, not a value.
    """

    path: Path
    text: str
    whole: bool = True
    name: str = ""
    is_code: bool = False


@lru_cache(maxsize=4096)
def looks_secret(name: str) -> bool:
    """Return whether a variable, key or flag of this name holds a secret: HF_TOKEN, apiKey; not secretName."""
    if _MAYBE_NAME.search(name) is None:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT or words[0] == "automount":  # automountServiceAccountToken: yes or no
        return False
    if any(word in _WORDS or _SECRET.match(word) for word in words):
        return True
    return any(word == "key" and before in _KEYS for before, word in pairwise(words))


def is_secret(data: Json, path: Path) -> bool:
    """Return whether the value at path in a document looks secret, or lies below one."""
    value = data
    for depth, step in enumerate(path):
        secret = depth == 1 and _in_secret(data, path[:2])
        if isinstance(value, dict) and isinstance(step, str):
            secret = secret or is_secret_key(step, beside=_is_named_secret(value))
        value = get(value, step)
        if secret and not _has_own_keys(value):
            return True
    return False


def _has_own_keys(value: Json) -> bool:
    """Return whether a value is an object, or a list of objects, whose own keys show what is secret."""
    return isinstance(value, dict) or (isinstance(value, list) and _has_objects(value))


# Each item of a long list may have a finding.
_has_objects: Final = keeping(lambda values: any(isinstance(item, dict) for item in values))


def _in_secret(data: Json, path: Path) -> bool:
    return path[0] in ("data", "stringData") and get(data, "kind") == "Secret"


def _is_named_secret(owner: JsonObject) -> bool:
    """Return whether ``name`` in an object, such as a variable, looks secret; then its value is."""
    name = owner.get("name")
    return isinstance(name, str) and looks_secret(name)


def is_secret_key(key: str, *, beside: bool) -> bool:
    """Return whether the value of a key looks secret; ``beside``: it has a name beside it that does."""
    is_value = len(key) < len("value") + 2 and len({*"value"} & {*key.lower()}) > len("value") - 2  # or misspelt
    return key == _APPLIED or looks_secret(key) or (beside and is_value)


def secrets(data: JsonObject, *, shaped: bool = True) -> tuple[Hidden, ...]:
    """Return the secrets in an object, in order. Without ``shaped``, those with known shapes are skipped."""
    found: list[Hidden] = []
    _walk(data, data, (), found, shaped)
    return tuple(dict.fromkeys(found))


def hidden(document: Document) -> Mapping[Path, list[Hidden]]:
    """Return the secrets in a document by path, in order."""
    shaped, may_hide = _may_hide(document.source)
    return (_all_by_path if shaped else _named_by_path)(document.data) if shaped or may_hide else _NOTHING


_NOTHING: Final[Mapping[Path, list[Hidden]]] = {}
# By the data, since a document may have other positions for each finding.
_all_by_path: Final = keeping(lambda data: by_path(secrets(data)))
_named_by_path: Final = keeping(lambda data: by_path(secrets(data, shaped=False)))


def by_path(values: Iterable[Hidden]) -> Mapping[Path, list[Hidden]]:
    """Return secrets by path."""
    found: dict[Path, list[Hidden]] = {}
    for value in values:
        found.setdefault(value.path, []).append(value)
    return found


@lru_cache(maxsize=64)
def _may_hide(source: Source) -> tuple[bool, bool]:
    """Return whether a source may have a value that is secret by its shape, and by its name; most have neither.

    One with a URL may hide a password if it has escape sequences or a last-applied configuration. Some characters
    outside of ASCII are those of a word in another case.
    """
    text = source.decoded()
    lower = text.lower()
    shaped = "\\" in text or may_hold(lower)  # the text of a file may have escapes
    if not text.isascii():
        return shaped, _MAYBE.search(text) is not None or _MAYBE_NAME.search(text) is not None
    if "://" in text and ("@" in text or "\\" in text or _APPLIED in text):
        return shaped, True
    if any(word in lower for word in (*_HINTS, *_PROGRAMS)):  # several times faster than the pattern
        return shaped, True
    return shaped, "pat" in lower and _MAYBE_NAME.search(text) is not None


def _walk(root: JsonObject, value: Json, path: Path, found: list[Hidden], shaped: bool) -> None:
    """Add the secrets in a value of an object to ``found``."""
    if isinstance(value, dict):
        whole = len(path) == 1 and _in_secret(root, path)
        beside = _is_named_secret(value)
        found += _in_command(value, path)
        for key, child in value.items():
            if shaped and may_hold(key.lower()):
                found += (Hidden((*path, key), secret, whole=False) for secret in (*private_keys(key), *tokens(key)))
            if (whole or is_secret_key(key, beside=beside)) and not _has_own_keys(child):
                found += _all(child, (*path, key))
            elif isinstance(child, dict | list | str):
                _walk(root, child, (*path, key), found, shaped)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            before = value[index - 1] if index else None
            flag = _FLAG.match(before) if isinstance(before, str) else None
            if flag and looks_secret(flag[1]):
                found += _all(item, (*path, index), flag[1])
            else:
                _walk(root, item, (*path, index), found, shaped)
    elif isinstance(value, str):
        found += _inside(value, path, shaped)


def _in_command(owner: JsonObject, path: Path) -> Iterator[Hidden]:
    """Yield the passwords in the command line of a container."""
    # A list or mapping has no place there; what is in it is looked at by itself.
    parts = ((key, index, word) for key in ("command", "args") for index, word in enumerate(as_list(owner.get(key))))
    paths = [(key, index) for key, index, word in parts if not isinstance(word, dict | list)]
    words = [str(get(owner, *each)) for each in paths]
    ends = [*accumulate(len(word) + 1 for word in words)]
    for text, start in _logins(" ".join(words)):
        yield Hidden((*path, *paths[bisect_right(ends, start)]), text, whole=False)


def _all(value: Json, path: Path, name: str = "") -> Iterator[Hidden]:
    """Yield the scalars of a value that is a secret as a whole."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _all(item, (*path, index), name)
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _all(child, (*path, key), name)
    elif value is not None and not isinstance(value, bool) and str(value).lower() not in _NO_SECRET:
        yield Hidden(path, str(value), name=name)


def _inside(text: str, path: Path, shaped: bool) -> Iterator[Hidden]:
    """Yield the secrets within a text: in assignments, flags, pairs and URLs, and those of known shapes."""
    if shaped and may_hold(text.lower()):
        for secret in (*private_keys(text), *tokens(text)):
            yield Hidden(path, secret, whole=False)
    for name, value, assignment in _named(text):
        if looks_secret(name) and (part := _secret_part(value)):
            is_code = assignment is not None and _is_code(text, assignment)
            yield Hidden(path, part, whole=False, name=name, is_code=is_code)
    for match in (*_URL.finditer(text), *_USER.finditer(text)) if "@" in text else ():
        if part := _secret_part(match[1]):
            yield Hidden(path, part, whole=False)
    yield from (Hidden(path, each, whole=False) for each, _ in _logins(text))


def _named(text: str) -> Iterator[tuple[str, str, re.Match[str] | None]]:
    """Yield the names and values within a text, with the match of an assignment."""
    for match in (*_ASSIGNED.finditer(text), *_PARAMETER.finditer(text)) if "=" in text else ():
        yield match[1], match[2].strip("\"'"), match
    for match in _FLAGGED.finditer(text) if "-" in text else ():
        yield match[1], match[2].strip("\"'"), None
    for match in _PAIRED.finditer(text) if ":" in text else ():
        yield match[2], match[4], None
    for match in _HEADER.finditer(text) if ":" in text else ():
        yield match[1], match[2], None


def _secret_part(value: str) -> str:
    """Return the part of a value that is a secret, which may be none: a reader has to see what commands run."""
    if (command := _OUTPUT.search(value)) is not None:
        value = value[: command.start()] if command.start() >= _LEAST else ""
    return "" if value.lower() in _NO_SECRET else value


def _logins(text: str) -> Iterator[tuple[str, int]]:
    """Yield the passwords that programs take as ``-u user:password`` or ``-ppassword``, with their positions."""
    for match in _OPTION.finditer(text) if any(program in text for program in _PROGRAMS) else ():
        before = text[max(match.start() - _NEAR, 0) : match.start()].replace("\\\n", "  ")
        command = _COMMAND.search(_BREAK.split(before)[-1])
        if command is None or match[1] not in _LOGINS.get(command[1], "-p").split():
            continue
        whole = match[3].partition(":")[2] if command[1] == "curl" else match[3]
        password = _secret_part(whole)
        if password and password[0] not in "$`<{" and not (command[1] in ("mysql", "mariadb") and match[2]):
            yield password, match.end() - len(whole)


def _is_code(text: str, match: re.Match[str]) -> bool:
    """Return whether the value of an assignment is an expression of Python: ``token=os.environ[...]``, ``f(key=key)``.

    An argument of a call without quotes is one. On a command line, and after ``$(`` or ``=(``, it may be a value.
    """
    if match[2][0] in "\"'" or text[0] == "-":
        return False
    before = text[max(match.start(1) - _NEAR, 0) : match.start(1)]
    is_argument = before.rstrip()[-1:] in ("(", ",") and before.count("(") > before.count(")")
    called = is_argument and match[1].islower() and _CALL.search(before) is not None
    return called or _EXPRESSION.match(match[2]) is not None


def may_hold(lower: str) -> bool:
    """Return whether a text in lower case may have a secret of a known shape."""
    return any(hint in lower for hint in _SHAPE_HINTS)


def shaped(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of secrets of known shapes in a text."""
    if may_hold(text.lower()):
        yield from (*_spans_of_private_keys(text), *_spans_of_tokens(text))


def private_keys(text: str) -> Iterator[str]:
    """Yield the private keys in a text, each from its first line to its last, or encoded."""
    return (text[start:end] for start, end in _spans_of_private_keys(text))


def tokens(text: str) -> Iterator[str]:
    """Yield the other secrets of known shapes in a text."""
    return (text[start:end] for start, end in _spans_of_tokens(text))


def _spans_of_private_keys(text: str) -> Iterator[tuple[int, int]]:
    if "KEY" in text or "PuTTY" in text:
        yield from (match.span() for match in _PRIVATE_KEY.finditer(text))
    for match in _ENCODED.finditer(text) if "LS0tLS1CRUdJTi" in text else ():
        if b"PRIVATE KEY" in _decoded(re.sub(r"\s", "", match[0])[:60]):
            yield match.span()
    yield from (match.span() for match in _BODY.finditer(text))
    for match in _BASE64.finditer(text) if any(needle in text for needle in _NEEDLES) else ():
        if any(needle in match[0] for needle in _NEEDLES) and _encodes_key(match[0]):
            yield match.span()


def _encodes_key(word: str) -> bool:
    """Return whether a word is base64 of a private key, perhaps after other letters."""
    plain = word.replace("-", "+").replace("_", "/")
    parts = (plain[start : start + (len(plain) - start) // 4 * 4] for start in range(4))
    return any("KEY" in (text := _decoded(part).decode("latin-1")) and _PRIVATE_KEY.search(text) for part in parts)


def _spans_of_tokens(text: str) -> Iterator[tuple[int, int]]:
    for match in _TOKEN.finditer(text):
        group = match.lastgroup or 0
        # The word after Basic is an encoded user and password.
        if len(set(match[group])) >= _VARIED and (group != "basic" or b":" in _decoded(match[group])):
            yield match.span(group)


def _decoded(text: str) -> bytes:
    """Decode base64, padded or not; nothing if it is not valid."""
    try:
        return a2b_base64(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except Error:
        return b""
