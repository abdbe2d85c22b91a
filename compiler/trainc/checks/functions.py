"""Python functions that the Kubeflow SDK embeds in the command of a TrainJob, and what goes wrong with them.

The SDK takes the source of a function, adds a call, and puts both into a here-document of bash, which writes the file
that torchrun, python or mpirun runs. Source: kubeflow 0.5.0, kubeflow/trainer/constants/constants.py, EXEC_FUNC_SCRIPT,
and backends/kubernetes/utils.py, get_command_using_train_func.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Path, as_list, get
from trainc.basics.regex import lazy
from trainc.documents.positions import within
from trainc.findings import Finding, report
from trainc.plugins.model import Model

SHELL, NAMES, SYNTAX, TOO_LONG = "TC060", "TC061", "TC062", "TC063"
COMMAND: Path = ("spec", "trainer", "command")
_WORDS: Final = (COMMAND, ("spec", "trainer", "args"))
MAX_ARGUMENT: Final = 128 * 1024
"""The most bytes of one argument, with the zero byte at its end: MAX_ARG_STRLEN of Linux, include/uapi/linux/binfmts.h.

Longer functions are not parsed: Python 3.11 needs quadratic time for some texts.
"""

_START = "read -r -d '' SCRIPT << "
_HEAD = lazy(r"('?)(\w+)\1\n\n")
_WRITE = lazy(r'printf "%s" "\$SCRIPT" > "([^"\n]*)"')
_RUN = lazy(r'(\w+) "([^"\n]*)"')
_EXPANDED = lazy(r"\\[$`\\\n]|`|\$[A-Za-z_0-9{(\[@*#?$!-]")
"""What bash changes in a here-document: Bash manual, Here Documents. ``$[`` is the old form of ``$((``."""

_BY_KUBELET = lazy(r"\$(?=[$(])|(?<=\$)\$")
"""What the kubelet reads in a command: ``$(NAME)``, and ``$$`` for ``$``.

Source: Kubernetes 1.34, third_party/forked/golang/expansion/expand.go.
"""

_LINE = lazy(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_OF_SHELLS = frozenset(("_", "__IPYTHON__", "display", "get_ipython"))
"""Builtins that only an interactive Python has. IPython also removes some of the next ones."""

_OF_SITE = ("copyright", "credits", "exit", "help", "license", "quit")
_DUNDER = ("__annotations__", "__builtins__", "__doc__", "__file__", "__name__", "__spec__")
_MODULE = frozenset((*_DUNDER, *_OF_SITE, *dir(builtins))) - _OF_SHELLS


class Script(Struct, frozen=True):
    """A script of the SDK. ``before`` installs packages, ``word`` ends the here-document, ``program`` runs ``file``.

    ``start`` is the offset of ``code``, the function and its call, in the text that the script was read from.
    """

    before: str
    code: str
    file: str
    program: str
    word: str = "EOM"
    quoted: bool = False
    start: int = 0

    @property
    def text(self) -> str:
        """The script, without the empty line that the SDK begins with, which YAML would have to escape."""
        word = f"'{self.word}'" if self.quoted else self.word
        run = f'printf "%s" "$SCRIPT" > "{self.file}"\n{self.program} "{self.file}"'
        return f"{self.before}{_START}{word}\n\n{self.code}\n{self.word}\n{run}".lstrip("\n")


class Mistake(Struct, frozen=True):
    """A mistake at an offset in the code of a script."""

    code: str
    offset: int
    message: str
    found: str


def read_script(text: str) -> Script | None:
    """Return the parts of a script of the SDK; None for any other text."""
    before, _, rest = text.partition(_START)
    head = _HEAD.match(rest)
    body = rest[head.end() :] if head else ""
    code, *tail = body.rstrip().rsplit("\n", 3)
    if head is None or len(tail) < 3:
        return None
    write, run = _WRITE.fullmatch(tail[1]), _RUN.fullmatch(tail[2])
    if tail[0] != head[2] or write is None or run is None or write[1] != run[2]:
        return None
    start = len(text) - len(body)
    return Script(before, code, write[1], run[1], head[2], bool(head[1]), start)


def quoted(script: Script) -> Script:
    """Return a script that passes the code to Python unchanged, whatever the kubelet and bash replace."""
    word = script.word
    while word in script.code.split("\n"):
        word += "_"
    return Script(script.before, _BY_KUBELET.sub("$$", script.code), script.file, script.program, word, True)


@lru_cache(maxsize=8)
def mistakes(script: Script, replaced: frozenset[str] = frozenset()) -> tuple[Mistake, ...]:
    """Return the mistakes in a script, in order: once for all environments, and for an alias that repeats it.

    ``replaced`` are builtins of Python that the module of the function defines anew.
    """
    if (size := len(script.text.encode(errors="surrogatepass"))) >= MAX_ARGUMENT:
        message = f"the script has {size:,} bytes; Linux passes at most {MAX_ARGUMENT - 1:,} in one argument"
        invalid: Iterable[Mistake] = (Mistake(TOO_LONG, 0, message, f"{size:,} bytes"),)
    else:
        invalid = _invalid(script.code, replaced)
    return tuple(sorted((*_changed(script), *invalid), key=lambda mistake: mistake.offset))


def check_functions(model: Model) -> Iterator[Finding]:
    """Yield a warning for each mistake in the scripts of the SDK in a TrainJob."""
    lists = ((path, as_list(get(model.job.data, *path))) for path in _WORDS)
    for path, word in (((*path, index), word) for path, words in lists for index, word in enumerate(words)):
        script = read_script(word) if isinstance(word, str) else None
        for mistake in () if script is None else mistakes(script):
            document = within(model.job, path, mistake.offset + (script.start if script else 0))
            yield report(mistake.code, document, path, mistake.message, found=mistake.found)


def _changed(script: Script) -> Iterator[Mistake]:
    """Yield a mistake for each line of code that bash changes, and for one that ends the here-document."""
    start = 0
    for line in _LINE.findall(script.code):
        if found := () if script.quoted else tuple(_EXPANDED.finditer(line)):
            signs = ", ".join(dict.fromkeys(match[0].rstrip("\n") for match in found))
            message = f"bash changes {signs} in this line of the function: the here-document is not quoted"
            yield Mistake(SHELL, start + found[0].start(), message, line.strip())
        elif line.rstrip("\n") == script.word:
            message = f"a line {script.word} ends the here-document: bash runs the rest of the function as commands"
            yield Mistake(SHELL, start, message, script.word)
        start += len(line)


def _invalid(code: str, replaced: frozenset[str]) -> Iterator[Mistake]:
    """Yield a mistake if the code is not valid Python or does not run, or one for each name that nothing defines."""
    starts = [match.start() for match in _LINE.finditer(code)]
    lines = _LINE.findall(code)
    is_changed = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the style of the function
            tree = ast.parse(code)
            for function in (
                node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            ):
                for node in _own_nodes(function):
                    if isinstance(node, ast.AnnAssign):  # Python does not evaluate annotations of local variables
                        node.annotation = ast.Constant(None)
                        is_changed = True
            names = _unbound(ast.unparse(tree) if is_changed else code) - (_MODULE - replaced)
            calls = [*_miscalled(tree)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        number = min(getattr(error, "lineno", None) or 1, len(lines)) - 1
        reason = getattr(error, "msg", None) or str(error)
        line = lines[number]
        start = starts[number] + len(line) - len(line.lstrip())
        yield Mistake(SYNTAX, start, f"the script is not valid Python: {reason}", line.strip())
        return
    for number, message, found in calls:
        yield Mistake(SYNTAX, starts[min(number, len(starts) - 1)], message, found)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            names.discard(node.id)
            number = min(node.lineno, len(lines)) - 1  # Python 3.11 is wrong about some lines of f-strings
            column = len(lines[number].encode()[: node.col_offset].decode(errors="ignore"))  # ast counts bytes
            instead = f", so it gets Python's {node.id}" if node.id in _MODULE else ""
            message = f"the function does not define {node.id!r}{instead}: only its own source reaches the pod"
            yield Mistake(NAMES, starts[number] + column, message, node.id)


def _miscalled(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield the line of a function that the SDK's call at the end does not run, with a message and what was found.

    The call is ``name()``, or ``name(**{...})`` with func_args. Decorators may change what it does.
    """
    call = getattr(tree.body[-1], "value", None) if tree.body else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in [each for each in functions if each.name == call.func.id][-1:]:  # the last one is called
        line, found = function.lineno - 1, f"def {function.name}({ast.unparse(function.args)})"
        if function.decorator_list:
            continue
        if isinstance(function, ast.AsyncFunctionDef):
            yield line, "the function is async: a call makes a coroutine, and runs nothing", f"async {found}"
        elif any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)):
            yield line, "the function has yield: a call makes a generator, and runs nothing", found
        values = (*call.args, *call.keywords)
        if any(isinstance(node, ast.Name) and node.id == function.name for each in values for node in ast.walk(each)):
            yield line, f"func_args needs Python's {function.name}, and gets the function of this name", found
        if (problem := _does_not_fit(call, function.args)) is not None:
            yield line, problem, found


def _own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes in the body of a function, but not those in functions and classes within it."""
    nodes: list[ast.AST] = [*function.body]
    for node in nodes:  # grows
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)


def _does_not_fit(call: ast.Call, parameters: ast.arguments) -> str | None:
    """Return which arguments of a call the function lacks or still needs; None if they fit, or are not known."""
    if call.args:  # earlier releases of the SDK pass func_args as one argument
        return None
    given: set[str] = set()
    for keyword in call.keywords:
        if keyword.arg is not None or not isinstance(keyword.value, ast.Dict):
            return None
        for key in keyword.value.keys:
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            given.add(key.value)
    plain = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    required = {*plain[: len(plain) - len(parameters.defaults)]}
    defaults = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    required |= {each.arg for each, default in defaults if default is None}
    named = {each.arg for each in (*parameters.args, *parameters.kwonlyargs)}
    if missing := sorted(required - (given & named)):
        return f"func_args has no value for {', '.join(missing)}"
    if unknown := sorted(given - named) if parameters.kwarg is None else []:
        return f"the function has no parameter {', '.join(unknown)}, which func_args has"
    return None


def _unbound(code: str) -> set[str]:
    """Return the global names that code reads, but does not bind."""
    import symtable

    bound: set[str] = set()
    read: set[str] = set()
    top = symtable.symtable(code, "<function>", "exec")
    tables = [top]
    for table in tables:  # grows
        tables += table.get_children()
        # Each function within another one also lists what is free in it, which may be thousands of names.
        names = table.get_globals() if isinstance(table, symtable.Function) else table.get_identifiers()
        for symbol in map(table.lookup, names):
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if binds and (table is top or symbol.is_declared_global()):
                bound.add(symbol.get_name())
            # Python 3.11 also calls each local name of a function or class that is called "top" global.
            if symbol.is_referenced() and (table is top or (symbol.is_global() and not symbol.is_local())):
                read.add(symbol.get_name())
    return read - bound
