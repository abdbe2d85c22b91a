"""What a change does to what judges it: policies, settings and comments, as `diff` and `validate --base` report it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from small import RUNTIME, Run, job

from builders import policy
from folders import put
from gitrepo import commit, needs_git

pytestmark = needs_git
POLICY = policy(
    "few-nodes",
    "object.spec.replicatedJobs.all(job, job.template.spec.parallelism <= 4)",
    "no more than four nodes",
)
FILE = "policies/few-nodes.yaml"


@pytest.fixture(autouse=True)
def base(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commit a repository with a policy."""
    put(repository, FILE, POLICY)
    put(repository, "trainc.yaml", "environments: {prod: {}}\nseverities:\n  TC412: {level: error, locked: true}\n")
    assert run("render").exit_code == 0
    commit(repository)
    return repository


def test_one_change_of_a_runtime_is_one_group(base: Path, run: Run) -> None:
    volume = "                  volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: %s}}]\n"
    put(base, "runtimes/plain.yaml", RUNTIME + volume % "16Gi")
    for number in range(43):
        put(base, f"jobs/b/job-{number:02}.yaml", job(f"job-{number:02}"))
    assert run("render").exit_code == 0
    commit(base)
    put(base, "runtimes/plain.yaml", RUNTIME + volume % "32Gi")
    assert run("render").exit_code == 0
    lines = run("diff").stdout.splitlines()
    assert lines[0] == "! runtimes/plain.yaml: shm sizeLimit 16Gi to 32Gi, 46 jobs: refused as immutable"
    assert len(lines) < 25
    assert sum(line.startswith("@@ ") for line in lines) == 1
    page = run("diff", "-o", "markdown").stdout
    assert page.count("<details>") == 1
    assert "mermaid" not in page
    assert len(json.loads(run("diff", "-o", "json").stdout)["jobs"]) == 46


def test_files_keep_an_application_only_where_argo_cd_has_one(base: Path, run: Run) -> None:
    put(base, "out/prod/a/old/.DS_Store", "")
    for _ in range(2):
        assert "error[TC903]" not in run("render", "--check").stdout, "git does not have it"
    commit(base)
    for command in (["render", "--check"], ["validate"], ["diff"]):
        assert "out/prod/a/old/.DS_Store:1:1: error[TC903]" in run(*command).output
    for options in ("target: flux", "argocd: {per: namespace}", "argocd: {hydrator: {branch: synced}}"):
        put(base, "trainc.yaml", f"environments: {{prod: {{{options}}}}}")
        assert run("render").exit_code == 0, options
    put(base, "out/prod/other/README.md", "notes")
    commit(base)
    assert run("render", "--check").exit_code == 0, "there is no Application for a namespace"
    put(base, "trainc.yaml", "environments: {prod: {argocd: {per: namespace}}}")
    assert run("render", "--check").exit_code == 1


def test_render_does_not_remove_the_files_of_a_job_beside_another_file(base: Path, run: Run) -> None:
    put(base, "out/prod/a/one/notes.md", "It ran.")
    commit(base)
    (base / "jobs/a/one.yaml").unlink()
    for command in (["render"], ["render", "--check"], ["render", "--check", "--no-cache"]):
        found = run(*command)
        assert (found.exit_code, "out/prod/a/one/notes.md:1:1: error[TC903]" in found.stdout) == (1, True)


@pytest.mark.parametrize(
    ("options", "status", "expected"),
    [
        ("per: job", 1, "error[TC602]: JobSet one-2 was that of job one at HEAD, whose sync deletes it"),
        (
            "hydrator: {branch: synced}",
            0,
            "warning[TC602]: JobSet one-2 was that of job one at HEAD, and Argo CD keeps it: nothing runs again",
        ),
    ],
)
def test_one_application_keeps_the_jobset_of_another_job(
    base: Path, run: Run, options: str, status: int, expected: str
) -> None:
    put(base, "trainc.yaml", f"environments: {{prod: {{argocd: {{{options}}}}}}}")
    numbered = job("one").replace("metadata: {name: one}", 'metadata: {name: one, annotations: {trainc.dev/run: "%s"}}')
    put(base, "jobs/a/one.yaml", numbered % 2)
    assert run("render").exit_code == 0
    commit(base)
    put(base, "jobs/a/one.yaml", numbered % 3)
    put(base, "jobs/a/one-2.yaml", job("one-2"))
    found = run("validate", "--base", "HEAD")
    assert (found.exit_code, expected in found.stdout) == (status, True)
    assert run("render").exit_code == 0
    stays = (
        "The JobSet was that of another job in the application: it is neither created nor pruned. What cannot change in"
        " place is refused."
    )
    shown = run("diff").stdout
    assert (stays in shown, "JobSet one-2 is created" in shown) == (status == 0, status != 0)


