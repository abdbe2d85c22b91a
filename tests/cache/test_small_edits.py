"""After few changes a run compiles only what they concern, and what it says and writes is the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from smallrepository import JOB, RUNTIME, Compiled, pause, run

from folders import put
from trainc.project import write

ACCOUNT = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: trainer}\n"


def check() -> None:
    """Fail unless out/ is what a run gives that remembers nothing."""
    run("render", "--check", "--no-cache", status=0)


def changed(name: str) -> str:
    """Return the text of a job that is not as it was."""
    return JOB.format(name=name, runtime="plain") + "  suspend: true\n"


def test_a_file_replaced_by_an_editor(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    put(repository, "jobs/a/.one.new", changed("one"))
    (repository / "jobs/a/.one.new").replace(repository / "jobs/a/one.yaml")
    pause()
    assert "1 changed" in run("render").stderr
    assert compiled() == ["one"]


def test_paths_that_overlap_are_read_once(repository: Path, compiled: Compiled) -> None:
    run("render")
    compiled()
    paths = ("jobs/a", "jobs/a/one.yaml", "./jobs/a/one.yaml", "jobs/../jobs/a")
    assert "0 created, 0 changed, 0 removed, 4 unchanged" in run("render", *paths).stderr
    assert compiled() == []


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


def test_what_validate_has_compiled_is_written(repository: Path, compiled: Compiled) -> None:
    run("render")
    put(repository, "jobs/a/one.yaml", changed("one"))
    pause()
    run("validate")
    assert "1 changed" in run("render").stderr
    check()


def put_all(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        put(root, path, text)
    pause()


TWO, SIX = (JOB.format(name=name, runtime="plain") for name in ("two", "six"))
AGAIN = TWO.replace("{name: two}", "{name: two, annotations: {trainc.dev/run: '2'}}")
TOGETHER = "environments:\n  prod: {namespaces: {b: a}}\n"
UNMANAGED = "environments:\n  prod: {}\nunmanaged: [out/prod/a/SIX, out/prod/a/six]\n"
ERRORS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "name of another job": ({}, {"jobs/a/new.yaml": TWO}),
    "name of a job elsewhere": ({"trainc.yaml": TOGETHER, "jobs/b/x.yaml": SIX}, {"jobs/b/x.yaml": TWO}),
    "name of another run": ({"jobs/a/x.yaml": TWO.replace("two", "two-2")}, {"jobs/a/two.yaml": AGAIN}),
    "paths that differ in case": (
        {"trainc.yaml": UNMANAGED, "out/prod/a/SIX/jobset-six.yaml": "mine\n"},
        {"jobs/a/six.yaml": SIX},
    ),
    "file in the way": (
        {"trainc.yaml": UNMANAGED, "out/prod/a/six/jobset-six.yaml": "mine\n"},
        {"jobs/a/six.yaml": SIX},
    ),
    "file instead of a folder": ({"trainc.yaml": UNMANAGED, "out/prod/a/six": "mine\n"}, {"jobs/a/six.yaml": SIX}),
    "not YAML": ({}, {"jobs/a/one.yaml": "kind: ["}),
    "too deep": ({}, {"jobs/a/deep/one.yaml": SIX}),
}
"""Files that a first run sees, and files with which the next run fails."""


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_a_run_without_the_cache(repository: Path, name: str) -> None:
    before, after = ERRORS[name]
    put_all(repository, before)
    run("render")
    put_all(repository, after)
    assert run("render", status=1).output == run("render", "--no-cache", status=1).output


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


def test_a_job_that_brings_an_account_for_others(repository: Path, compiled: Compiled) -> None:
    """The account beside a runtime exists in a namespace as long as a job there uses the runtime."""
    plain, other = (RUNTIME.format(name=name, image="example.com/img:1") for name in ("plain", "other"))
    put(repository, "runtimes/plain.yaml", plain.replace("{containers", "{serviceAccountName: trainer, containers"))
    put(repository, "runtimes/other.yaml", other + ACCOUNT)
    assert "TC604" not in run("render").output
    compiled()
    for name, seen in (("three", ["three"]), ("four", ["four", "one", "three", "two"])):
        put(repository, f"jobs/a/{name}.yaml", JOB.format(name=name, runtime="plain"))
        assert ("TC604" in run("render").output) is (name == "four"), "the last job of the runtime"
        assert compiled() == seen


def test_a_namespace_that_only_a_job_names(repository: Path) -> None:
    """A job that is taken from the cache, or is compiled alone, may name a namespace that trainc.yaml renames."""
    terms = '[{topologyKey: rack, namespaces: ["NAME"]}]'
    pod = f"{{affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}}}"
    jobs = f"[{{name: node, template: {{spec: {{template: {{spec: {pod}}}}}}}}}]"
    patch = f"{{manager: a.io/b, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: {jobs}}}}}}}}}"
    text = JOB.format(name="one", runtime="plain") + f"  runtimePatches: [{patch}]\n"
    put(repository, "trainc.yaml", "environments:\n  prod: {namespaces: {other: others}}\n")
    put(repository, "jobs/a/one.yaml", text.replace("NAME", "other"))
    pause()
    run("render", "--fail-on", "warning")
    put(repository, "jobs/a/five.yaml", JOB.format(name="five", runtime="plain"))
    pause()
    run("render", "--fail-on", "warning")
    put(repository, "jobs/a/one.yaml", text.replace("NAME", "othr"))
    pause()
    run("render", "--fail-on", "warning", status=1)
    put(repository, "jobs/a/one.yaml", text.replace("NAME", "other"))
    pause()
    run("render", "--fail-on", "warning")


@pytest.mark.parametrize("text", ["status: {namespace: other}\n", "metadata.NAME"])
def test_a_namespace_outside_of_a_spec(repository: Path, text: str) -> None:
    """A job that no environment includes is not compiled, and may still name a namespace."""
    job = JOB.format(name="one", runtime="plain")
    if text == "metadata.NAME":
        job, text = job.replace("{name: one}", "{name: one, more: {namespace: other}}"), ""
    put(repository, "trainc.yaml", "environments:\n  prod: {namespaces: {other: others}, jobs: [a/t*]}\n")
    put(repository, "jobs/a/one.yaml", job + text)
    pause()
    run("render", "--fail-on", "warning")
    put(repository, "runtimes/plain.yaml", RUNTIME.format(name="plain", image="example.com/img:2"))
    pause()
    run("render", "--fail-on", "warning")


def test_a_secret_in_the_name_of_a_job_that_is_not_read(repository: Path) -> None:
    text = JOB.format(name="supersecretvalue", runtime="plain")
    text = text.replace("numNodes: 1", "env: [{name: PASSWORD, value: supersecretvalue}]")
    put_all(repository, {"jobs/a/x.yaml": text, "jobs/a/y.yaml": text})
    told = [run("render", status=1).output for _ in range(2)]
    assert "duplicate TrainJob a/***" in told[0]
    assert told[1] == told[0]
