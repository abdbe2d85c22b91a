"""Old documents and what `trainc import` makes of them, to the letter.

`cases/<kind>-<what>.yaml` is the old document, and the .txt beside it has the new files and the findings. What trainc
has written must compile without errors, unless the import has found some itself.

    pytest tests/migrate --update

writes the .txt files; read the difference. `x.runtimes.yaml` holds the runtimes of the repository that `x.yaml` is
imported into.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from effort import THOROUGH
from trainc import Options, Source, compile
from trainc.documents.load import comments
from trainc.findings import Finding, Severity, has_errors
from trainc.findings.text import render
from trainc.migrate import Imported, import_documents

HERE = Path(__file__).parent / "cases"
CASES = sorted(path for path in HERE.glob("*.yaml") if "." not in path.stem)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take a third of the cases outside CI; all of them where expected output is written."""
    paths = CASES if THOROUGH or metafunc.config.getoption("--update") else CASES[::3]
    metafunc.parametrize("path", paths, ids=lambda path: path.stem)


@cache
def imported(path: Path) -> Imported:
    runtimes = [
        Source(f"runtimes/{beside.name}", beside.read_text(encoding="utf-8"))
        for beside in (path.with_suffix(".runtimes.yaml"),)
        if beside.exists()
    ]
    return import_documents([Source(path.name, path.read_text(encoding="utf-8"))], runtimes)


def shown(result: Imported) -> str:
    files = "".join(f">>> {file.path}\n{file.text}" for file in result.files)
    return f"{files}---8<---\n{render(result.findings)}"


def test_case(path: Path, update: bool) -> None:
    found, expected = shown(imported(path)), path.with_suffix(".txt")
    if update:
        expected.write_text(found, encoding="utf-8", newline="")
    assert found == expected.read_text(encoding="utf-8")


def compiled(path: Path) -> tuple[Finding, ...]:
    beside = path.with_suffix(".runtimes.yaml")
    own = [Source(f"runtimes/{beside.name}", beside.read_text(encoding="utf-8"))] if beside.exists() else []
    return compile([*own, *(Source(file.path, file.text) for file in imported(path).files)], Options()).findings


def test_the_new_files_compile(path: Path) -> None:
    if has_errors(imported(path).findings):
        return
    about_mpi = ("TC413", "TC456")  # a launcher's resources and variables look as if they were for the workers
    wrong = [finding for finding in compiled(path) if finding.severity == "error" or finding.code in about_mpi]
    assert wrong == [], render(wrong)


def test_nothing_is_left_to_import(path: Path) -> None:
    """Importing what was imported changes nothing; a job of today stays, and one with errors until they are mended."""
    if has_errors(imported(path).findings):
        return
    again = import_documents(Source(file.path, file.text) for file in imported(path).files)
    assert (again.files, again.jobs) == ((), 0)
    assert all(finding.severity is Severity.NOTE for finding in again.findings)


def test_no_comment_is_lost(path: Path) -> None:
    old = Source(path.name, path.read_text(encoding="utf-8"))
    if imported(path).jobs == 0:
        return
    new = "".join(file.text for file in imported(path).files)
    for _, text in comments(old, ""):
        assert text in new
