"""Random texts for every string format, most of them nearly right."""

from __future__ import annotations

import random

from schema_cases import Data

SEEDS: dict[str, tuple[str, ...]] = {
    "bsonobjectid": ("507f1f77bcf86cd799439011", "507F"),
    "byte": ("YWI=", "YWJj", ""),
    "cidr": ("1.2.3.0/24", "::/0", "fe80::/129"),
    "creditcard": ("4111 1111 1111 1111", "5500000000000004", "340000000000009", "4111111111111112", "213100000000001"),
    "date": ("2024-02-29", "2023-02-29"),
    "date-time": ("2024-01-01T00:00:00Z", "2024-01-01t23:59:59.5+01:00"),
    "duration": ("5s", "1h2m", "3 days", "-1.5h"),
    "email": (
        *("a@b", "a.b@c.d", '"a b"@c', "Name <a@b.c>", "a@[1.2.3.4]", "a@[::1]", "(c) a@b (d(e)f)", "x: a@b;", "x:;"),
        *("x: a@b, c@d;", '"q\\"" <a@b>', "a@b.", "<a@b>", "é@ü", "a @b", "a@ b", "a b c <a@b> (x)", '"a"<b@c>'),
    ),
    "hexcolor": ("#fff", "00ff00"),
    "hostname": (
        *("a", "a.b", "a-b.com", "-a", "é.com", "a_b", "a..b", "x" * 63 + ".com", "x" * 64 + ".com", "1.com", "☃.net"),
    ),
    "ipv4": ("1.2.3.4", "::1.2.3.4", "01.2.3.4"),
    "ipv6": ("::1", "fe80::1%e", "1:2::3:4"),
    "isbn": ("080442957X", "978-0-306-40615-7"),
    "isbn10": ("0-306-40615-2", "0306406152", "080442957X", "1234567890"),
    "isbn13": ("978-0-306-40615-7", "9780306406157", "9780306406158"),
    "k8s-long-name": ("a.b", "a-b.c"),
    "k8s-short-name": ("a-b", "a"),
    "mac": ("00:11:22:33:44:55", "0011.2233.4455"),
    "rgbcolor": ("rgb(1,2,3)", "rgb( 255 , 0,19 )", "rgb(256,0,0)"),
    "ssn": ("123-45-6789", "123 45 6789"),
    "uri": (
        *("http://a/b", "/a", "a", "mailto:x@y", "http://[::1]:80/a", "http://[fe80::1%25en0]/", "http://h:8a/", "*"),
        *("http://u:p@h:80/%20?x#y", "http://a:b:c/", "tcp://a:1,b:2/x", "http://%41/", "http://%C3%A9/", "/%zz"),
        *("http://[1.2.3.4]/", "http://[::ffff:1.2.3.4]", "//x", "http:a", "http://h%25/", "a+b://c/", "1a:b", ":x"),
    ),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "uuid3": ("123e4567-e89b-32d3-a456-426614174000",),
    "uuid4": ("123e4567-e89b-42d3-a456-426614174000",),
    "uuid5": ("123e4567-e89b-52d3-a456-426614174000",),
}
_CHARACTERS = 'ab1.:-@ []"\\()<>,;%/?#é0XF\t\n☃_~'


def texts(seed: int, count: int) -> dict[str, list[str]]:
    """Return texts for each format: those above, and others near them; none with an encoded word of mail."""
    choice = random.Random(seed)
    found = {form: list(seeds) for form, seeds in SEEDS.items()}
    weights = [len(seeds) for seeds in SEEDS.values()]
    for form in choice.choices(list(SEEDS), weights, k=count):
        text = list(choice.choice(SEEDS[form]))
        for _ in range(choice.choice((1, 1, 2, 3))):
            kind, at = choice.random(), choice.randint(0, len(text))
            if kind < 0.4:
                text.insert(at, choice.choice(_CHARACTERS))
            elif text:
                text[at - 1 : at] = [] if kind < 0.7 else [choice.choice(_CHARACTERS)]
        if "=?" not in "".join(text):
            found[form].append("".join(text))
    return found


def request(found: dict[str, list[str]]) -> Data:
    """Return what to ask the oracle: a CRD with a list of texts a format, and an object with those found."""
    lists = {form: {"type": "array", "items": {"type": "string", "format": form}} for form in found}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": lists}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "texts.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Text", "plural": "texts"},
            "scope": "Cluster",
            "versions": [version],
        },
    }
    data = {"apiVersion": "example.com/v1", "kind": "Text", "metadata": {"name": "n"}, **found}
    return {"definition": definition, "data": data}


def accepted(found: dict[str, list[str]], answer: Data) -> dict[str, list[bool]]:
    """Return which of the texts found the oracle takes."""
    refused = {error.partition(": ")[0] for error in answer.get("errors", ())}
    return {form: [f"{form}[{index}]" not in refused for index in range(len(of))] for form, of in found.items()}


def supported(form: str, text: str) -> bool:
    """Tell whether trainc decides on a text as the API server does: not on comments and groups in e-mail addresses."""
    return form != "email" or not {"(", ";"} & {*text}