def test_a_submodule_below_out_is_an_error(base: Path, run: Run) -> None:
    (base / "out/prod/a/other").mkdir()
    assert run("render", "--check").exit_code == 0, "a folder that somebody emptied is nothing"
    entry = "160000,0123456789012345678901234567890123456789,out/prod/a/other"
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", entry], cwd=base, check=True)
    for command in ("render", "validate"):
        found = run(command, *(["--check"] if command == "render" else []))
        assert (found.exit_code, "out/prod/a/other:1:1: error[TC903]" in found.stdout) == (1, True)
    subprocess.run(["git", "rm", "--cached", "-q", "out/prod/a/other"], cwd=base, check=True)
    put(base, ".gitmodules", '[submodule "other"]\n\tpath = out/prod/a/other\n\turl = https://example.com/other\n')
    for command in ("render", "validate"):
        found = run(command, *(["--check"] if command == "render" else []))
        assert (found.exit_code, "out/prod/a/other:1:1: error[TC903]" in found.stdout) == (1, True)
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", entry], cwd=base, check=True)
    tree = subprocess.run(["git", "write-tree"], cwd=base, check=True, capture_output=True, text=True).stdout.strip()
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    made = ["git", *author, "commit-tree", "-p", "HEAD", "-m", "x", tree]
    revision = subprocess.run(made, cwd=base, check=True, capture_output=True, text=True).stdout.strip()
    found = run("diff", "--base", "HEAD", "--head", revision)
    assert found.exit_code == 1
    assert "out/prod/a/other" in found.stdout.splitlines()[0]


def test_a_head_with_an_invalid_trainc_yaml_is_an_error(base: Path, run: Run) -> None:
    valid = (base / "trainc.yaml").read_text(encoding="utf-8")
    put(base, "trainc.yaml", valid.replace("{}", "{argocd: {per: jobs}}"))
    commit(base)
    for text in (valid, (base / "trainc.yaml").read_text(encoding="utf-8")):  # also if the working tree has it, too
        put(base, "trainc.yaml", text)
        found = run("diff", "--base", "HEAD~1", "--head", "HEAD")
        assert found.exit_code == 1
        assert found.output.count("error[TC013]: environments.prod.argocd.per must be") == 1
        assert run("diff", "--base", "HEAD", "--head", "HEAD~1").exit_code == (1 if text != valid else 0)


def test_what_may_be_a_submodule_is_an_error_where_git_does_not_say(base: Path, run: Run) -> None:
    put(base, "out/prod/a/one/.trainc-1-1.tmp", "")
    (base / "out/prod/a/other").mkdir()
    put(base, ".git/index", "not an index")
    for command in (["render", "--check"], ["validate"]):
        found = run(*command)
        assert (found.exit_code, "out/prod/a/other:1:1: error[TC903]" in found.stdout) == (1, True)
    (base / "out/prod/a/other").rmdir()
    found = run("render", "--check")
    assert (found.exit_code, found.stdout) == (3, "stale out/prod/a/one/.trainc-1-1.tmp\n")


@pytest.mark.parametrize(
    ("paths", "status"), [("out/prod/notes.md", 1), ("out/prod/notes.md/", 0), ("out/prod/notes", 0)], ids=str
)
def test_an_unmanaged_file_is_not_a_folder(base: Path, run: Run, paths: str, status: int) -> None:
    put(base, "trainc.yaml", f"environments: {{prod: {{}}}}\nunmanaged: [{paths}]\n")
    put(base, f"{paths.rstrip('/')}/b/pod.yaml", "kind: Pod\n")
    assert run("validate").exit_code == status
    assert run("render", "--check", "--no-cache").exit_code == status


def test_a_temporary_file_that_is_committed_is_stale(base: Path, run: Run) -> None:
    put(base, "out/prod/a/one/.trainc-1-2.tmp", "")
    assert run("render", "--check", "--no-cache").exit_code == 0, "of a killed run"
    subprocess.run(["git", "add", "-f", "out"], cwd=base, check=True)
    found = run("render", "--check", "--no-cache")
    assert (found.exit_code, found.stdout) == (3, "stale out/prod/a/one/.trainc-1-2.tmp\n")


