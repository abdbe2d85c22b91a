"""The recorded scalars: what Kubernetes makes of each as a value and as a key, and PyYAML's type.

``python tests/load/scalar_vectors.py`` records scalars.json anew; that needs Go and PyYAML.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import yaml
from yaml_oracle import ask

FILE = Path(__file__).parent / "scalars.json"

WORDS = "y n yes no on off true false null ~ nan inf .nan .inf +.inf -.inf +.nan none nil void t f o = N/A"
NUMBERS = """
0 00 000 01 07 08 09 010 0777 0888 0444 0o444 0O444 0o8 0o -0o10 +0o10 -010 +010 0x1F 0X1f 0xg 0x -0x1F +0x1F 0b101
0B101 0b2 -0b101 +0b101 0b-1 0b+1 0b-2 -0b-1 -0b+1 0b 0b_1 1_000 1__0 _1 1_ 1_000.5 1.5_0 .5_0 ._5 .5_ .5 5. . .. +.5
-.5 +5. -5. + ++1 --1 +-1 1e3 1E3 1e+3 1e-3 1.e5 .1e3 .1e1_0 1e 1e+ e5 1.5e3 1.5e-4 1e-4 5e-5 1e400 -1e400 1e-400
1.7976931348623157e308 1.7976931348623159e308 9007199254740993 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616 +18446744073709551615
0xffffffffffffffff 0x10000000000000000 01777777777777777777777 07777777777777777777777777 1:30 1:30:45 190:20:30.15
12:60 -1:30 01:30 2024-01-01 2024-1-1 2024-01-01T00:00:00Z 1.10 1.2.3 500m 16Gi 1k 1E 0.1Gi 10.0.0.0/8 123e456 1234e12
12e3abc 0x1p-2 0x1.8p1 Infinity -0 -0.0 0.0 4.0 2.0e0 100000000000000000000 1e20 1e21 1e22 0.000001 0.0000001 123456.789
4.611686018427388e18 9.223372036854776e18 1.1 3.4028236e38 1e39 1000000.0 1234567.0 123456.0 0.0001 0.00001 16777217.0
\u0661\u0662 1\u0662 \u00e9 null/x ~/x yes-man no. n/a on: true.. -e5 -y .e3 .ssh ./run 0_ 0_7 0x_1F 0x1_F 0o_7
-0x8000000000000000 -0x8000000000000001 +9223372036854775807 +9223372036854775808 -00 +00 0.1 0.10 00.5 007.5 08.5 08e1
0b1e1 0e0 0x0 0b0 0o0 --epochs -v 1,000 12:30:45 1_0:30 6_0:5_9
"""
LETTERS = "0123456789+-._eExXoObB:"


def texts() -> list[str]:
    """List the scalars: chosen ones, and random ones of the characters that numbers are made of."""
    found = {*NUMBERS.split()}
    for word in WORDS.split():
        found |= {word, word.upper(), word.capitalize(), word.swapcase(), *(sign + word for sign in "+-._0")}
    chance = random.Random(7)
    for length, count in ((2, 300), (3, 500), (4, 300), (5, 200), (6, 150), (8, 100), (12, 60)):
        found |= {"".join(chance.choices(LETTERS, k=length)) for _ in range(count)}
    return sorted(text for text in found if is_plain(text))


def is_plain(text: str) -> bool:
    """Tell whether text can stand unquoted."""
    try:
        events = list(yaml.parse(f"a: {text}\n", yaml.SafeLoader))
    except yaml.YAMLError:
        return False
    return len(events) == 8 and getattr(events[4], "value", None) == text


def record() -> str:
    """Return the text of scalars.json: [text, value or null, error, key or null, PyYAML's type] a line."""
    chosen = texts()
    values = ask([f"a: {text}\n" for text in chosen])
    keys = ask([f"? {text}\n: x\n" for text in chosen])
    resolver = yaml.SafeLoader("")
    lines = []
    for text, value, key in zip(chosen, values, keys, strict=True):
        kind = resolver.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
        name = next(iter(key["json"])) if "json" in key else None
        row = [text, value["json"]["a"] if "json" in value else None, value.get("error", ""), name, kind]
        lines.append(json.dumps(row))
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(record(), encoding="utf-8")
