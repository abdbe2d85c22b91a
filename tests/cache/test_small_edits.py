"""After few changes a run compiles only what they concern, and what it says and writes is the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import walktexts as texts
from smallrepository import JOB, RUNTIME, Compiled, pause, put, run

from trainc.project import write

ACCOUNT = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: trainer}\n"


def check() -> None:
    """Fail unless out/ is what a run gives that remembers nothing."""
    run("render", "--check", "--no-cache", status=0)


def changed(name: str) -> str:
    """Return the text of a job that is not as it was."""
    return JOB.format(name=name, runtime="plain") + "  suspend: true\n"


def test_one_edit_after_the_other(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    for number in (2, 3, 4):
        text = JOB.format(name="one", runtime="plain").replace("numNodes: 1", f"numNodes: {number}")
        put(repository, "jobs/a/one.yaml", text)
        pause()
        assert run("render").stderr == "out/: 0 created, 1 changed, 0 removed, 3 unchanged\n"
        assert compiled() == ["one"]
    check()


def test_a_file_replaced_by_an_editor(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    put(repository, "jobs/a/.one.new", changed("one"))
    (repository / "jobs/a/.one.new").replace(repository / "jobs/a/one.yaml")
    pause()
    assert "1 changed" in run("render").stderr
    assert compiled() == ["one"]


def test_a_job_more_and_a_job_less(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    put(repository, "jobs/new/five.yaml", JOB.format(name="five", runtime="plain"))
    pause()
    assert "1 created, 0 changed, 0 removed, 4 unchanged" in run("render").stderr
    assert compiled() == ["five"]
    (repository / "jobs/new/five.yaml").unlink()
    (repository / "jobs/new").rmdir()
    (repository / "jobs/a/four.yaml").rename(repository / "jobs/a/moved.yaml")
    pause()
    assert "0 created, 1 changed, 1 removed, 3 unchanged" in run("render").stderr
    assert compiled() == ["four"]
    assert not (repository / "out/prod/new").exists()
    check()


def test_a_runtime_concerns_its_jobs(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2") + ACCOUNT)
    pause()
    assert "1 created, 2 changed, 0 removed, 2 unchanged" in run("render").stderr
    assert compiled() == ["four", "one", "three", "two"], "an object more may concern all"
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:3") + ACCOUNT)
    pause()
    assert "0 created, 2 changed, 0 removed, 3 unchanged" in run("render").stderr
    assert compiled() == ["four", "three"]
    put(repository, "jobs/b/five.yaml", JOB.format(name="five", runtime="other"))
    pause()
    assert "2 created, 0 changed, 0 removed, 5 unchanged" in run("render").stderr, "an account for another namespace"
    assert compiled() == ["five"]
    (repository / "jobs/b/five.yaml").unlink()
    pause()
    assert "0 created, 0 changed, 2 removed, 5 unchanged" in run("render").stderr
    check()


def test_a_runtime_below_jobs_concerns_its_jobs(repository: Path, compiled: Compiled) -> None:
    text = RUNTIME.format(name="own", image="example.com/img:2").replace("ClusterTraining", "Training")
    put(repository, "jobs/a/own.yaml", text)
    put(repository, "jobs/a/six.yaml", JOB.format(name="six", runtime="own, kind: TrainingRuntime"))
    pause()
    run("render")
    compiled()
    put(repository, "jobs/a/own.yaml", text.replace("img:2", "img:3"))
    pause()
    assert "1 changed" in run("render").stderr
    assert compiled() == ["six"]
    put(repository, "jobs/a/own.yaml", JOB.format(name="own", runtime="plain"))
    pause()
    run("render", status=1)


def test_what_is_found_in_jobs_that_are_not_read_is_told(repository: Path, compiled: Compiled) -> None:
    old = "{name: other, labels: {trainer.kubeflow.org/support: deprecated}}"
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="img").replace("{name: other}", old))
    for name in ("one", "two"):
        put(repository, f"jobs/a/{name}.yaml", JOB.format(name=name, runtime="plain") + texts.WARNING)
    pause()
    before = run("render").stdout
    compiled()
    for name in ("one", "four"):
        put(repository, f"jobs/a/{name}.yaml", changed(name))
        pause()
        told = run("render").stdout
        assert compiled() == [name]
        assert told == run("render", "--no-cache").stdout != before
        assert ("jobs/a/two.yaml:7:3: warning[TC311]" in told, "jobs/a/one.yaml" in told) == (True, False)
        before = told
        compiled()
    check()


def test_files_of_others_stay_beside_what_goes(repository: Path) -> None:
    put(repository, "out/prod/a/two/note.txt", "mine\n")
    put(repository, "out/prod/a/two/deep/note.txt", "mine\n")
    pause()
    run("render")
    (repository / "jobs/a/two.yaml").unlink()
    pause()
    told = run("render")
    assert told.stderr == "2 notes\nout/: 0 created, 0 changed, 1 removed, 3 unchanged\n"
    assert told.stdout.count("note[TC903]: not written by trainc; neither") == 2
    assert sorted(path.name for path in (repository / "out/prod/a/two").rglob("*")) == ["deep", "note.txt", "note.txt"]
    put(repository, "jobs/a/two.yaml", changed("two"))
    pause()
    again = run("render")
    assert again.stderr == "2 notes\nout/: 1 created, 0 changed, 0 removed, 3 unchanged\n"
    assert again.stdout == told.stdout
    check()


def test_companions_stay_in_every_namespace(repository: Path) -> None:
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2") + ACCOUNT)
    put(repository, "jobs/b/early.yaml", JOB.format(name="early", runtime="plain"))
    put(repository, "jobs/b/late.yaml", JOB.format(name="late", runtime="other"))
    pause()
    run("render")
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    assert "0 created, 1 changed, 0 removed" in run("render").stderr
    check()


def test_images_of_all_jobs_are_told(repository: Path) -> None:
    put(repository, "trainc.yaml", "environments:\n  prod: {}\nlock: {required: [registry.example.com]}\n")
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2"))
    pause()
    assert "2 images have no digest" in run("render").stdout
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    told = run("render").stdout
    assert told == run("render", "--no-cache").stdout
    for name in ("three", "four"):
        (repository / f"jobs/a/{name}.yaml").unlink()
    pause()
    told = run("render").stdout
    assert "1 image has no digest" in told
    assert told == run("render", "--no-cache").stdout


def test_a_companion_and_an_object_of_a_job_that_is_not_read(repository: Path) -> None:
    policy = "{mpiImplementation: OpenMPI, sshAuthMountPath: /root/.ssh, runLauncherAsNode: true}"
    mpi = f"spec:\n  mlPolicy: {{numNodes: 1, mpi: {policy}}}\n"
    put(repository, "runtimes/mpi.yaml", RUNTIME.format(name="mpi", image="img").replace("spec:\n", mpi, 1))
    put(repository, "trainc.yaml", "environments:\n  prod: {sshKeys: {mode: existing, secret: keys}}\n")
    for name in ("first", "second"):
        put(repository, f"jobs/b/{name}.yaml", JOB.format(name=name, runtime="mpi"))
    companion = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second-mpi-hostfile}\n"
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="img") + companion)
    pause()
    made = run("render")
    assert (repository / "out/prod/b/second/configmap-second-mpi-hostfile.yaml").exists(), made.output
    put(repository, "jobs/b/six.yaml", JOB.format(name="six", runtime="other"))
    pause()
    told = run("render", status=1)
    assert "TC608" in told.stdout


def test_what_was_compiled_so_is_known_to_a_run_over_everything(repository: Path, compiled: Compiled) -> None:
    run("render")
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2"))
    pause()
    run("render")
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    run("render")
    compiled()
    run("validate")
    (repository / "out/prod/a/two/jobset-two.yaml").unlink()
    run("render")
    assert compiled() == ["two"]
    check()


def test_what_validate_has_compiled_is_written(repository: Path, compiled: Compiled) -> None:
    run("render")
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    run("validate")
    assert "1 changed" in run("render").stderr
    check()


def test_findings_of_what_changed_are_told(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    put(
        repository,
        "jobs/a/one.yaml",
        JOB.format(name="one", runtime="plain") + texts.WARNING,
    )
    pause()
    assert "jobs/a/one.yaml:7:3: warning[TC311]" in run("render").output
    put(repository, "jobs/a/two.yaml", changed("two"))
    pause()
    assert "jobs/a/one.yaml:7:3: warning[TC311]" in run("render").output
    assert compiled() == ["one", "two"]
    put(repository, "jobs/a/two.yaml", JOB.format(name="two", runtime="plain") + "  suspend: false\n")
    pause()
    assert "TC311" in run("render", "--fail-on", "warning", status=1).output
    assert "jobset-two" not in run("render", "--fail-on", "warning", status=1).stderr


def rename(root: Path) -> None:
    put(root, "jobs/a/new.yaml", JOB.format(name="two", runtime="plain"))


def rename_far(root: Path) -> None:
    put(root, "trainc.yaml", "environments:\n  prod: {namespaces: {b: a}}\n")
    put(root, "jobs/b/other.yaml", JOB.format(name="six", runtime="plain"))
    pause()
    run("render")
    put(root, "jobs/b/other.yaml", JOB.format(name="two", runtime="plain"))


def run_again(root: Path) -> None:
    put(root, "jobs/a/two-2.yaml", JOB.format(name="two-2", runtime="plain"))
    pause()
    run("render")
    again = "{name: two, annotations: {trainc.dev/run: '2'}}"
    put(root, "jobs/a/two.yaml", JOB.format(name="two", runtime="plain").replace("{name: two}", again))


def add_six(root: Path) -> None:
    """Add a job once a run has seen what there is, and that it may stay."""
    put(root, "trainc.yaml", "environments:\n  prod: {}\nunmanaged: [out/prod/a/SIX, out/prod/a/six]\n")
    pause()
    run("render")
    put(root, "jobs/a/six.yaml", JOB.format(name="six", runtime="plain"))


def differ_in_case(root: Path) -> None:
    put(root, "out/prod/a/SIX/jobset-six.yaml", "mine\n")
    add_six(root)


def lie_in_the_way(root: Path) -> None:
    put(root, "out/prod/a/six/jobset-six.yaml", "mine\n")
    add_six(root)


def lie_for_a_folder(root: Path) -> None:
    put(root, "out/prod/a/six", "mine\n")
    add_six(root)


def link_in_the_way(root: Path) -> None:
    (root / "out/prod/a/six").symlink_to("one")
    add_six(root)


def break_it(root: Path) -> None:
    put(root, "jobs/a/one.yaml", "kind: [")


def misplace(root: Path) -> None:
    put(root, "jobs/a/deep/one.yaml", JOB.format(name="six", runtime="plain"))


WRONG = (
    rename,
    rename_far,
    run_again,
    differ_in_case,
    lie_in_the_way,
    lie_for_a_folder,
    link_in_the_way,
    break_it,
    misplace,
)


@pytest.mark.parametrize("edit", WRONG)
def test_errors_are_told_by_a_run_over_everything(repository: Path, edit: Callable[[Path], None]) -> None:
    run("render")
    edit(repository)
    pause()
    told = run("render", status=1)
    assert told.output == run("render", "--no-cache", status=1).output


def test_what_changes_while_a_run_is_at_work_is_seen(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("render")
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    real = write.plan

    def disturbed(*args: object, **named: object) -> object:
        put(repository, "jobs/a/two.yaml", changed("two"))
        put(repository, "jobs/a/one.yaml", JOB.format(name="one", runtime="plain"))
        return real(*args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("trainc.cache.run.plan", disturbed)
        run("render")
    assert "0 created, 2 changed, 0 removed, 2 unchanged" in run("render").stderr
    check()


def test_what_was_just_written_is_known_by_its_bytes(repository: Path) -> None:
    run("render")
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    run("render")
    path = repository / "out/prod/a/one/jobset-one.yaml"
    found = path.stat()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"suspend: true", b"suspend: TRUE"))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert "1 changed" in run("render").stderr
    assert path.read_bytes() == data


def test_an_edit_that_is_rendered_by_itself(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repository, "runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:1") + ACCOUNT)
    pause()
    run("render")
    monkeypatch.setattr("trainc.project.planning.plan_request", None)
    put(repository, "jobs/a/three.yaml", changed("three").replace("plain", "other"))
    pause()
    assert run("render", "-v").stderr.startswith(
        "changed out/prod/a/three/jobset-three.yaml\nout/: 0 created, 1 changed"
    )
    pause()
    assert "0 created, 0 changed, 0 removed, 5 unchanged" in run("render").stderr
    monkeypatch.undo()
    monkeypatch.chdir(repository)
    check()


def test_an_edit_that_validate_has_seen_before(repository: Path) -> None:
    put(repository, "trainc.yaml", "environments:\n  prod: {}\nlock: {required: [registry.example.com]}\n")
    pause()
    run("render")
    text = JOB.format(name="one", runtime="plain").replace("numNodes: 1", "numNodes: 1, image: example.com/new:1")
    assert "image" in text
    put(repository, "jobs/a/one.yaml", text)
    pause()
    run("validate")
    assert run("render").stdout == run("render", "--no-cache").stdout
    check()
