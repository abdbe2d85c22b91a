"""What a finding must not show: values that look like passwords, keys and tokens.

The rule errs on the side of hiding. Hidden are ``data`` and ``stringData`` of a Secret, the ``value`` (misspelt, too)
beside a ``name`` that looks secret, a scalar under a key that looks secret, and inside texts ``NAME=value``,
``--name value``, the password of a URL, and whatever has the shape of a secret (shapes.py).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from trainc.findings.shapes import may_hold, may_spell, private_keys, tokens
from trainc.findings.shapes import shaped as shaped_spans
from trainc.records import NamedTuple
from trainc.regex import lazy
from trainc.source import Document, Json, JsonObject, Path, Source, get

MASK = "***"
"""What stands for a hidden value."""

_WORD = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET = lazy(r".*(?:passwords?|passwd|passphrase|passcode|secret|token|apikey|accesskey|privatekey)\Z")
_WORDS = frozenset(("pass", "pwd", "pw", "pat", "credential", "credentials", "creds", "bearer", "authorization"))
_KEYS = frozenset(
    (
        *("api", "access", "secret", "private", "ssh", "signing", "encryption", "account", "auth", "license", "client"),
        *("anthropic", "aws", "azure", "clearml", "cohere", "comet", "datadog", "gcp", "gitea", "github", "gitlab"),
        *("groq", "hf", "hmac", "huggingface", "jwt", "mistral", "mlflow", "neptune", "ngc", "openai", "pem", "rsa"),
        *("sendgrid", "slack", "stripe", "tls", "twilio", "wandb"),
    )
)
"""What makes a secret of a key: API_KEY, accessKey, WANDB_KEY."""

_ABOUT = frozenset(
    (
        *("name", "names", "namespace", "ref", "refs", "id", "path", "file", "files", "dir", "mount", "type", "mode"),
        *(
            "seconds",
            "expiry",
            "expiration",
            "ttl",
            "length",
            "len",
            "limit",
            "count",
            "size",
            "max",
            "min",
            "audience",
        ),
        *("enabled", "required", "policy", "provider", "resolver"),
    )
)
"""Last words of names that say something of a secret, but do not hold it: secretName, PASSWORD_FILE."""

_NO_SECRET = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none", "~", ""))
_HINTS = ("pass", "pw", "secret", "token", "key", "cred", "bearer", "auth")
_MAYBE = lazy("|".join((*_HINTS, "://")), re.I)
_MAYBE_NAME = lazy(f"(?i:{'|'.join(_HINTS)}|(?<![a-z])pat(?![a-z]))|Pat(?![a-z])")
_ASSIGNED = lazy(r"(?<![\w.-])(?:--?)?([A-Za-z][\w.-]*)=(\"[^\"]*\"|'[^']*'|[^\s\"']+)")
_FLAG = lazy(r"--?([A-Za-z][\w.-]*)\Z")
_URL = lazy(r"://[^\s/:@]*:([^\s/@]+)@")
_PARAMETER = lazy(r"[?&;]\s*([A-Za-z][\w .-]*)=([^\s&;\"'#]+)")
_NUMBER = lazy(r"(?<![\w.])[-+.]?[0-9][\w.+-]{2,}")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

LEAST = 4
"""The fewest characters of a value that is looked for anywhere in a text; shorter ones are found by chance."""

_HEAD = 12
"""So many characters from its beginning give a value away, as messages cut long ones."""

_LONG = 40
"""The most characters of an occurrence within which another is looked for."""

_FEW = 64
"""So few beginnings are looked for one by one before a text is walked through."""

_ORDER = 1000
"""So many characters are compared to find the nearest of several values."""


class Hidden(NamedTuple):
    """A value to hide: the path of the scalar that holds it, its text, and whether it is the whole scalar."""

    path: Path
    text: str
    whole: bool = True


@lru_cache(maxsize=4096)
def looks_secret(name: str) -> bool:
    """Tell whether a variable, key or flag of this name holds a secret: HF_TOKEN, apiKey; not secretName."""
    if _MAYBE_NAME.search(name) is None:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT or words[0] == "automount":  # automountServiceAccountToken: yes or no
        return False
    if any(word in _WORDS or _SECRET.match(word) for word in words):
        return True
    return any(word == "key" and before in _KEYS for before, word in pairwise(words))


def is_secret(data: Json, path: Path) -> bool:
    """Tell whether the value at path in a document looks secret, or lies below one."""
    value = data
    for depth, step in enumerate(path):
        secret = _names_secret(value, step) or (depth == 1 and _in_secret(data, path[:2]))
        value = get(value, step)
        if secret and not _speaks_for_itself(value):
            return True
    return False


def _speaks_for_itself(value: Json) -> bool:
    """Tell whether a value is an object, or a list of some: what in it is secret, its own keys say."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def _in_secret(data: Json, path: Path) -> bool:
    return path[0] in ("data", "stringData") and get(data, "kind") == "Secret"


