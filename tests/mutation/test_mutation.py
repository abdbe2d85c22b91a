"""The mutants of a small module, and that killed and surviving ones are told apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import campaign
from mutants import compiled, mutants, sample

from effort import thorough

FOLDER = Path(__file__).parent
MODULE = '''\
"""A docstring."""
LIMIT = 3


def is_small(number: int) -> bool:
    if number < LIMIT:
        return True
    return False


def count_down(number):
    while number > 0:
        number -= 1
    return number


def never():
    return is_small(0) and cast("int", 1)
'''
TESTS = """\
import tiny


def test_is_small():
    assert tiny.is_small(2) and not tiny.is_small(4)


def test_count_down():
    assert tiny.count_down(1) == 0
"""
CAMPAIGN = f"""\
import json, sys
from pathlib import Path
sys.path.insert(0, {str(FOLDER)!r})
import campaign, mutants
campaign.MORE_SECONDS = 0
folder = Path.cwd()
place = campaign.Place(folder, folder, (str(folder / "test_tiny.py"),))
texts = {{"tiny.py": place.text("tiny.py")}}
cache = folder / "profile.json"
assert campaign.forked(lambda: bool(campaign.profile(place, list(texts), cache))) is True
chosen = [m for m in mutants.mutants("tiny.py", texts["tiny.py"]) if (m.old, m.new) in WANTED]
def note(mutant, outcome, seconds):
    with Path("rows.jsonl").open("a") as stream:
        stream.write(json.dumps([mutant.old, mutant.new, outcome.status, outcome.by]) + "\\n")
