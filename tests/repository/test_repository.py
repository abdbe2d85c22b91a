"""The repository around the code: what it promises, and what must not get into it."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from effort import some

ROOT = Path(__file__).resolve().parents[2]
TARGETS = [
    "help",
    "setup",
    "render",
    "test",
    "check",
    "e2e",
    "image",
    "containerfiles",
    "schemas",
    "goldens",
    "fuzz",
    "fuzz-apiserver",
    "fuzz-coverage",
    "mutants",
    "bench",
    "lock",
    "clean",
]

# One letter in brackets, or a tilde to be removed: this file must not match itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.$}/-])/(?:[r]oot/(?!\.ssh)|[w]ork/|[h]ome/(?!mpiuser|sailor/|argocd/)|[U]sers/|opt/[w]heels)"
)
TEMPORARY_PATHS = re.compile(r"(?<![\w.$}/-])/[t]mp/")
REGISTRIES = re.compile(
    r"[p]ypi\.(?:org|python)|[p]ythonhosted|proxy\.[g]olang|sum\.[g]olang|registry\.[n]pmjs|[d]evpi\b|[a]rtifactory"
)
"""In lower case: not to regard the case takes ten times as long."""
INDEX_OPTIONS = re.compile(r"(?m)^\s*(?:-i|--(?:extra-)?index-url|--find-links|-f|--trusted-host)\b|https?://")
"""What may stand in a lock: packages, versions, markers and hashes, and no address."""

INSIDE_CONTAINERS = (
    *("runtimes/", "jobs/", "out/", "compiler/trainc/data/", "images/"),
    *("tests/oracle/", "tests/kube/", "tests/gitops/output/", "tests/e2e/"),
)
"""Where a path names a place in a container, whose temporary folder is nobody's machine."""


