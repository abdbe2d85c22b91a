"""The core (all rooms up to pipeline/) does no I/O and knows no clock, chance, environment or hash order."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from syntax import ROOT, modules, nodes
from test_layers import ROOMS, room

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]

PURE_ABOVE = ("images.debian", "images.sbom", "report", "report.fleet", "report.page")
"""Modules above the core that are as pure."""

CORE = frozenset(ROOMS[: ROOMS.index("pipeline") + 1]).union(PURE_ABOVE)
READS_PACKAGE_DATA = ("data",)
ALLOWED = {
    ("cel.codegen", "exec()"),
    ("cel.codegen", "vars()"),
    ("basics.memo", "id()"),
    ("basics.memo", "import os"),
    ("schema.walk", "id()"),
    ("checks.functions", "import builtins"),
    ("checks.functions", "import warnings"),
}
"""What else a module may do: cel/codegen.py compiles functions with the globals of cel/runtime.py, checks/functions.py
reads the names of Python's builtins, and keeps
Python's warnings about the code of users from the terminal; basics/memo.py waits before a fork; others compare by
identity."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IMPURE_MODULES = words(
    "asyncio atexit builtins concurrent ctypes datetime faulthandler fcntl fileinput ftplib gc getpass glob http"
    " importlib inspect io locale logging mmap multiprocessing os pathlib pickle platform pwd queue random readline"
    " resource runpy sched secrets select selectors shelve shutil signal site smtplib socket sqlite3 ssl subprocess"
    " sys sysconfig syslog tempfile termios threading time timeit tkinter tracemalloc tty urllib uuid warnings weakref"
    " webbrowser zoneinfo"
)
"""Modules of the standard library that reach the world, the clock, chance or the interpreter's state."""

PURE_NAMES = {
    ("datetime", "datetime"),
    ("datetime", "timedelta"),
    ("datetime", "date"),
    ("io", "BytesIO"),
    ("io", "StringIO"),
    ("pathlib", "PurePosixPath"),
    ("sys", "intern"),
    ("threading", "RLock"),
    ("weakref", "WeakKeyDictionary"),
    ("urllib", "quote"),
    ("urllib", "unquote"),
}
"""Names of them that do not, when imported by `from`."""

CLOCKS = frozenset(("now", "today", "utcnow", "fromtimestamp"))
IMPURE_CALLS = words("open print input id hash exec eval globals locals vars __import__ breakpoint")
MUTATORS = words(
    "append add update extend insert pop popitem remove discard clear setdefault sort reverse appendleft"
    " __setitem__ __delitem__"
)
MUTABLE_TYPES = words("list dict set bytearray defaultdict Counter OrderedDict deque")


def core() -> dict[str, ast.Module]:
    return {
        name: tree for name, tree in modules().items() if CORE & {name, room(name)} and name not in READS_PACKAGE_DATA
    }


def called(node: ast.AST) -> str | None:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def impure(tree: ast.Module) -> Iterator[str]:
    """Yield what in a tree reaches outside."""
    functions = [node for node in nodes(tree) if isinstance(node, ast.FunctionDef)]
    own = {function.name for function in functions}
    hashing = {inner for function in functions if function.name == "__hash__" for inner in ast.walk(function)}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in IMPURE_MODULES:
                    yield f"{node.lineno}: import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            home = (node.module or "").partition(".")[0]
            for alias in node.names:
                if home in IMPURE_MODULES and (home, alias.name) not in PURE_NAMES:
                    yield f"{node.lineno}: from {node.module} import {alias.name}"
        elif (name := called(node)) in IMPURE_CALLS and name not in own and node not in hashing:
            yield f"{node.lineno}: {name}()"
        elif isinstance(node, ast.Attribute) and node.attr in CLOCKS:
            yield f"{node.lineno}: .{node.attr}"


def is_mutable(node: ast.expr | None) -> bool:
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    return node is not None and called(node) in MUTABLE_TYPES


def globals_of(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the names that a module binds at import time, outside of functions and classes, and their values."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = node.value
    return found


def inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    for function in nodes(tree):
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            yield from ast.walk(function)


def state(tree: ast.Module) -> Iterator[str]:
    """Yield the module-level values that a function could change, or does."""
    bound = globals_of(tree)
    for name, value in bound.items():
        if is_mutable(value) and not name.strip("_").isupper() and name != "__all__":
            yield f"{value.lineno}: {name} is mutable, and not named as a constant"
    for node in inside_functions(tree):
        if isinstance(node, ast.Global):
            yield f"{node.lineno}: global {', '.join(node.names)}"
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            if isinstance(node.value, ast.Name) and node.value.id in bound:
                yield f"{node.lineno}: {node.value.id}[...] is changed"
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id.isupper():
            yield f"{node.lineno}: {node.target.id} is changed"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            name = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            if is_mutable(bound.get(name)):
                yield f"{node.lineno}: {name}.{node.func.attr}()"


def is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Sub):
        return is_set(node.left) or is_set(node.right)
    return isinstance(node, ast.Set | ast.SetComp) or called(node) in ("set", "frozenset")


