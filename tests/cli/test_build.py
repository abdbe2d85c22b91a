from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from small import RUNTIME, Process, Run, job, put, surroundings


def identities(text: str) -> list[tuple[str, str]]:
    return [(item["kind"], item["metadata"]["name"]) for item in yaml.safe_load_all(text)]


def test_a_stream_of_objects(repository: Path, run: Run) -> None:
    result = run("build", "jobs")
    assert (result.exit_code, result.stderr) == (0, "")
    assert identities(result.stdout) == [("JobSet", "one"), ("JobSet", "two"), ("JobSet", "three")]
    assert result.stdout.count("---\n") == 2
    assert "#" not in result.stdout
    assert not (repository / "out").exists()


def test_the_objects_are_those_of_render(repository: Path, run: Run) -> None:
    run("render")
    rendered = (repository / "out/prod/a/one/jobset-one.yaml").read_text()
    body = "".join(line for line in rendered.splitlines(True) if not line.startswith("#"))
    assert run("build", "jobs/a/one.yaml").stdout == body


def test_one_list_as_json(repository: Path, run: Run) -> None:
    stream = list(yaml.safe_load_all(run("build", "jobs").stdout))
    result = run("build", "jobs", "-o", "json")
    document = json.loads(result.stdout)
    assert document == {"apiVersion": "v1", "kind": "List", "items": stream}
    assert list(document["items"][0]) == ["apiVersion", "kind", "metadata", "spec"]


def test_standard_input(repository: Path, run: Run) -> None:
    result = run("build", "-", stdin=job("x").encode())
    assert (result.exit_code, identities(result.stdout)) == (0, [("JobSet", "x")])
    assert "namespace: default\n" in result.stdout
    result = run("build", "-", stdin=b"kind: [\n")
    assert result.stderr.startswith("<stdin>:2:1: error[TC002]: ")


def test_nothing_on_standard_output_after_an_error(repository: Path, run: Run) -> None:
    put(repository, "bad.yaml", job("bad", runtime="none"))
    for output in ("yaml", "json"):
        result = run("build", "-o", output, "jobs", "bad.yaml")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("bad.yaml:5:16: error[TC301]: ")


def test_warnings_go_to_standard_error(repository: Path, run: Run) -> None:
    put(repository, "late.yaml", job("late", extra="  managedBy: kueue.x-k8s.io/multikueue\n"))
    result = run("build", "late.yaml")
    assert result.exit_code == 0
    assert identities(result.stdout) == [("JobSet", "late")]
    assert "warning[TC311]" in result.stderr
    assert run("build", "-q", "late.yaml").stderr == ""
    result = run("build", "--format", "json", "late.yaml")
    assert [item["code"] for item in json.loads(result.stderr)] == ["TC311"]
    assert identities(result.stdout) == [("JobSet", "late")]