def _names_secret(owner: Json, step: str | int) -> bool:
    """Tell whether the child of owner at step is called, or stands beside, a name that looks secret."""
    if not isinstance(owner, dict) or not isinstance(step, str):
        return False
    return _is_secret_key(step, beside=_is_named_secret(owner))


def _is_named_secret(owner: JsonObject) -> bool:
    """Tell whether the name in an object looks secret, as that of a variable: then its value is."""
    name = owner.get("name")
    return isinstance(name, str) and looks_secret(name)


def _is_secret_key(key: str, *, beside: bool) -> bool:
    """Tell whether what a key holds looks secret; ``beside``: a name stands beside it that does."""
    return key == _APPLIED or looks_secret(key) or (beside and _is_value(key))


def _is_value(key: str) -> bool:
    """Tell whether a key is ``value`` or a slip for it, which must not show what it holds."""
    return len(key) < len("value") + 2 and len({*"value"} & {*key.lower()}) > len("value") - 2


def secrets(data: JsonObject, *, shaped: bool = True) -> tuple[Hidden, ...]:
    """Return what looks secret in an object, in order. Not ``shaped``: nothing in it has the shape of a secret."""
    found: list[Hidden] = []
    _walk(data, data, (), found, shaped)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=64)
def hidden(document: Document) -> tuple[Hidden, ...]:
    """Return what findings on a document must not show, in order of the document."""
    source = document.source
    shaped = _may_hold_shapes(source)
    return secrets(document.data, shaped=shaped) if shaped or _may_hide(source) else ()


@lru_cache(maxsize=64)
def _may_hold_shapes(source: Source) -> bool:
    """Tell whether any value of this text may be a secret by its shape."""
    return may_spell(source.decoded())


@lru_cache(maxsize=64)
def _may_hide(source: Source) -> bool:
    """Tell whether a document of this text has to be walked through: most hold no such word, and no password of a URL.

    A document with a URL is also walked through where a character may be written as an escape sequence, or what was
    applied is kept. Outside of ASCII there are characters that are those of a word in another case.
    """
    text = source.decoded()
    if not text.isascii():
        return _MAYBE.search(text) is not None or _MAYBE_NAME.search(text) is not None
    if "://" in text and ("@" in text or "\\" in text or _APPLIED in text):
        return True
    lower = text.lower()
    if any(word in lower for word in _HINTS):  # several times faster than the pattern
        return True
    return "pat" in lower and _MAYBE_NAME.search(text) is not None


def _walk(root: JsonObject, value: Json, path: Path, found: list[Hidden], shaped: bool) -> None:
    """Add what looks secret in a value of an object, by its shape only if ``shaped``; most texts need no look."""
    if isinstance(value, dict):
        whole = len(path) == 1 and _in_secret(root, path)
        beside = _is_named_secret(value)
        for key, child in value.items():
            if (whole or _is_secret_key(key, beside=beside)) and not _speaks_for_itself(child):
                found += _all(child, (*path, key))
            elif isinstance(child, dict | list) or (
                isinstance(child, str) and (shaped or "=" in child or "@" in child)
            ):
                _walk(root, child, (*path, key), found, shaped)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            before = value[index - 1] if index else None
            flag = _FLAG.match(before) if isinstance(before, str) else None
            if flag and looks_secret(flag[1]):
                found += _all(item, (*path, index))
            else:
                _walk(root, item, (*path, index), found, shaped)
    elif isinstance(value, str):
        found += (Hidden(path, text, whole=False) for text in _inside(value, shaped))


def _all(value: Json, path: Path) -> Iterator[Hidden]:
    """Yield the scalars of a value that is secret as a whole."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _all(item, (*path, index))
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _all(child, (*path, key))
    elif value is not None and not isinstance(value, bool) and str(value).lower() not in _NO_SECRET:
        yield Hidden(path, str(value))


def _inside(text: str, shaped: bool) -> Iterator[str]:
    """Yield the secrets inside a text: of assignments, flags and URLs, and of known shapes."""
    if shaped and may_hold(text.lower()):
        yield from private_keys(text)
        yield from tokens(text)
    for match in _ASSIGNED.finditer(text) if "=" in text else ():
        if looks_secret(match[1]) and (value := match[2].strip("\"'")).lower() not in _NO_SECRET:
            yield value
    for match in _PARAMETER.finditer(text) if "=" in text else ():
        if looks_secret(match[1]) and match[2].lower() not in _NO_SECRET:
            yield match[2]
    for match in _URL.finditer(text) if "@" in text else ():
        yield match[1]


class Index(NamedTuple):
    """The spellings of values to hide: sorted, by their first _HEAD characters; and how long these beginnings are."""

    forms: Mapping[str, tuple[str, ...]]
    sizes: tuple[int, ...]


@lru_cache(maxsize=64)
def known(document: Document) -> Index:
    """Return how the values that ``hidden`` gives may be spelt; those too short to be told from chance are left out."""
    return index(value.text for value in hidden(document))


def index(texts: Iterable[str]) -> Index:
    """Return the spellings of texts by their beginnings."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for form in _forms(text):
            if len(form) >= LEAST:
                found.setdefault(form[:_HEAD], set()).add(form)
    forms = {head: tuple(sorted(known)) for head, known in found.items()}
    return Index(forms, tuple(sorted({len(head) for head in forms})))