def hash_order(tree: ast.Module) -> Iterator[str]:
    """Yield where the order of a set would come into a result."""
    for node in nodes(tree):
        iterated: list[ast.expr] = []
        if isinstance(node, ast.For):
            iterated.append(node.iter)
        elif isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp):
            iterated += [part.iter for part in node.generators]
        elif called(node) in ("list", "tuple", "enumerate", "iter", "next", "zip", "map"):
            assert isinstance(node, ast.Call)
            iterated += node.args
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            iterated += node.args
        elif isinstance(node, ast.Starred):
            iterated.append(node.value)
        for part in iterated:
            if is_set(part):
                yield f"{part.lineno}: the order of a set"


@pytest.mark.parametrize("rule", [impure, state, hash_order])
def test_the_core_is_pure(rule: object) -> None:
    assert callable(rule)
    assert len(core()) > 40
    offences = {(name, found.rpartition(": ")[2]): found for name, tree in core().items() for found in rule(tree)}
    assert offences.keys() - ALLOWED == set()
    assert rule is not impure or offences.keys() >= ALLOWED, "what is allowed is needed"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("import os", impure),
        ("import os.path", impure),
        ("def f():\n    from time import time", impure),
        ("from pathlib import Path", impure),
        ("import datetime", impure),
        ("from datetime import datetime\ndef f():\n    return datetime.now()", impure),
        ("def f(d):\n    return d.utcnow()", impure),
        ("x = open('f')", impure),
        ("x = hash('f')", impure),
        ("print('f')", impure),
        ("cache = {}", state),
        ("_seen: list[int] = []", state),
        ("TABLE = {}\ndef f():\n    TABLE['a'] = 1", state),
        ("TABLE = []\ndef f():\n    TABLE.append(1)", state),
        ("TABLE = []\ndef f():\n    del TABLE[0]", state),
        ("TABLE = []\ndef f():\n    global TABLE\n    TABLE += [1]", state),
        ("N = 1\ndef f():\n    global N", state),
        ("from collections import Counter\ncounts = Counter()", state),
        ("for x in {1, 2}: pass", hash_order),
        ("x = list(set(y))", hash_order),
        ("x = [a for a in set(y) - set(z)]", hash_order),
        ("x = ','.join({str(a) for a in y})", hash_order),
        ("x = (*set(y), 1)", hash_order),
    ],
)
def test_a_sin_is_found(text: str, rule: object) -> None:
    assert callable(rule)
    assert list(rule(ast.parse(text))) != []


@pytest.mark.parametrize(
    "text",
    [
        "import re, json, math",
        "from pathlib import PurePosixPath",
        "TABLE = {'a': 1, 'b': 2}\ndel TABLE['b']",
        "class A:\n    def __hash__(self):\n        return hash(self.x)",
        "TABLE = {'a': 1}\ndef f(x):\n    y = dict(TABLE)\n    y['b'] = x\n    return y",
        "for x in sorted({1, 2}): pass",
        "def f(y):\n    return {a for a in set(y)}",
        "__all__ = ['a']",
    ],
)
def test_a_virtue_is_not(text: str) -> None:
    assert [*impure(ast.parse(text)), *state(ast.parse(text)), *hash_order(ast.parse(text))] == []


def test_compile_opens_nothing_but_package_data() -> None:
    """Run the compiler under an audit hook: it reads code and package data at first, nothing once all is loaded."""
    done = subprocess.run(
        [sys.executable, "-IB", str(HERE / "audited.py"), str(ROOT), str(REPOSITORY)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["jobs"] > 15
    assert report["files"] > 20
    assert report["errors"] > 0, "the second text has errors, so that findings are placed"
    # What libraries read while they are imported lies with them, as code does.
    homes = (str(ROOT / "trainc" / "data"), sys.prefix, sys.base_prefix)
    code = (".py", ".pyc", ".so")
    opened = [name for name in report["first"]["open"] if not name.startswith(homes) and not name.endswith(code)]
    assert opened == []
    assert set(report["first"]["events"]) <= {"open", "os.listdir"}, "and what import itself does"
    assert report["last"] == {"events": [], "open": []}
    assert report["unchanged"], "sources and options are as they were"