def test_runtimes_join_only_beside_trainc_yaml(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("build", "jobs/a/one.yaml").exit_code == 0
    monkeypatch.chdir(repository / "jobs")
    assert run("build", "a/one.yaml").exit_code == 1, "not in a folder below"
    monkeypatch.chdir(repository)
    (repository / "trainc.yaml").unlink()
    assert run("build", "jobs/a/one.yaml").exit_code == 1, "not without the file"
    assert run("build", "jobs/a/one.yaml", "runtimes").exit_code == 0


def test_faithful_looks_nowhere_else(repository: Path, run: Run) -> None:
    assert run("build", "--faithful", "jobs/a/one.yaml").exit_code == 1
    result = run("build", "--faithful", "jobs/a/one.yaml", "runtimes/plain.yaml")
    assert result.exit_code == 0
    assert "  suspend: false\n" in result.stdout
    assert "suspend" not in run("build", "jobs/a/one.yaml").stdout
    put(repository, "trainc.yaml", "nonsense\n")
    assert run("build", "--faithful", "jobs/a/one.yaml", "runtimes").exit_code == 0
    assert run("build", "jobs/a/one.yaml").exit_code == 1


def test_the_namespace_is_the_folder_s_below_jobs(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "namespace: a\n" in run("build", "jobs/a/one.yaml").stdout
    assert "namespace: a\n" in run("build", str(repository / "jobs/a/one.yaml")).stdout
    monkeypatch.chdir(repository / "jobs/a")
    assert "namespace: a\n" in run("build", "one.yaml", "../../runtimes").stdout


def test_a_file_given_twice_counts_once(repository: Path, run: Run) -> None:
    result = run("build", "jobs/a/one.yaml", "./jobs//a/one.yaml", "jobs/a", "runtimes/plain.yaml")
    assert identities(result.stdout) == [("JobSet", "one"), ("JobSet", "two")]


def test_documents_without_a_job(repository: Path, run: Run) -> None:
    for output in ("yaml", "json"):
        result = run("build", "runtimes", "-o", output)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("runtimes:1:1: error[TC014]: no TrainJob here\n")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n"])
def test_no_document_at_all(repository: Path, run: Run, text: str) -> None:
    put(repository, "empty.yaml", text)
    result = run("build", "empty.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("empty.yaml:1:1: error[TC014]: no document here\n")
    (repository / "nowhere").mkdir()
    assert run("build", "nowhere").exit_code == 2
    assert run("build", "-", stdin=text.encode()).exit_code == 2


def test_usage(repository: Path, run: Run) -> None:
    assert run("build").exit_code == 2
    assert run("build", "none.yaml").exit_code == 2
    assert run("build", "-o", "xml", "jobs").exit_code == 2


def test_a_folder_of_any_depth(repository: Path, run: Run) -> None:
    put(repository, "deep/er/still/x.yml", job("x"))
    put(repository, "deep/.hidden.yaml", "kind: [\n")
    put(repository, "deep/notes.txt", "kind: [\n")
    assert identities(run("build", "deep").stdout) == [("JobSet", "x")]


def test_output_is_utf8_whatever_the_terminal(tmp_path: Path, process: Process) -> None:
    text = job("x", extra="").replace("trainer: {}", "trainer: {args: [größe 名]}")
    put(tmp_path, "x.yaml", text + "---\n" + RUNTIME)
    for environment in (
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ):
        done = process("build", "x.yaml", cwd=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        assert '"größe 名"'.encode() in done.stdout


def test_findings_survive_a_narrow_terminal(tmp_path: Path, process: Process) -> None:
    put(tmp_path, "größe 名.yaml", job("x", runtime="größe"))
    done = process("build", "größe 名.yaml", cwd=tmp_path, PYTHONIOENCODING="latin-1")
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"gr\xf6\xdfe \\u540d.yaml:5:16: error[TC301]")
    done = process("build", "größe 名.yaml", cwd=tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 1
    assert b"yaml:5:16: error[TC301]" in done.stderr


def test_a_name_that_is_no_text(tmp_path: Path, process: Process) -> None:
    (tmp_path / "d").mkdir()
    with open(os.path.join(os.fsencode(tmp_path), b"d/\xff.yaml"), "w") as file:  # noqa: PTH118, PTH123
        file.write(job("x", runtime="none"))
    for form in ("text", "json"):
        done = process("build", "--format", form, "d", cwd=tmp_path)
        assert done.returncode == 1
        assert b"d/\\udcff.yaml" in done.stderr


def test_a_pipe_that_is_closed(tmp_path: Path, process: Process) -> None:
    put(tmp_path, "many.yaml", "---\n".join(job(f"j{number}") for number in range(300)) + "---\n" + RUNTIME)
    code = "set -o pipefail; python -m trainc build many.yaml | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}"

    done = subprocess.run(
        ["bash", "-c", code.replace("python", sys.executable)],
        cwd=tmp_path,
        env=surroundings(),
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert done.returncode == 141


def test_standard_input_named_twice_is_read_once(repository: Path, run: Run) -> None:
    result = run("build", "-", "-", stdin=job("x").encode())
    assert (result.exit_code, identities(result.stdout)) == (0, [("JobSet", "x")])


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("build jobs >&-", 2, "trainc: error: <stdout>: Bad file descriptor\n"),
        ("build - <&-", 2, "trainc: error: <stdin>: Bad file descriptor\n"),
        ("build jobs/a/one.yaml 2>&-", 0, ""),
        ("validate >&-", 0, "3 TrainJobs are valid\n"),
    ],
)
def test_closed_streams(repository: Path, command: str, status: int, message: str) -> None:
    shell = ["sh", "-c", f'"$0" -m trainc {command}', sys.executable]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=repository, env=surroundings(), check=False)
    assert (done.returncode, done.stderr) == (status, message)


def test_without_a_trainjob_there_is_nothing_to_build(repository: Path, run: Run) -> None:
    put(repository, "map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    for paths in (["map.yaml"], ["runtimes"], ["map.yaml", "runtimes/plain.yaml"], ["--faithful", "map.yaml"]):
        for _ in range(2):
            result = run("build", *paths)
            assert (result.exit_code, result.stdout) == (2, "")
            assert ":1:1: error[TC014]: no TrainJob here\n" in result.stderr