@cache
def tracked() -> tuple[tuple[str, str], ...]:
    """Return name and text of every file in git's index that is text and exists."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    files = []
    for name in listed.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file():
            data = path.read_bytes()
            if b"\0" not in data:
                files.append((name, data.decode("utf-8", "replace")))
    return tuple(files)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def workflow() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(read(".github/workflows/ci.yml"))
    return loaded


def test_the_scan_sees_the_repository() -> None:
    names = {name for name, _ in tracked()}
    assert {"Makefile", "LICENSE", "pyproject.toml", "compiler/trainc/inputs/source.py"} <= names


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (MACHINE_PATHS, ["see /~root/go/pkg", "(/~home/me/x)", "/~work/main", "/opt/~wheels"]),
        (TEMPORARY_PATHS, ["cat /~tmp/x"]),
        (REGISTRIES, ["https://p~ypi.org/simple", "files.p~ythonhosted.org", "https://proxy.~golang.org"]),
    ],
)
def test_the_patterns_find_what_they_look_for(pattern: re.Pattern[str], texts: list[str]) -> None:
    assert all(pattern.search(text.replace("~", "")) for text in texts)


def lines_with(pattern: re.Pattern[str], *, skip: tuple[str, ...] = (), form: Callable[[str], str] = str) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in ((name, form(text)) for name, text in tracked() if not name.startswith(skip))
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_machine_path_is_committed() -> None:
    assert lines_with(MACHINE_PATHS) == []
    assert lines_with(TEMPORARY_PATHS, skip=INSIDE_CONTAINERS) == []


def test_no_registry_or_mirror_is_named() -> None:
    assert lines_with(REGISTRIES, form=str.lower) == []


def test_license_is_apache_2() -> None:
    text = read("LICENSE")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert len(text) > 11_000


def requirements() -> dict[str, str]:
    """Return the entries of the lock, continuation lines joined, by name."""
    joined = read("requirements.lock").replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return {line.partition("==")[0].strip(): line for line in lines}


def test_lock_is_hashed_and_names_no_index() -> None:
    entries = requirements()
    assert len(entries) > 20
    for name, line in entries.items():
        assert re.match(r"[a-z0-9-]+==\S+", line), name
        assert "--hash=sha256:" in line, name
    assert not INDEX_OPTIONS.search(read("requirements.lock"))


def test_lock_holds_every_dependency_and_the_build_backend() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(name for extra in project["project"]["optional-dependencies"].values() for name in extra),
        "pip",
    ]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", name, maxsplit=1)[0]).lower() for name in wanted}
    assert names <= set(requirements())


def test_make_alone_lists_every_target() -> None:
    command = ["make", "--no-print-directory"]  # make says where it is when another make runs the tests
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert [line.split()[1] for line in listed.splitlines()] == TARGETS
    assert all(len(line.split()) > 3 for line in listed.splitlines())


def test_every_target_is_phony_and_explained() -> None:
    makefile = read("Makefile")
    phony = re.search(r"(?m)^\.PHONY: (.+)$", makefile)
    assert phony
    assert phony[1].split() == TARGETS
    rules = re.findall(r"(?m)^([a-z][\w-]*):(?!=)", makefile)
    assert sorted(rules) == sorted(TARGETS)


def test_files_that_make_calls_exist() -> None:
    called = re.findall(r"\$\(BIN\)/(?:python|mypy)\b[^\n]*?((?:compiler|tests)/[\w/.]+)", read("Makefile"))
    assert called
    assert [name for name in called if not (ROOT / name).exists()] == []


def test_readme_begins_with_the_installation_and_the_two_commands() -> None:
    text = read("README.md")
    blocks = list(re.finditer(r"```(?:sh|console|bash)\n(.*?)```", text, re.DOTALL))[:3]
    commands = [line.partition("#")[0].strip() for block in blocks for line in block[1].splitlines() if line.strip()]
    assert commands[0] == "pipx install trainc"
    assert commands[1].startswith("trainc init && ")
    assert commands[2:] == ["make render", "make test"]
    assert text[: blocks[0].start()].count("\n") < 10
    assert text[: blocks[-1].start()].count("\n") < 24


def test_readme_explains_every_command_of_the_makefile_it_names() -> None:
    named = {name for _, text in tracked() for name in re.findall(r"`make ([a-z0-9]+)", text)}
    assert named - {"e2e"} <= set(TARGETS)


def test_workflow_runs_what_everybody_can_run() -> None:
    steps = workflow()["jobs"]["test"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
    called = re.findall(r"(?m)^\s*make ([a-z]+)", read(".ci/run"))
    assert called == ["setup", "check", "render", "test"]


def test_out_is_searched_for_secrets_with_a_pinned_tool() -> None:
    assert re.search(r"(?m)^\.ci/secrets out$", read(".ci/run"))
    pins = re.sub(r"(?m)^#.*\n", "", read(".ci/detect-secrets.txt")).replace("\\\n", "").splitlines()
    assert any(pin.startswith("detect-secrets==") for pin in pins)
    assert [pin for pin in pins if not re.fullmatch(r"[\w-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+", pin)] == []


@pytest.mark.skipif(not (ROOT / ".venv/bin/python").exists(), reason="needs the environment of make setup")
@pytest.mark.parametrize(("ci", "status"), some([("true", 1), ("", 0)], 2))
def test_without_a_network_the_search_is_skipped_but_for_ci(ci: str, status: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    done = subprocess.run(
        [ROOT / ".ci/secrets", "out"],
        env={**environment, "CI": ci, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert done.stdout == "detect-secrets cannot be installed, so nothing is looked for\n"


def test_workflow_covers_every_supported_python() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    supported = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert workflow()["jobs"]["test"]["strategy"]["matrix"]["python"] == supported
    assert project["requires-python"] == f">={supported[0]}"


def test_actions_are_pinned_by_commit() -> None:
    used = [step["uses"] for step in workflow()["jobs"]["test"]["steps"] if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name)] == []


def test_hooks_are_local_and_call_make() -> None:
    config = yaml.safe_load(read(".pre-commit-config.yaml"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    entries = [hook["entry"].split() for hook in config["repos"][0]["hooks"]]
    assert entries
    assert all(words[0] == "make" and words[1] in TARGETS for words in entries)


def test_line_endings_are_fixed() -> None:
    assert "* text=auto eol=lf" in read(".gitattributes").splitlines()


def test_every_data_file_is_packaged() -> None:
    patterns = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]["package-data"]["trainc"]
    package = ROOT / "compiler" / "trainc"
    packaged = {path for pattern in patterns for path in package.glob(pattern)}
    data = {path for path in package.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}}
    data |= set((package / "data" / "scripts").rglob("*.py"))  # scripts that run in pods
    assert {package / "data" / "builtins.json", package / "data" / "scripts" / "mpi_ssh_keys.py"} <= data
    assert data <= packaged
