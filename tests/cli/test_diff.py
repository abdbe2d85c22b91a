"""`trainc diff` in a repository of its own: revisions, the working tree, paths, exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import Process, Run, job, put, tree

from gitrepo import commit, git, needs_git

pytestmark = needs_git
ONE = "out/prod/a/one/jobset-one.yaml"


@pytest.fixture(autouse=True)
def base(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Render everything and commit it."""
    assert run("render").exit_code == 0
    commit(repository)
    return repository


def change(root: Path, run: Run, name: str = "one", nodes: int = 3) -> None:
    text = job(name).replace("  trainer: {}\n", f"  trainer: {{numNodes: {nodes}}}\n")
    put(root, f"jobs/a/{name}.yaml", text)
    assert run("render").exit_code == 0


def effects(run: Run, *args: str) -> dict[str, str]:
    result = run("diff", "-o", "json", *args)
    assert result.exit_code == 0
    return {job["job"]: job["effect"] for job in json.loads(result.stdout)["jobs"]}


def test_two_revisions(base: Path, run: Run) -> None:
    change(base, run)
    commit(base)
    change(base, run, "two")
    assert effects(run) == {"two": "refused"}
    assert effects(run, "--base", "HEAD~1", "--head", "HEAD") == {"one": "refused"}
    assert effects(run, "--base", "HEAD~1") == {"one": "refused", "two": "refused"}
    assert effects(run, "--base", "HEAD", "--head", "HEAD") == {}
    git(base, "branch", "other", "HEAD~1")
    data = json.loads(run("diff", "--base", "other", "--head", "main", "-o", "json").stdout)
    assert (data["version"], data["base"], data["head"], data["unchanged"]) == (1, "other", "main", 2)


