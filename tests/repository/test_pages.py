"""Every page is tried: its commands run, its documents are read, its outputs are real, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from example import ROOT
from reading import Reader, blocks

from effort import THOROUGH
from gitrepo import needs_git
from trainc.cli.root import COMMANDS, trainc
from trainc.data import load_json
from trainc.findings import CODES

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
)
STARTS = {
    "README.md": "empty",
    "docs/explain.md": "example",
    "docs/policies.md": "example",
    "docs/runtimes.md": "example",
    "docs/getting-started.md": "empty",
    "docs/install.md": "empty",
    "docs/package.md": "empty",
    "docs/tutorial-argocd.md": "empty",
}
"""What a page starts with: a copy of this repository, an empty folder, or else the repository of pages/reader.txt."""

MOVES = {
    ("README.md", "make render"): "example",
    ("docs/commands.md", "trainc diff"): "reader",
}
"""Where on a page its reader goes on with something else."""

REGISTRY = "installs from a package registry"
IMAGES = "builds images: needs Linux, root and mmdebstrap, and has tests in tests/images/"
ELSEWHERE = {
    "docs/architecture.md": "a picture; tests/architecture/test_layers.py",
    **({} if THOROUGH else {"docs/commands.md": "the examples of the help, which CI runs"}),
    "docs/comparison.md": "generated with the real outputs; tests/comparison/",
    "docs/fixes.md": "tests/fixes/test_parts.py",
    "docs/sdk.md": "tests/sdk/ runs the page where the SDK is installed",
}
"""The pages of which only the documents are read here, and why."""

EXCEPTIONS = {
    "pip ": REGISTRY,
    "pipx ": REGISTRY,
    "uv ": REGISTRY,
    "python3 -m venv .venv": "tests/install/ installs the wheel in an environment of its own",
    ".venv/bin/pip ": REGISTRY,
    "gh attestation verify": "needs a release on GitHub",
    'eval "$(_TRAINC_COMPLETE=zsh_source': "for zsh; tests/cli/test_completion.py",
    "_TRAINC_COMPLETE=fish_source": "for fish; tests/cli/test_completion.py",
    "kubectl ": "needs a cluster",
    "trainc argocd | kubectl": "needs a cluster",
    "argocd ": "needs Argo CD",
    "skopeo ": "needs a container registry",
    "docker ": "needs a container engine; make containerfiles builds them",
    "kubeconform ": "another tool; tests/schema/test_editor_schemas.py reads the folder as it does",
    "mpiexec ": "needs an MPI library; tests/executors/test_mpi.py",
    "mpirun ": "runs in an image; tests/e2e/",
    "ssh-keygen ": "needs ssh, and the Secret goes to a cluster",
    "make test": "runs these tests",
    "make setup": "measures for hours",
    "make fuzz-coverage": "takes minutes, and needs Go and atheris; tests/fuzz/test_corpus.py runs its targets",
    "make fuzz-apiserver": "takes minutes, and needs Go; tests/test_apiserver.py runs a sample",
    "make bench": "measures for hours",
    "make mutants": "tests for hours; tests/mutation/test_mutation.py",
    "make e2e": "needs Linux and root; CI runs it",
    "python -m tests.e2e.simulator": "needs Linux and root; tests/e2e/",
    "make image": IMAGES,
    "trainc image build": IMAGES,
    "trainc image update": IMAGES,
    "trainc image verify": IMAGES,
    "trainc image lock build/images": IMAGES,
    "jobs/team-vision/mnist.yaml:9:5: error[TC101]": "test_readme.py: test_the_error_is_real",
    "helm ": "another tool",
    "trainc image lock ghcr.io/team/train:1=sha256:0f3c...": "a digest that is cut short",
    "images/mpi4py/packages.lock:62:1": "a matter of Debian's archive; tests/images/test_debian.py",
    "source:": "a part of an Application, of which there is no schema here",
    "docs/diff.md diff": "an excerpt; tests/diff/cases/",
    "docs/threat-model.md codeowners": "lines for a file that only code hosts read",
}
"""What is not tried, by the beginning of a command, of the first line of a block or of its kind, and why."""

STATUSES: dict[tuple[str, str], int] = {
    ("docs/commands.md", "trainc init fleet --policies"): 2,  # in a project already
    ("docs/commands.md", "trainc new job --runtime torch-distributed mnist"): 2,  # jobs/ has several folders
    ("docs/commands.md", "trainc new job --runtime torch-distributed -o - mnist"): 2,
    ("docs/commands.md", "trainc explain team-a/bert configmap/bert-mpi-hostfile:data.hostfile"): 2,  # no MPI job
    ("docs/commands.md", "trainc explain team-a/0-shared"): 2,  # nothing is shared
    ("docs/commands.md", "trainc flux"): 2,  # no environment has target: flux
    ("docs/commands.md", "trainc flux --env prod"): 2,
    ("docs/commands.md", "trainc cmp"): 2,  # Argo CD sets variables
    ("docs/findings.md", "trainc render --check --format github"): 1,  # the example of the page is a mistake
    ("docs/findings.md", "trainc validate --format junit > trainc.xml"): 1,
    ("docs/findings.md", "trainc validate --format sarif > trainc.sarif"): 1,
    ("docs/fix.md", "trainc fix --diff"): 3,
    ("docs/tutorial-argocd.md", "trainc validate --base HEAD"): 1,
    ("docs/runtimes.md", "trainc new job --runtime torch-distributed -n team-vision my-job"): 1,
}
"""Commands of pages that exit with another status than 0."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what pages start with."""
    return tmp_path_factory.mktemp("starts")


