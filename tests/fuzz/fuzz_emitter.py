"""The emitter: any object as YAML, read back by PyYAML, ruamel.yaml, Go's sigs.k8s.io/yaml and trainc itself."""

from __future__ import annotations

import zlib
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.cyaml import CSafeLoader

from fuzz.fuzz_reader import ODD, WORDS
from fuzz.target import Case, Choices, Target
from load.yaml_oracle import same
from oracle import gotools
from trainc.documents.emit import emit
from trainc.documents.load import _units
from trainc.inputs.source import Source

KEYS = ("a", "metadata", "name", "data", "env", "value", "labels", "spec", "args", "annotations")
NUMBERS = (0, 1, -1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e21, 1e-7, 1e-5, 123456.75, 5e-324, 1e300, 1e16, 4.0)
PARTS = (*WORDS, *ODD, *"aé \n-:#,'\"[]{}&*!|>%@`?=~$\\/", "\n\n", "  ", ": ", " #", "\n ", "x" * 70, "k" * 300)


def make(chance: Choices) -> Case:
    """Return an object."""
    return {_text(chance): _value(chance, 0) for _ in range(chance.randrange(1, 5))}


def _value(chance: Choices, depth: int) -> Any:
    kind = chance.randrange(8) if depth < 5 else chance.randrange(5)
    if kind in (5, 6):
        return {_text(chance): _value(chance, depth + 1) for _ in range(chance.randrange(4))}
    if kind == 7:
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 4:
        numbers = (True, False, *NUMBERS, chance.getrandbits(16), chance.getrandbits(64) - 2**63, chance.random() * 1e9)
        return chance.choice(numbers)
    return _text(chance)


def _text(chance: Choices) -> str:
    text = chance.choice(("", *KEYS)) if chance.randrange(3) == 1 else ""
    while not chance.is_done and chance.randrange(4):
        text += chance.choice(PARTS) if chance.randrange(4) else _letter(chance)
    return text


def _letter(chance: Choices) -> str:
    code = chance.randrange((0x100, 0x3000, 0x110000)[chance.randrange(3)])
    return chr(code) if not 0xD800 <= code < 0xE000 else "a"


def ours(case: Case) -> Any:
    """Return the text, and what the readers in Python make of it."""
    text = emit(case)
    read = {
        "PyYAML with libyaml": yaml.load(text, yaml.CSafeLoader),
        "ruamel.yaml with libyaml": CSafeLoader(text).get_single_data(),
    }
    if zlib.crc32(text.encode()) % 32 == 0:  # they take 20 times as long
        read["PyYAML"] = yaml.load(text, yaml.SafeLoader)
        read["ruamel.yaml"] = YAML(typ="safe", pure=True).load(text)
    units = list(_units(Source("a.yaml", text)))
    read["trainc"] = units[0].data if len(units) == 1 and not units[0].problems else units
    return text, read


def compare(case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare what each reader reads with the object, and the text with a second one."""
    text, read = ours
    for reader, value in read.items():
        if not same(value, case):
            return f"{reader} reads something else\n{text!r}\n{value!r}"
    if emit(read["trainc"]) != text:
        return f"another text after reading it\n{text!r}\n{emit(read['trainc'])!r}"
    if theirs.get("error") or theirs.get("strict") or theirs.get("stop"):
        return f"Go refuses it\n{text!r}\n{theirs}"
    if not same(theirs["json"], case) or not same(theirs.get("documents"), [case]):
        return f"Go reads something else\n{text!r}\n{theirs}"
    if "\r" in text or any(line != line.rstrip(" \t") for line in text.split("\n")):
        return f"a line that ends in blanks, or a carriage return\n{text!r}"
    return None


TARGET = Target(
    make,
    ours,
    compare,
    oracle=lambda: [gotools.build(package="./yamlread")],
    question=lambda _, ours: ours[0],
)