def test_paths_are_directories_of_out_or_the_files_they_are_made_from(
    base: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        change(base, run, name)
    (base / "jobs/b/three.yaml").unlink()
    assert run("render").exit_code == 0
    everything = {"one": "refused", "two": "refused", "three": "deleted"}
    assert effects(run) == everything
    assert effects(run, "out/prod/a/one") == {"one": "refused"}
    assert effects(run, "out/prod/b", "jobs/a/one.yaml") == {"one": "refused", "three": "deleted"}
    assert effects(run, "jobs/b/three.yaml") == {"three": "deleted"}
    assert effects(run, "runtimes") == everything
    monkeypatch.chdir(base / "jobs" / "a")
    assert effects(run, "two.yaml") == {"two": "refused"}
    assert effects(run, "../..") == everything


def test_exit_status(base: Path, run: Run, tmp_path: Path) -> None:
    assert run("diff", "--exit-code").exit_code == 0
    change(base, run)
    assert run("diff").exit_code == 0
    assert run("diff", "--exit-code").exit_code == 1
    put(base, "out/prod/a/one/notes.txt", "")
    result = run("diff")
    assert result.exit_code == 0
    assert "note[TC903]" in result.stderr
    put(base, "out/prod/a/one/notes.json", "{}")
    result = run("diff")
    assert result.exit_code == 1
    assert "error[TC903]" in result.stderr
    put(base, ONE, (base / ONE).read_text(encoding="utf-8") + "  x: [\n")
    result = run("diff", "--format", "json")
    assert result.exit_code == 1
    assert [finding["code"] for finding in json.loads(result.stderr)] == ["TC002", "TC903", "TC903"]
    assert "\n? prod/a/one: cannot be compared\n" in result.stdout
    for args in (["--base", "nowhere"], ["--head", "nowhere"], [str(tmp_path)], ["-o", "yaml"]):
        result = run("diff", *args)
        assert result.exit_code == 2
        assert result.stdout == ""


def test_no_output_and_no_repository(base: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(base, "rm", "-rq", "out", "jobs")
    assert effects(run) == {"one": "deleted", "two": "deleted", "three": "deleted"}
    commit(base)
    result = run("diff")
    assert (result.exit_code, result.stdout) == (0, "nothing changes in 0 directories\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = run("diff")
    assert result.exit_code == 2
    assert "no git repository here" in result.stderr


def test_it_is_told_in_a_process_of_its_own(base: Path, run: Run, process: Process) -> None:
    change(base, run)
    result = process("diff", "-o", "markdown", cwd=base)
    assert result.returncode == 0
    assert result.stderr == b""
    assert result.stdout.startswith(
        b"<!-- trainc diff -->\n### trainc: 1 of 3 directories changes: 1 refused as immutable\n"
    )


STALE = "out/ is stale for 2 jobs: prod/a/one, prod/b/three. Run trainc render, then compare again"


def test_sources_that_were_edited_and_not_rendered(base: Path, run: Run) -> None:
    put(base, "jobs/a/one.yaml", job("one").replace("trainer: {}", "trainer: {numNodes: 3}"))
    put(base, "jobs/a/two.yaml", "# only a comment\n" + job("two"))
    (base / "jobs/b/three.yaml").unlink()
    before = tree(base)
    result = run("diff")
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout == f"{STALE}\n\nnothing changes in 3 directories\n"
    markdown = run("diff", "-o", "markdown")
    assert markdown.exit_code == 3
    assert markdown.stdout.startswith(f"<!-- trainc diff -->\n> [!CAUTION]\n> {STALE}\n\n### trainc: nothing changes")
    data = json.loads(run("diff", "-o", "json").stdout)
    assert data["stale"] == [
        {"environment": "prod", "namespace": "a", "job": "one"},
        {"environment": "prod", "namespace": "b", "job": "three"},
    ]
    one = STALE.replace("2 jobs", "1 job").replace(", prod/b/three", "")
    for path in ("jobs/a", "out/prod/a/one", "jobs/a/one.yaml"):
        assert run("diff", path).stdout.startswith(f"{one}\n"), "only what PATHs mean"
    assert run("diff", "jobs/a/two.yaml").exit_code == 0
    assert run("diff", "--head", "HEAD").exit_code == 0, "the working tree does not count"
    assert tree(base) == before
    assert run("render").exit_code == 0
    assert "stale" not in run("diff").stdout
    assert json.loads(run("diff", "-o", "json").stdout)["stale"] == []


def test_what_others_put_into_out_leads_the_comment(base: Path, run: Run) -> None:
    put(base, "out/prod/a/evil/jobset-evil.yaml", "kind: JobSet\n")
    put(base, "out/prod/a/one/.argocd-source.yaml", "{}\n")
    put(base, "out/prod/README.md", "mine\n")
    (base / "out/prod/a/link").symlink_to("one")
    names = ["out/prod/a/evil/jobset-evil.yaml", "out/prod/a/link", "out/prod/a/one/.argocd-source.yaml"]
    lead = (
        f"3 files or folders below out/ were not written by trainc, and Argo CD or Flux reads them: {', '.join(names)}"
    )
    assert run("diff", "--head", "HEAD").exit_code == 0, "not committed yet"
    for _ in range(2):
        result = run("diff")
        assert result.exit_code == 1
        assert result.stdout.startswith(f"{lead}\n\nnothing changes")
        assert result.stderr.count("error[TC903]: ") == 3
        assert result.stderr.count("note[TC903]: ") == 1
        assert "TC011" not in result.stderr, "said once"
        markdown = run("diff", "-o", "markdown").stdout
        assert markdown.startswith(
            "<!-- trainc diff -->\n> [!CAUTION]\n> 3 files or folders below out/ were not written"
        )
        assert json.loads(run("diff", "-o", "json").stdout)["foreign"] == names
        commit(base)
    committed = run("diff", "--base", "HEAD~1", "--head", "HEAD", "-o", "json")
    assert committed.exit_code == 1
    assert json.loads(committed.stdout)["foreign"] == names
    put(
        base, "trainc.yaml", "environments: {prod: {}}\nunmanaged: [out/prod/a/evil, out/prod/a/link, out/prod/a/one]\n"
    )
    assert run("diff").exit_code == 0
