"""`trainc init`, `trainc new` and `trainc runtimes` on a terminal, and beside what a folder may hold; the files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from small import Run, on_a_terminal

from folders import put, tree
from gitrepo import commit, git, needs_git
from trainc.basics.about import REPOSITORY
from trainc.cli.runtimes import table
from trainc.project.catalog import read_catalog
from trainc.project.config import Config
from trainc.project.scaffold import Setup, init_files

CI = Path(__file__).parents[2] / ".ci"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def files(**options: Any) -> dict[str, str]:
    return {file.name: file.text for file in init_files(Setup("1.2.3", **options))}


@pytest.mark.parametrize(("typed", "count"), [("n\n", 0), ("\n", 10)])
def test_a_terminal_is_asked(tmp_path: Path, typed: str, count: int) -> None:
    shown = on_a_terminal("-m", "trainc", "init", "fleet", cwd=tmp_path, typed=typed)
    assert "create  fleet/trainc.yaml " in shown
    assert "Create 10 files? [Y/n]: " in shown
    assert len(tree(tmp_path)) == count


def test_a_terminal_is_asked_for_the_runtime(tmp_path: Path) -> None:
    put(tmp_path, "trainc.yaml", "fixes: recommended\n")
    shown = on_a_terminal("-m", "trainc", "new", "job", "first", cwd=tmp_path, typed="torch-distributed\n")
    assert "\r\ntorch-distributed " in shown
    assert "Runtime: " in shown
    assert "created jobs/default/first.yaml" in shown


def test_what_is_typed_in_another_encoding(tmp_path: Path) -> None:
    put(tmp_path, "trainc.yaml", "fixes: recommended\n")
    command = ("-m", "trainc", "new", "job", "first")
    shown = on_a_terminal(*command, cwd=tmp_path, typed="ä\n", status=2, PYTHONIOENCODING="ascii")
    assert r"Invalid value for '--runtime': runtime '\\xc3\\xa4' not found" in shown


def test_a_file_that_trainc_would_not_read_is_not_written(tmp_path: Path, run: Run) -> None:
    put(tmp_path, "trainc.yaml", "fixes: recommended\n")
    for words, file in (
        (("job", "--runtime", "torch-distributed", "-n", "team-a", "trainc"), "jobs/team-a/trainc.yaml"),
        (("runtime", "--from", "torch-distributed", "trainc"), "runtimes/trainc.yaml"),
    ):
        done = run("new", *words, "--root", str(tmp_path))
        assert (done.exit_code, f"trainc does not read {file}: choose another name" in done.stderr) == (2, True)
        assert not (tmp_path / file).exists()


def test_an_environment_that_is_named_twice_is_written_once(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "fleet"
    assert run("init", "-y", "--env", "test", "--env", "prod", "--env", "test", str(root)).exit_code == 0
    assert list(yaml.safe_load((root / "trainc.yaml").read_text(encoding="utf-8"))["environments"]) == ["test", "prod"]


@pytest.mark.parametrize("columns", [50, 80, 130])
def test_no_line_of_the_list_is_wider_than_the_terminal(columns: int) -> None:
    shown = [*table(read_catalog(Path(__file__).parent, Config()).runtimes, columns)]
    assert shown[1].split()[:5] == ["deepspeed-distributed", "built-in", "deepspeed", "1", "0"]
    least = len("torch-distributed-with-cache  built-in  deepspeed  NODES  JOBS")
    assert max(map(len, shown)) <= max(least, columns)
    assert " ".join(" ".join(shown).split()).count("JAX on any number of nodes: jax.distributed.initialize()") == 1


def test_nothing_is_written_through_a_link(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "jobs").symlink_to(outside)
    (root / "CODEOWNERS").symlink_to(outside / "nothing")
    monkeypatch.chdir(root)
    result = run("init")
    assert (result.exit_code, result.stderr) == (
        2,
        "trainc: error: jobs/README.md: symbolic link that leads out of the project, not followed\n",
    )
    assert "keep    CODEOWNERS " in result.stdout
    result = run("new", "job", "--runtime", "torch-distributed", "-n", "a", "x")
    assert result.exit_code == 2
    assert not tree(outside)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(tmp_path: Path, run: Run) -> None:
    tmp_path.chmod(0o500)
    result = run("init", str(tmp_path / "new"))
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {tmp_path} is not writable")


INSTALL = (
    f"pip install --require-hashes --requirement {REPOSITORY}/releases/download/v1.2.3/requirements.txt"  # release.yml
)


def test_owners_approve_whatever_decides_what_runs() -> None:
    owned = re.findall(r"(?m)^/(\S+) +@acme/platform$", files(owner="@acme/platform")["CODEOWNERS"])
    written = {path for ci in ("github", "gitlab") for path in files(ci=ci, policies=True)}
    free = {"jobs/README.md", ".gitignore"}
    assert [path for path in written - free if not path.startswith(tuple(owned))] == []
    assert {"out/", "images.lock.yaml", "images/", "deploy/", ".github/", "CODEOWNERS"} <= set(owned)
    folders = {"deploy", "images", "out", "policies", "runtimes"}
    assert folders <= set(owned), "a link of this name, for which no line with a slash at its end counts"
    assert not any("jobs/".startswith(path) for path in owned), "which data scientists change"


@needs_git
def test_what_is_compared_byte_by_byte_keeps_its_line_endings(tmp_path: Path) -> None:
    """On Windows, git may be set to write others."""
    put(tmp_path, ".gitattributes", files()[".gitattributes"])
    names = ["out/prod/a/x/jobset-x.yaml", "deploy/argocd/appproject-trainc-prod.yaml", "jobs/a/x.yaml"]
    for name in names:
        put(tmp_path, name, "a: b\n")
    commit(tmp_path)
    git(tmp_path, "rm", "-q", "--cached", "-r", ".")
    git(tmp_path, "-c", "core.autocrlf=true", "reset", "-q", "--hard")
    assert [(tmp_path / name).read_bytes() for name in names] == [b"a: b\n"] * 3


@pytest.mark.parametrize("policies", [False, True])
def test_the_workflow_is_safe_for_forks(policies: bool) -> None:
    workflow = yaml.safe_load(files(ci="github", policies=policies)[".github/workflows/trainc.yml"])
    assert workflow[True] == {  # YAML 1.1 reads `on` as true
        "push": {"branches": ["main"]},
        "pull_request": {"branches": ["main"], "types": ["opened", "synchronize", "reopened", "edited"]},
        "merge_group": None,
    }
    assert workflow["permissions"] == {"contents": "read"}
    (check,) = workflow["jobs"].values()
    assert "permissions" not in check
    for step in check["steps"]:
        assert "uses" not in step or PINNED.fullmatch(step["uses"]), step
        assert "${{" not in step.get("run", ""), "a script in which somebody else's text is code"
    commands = [step["run"] for step in check["steps"] if "run" in step]
    assert commands[0] == INSTALL
    assert commands[1] == "trainc render --check --format github"
    assert ("trainc policy test" in commands) is policies


def test_the_workflow_checks_a_change_against_the_branch_that_it_is_merged_into() -> None:
    """Not only when it is pushed: the base of a pull request changes, and a queue merges others before it."""
    workflow = yaml.safe_load(files(ci="github")[".github/workflows/trainc.yml"])
    assert workflow[True]["pull_request"]["types"] == ["opened", "synchronize", "reopened", "edited"]
    (check,) = workflow["jobs"].values()
    assert check["env"] == {"BASE": "${{ github.event.merge_group.base_sha || 'HEAD^1' }}"}
    checkout, *_ = check["steps"]
    assert checkout["with"]["fetch-depth"] == "${{ github.event_name == 'merge_group' && '0' || '2' }}"
    compared = [step for step in check["steps"] if "--base" in step.get("run", "")]
    assert {step["if"] for step in compared} == {"${{ !cancelled() && github.event_name != 'push' }}"}
    assert [step["run"].partition(" --base ")[2].split()[0] for step in compared] == ['"$BASE"', '"$BASE"']


@needs_git
def test_a_branch_for_a_pull_request_is_not_the_one_that_it_goes_to(tmp_path: Path, run: Run) -> None:
    """git knows the default branch of origin only after a clone or a recent fetch."""
    git(tmp_path, "init", "-q", "-b", "main")
    put(tmp_path, "README.md", "")
    commit(tmp_path)
    git(tmp_path, "switch", "-q", "-c", "adopt-trainc")
    assert run("init", str(tmp_path), "--ci", "github").exit_code == 0
    workflow = yaml.safe_load((tmp_path / ".github/workflows/trainc.yml").read_text(encoding="utf-8"))
    assert [workflow[True][event]["branches"] for event in ("push", "pull_request")] == [["main"], ["main"]]


def test_the_actions_are_those_of_this_repository() -> None:
    own = (Path(__file__).parents[2] / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    text = files(ci="github")[".github/workflows/trainc.yml"]
    used = re.findall(r"uses: (.*)", text)
    assert len(used) == 2
    assert set(used) <= set(re.findall(r"uses: (.*)", own))


@pytest.mark.go
def test_actionlint_accepts_the_workflow(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    path = put(tmp_path, "trainc.yml", files(ci="github", policies=True)[".github/workflows/trainc.yml"])
    command = ["go", "tool", "actionlint", str(path)]
    done = subprocess.run(command, cwd=CI, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("policies", [False, True])
def test_the_pipeline_of_gitlab_runs_the_checks(policies: bool) -> None:
    pipeline = yaml.safe_load(files(ci="gitlab", policies=policies)[".gitlab-ci.yml"])["trainc"]
    assert pipeline["before_script"] == [INSTALL]
    assert "--policies-from FETCH_HEAD" in pipeline["script"][-1], "policies that are newer than the branch count"
    assert "git ls-files trainc.xml" in pipeline["script"][0], "a report replaces no file that is to be checked"
    assert '"refs/heads/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"' in pipeline["script"][-1], "not a tag of its name"
    base = "base=${CI_MERGE_REQUEST_TARGET_BRANCH_SHA:-$(git merge-base --all FETCH_HEAD HEAD)}"
    assert base in pipeline["script"][-1], "with merged results, others' changes are not of this request"
    assert pipeline["script"][2] == "trainc render --check"
    assert ("trainc policy test" in pipeline["script"]) is policies
    assert pipeline["artifacts"]["reports"] == {"junit": "trainc.xml"}


def test_the_hook_runs_for_each_commit() -> None:
    (repository,) = yaml.safe_load(files()[".pre-commit-config.yaml"])["repos"]
    hook, added = repository["hooks"]
    assert "pass_filenames" in added
    assert (hook["entry"], hook["additional_dependencies"]) == ("trainc render", ["trainc==1.2.3"])
    assert hook["always_run"] is True, "also for one that only deletes a job"


@needs_git
def test_the_hook_names_files_that_git_ignores(tmp_path: Path) -> None:
    """A pattern such as models/ may match the sources, too: CI then sees neither, and has nothing to say."""
    (repository,) = yaml.safe_load(files()[".pre-commit-config.yaml"])["repos"]
    put(tmp_path, ".gitignore", "models/\n")
    put(tmp_path, "out/prod/nlp/b/jobset-b.yaml", "")
    commit(tmp_path)
    put(tmp_path, "out/prod/models/a/jobset-a.yaml", "")
    put(tmp_path, "out/.DS_Store", "")
    entry = shlex.split(repository["hooks"][1]["entry"])
    done = subprocess.run(entry, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "not added to git (git add out):\nout/prod/models/a/jobset-a.yaml\n")


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("Makefile", "render: x\n", "make render"),
        ("GNUmakefile", "all:\nrender :\n", "make render"),
        ("makefile", "render := x\nprerender:\n", "trainc render"),
        ("Makefile", "", "trainc render"),
    ],
)
def test_the_header_names_a_command_that_works(tmp_path: Path, run: Run, name: str, text: str, command: str) -> None:
    put(tmp_path, name, text)
    assert run("init", str(tmp_path)).exit_code == 0
    assert f"\nrenderCommand: {command}\n" in (tmp_path / "trainc.yaml").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("is_ours", [False, True])
def test_make_writes_nothing_anew_that_it_reads(tmp_path: Path, is_ours: bool) -> None:
    """A pull request may bring a Makefile.sh or the like, which no line of CODEOWNERS covers; it is newer."""
    ours = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    text = ours if is_ours else files(policies=True)["Makefile"]
    names = ("Makefile", "requirements.lock", "runtime.lock", "pyproject.toml") if is_ours else ("Makefile",)
    for name in names:
        put(tmp_path, name, text)
        os.utime(tmp_path / name, (0, 0))
        for source in (f"{name}.sh", f"{name}.c", f"s.{name}", f"SCCS/s.{name}", f"RCS/{name},v"):
            put(tmp_path, source, "check:\n")
    subprocess.run(["make", *names], cwd=tmp_path, capture_output=True, check=True)
    assert {(tmp_path / name).read_text(encoding="utf-8") for name in names} == {text}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_makefile_runs_the_program_that_it_is_given(tmp_path: Path) -> None:
    put(tmp_path, "Makefile", files(policies=True)["Makefile"])
    for target, commands in (
        ("render", ["echo render"]),
        ("check", ["echo render --check", "echo policy test"]),
        ("diff", ['echo diff --base "origin/main"']),
    ):
        done = subprocess.run(["make", "-n", target, "TRAINC=echo"], cwd=tmp_path, capture_output=True, check=True)
        assert done.stdout.decode().splitlines() == commands
