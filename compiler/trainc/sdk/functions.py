"""The function of a CustomTrainer: its script as it is written, and findings at its lines in the notebook or file."""

from __future__ import annotations

import builtins
import inspect
import os
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject
from trainc.basics.memo import exclusive
from trainc.basics.regex import lazy
from trainc.checks.functions import NAMES, SHELL, SYNTAX, Mistake, Script, mistakes, quoted
from trainc.documents.emit import emit
from trainc.documents.positions import Lines
from trainc.findings import Finding, Severity, report
from trainc.findings.redaction import known, redact
from trainc.inputs.source import NOTEBOOK, Document, Mark, Source

_DECORATED = lazy(r"\s*@(?!(?:static|class)method\b)")
"""The source of a function with decorators whose names the pod does not have (TC061)."""

_OF_BASH = ('"', "$", "`", "\\", "\n")
"""The characters of the name of a file that bash does not take as they are, in double quotes."""

_NUMBERS = frozenset((bool, complex, float, int))
_LITERAL = _NUMBERS | {bytearray, bytes, range, str, type(None), type(...)}


def as_written(script: Script, function: Callable[..., Any]) -> Script:
    """Return the script of a function with its texts of several lines as they are in the source.

    The SDK removes the indentation of a nested function, and the blanks of lines without others, also within texts.
    """
    source = inspect.getsource(function)
    return replace(script, code=_dedented(source) + script.code.removeprefix(textwrap.dedent(source)))


@exclusive
def adapted(script: Script, function: Callable[..., Any]) -> Script:
    """Return the script of a function as it is written to the repository.

    The here-document is quoted where bash would change the function. Notebooks name the source of a cell differently in
    each session or at each run, so its file gets the name of the function. Python looks for modules in the folder of
    that file first, and the image may have files there, so the name has a dot: no import can mean it.
    """
    if _file(function) == NOTEBOOK:
        script = replace(script, file=str(PurePosixPath(script.file).with_name(f"{function.__name__}.notebook.py")))
    return quoted(script) if any(mistake.code == SHELL for mistake in mistakes(script)) else script


def unfit_file(function: Callable[..., Any]) -> str | None:
    """Return what is wrong with the name of a function's file, which bash reads in quotes; None if nothing is."""
    name = Path(inspect.getfile(function)).name
    signs = ", ".join(repr(sign) for sign in _OF_BASH if sign in name)
    return f"the function is in the file {name!r}: bash reads {signs} in its name; rename the file" if signs else None


@exclusive
def check(
    script: Script, function: Callable[..., Any], arguments: Mapping[str, Any] | None, data: JsonObject
) -> tuple[Finding, ...]:
    """Return the mistakes in a script of the SDK that quoting does not fix, at the lines of the function.

    They are errors; names that Python defines, too, are warnings. ``arguments`` are those of the call. Secrets of the
    TrainJob ``data`` are masked.
    """
    lines, first = inspect.findsource(inspect.unwrap(function))
    source = Source(_file(function), "".join(lines))
    text, code = Lines(script.code), script.code.split("\n")
    count = len(inspect.getblock(lines[first:]))
    secrets = [known(Document(Source("", emit(data)), data))]
    replaced = _replaced_builtins(function)
    findings = []
    found = [each for each in mistakes(script, replaced) if each.code != SHELL]
    if all(each.code == NAMES and each.found in replaced for each in found):
        found += _lost(function, arguments)
    for mistake in found:
        line, column = text.mark(mistake.offset)
        if line > count:  # the call below the function is the SDK's
            line, column = 1, 1
        original = lines[first + line - 1].rstrip("\r\n")
        column += max(len(original) - len(code[line - 1]), 0)  # the indentation that the SDK removes
        document = Document(source, {}, marks=partial(dict, {(): Mark(first + line, column)}))
        severity = Severity.WARNING if mistake.code == NAMES and mistake.found in replaced else Severity.ERROR
        message, shown = redact(mistake.message, secrets), redact(mistake.found, secrets)
        findings.append(report(mistake.code, document, (), message, severity=severity, found=shown))
    return tuple(findings)