campaign.campaign(place, texts, chosen, campaign.Profile(json.loads(cache.read_text())), note, most=30.0)
"""
OUTCOMES = {
    ("3", "2"): ("killed", "test_tiny.py::test_is_small"),
    ("number < LIMIT", "number <= LIMIT"): ("survived", ""),
    ("number < LIMIT", "not number < LIMIT"): ("killed", "test_tiny.py::test_is_small"),
    ("return number", "return None"): ("killed", "test_tiny.py::test_count_down"),
    ("number -= 1", "pass"): ("timeout", "(timeout)"),
    ("return is_small(0) and cast('int', 1)", "return None"): ("uncovered", ""),
}


def test_mutants() -> None:
    assert [(m.function, m.lines, m.old, m.new) for m in mutants("tiny.py", MODULE)] == [
        ("", (2, 2), "3", "4"),
        ("", (2, 2), "3", "2"),
        ("is_small", (6, 6), "number < LIMIT", "number <= LIMIT"),
        ("is_small", (6, 6), "number < LIMIT", "not number < LIMIT"),
        ("is_small", (7, 7), "return True", "return None"),
        ("is_small", (7, 7), "True", "False"),
        ("is_small", (8, 8), "return False", "return None"),
        ("is_small", (8, 8), "False", "True"),
        ("count_down", (12, 12), "number > 0", "number >= 0"),
        ("count_down", (12, 12), "number > 0", "not number > 0"),
        ("count_down", (12, 12), "0", "1"),
        ("count_down", (12, 12), "0", "-1"),
        ("count_down", (13, 13), "number -= 1", "number += 1"),
        ("count_down", (13, 13), "number -= 1", "pass"),
        ("count_down", (13, 13), "1", "2"),
        ("count_down", (13, 13), "1", "0"),
        ("count_down", (14, 14), "return number", "return None"),
        ("never", (18, 18), "return is_small(0) and cast('int', 1)", "return None"),
        ("never", (18, 18), "is_small(0) and cast('int', 1)", "is_small(0) or cast('int', 1)"),
        ("never", (18, 18), "is_small(0) and cast('int', 1)", "cast('int', 1)"),
        ("never", (18, 18), "is_small(0) and cast('int', 1)", "is_small(0)"),
        ("never", (18, 18), "0", "1"),
        ("never", (18, 18), "0", "-1"),
    ]


def test_a_sample_is_the_same_after_a_change_elsewhere() -> None:
    longer = MODULE.replace("def never", "def one_more():\n    pass\n\n\ndef never")
    names = [mutant.name for mutant in sample({"tiny.py": MODULE}, 9, 1)]
    assert [mutant.name for mutant in sample({"tiny.py": longer}, 9, 1)] == names
    assert [mutant.name for mutant in sample({"tiny.py": MODULE}, 9, 2)] != names
    assert len(sample({"tiny.py": MODULE}, 99, 1)) == len(mutants("tiny.py", MODULE))


def test_lines_of_a_mutant_keep_their_numbers() -> None:
    first, *_, last = mutants("tiny.py", MODULE)
    for mutant in (first, last):
        scope: dict[str, object] = {}
        exec(compiled(mutant, MODULE, "tiny.py"), scope)
        assert scope["never"].__code__.co_firstlineno == 17  # type: ignore[attr-defined]


def is_killed(old: str, new: str) -> bool:
    """Return whether TESTS would fail after the functions of MODULE have been given the code of a mutant."""
    scope: dict[str, Any] = {}
    code = compile(MODULE, "tiny.py", "exec")
    exec(code, scope)
    (mutant,) = (m for m in mutants("tiny.py", MODULE) if (m.old, m.new) == (old, new))
    assert campaign.Memory({"tiny.py"}).replace(code, compiled(mutant, MODULE, "tiny.py"))
    return not (scope["is_small"](2) and not scope["is_small"](4) and scope["count_down"](1) == 0)


def test_killed_and_surviving_mutants_are_told_apart() -> None:
    assert not is_killed("number < LIMIT", "number <= LIMIT")
    assert is_killed("number < LIMIT", "not number < LIMIT")
    assert is_killed("return number", "return None")


def test_a_change_outside_of_functions_needs_another_process() -> None:
    code = compile(MODULE, "tiny.py", "exec")
    first, *_ = mutants("tiny.py", MODULE)
    assert not campaign.Memory({"tiny.py"}).replace(code, compiled(first, MODULE, "tiny.py"))


def test_the_tests_of_a_mutant_are_those_that_execute_its_lines() -> None:
    tests = {
        "slow": {"seconds": 2.0, "lines": {"tiny.py": [6, 7]}},
        "quick": {"seconds": 0.1, "lines": {"tiny.py": [6, 8]}},
        "other": {"seconds": 0.2, "lines": {"tiny.py": [12]}},
        "failing": {"seconds": None, "lines": {"tiny.py": [6]}},
    }
    profiled = campaign.Profile({"imported": {"tiny.py": [2, 5, 11, 17]}, "tests": tests})
    plans = {
        (m.old, m.new): campaign.planned(m, profiled, {"tiny.py": MODULE}, 30.0) for m in mutants("tiny.py", MODULE)
    }
    assert plans["number < LIMIT", "number <= LIMIT"] == (["quick", "slow"], ["other"], False)
    assert plans["number > 0", "number >= 0"] == (["other"], ["quick", "slow"], False)
    assert plans["3", "2"] == (["quick", "slow"], ["other"], True), "those that execute a function with the constant"
    assert plans["return is_small(0) and cast('int', 1)", "return None"] == ([], [], False)
    unused = MODULE + "UNUSED = 7\n"
    (*_, last) = mutants("tiny.py", unused)
    elsewhere = campaign.Profile({"imported": {"tiny.py": [19]}, "tests": tests})
    assert campaign.planned(last, elsewhere, {"tiny.py": unused}, 30.0) == (["quick", "other", "slow"], [], True)


@thorough
def test_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_tiny.py").write_text(TESTS, encoding="utf-8")
    program = CAMPAIGN.replace("WANTED", repr(list(OUTCOMES)))
    variables = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and each takes time to import
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(old, new): (status, by) for old, new, status, by in rows} == OUTCOMES, done.stderr