@needs_git
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_a_page_does_what_it_says(page: str, tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, shared, page, STARTS.get(page, "reader"), lambda line: exception(line) is not None)
    reader.moves = {command: start for (name, command), start in MOVES.items() if name == page}
    reader.read(only_documents=page in ELSEWHERE)
    expected = {command: status for (name, command), status in STATUSES.items() if name == page}
    assert reader.statuses == (expected if page not in ELSEWHERE else {})


def exception(line: str) -> str | None:
    """Return the exception that covers a command, or a block by its first line."""
    return next((start for start in EXCEPTIONS if line.startswith(start)), None)


def test_every_exception_occurs() -> None:
    found = {
        exception(line)
        for page in PAGES
        if page not in ELSEWHERE or page == "docs/commands.md"
        for block in blocks(page)
        for line in (block.commands() if block.language == "sh" else (block.first_line, f"{page} {block.language}"))
    }
    assert found - {None} == set(EXCEPTIONS)


def test_every_page_is_in_the_index_once() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed: list[str] = re.findall(r"\]\(([\w-]+\.md)\)", index)
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md", "package.md"}
    assert sorted(listed) == sorted(pages), "docs/package.md is for the package registry"
    assert "docs/README.md" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["commands", "configuration"])
def test_generated_pages_are_current(name: str) -> None:
    spec = importlib.util.spec_from_file_location(f"{name}_page", ROOT / "compiler" / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.TARGET.read_text(encoding="utf-8") == tool.markdown(), f"run compiler/tools/{name}.py (make schemas)"


def test_the_page_on_checks_has_every_check_of_jobs() -> None:
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| (TC8\d\d) (\w+) \|", page))
    assert rows == {code: CODES[code].severity for code in CODES if code.startswith("TC8") and code > "TC802"}


def test_the_reference_has_every_command_and_every_key() -> None:
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert set(COMMANDS) == {words[7:].split()[0] for words in re.findall(r"(?m)^## (trainc .+)$", commands)}
    keys = re.findall(r"(?m)^\| `(\w+)` \|", (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8"))
    schemas = load_json("config.schema.json")["$defs"]
    assert set(keys) == {key for schema in schemas.values() for key in schema["properties"]}


@cache
def command(*words: str) -> tuple[click.Command, int]:
    """Return the command that words begin with, and of how many words its name is."""
    found: click.Command = trainc
    for count, word in enumerate(words):
        below = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        if below is None:
            return found, count
        found = below
    return found, len(words)


def named_commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each command in text and in all blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", text)
    yield from (words.split() for words in re.findall(r"`(?:\.venv/bin/)?trainc ([a-z][^`|]*)", prose))
    for block in blocks(page):
        starts = r"(?m)(?:^|run: |- |\$ |sh '|&& |RUN )(?:\.venv/bin/)?trainc ([a-z][^|>#;'&\n]*)"
        yield from (words.split() for words in re.findall(starts, block.content))


@pytest.mark.parametrize("page", PAGES)
def test_commands_have_the_options_that_are_named(page: str) -> None:
    for words in named_commands(page):
        found, length = command(*words)
        assert length or "," in words[0], words
        options = {name for option in found.params if isinstance(option, click.Option) for name in option.opts}
        options |= {name for option in found.params for name in option.secondary_opts} | {"--help", "--version"}
        used = {re.split(r"[=,.)]", word)[0] for word in words[length:] if re.match(r"--?[a-z]", word)}
        assert used <= options, f"trainc {' '.join(words)}"


def slugs(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"))
    headings = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", line) for line in re.findall(r"(?m)^#+ (.*)$", text)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def markdown_files() -> list[str]:
    """Return every page of the repository."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split() if (ROOT / name).is_file()]


@pytest.mark.parametrize("page", sorted({*PAGES, *markdown_files()}))
def test_links_lead_to_pages_and_headings(page: str) -> None:
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", (ROOT / page).read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]+`", "", text)
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in slugs(target), link
