"""Asks the real readers: sigs.k8s.io/yaml and kubectl's stream of documents, in tests/oracle/yamlread."""

from __future__ import annotations

import random
from typing import Any

from oracle import gotools


def ask(texts: list[str]) -> list[dict[str, Any]]:
    """Return what Kubernetes makes of each text; see the program for the fields."""
    return gotools.ask("./yamlread", texts)


def same(one: object, other: object) -> bool:
    """Compare JSON values; numbers as 64-bit floats, since Go's integers come as floats where they are large."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    plain = (bool, str, type(None))
    if isinstance(one, plain) or isinstance(other, plain):
        return type(one) is type(other) and one == other
    return isinstance(one, int | float) and isinstance(other, int | float) and float(one) == float(other)


BLOCKS = """
a: 1|b: on|  c: x|- 1|- a: b|  - x|f: [1, 2, {a: b}]|g: {x: y, z: [1]}|h: &a [1]|i: *a|<<: *m|m: &m {a: 2, q: 3}
<<: [*m, {w: 1}]|? x|? [a]|# c|j: !!int "3"|k: !!str 4|l: !!float 3|o: !!bool yes|p: ~|null: 3|1: 2|1.5: 3|u: 0444
v: 1e3|w: .inf|x: !!null ''|y: !!int abc|n: 4.0|z: 18446744073709551615|r: ! 12|- - - 1|  k: v|    deep: v|a:
p: [http://x, a:b]|q: {image: img:1}|s: "it\\'s"|t: "a\\/b"|&k key: v|*k : v|y: 1_000|!!map {a: 1}|!!seq [1]
t: 2024-01-01
"""
PIECES = [
    *(line + "\n" for line in BLOCKS.strip().replace("\n", "|").split("|")),
    *("key: |\n  text\n  more\n", "k: |-\n  t\n\n", "k: |+\n  t\n\n\n", "k: >\n  fold\n  ed\n\n", "p: a\n  b\n"),
    *("x: 'multi\n  line'\n", 'x: "multi\n  line \\\n  cont"\n', 'e: "\\x41\\u00e9\\n"\n', "\"q\": 'it''s'\n"),
    *(
        "---\n",
        "--- # c\n",
        "...\n",
        "%YAML 1.1\n",
        "é: ü\n",
        "😀: 1\n",
        "\t",
        "\r\n",
        "\u0085",
        "\u2028",
        "\ufeff",
        "\0",
    ),
    *"%@`:-?'\"[]{},&*|>#! \n\\",
]
STREAM_PIECES = [
    *("a: 1\n", "b: 2\n", "---\n", "---\n", "--- # c\n", "---  \n", "--- x\n", "---x: 1\n", "# c\n", "\n", "...\n"),
    *('{"a":1}', '{"b": [1,2.0,1e3]}\n', '{"a":1,"a":2}', "{a: 1}\n", " ", "\r\n", "a: 1\r\n", "---\r\n", "null\n"),
    *(
        "- 1\n",
        "a: |\n  x",
        "a: |\n  x\n  ---\n",
        "[1\n",
        '"x"\n',
        '{"s":"\\ud83d\\ude00"}',
        '{"n":12345678901234567890}',
    ),
    *("%YAML 1.1\n", "\t", "{", "}"),
]


def damaged_yaml(seed: int, count: int) -> list[str]:
    """Make texts of pieces of YAML, most of them damaged."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 8)))
        for _ in range(chance.choice((0, 0, 1, 2))):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(["", *PIECES]) + text[at + chance.randint(0, 1) :]
        texts.append(text + "\n")
    return texts


def streams(seed: int, count: int) -> list[str]:
    """Make texts of several documents, of YAML and of JSON."""
    chance = random.Random(seed)
    return ["".join(chance.choices(STREAM_PIECES, k=chance.randint(1, 7))) for _ in range(count)]
