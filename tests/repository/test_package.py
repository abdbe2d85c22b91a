"""The package: everything that a message points at is in the wheel or has an address, and the version has one place."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from trainc import __version__
from trainc.basics.about import DOCUMENTATION, REPOSITORY, docs_page
from trainc.findings import CODES
from trainc.upstream import FIXES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "compiler" / "trainc"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

IN_REPOSITORY = re.compile(
    r"(?<![\w./-])(?:docs/(?!CODEOWNERS)[\w.-]+|compiler/[\w./-]+|tests/[\w./-]+|(?:README|CONTRIBUTING)\.md)"
)
"""What only a clone of this repository has."""

ADDRESS = re.compile(re.escape(REPOSITORY) + r"/[^\s'\"`),]*")


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Return where and what, for all texts that a user may see."""
    return tuple(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    """Yield where and what: the strings of the code except docstrings, the table of codes, and the data for users."""
    for path, tree in trees().items():
        nodes = [*ast.walk(tree)]
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node.value
    for code, entry in CODES.items():
        yield code, f"{entry.text} {entry.hint}"
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".json", ".j2", ".sh", ".lua"):
            yield str(path.relative_to(PACKAGE)), path.read_text(encoding="utf-8")


def test_no_message_points_into_this_repository() -> None:
    assert IN_REPOSITORY.findall("see docs/fixes.md, compiler/x.py and README.md") == [
        "docs/fixes.md",
        "compiler/x.py",
        "README.md",
    ]
    begins = ("docs/", "compiler/", "tests/", ".md")  # the pattern is slow, and most texts have none of them
    likely = [(where, text) for where, text in texts() if any(begin in text for begin in begins)]
    assert [(where, found) for where, text in likely for found in IN_REPOSITORY.findall(text)] == []


def test_addresses_in_messages_lead_to_files() -> None:
    found = {address.rstrip(".") for _, text in texts() for address in ADDRESS.findall(text)}
    assert docs_page("images") in found
    for address in found - {f"{DOCUMENTATION}/", DOCUMENTATION, REPOSITORY}:
        assert address.startswith(f"{REPOSITORY}/blob/main/"), address
        assert (ROOT / address.removeprefix(f"{REPOSITORY}/blob/main/")).is_file(), address


def test_pages_that_the_code_names_exist() -> None:
    calls = [
        node.args[0].value
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "docs_page"
        if isinstance(node.args[0], ast.Constant)
    ]
    assert {"cel", "codes", "fixes"} <= set(calls)
    assert [name for name in calls if not (ROOT / "docs" / f"{name}.md").is_file()] == []
    headings = re.findall(r"(?m)^## ([\w-]+)$", (ROOT / "docs" / "fixes.md").read_text(encoding="utf-8"))
    assert set(headings) >= set(FIXES), "a hint names the fix and the page"


def test_project_urls_are_those_of_the_messages() -> None:
    urls = PROJECT["urls"]
    assert urls["Documentation"] == DOCUMENTATION
    assert urls["Repository"] == REPOSITORY
    assert set(urls) == {"Documentation", "Repository", "Issues", "Changelog"}
    assert (ROOT / urls["Changelog"].removeprefix(f"{REPOSITORY}/blob/main/")).is_file()


def test_the_description_has_no_relative_links() -> None:
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all(link.startswith(REPOSITORY) for link in links)
    for link in links:
        assert (ROOT / link.removeprefix(f"{REPOSITORY}/blob/main/")).exists(), link


def test_the_version_has_one_place_and_an_entry_in_the_changelog() -> None:
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## \[(.+?)\]", changelog)
    assert __version__ in headings[:2]
    assert headings.index(__version__) == (headings[0] == "Unreleased")
    assert re.search(rf"(?m)^## \[{re.escape(__version__)}\] - (?:\d{{4}}-\d\d-\d\d|not released yet)$", changelog)
    assert [heading for heading in headings if f"\n[{heading}]: {REPOSITORY}/" not in changelog] == []
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"(?m)^### (.+)$", changelog)) <= kinds
