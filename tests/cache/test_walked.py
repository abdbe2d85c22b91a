"""What is remembered of a repository: when it is used, when it is not, and that it then does less."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from smallrepository import JOB, RUNTIME, Compiled, pause, run

from folders import put
from trainc.project import write


def is_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run fail that does more than compare stamps."""

    def woken(*_: object) -> None:
        raise AssertionError("the run reads the repository")

    monkeypatch.setattr("trainc.project.planning.plan_request", woken)


def test_nothing_is_done_while_nothing_changes(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("render")
    assert "4 created" in first.stderr
    is_asleep(monkeypatch)
    assert "0 created, 0 changed, 0 removed, 4 unchanged" in run("render").stderr
    assert run("render", "--check").output == ""


def test_only_what_changed_is_compiled(repository: Path, compiled: Compiled) -> None:
    run("render")
    assert compiled() == ["four", "one", "three", "two"]
    put(repository, "jobs/a/one.yaml", JOB.format(name="one", runtime="plain") + "  suspend: true\n")
    pause()
    assert "0 created, 1 changed" in run("render").stderr
    assert compiled() == ["one"]
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2"))
    assert "0 created, 2 changed" in run("render").stderr
    assert compiled() == ["four", "three"]
    put(repository, "jobs/b/five.yaml", JOB.format(name="five", runtime="plain"))
    (repository / "jobs/a/two.yaml").unlink()
    assert "1 created, 0 changed, 1 removed" in run("render").stderr
    assert compiled() == ["five"]


def test_a_line_of_the_lock_concerns_those_that_name_its_image(repository: Path, compiled: Compiled) -> None:
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2"))
    run("render")
    compiled()
    pins = "images:\n  example.com/else:1: sha256:{}\n  example.com/img:1: sha256:{}\n"
    for other, own, expected in (("a", "a", ["one", "two"]), ("b", "a", []), ("b", "b", ["one", "two"])):
        put(repository, "images.lock.yaml", pins.format(other * 64, own * 64))
        run("render")
        assert compiled() == expected
        made = (repository / "out/prod/a/one/jobset-one.yaml").read_text(encoding="utf-8")
        assert f"img:1@sha256:{own * 64}\n" in made
    (repository / "images.lock.yaml").unlink()
    run("render")
    assert compiled() == ["one", "two"]


def test_validate_and_render_know_what_the_other_found(repository: Path, compiled: Compiled) -> None:
    run("validate")
    assert compiled() == ["four", "one", "three", "two"]
    assert "4 TrainJobs are valid" in run("validate").stderr
    assert compiled() == []
    (repository / "out").mkdir()
    run("render", status=0)
    assert compiled() == ["four", "one", "three", "two"], "their bytes are not kept"
    run("validate")
    assert compiled() == []
    run("validate", "jobs/a/one.yaml")
    assert compiled() == ["one"], "with paths nothing is taken"


def test_what_other_processes_compiled_is_remembered(repository: Path, compiled: Compiled) -> None:
    run("render", "--jobs", "2")
    compiled()
    put(repository, "jobs/a/one.yaml", JOB.format(name="one", runtime="plain") + "  suspend: true\n")
    pause()
    assert "0 created, 1 changed" in run("render").stderr
    assert compiled() == ["one"]


def test_a_touched_file_is_read_and_not_compiled(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    (repository / "jobs/a/one.yaml").touch()
    pause()
    run("render")
    assert compiled() == []


def test_without_a_cache_nothing_is_left(repository: Path, compiled: Compiled) -> None:
    for _ in range(2):
        run("render", "--no-cache")
        assert compiled() == ["four", "one", "three", "two"]
    run("validate", "--no-cache")
    assert not (repository.parent / "cache").exists()


def test_a_file_of_out_that_changed_is_made_again(repository: Path) -> None:
    run("render")
    path = repository / "out/prod/a/one/jobset-one.yaml"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"img:1", b"img:9"))
    assert "changed out/prod/a/one/jobset-one.yaml" in run("render", "--check", status=3).output
    run("render")
    assert path.read_bytes() == before


def test_an_environment_that_comes_back_is_compiled_anew(repository: Path) -> None:
    """What was known of it was made of other files."""
    put(repository, "trainc.yaml", "environments:\n  prod: {}\n  dev: {}\n")
    run("render")
    put(repository, "trainc.yaml", "environments:\n  prod: {}\n")
    put(repository, "jobs/a/one.yaml", JOB.format(name="one", runtime="other"))
    run("render")
    put(repository, "trainc.yaml", "environments:\n  prod: {}\n  dev: {}\n")
    run("render")
    assert b"and runtimes/other.yaml\n" in (repository / "out/dev/a/one/jobset-one.yaml").read_bytes()


@pytest.mark.parametrize("before", [b"mine\n", None])
def test_a_file_of_out_that_becomes_ours_is_removed(repository: Path, before: bytes | None) -> None:
    path = repository / "out/prod/gone/jobset-gone.yaml"
    put(repository, "trainc.yaml", "environments:\n  prod: {jobs: [a]}\nunmanaged: [out/prod/gone]\n")
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
    pause()
    run("render")
    run("render")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"# Generated by trainc from jobs/gone.yaml\n")
    pause()
    assert "1 removed" in run("render").stderr
    assert not path.exists()


