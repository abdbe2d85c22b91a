"""Writes the methods of records of usual sizes as a module: Python keeps their bytecode, and no run compiles it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trainc.recordcode import copy_text, init_text, new_text

OUTPUT = Path(__file__).resolve().parents[1] / "trainc" / "recordshapes.py"
MOST = 11
"""Fields of the largest record that is usual."""

_HEAD = '''\
# ruff: noqa
# fmt: off
# mypy: ignore-errors
"""Methods of records of usual sizes, as recordcode.py writes them, which gives their names a meaning.

Written by compiler/tools/recordshapes.py.
"""
'''


def shapes() -> Iterator[tuple[str, str]]:
    """Yield the name of each method in the module, and what recordcode.py writes."""
    for count in range(1, MOST + 1):
        yield f"init{count}", init_text("v" * count, post=False)
        yield f"new{count}", new_text(count)
        yield f"copy{count}", copy_text(count)


def text() -> str:
    """Return the module's text."""
    return _HEAD + "".join(f"\n\ndef {name}{method[method.index('(') :]}\n" for name, method in shapes())


if __name__ == "__main__":
    OUTPUT.write_text(text(), encoding="utf-8")