def redact(text: str, indexes: Iterable[Index]) -> str:
    """Return text with MASK in place of what indexes hold, also where it is cut short."""
    spans = [*shaped_spans(text), *(span for spelt in indexes for span in occurrences(text, spelt))]
    for start, end in reversed(merged(spans)):
        text = text[:start] + MASK + text[end:]
    return text


def occurrences(text: str, spelt: Index) -> Iterator[tuple[int, int]]:
    """Yield where a value, or the beginning of a long one, stands in text."""
    if len(spelt.forms) <= _FEW and not any(head in text for head in spelt.forms):
        return
    at = 0
    while spelt.sizes and at <= len(text) - LEAST:
        end = at
        for size in spelt.sizes:
            if forms := spelt.forms.get(text[at : at + size]):
                end = max(end, _end(text, at, forms))
        if end > at:
            yield at, end
        # Values may overlap, unless they are so long that looking for that would take too long.
        at = end if end - at > _LONG else at + 1


def _end(text: str, at: int, forms: tuple[str, ...]) -> int:
    """Return where the longest occurrence of one of the forms ends, all of which begin as the text does at a place."""
    # The form that shares most with a text is one of its neighbours in sorted order.
    place = bisect_left(forms, text[at : at + _ORDER])
    form_end = max(_shared(text, at, form) for form in forms[max(place - 1, 0) : place + 1])
    short = form_end - at < 2 * LEAST
    alone = not (text[max(at - 1, 0) : at].isalnum() or text[form_end : form_end + 1].isalnum())
    return form_end if alone or not short else at


def _shared(text: str, at: int, form: str) -> int:
    if text.startswith(form, at):
        return at + len(form)
    end = at + min(len(form), _HEAD)
    while end < len(text) and text[end] == form[end - at]:
        end += 1
    return end


def _forms(value: str) -> set[str]:
    """Return the spellings of a value in messages: as it is, as JSON, as Python, in YAML's single quotes, by line."""
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    forms.add(value.replace("'", "''"))
    forms |= {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}  # quoted in JSON that is quoted again
    return forms | {line.strip() for line in value.split("\n") if len(line.strip()) >= LEAST}


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, those that touch joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


@lru_cache(maxsize=64)
def _by_path(document: Document) -> tuple[frozenset[Path], Mapping[Path, list[str]]]:
    """Return the paths of values that are hidden as a whole, and the texts that are hidden at each path."""
    texts: dict[Path, list[str]] = {}
    for value in hidden(document):
        texts.setdefault(value.path, []).append(value.text)
    return frozenset(value.path for value in hidden(document) if value.whole), texts


class Redactor:
    """Hides in the texts of one finding what its documents hold that looks secret."""

    __slots__ = ("exact", "indexes", "key", "short")

    def __init__(self, document: Document, path: Path, found: str | None, others: Iterable[Document]) -> None:
        whole, texts = _by_path(document)
        self.exact = is_secret(document.data, path) or any(path[:end] in whole for end in range(len(path) + 1))
        self.key = str(path[-1]) if path else None
        own_words = [*texts.get(path, ())]
        if self.exact and found and found != self.key:
            own_words.append(found)
        self.short = [word for word in own_words if len(word) < LEAST]
        self.indexes = [known(document), *map(known, others)]
        self.indexes += [index(own_words)] if own_words else []

    def text(self, text: str | None) -> str | None:
        """Return a text as it may be shown. At a secret, no number of some length is: it may be a reading of it."""
        if text is None:
            return text
        text = redact(text, self.indexes)
        for word in self.short:
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _: MASK, text)
        return _NUMBER.sub(MASK, text) if self.exact else text

    def value(self, found: str | None) -> str | None:
        """Return the value at fault as it may be shown."""
        return MASK if self.exact and found is not None and found != self.key else self.text(found)