FOREIGN = ("evil.yaml", "a/one/X.YAML", "a/one/.x.json", "Chart.yaml/x", "a/one/.argocd-source-x.yaml", "Kustomization")


@pytest.mark.parametrize("name", FOREIGN)
def test_what_others_put_into_out_is_seen_at_once(repository: Path, name: str) -> None:
    for _ in range(2):
        run("render")
    put(repository, f"out/prod/{name}", "kind: JobSet\n")
    pause()
    told = run("render", "--check", status=1).output
    assert f"out/prod/{name.removesuffix('/x')}:1:1: error[TC903]: " in told
    for command in (["render"], ["render", "--check"], ["render", "jobs/a"], ["render", "--env", "prod"], ["validate"]):
        assert "error[TC903]: " in run(*command, status=1).output
    put(repository, "jobs/a/one.yaml", JOB.format(name="one", runtime="plain") + "  suspend: true\n")
    pause()
    assert "error[TC903]: " in run("render", status=1).output
    (repository / "out/prod" / name).unlink()
    (repository / "out/prod/Chart.yaml").rmdir() if name.startswith("Chart") else None
    assert "1 changed" in run("render").stderr
    assert run("render", "--check").output == ""


def test_the_place_in_git_is_seen(repository: Path) -> None:
    argocd = "{repoURL: 'https://example.com/r', write: deploy}"
    put(repository, "trainc.yaml", f"environments:\n  prod: {{argocd: {argocd}}}\n")
    (repository / ".git").mkdir()
    for _ in range(2):
        assert "TC013" not in run("render").output
    (repository / ".git").rename(repository.parent / ".git")
    for command in (["render", "--check"], ["render"], ["render"]):
        assert "trainc.yaml is in folder repository of the git repository" in run(*command).output


def test_a_file_of_a_wrong_name_is_seen_in_every_format(repository: Path) -> None:
    formats = ("text", "json")
    for each in (*formats, *formats):
        run("render", "--format", each)
    put(repository, "Trainc.yml", "")
    for each in (*formats, *formats):
        assert "not read because of its name" in run("render", "--format", each).output
    put(repository, "images.lock.yml", "images: {}\n")
    for command in (["render"], ["render", "--check"]):
        assert "images.lock.yml:1:1: error[TC011]: " in run(*command, status=1).output


@pytest.mark.parametrize("name", ["policies/four.ymal", "jobs/a/four.ymal"])
def test_a_file_that_is_not_read_is_seen_in_every_style(repository: Path, name: str) -> None:
    put(repository, "policies/README.md", "")
    pause()
    run("render", "--fail-on", "warning")
    put(repository, name, "x")
    run("render")
    for command in (["render"], ["render", "--check"]):
        assert "warning[TC011]" in run(*command, "--fail-on", "warning", status=1).output


def test_a_project_without_jobs_is_named_from_where_the_user_is(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in repository.glob("jobs/a/*.yaml"):
        path.unlink()
    pause()
    assert "trainc compiles YAML and JSON files" in run("render").output
    monkeypatch.chdir(repository / "jobs")
    assert "the project is .., the nearest folder" in run("render").output
    monkeypatch.chdir(repository)
    assert "trainc compiles YAML and JSON files" in run("render").output


def test_notes_on_files_of_others_are_told_every_time(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repository, "out/prod/README.md", "mine\n")
    pause()
    run("render")
    is_asleep(monkeypatch)
    assert "out/prod/README.md:1:1: note[TC903]: not written by trainc" in run("render").stdout
    assert "out/prod/README.md:1:1: note[TC903]: not written by trainc" in run("render", "--check").stdout


def test_what_another_writes_while_a_run_does_is_seen(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the writing of a file and the look at it that is remembered."""
    path = repository / "out/prod/a/one/jobset-one.yaml"
    real = write.apply

    def disturbed(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        path.write_bytes(path.read_bytes().replace(b"img:1", b"img:9"))
        pause()

    with monkeypatch.context() as patch:
        patch.setattr(write, "apply", disturbed)
        run("render")
    assert "0 created, 1 changed" in run("render").stderr


def test_a_damaged_cache_is_no_cache(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    for path in (repository.parent / "cache").rglob("*.*"):
        path.write_bytes(path.read_bytes()[:-1])
    run("render", "--check")
    assert compiled() == ["four", "one", "three", "two"]


def test_a_cache_that_cannot_be_written_is_none(repository: Path, compiled: Compiled) -> None:
    (repository.parent / "cache").write_bytes(b"in the way")
    for _ in range(2):
        run("render")
        assert compiled() == ["four", "one", "three", "two"]


@pytest.mark.parametrize("folder", ["out", "policies"])
def test_a_name_that_is_not_utf8_is_not_stored(repository: Path, folder: str) -> None:
    path = repository / folder / os.fsdecode(b"n\xff.txt")
    path.parent.mkdir()
    try:
        path.write_bytes(b"")
    except OSError:
        pytest.skip("the file system does not allow the name")
    pause()
    expected = run("render", "--no-cache").stdout
    for _ in range(2):
        assert run("render").stdout == expected


def test_another_trainc_finds_nothing(repository: Path, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    run("render")
    compiled()
    monkeypatch.setattr("trainc.cache.store.fingerprint", lambda: "f" * 32)
    run("render")
    assert compiled() == ["four", "one", "three", "two"]
    assert len(list((repository.parent / "cache").iterdir())) == 2