def _lost(function: Callable[..., Any], arguments: Any) -> Iterator[Mistake]:
    """Yield what Python has, but neither the source of the function nor the text of its arguments."""
    if inspect.ismethod(function):
        message = "the object of a method does not reach the pod: only the source of the function does"
        yield Mistake(SYNTAX, 0, message, f"a method of {type(function.__self__).__name__}")
    elif inspect.unwrap(function) is not function and not _DECORATED.match(inspect.getsource(function)):
        message = "what wraps the function does not reach the pod: only the source of the function itself does"
        yield Mistake(SYNTAX, 0, message, f"a wrapper of {function.__name__}")
    if not isinstance(arguments, Mapping | None) or not all(isinstance(name, str) for name in arguments or ()):
        yield Mistake(SYNTAX, 0, "func_args must be a dict with texts as keys", type(arguments).__name__)
        return
    for name, value in (arguments or {}).items():
        if not _is_literal(value):
            message = "only numbers, texts, lists, dicts and sets of numbers of Python itself reach the pod as they are"
            yield Mistake(SYNTAX, 0, message, f"{name}: {type(value).__name__}")


def _is_literal(value: Any, above: tuple[int, ...] = ()) -> bool:
    """Return whether Python reads the text of a value as an equal one, and has the same text in each process.

    Only numbers have the same order in each set.
    """
    if type(value) in (set, frozenset):
        return all(type(item) in _NUMBERS or (len(value) == 1 and _is_literal(item)) for item in value)
    if type(value) in (list, tuple, dict) and id(value) not in above:
        items = chain(*value.items()) if isinstance(value, dict) else value
        return all(_is_literal(item, (*above, id(value))) for item in items)
    return type(value) in _LITERAL


def _dedented(source: str) -> str:
    """Return the source of a function without its indentation, as ``textwrap.dedent`` does, but not within texts."""
    lines = [*StringIO(source)]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    try:
        inside = {*_lines_within_texts(lines)}
    except (tokenize.TokenError, SyntaxError):
        return textwrap.dedent(source)
    for number, line in enumerate(lines):
        if number not in inside:
            lines[number] = line.removeprefix(indent) if line.strip(" \t\r\n") else line.lstrip(" \t")
    return "".join(lines)


def _lines_within_texts(lines: Iterable[str]) -> Iterator[int]:
    """Yield the indexes of lines that begin within a text. Raises TokenError and SyntaxError."""
    starts: list[int] = []
    for token in tokenize.generate_tokens(iter(lines).__next__):
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):  # f-strings, from Python 3.12 on
            starts.append(token.start[0])
        elif kind == "STRING" or kind.endswith("STRING_END"):
            yield from range(token.start[0] if kind == "STRING" else starts.pop(), token.end[0])


def _replaced_builtins(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of Python's builtins that the module of a function, or a function around it, defines anew."""
    inner = inspect.unwrap(function)
    own = getattr(inner, "__globals__", {})
    free = getattr(getattr(inner, "__code__", None), "co_freevars", ())
    return frozenset(
        name
        for name, value in vars(builtins).items()
        # IPython has an open() of its own in each notebook.
        if name in free or (own.get(name, value) is not value and not _module(own[name]).startswith("IPython"))
        if not name.startswith("_")
    )


def _module(value: Any) -> str:
    """Return the module that defines a value, also of a function that says another, as ``functools.wraps`` makes it."""
    names = value.__globals__ if inspect.isfunction(value) else {}
    return str(names.get("__name__") or getattr(value, "__module__", ""))


def _file(function: Callable[..., Any]) -> str:
    """Return the file of a function, relative to the working directory where it is below; NOTEBOOK for a cell."""
    path = inspect.getfile(inspect.unwrap(function))
    if not Path(path).is_file():
        return NOTEBOOK
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