@pytest.mark.parametrize("linked", [False, True])
def test_what_a_sparse_checkout_leaves_out_is_an_error(
    base: Path, run: Run, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    put(base, "policies/x.yaml", "# none yet\n")
    put(base, "images.lock.yaml", "images: {}\n")
    assert run("render").exit_code == 0
    commit(base)
    if linked:
        subprocess.run(["git", "worktree", "add", "-q", "-d", base.parent / "tree"], cwd=base, check=True)
        monkeypatch.chdir(base := base.parent / "tree")
        assert run("render").exit_code == 0

    def check_out(*patterns: str) -> None:
        subprocess.run(["git", "sparse-checkout", "set", "--no-cone", *patterns], cwd=base, check=True)

    check_out("/*", "!/jobs/b/")
    for command in (["render"], ["render", "--check"], ["render", "--no-cache"], ["validate"]):
        found = run(*command)
        assert found.exit_code == 1
        assert "jobs:1:1: error[TC011]: not in this sparse checkout: jobs/b/three.yaml" in found.stdout
    assert run("render", "jobs/a").exit_code == run("validate", "jobs/a").exit_code == 0
    check_out("/*", "!/jobs/a/two.yaml")
    found = run("validate", "jobs/a/one.yaml")
    assert found.exit_code == 1, "it may have the runtime of the job"
    assert "or pass only folders that are checked out as a whole" in found.stdout
    files = {"policies": f"{FILE} and 1 more file\n", "runtimes": "runtimes/plain.yaml\n"}
    for pattern, file in files.items():
        check_out("/*", f"!/{pattern}/")
        for command in (["render", "jobs/a"], ["validate", "jobs/a"], ["diff"]):
            assert run(*command).exit_code == 1
        assert f"{pattern}:1:1: error[TC011]: not in this sparse checkout: {file}" in run("validate").stdout
    check_out("/*", "!/images.lock.yaml")
    assert "images.lock.yaml:1:1: error[TC011]: not in this sparse checkout" in run("render").output
    check_out("/*", "!/jobs/README.md", "!/out/prod/b/")
    assert run("validate").exit_code == 0
    subprocess.run(["git", "sparse-checkout", "disable"], cwd=base, check=True)
    assert run("render", "--check").exit_code == 0


@pytest.mark.parametrize("folder", ["jobs/c", "policies/central"])
def test_a_submodule_that_is_not_checked_out_is_an_error(base: Path, run: Run, folder: str) -> None:
    for name in (folder, "jobs/a/code"):
        (base / name).mkdir()
    assert run("render").exit_code == run("render").exit_code == 0, "the cache knows the folders"
    put(base, ".gitmodules", f'[submodule "code"]\n\tpath = jobs/a/code\n[submodule "x"]\n\tpath = "{folder}"\n')
    for command in (["render"], ["validate"], ["render", "--check"], ["render", "--no-cache"]):
        found = run(*command)
        assert (found.exit_code, found.stdout.count("TC011")) == (1, 1), found.output
        assert f"{folder}:1:1: error[TC011]: submodule that is not checked out" in found.stdout
    put(base, f"{folder}/README.md", "")
    assert [run(command).exit_code for command in ("render", "validate")] == [0, 0]


@pytest.mark.parametrize("is_archive", [False, True])
def test_a_submodule_that_any_gitmodules_above_it_names(
    base: Path, run: Run, monkeypatch: pytest.MonkeyPatch, is_archive: bool
) -> None:
    """With ``git submodule update`` alone, policies/ is checked out, and not the submodule in it."""
    (base / "policies/central").mkdir()
    assert run("render").exit_code == run("render").exit_code == 0, "the cache knows the folders"
    top = base if is_archive else base / "policies"
    if is_archive:
        shutil.rmtree(base / ".git")
        put(base, "policies/.gitmodules", "# left from another repository\n")
    else:
        subprocess.run(["git", "init", "-q", top], check=True)
    path = (base / "policies/central").relative_to(top)
    put(top, ".gitmodules", f'[submodule "central"]\n\tpath = {path} # ours\n')
    for command in (["render"], ["validate"], ["render", "--check"], ["render", "--no-cache"]):
        found = run(*command)
        assert (found.exit_code, found.stdout.count("TC011")) == (1, 1), found.output
        assert "policies/central:1:1: error[TC011]: submodule that is not checked out" in found.stdout
    put(top, ".gitmodules", f'[other]\n\tpath = {path}\n[submodule "central"]\n\tpath = {path}/\n')
    assert run("validate").exit_code == 0, "git takes none of them for the folder"
    put(top, ".gitmodules", "[submodule")
    assert run("validate").exit_code == 1, "git cannot read it"
    put(top, ".gitmodules", '[submodule "code"]\n\tpath = code\n')
    assert run("validate").exit_code == 0
    put(top, ".gitmodules", "[include]\n\tpath = more\n")
    put(top, "more", f'[submodule "central"]\n\tpath = {path}\n')
    assert run("validate").exit_code == 0, "git follows no include there"
    for name, value in (("_LARGEST", 8), ("open_regular", lambda _: os.open("", os.O_RDONLY))):
        with monkeypatch.context() as patched:
            patched.setattr(f"trainc.project.missing.{name}", value)
            assert run("validate").exit_code == 1, "too large, or not readable"
    monkeypatch.setenv("PATH", "")
    assert run("validate").exit_code == 1, "git, which has no empty folders, cannot tell"


def test_output_that_a_sparse_checkout_leaves_out_is_an_error(base: Path, run: Run) -> None:
    """Argo CD would apply it, though no check compares it with what trainc renders."""
    file = "out/prod/b/other/jobset-other.yaml"
    put(base, file, "kind: JobSet\n")
    commit(base)
    subprocess.run(["git", "sparse-checkout", "set", "--no-cone", "/*", "!/out/prod/b/other/"], cwd=base, check=True)
    for options in ([], ["--check"], ["--check", "--no-cache"]):
        assert f"out:1:1: error[TC011]: not in this sparse checkout: {file}\n" in run("render", *options).stdout
    assert run("render", "jobs/a").exit_code == run("validate").exit_code == 0


def test_a_link_to_a_project_below_the_top_of_a_repository(
    base: Path, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shutil.rmtree(base / ".git")
    put(base, "trainc.yaml", "environments: {prod: {}}\nfolder: repository\n")
    (base / "jobs/a/notes").symlink_to("/nowhere")
    (base / "out/prod/a/other").mkdir()
    put(base.parent, ".gitmodules", '[submodule "other"]\n\tpath = repository/out/prod/a/other\n')
    commit(base.parent)
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(base)
    for root in (base, link):
        found = run("validate", "--base", "HEAD", "--root", str(root))
        assert found.exit_code == 1
        assert "jobs/a/notes:1:1: error[TC011]: symbolic link, which trainc does not follow" in found.stdout
        assert "out/prod/a/other:1:1: error[TC903]" in found.stdout


def test_a_sparse_checkout_needs_git(base: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "sparse-checkout", "set", "--no-cone", "/*"], cwd=base, check=True)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "")
        expected = "trainc.yaml:1:1: error[TC011]: git cannot tell what this sparse checkout leaves out: git not found"
        for command in (["validate"], ["render"], ["render", "--check"]):
            found = run(*command)
            assert (found.exit_code, found.stdout.count("TC011")) == (1, 1), found.output
            assert expected in found.stdout
    assert run("render").exit_code == 0


def test_a_repository_that_cannot_be_read_is_not_sparse(base: Path, run: Run) -> None:
    """As if the file system refused access to the .git of another user, which the root of a container never sees."""
    (base / ".git").rename(base / "git")
    put(base, ".git", f"gitdir: {5000 * 'x'}")
    for options in ([], ["--check"], ["--no-cache"]):
        assert run("render", *options).exit_code == 0


def test_a_run_from_the_cache_sees_what_a_sparse_checkout_leaves_out(base: Path, run: Run) -> None:
    subprocess.run(["git", "sparse-checkout", "set", "--no-cone", "/*", "!/policies/x.yaml"], cwd=base, check=True)
    assert run("render").exit_code == run("render").exit_code == 0
    put(base, "policies/x.yaml", "# none yet\n")
    subprocess.run(["git", "add", "--sparse", "policies"], cwd=base, check=True)
    subprocess.run(["git", "update-index", "--skip-worktree", "policies/x.yaml"], cwd=base, check=True)
    (base / "policies/x.yaml").unlink()
    assert [run("render", *options).exit_code for options in ([], ["--check"], ["--no-cache"])] == [1, 1, 1]
