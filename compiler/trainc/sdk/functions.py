"""The function of a CustomTrainer: its script as it is written, and findings at its lines in the notebook or file."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from trainc.checks.functions import SHELL, Script, imported, mistakes, quoted
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Mark, Source

NOTEBOOK = "<notebook>"
"""The name, in findings, of a source that is not a file: a cell, or a text that was executed."""

_LIBRARIES = ("deepspeed", "jax", "mpi4py", "numpy", "torch", "xgboost", "yaml")
"""Modules that the programs of Trainer's runtimes import, besides those of the standard library."""


def adapted(script: Script, function: Callable[..., Any]) -> Script:
    """Return the script of a function as it is written to the repository.

    The here-document is quoted where bash would change the function. Notebooks name the source of a cell differently in
    each session or at each run, so its file gets the name of the function. Python looks for modules in the folder of
    that file first, so it must not have the name of a module.
    """
    if _file(function) == NOTEBOOK:
        name = function.__name__
        if name in {*sys.stdlib_module_names, *_LIBRARIES} or name in imported(script.code):
            name += "_function"
        script = replace(script, file=str(PurePosixPath(script.file).with_name(f"{name}.py")))
    return quoted(script) if any(mistake.code == SHELL for mistake in mistakes(script)) else script


def check(script: Script, function: Callable[..., Any]) -> tuple[Finding, ...]:
    """Return the mistakes in a script of the SDK that quoting does not fix, as errors at the lines of the function."""
    lines, first = inspect.findsource(inspect.unwrap(function))
    source = Source(_file(function), "".join(lines))
    indent = len(lines[first]) - len(lines[first].lstrip())  # which the SDK removes
    count = len(inspect.getblock(lines[first:]))
    findings = []
    for mistake in (each for each in mistakes(script) if each.code != SHELL):
        before = script.code[: mistake.offset].split("\n")
        # The call below the function is the SDK's.
        line, column = (len(before), len(before[-1]) + 1) if len(before) <= count else (1, 1)
        document = Document(source, {}, marks=partial(dict, {(): Mark(first + line, indent + column)}))
        found = report(mistake.code, document, (), mistake.message, severity=Severity.ERROR, found=mistake.found)
        findings.append(found)
    return tuple(findings)


def _file(function: Callable[..., Any]) -> str:
    """Return the file of a function, relative to the working directory where it is below; NOTEBOOK for a cell."""
    path = inspect.getfile(inspect.unwrap(function))
    if not Path(path).is_file():
        return NOTEBOOK
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
