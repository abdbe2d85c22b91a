from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from small import RUNTIME, Process, Run, job, surroundings

from effort import some
from folders import put


def identities(text: str) -> list[tuple[str, str]]:
    return [(item["kind"], item["metadata"]["name"]) for item in yaml.safe_load_all(text)]


def test_the_objects_are_those_of_render(repository: Path, run: Run) -> None:
    run("render")
    rendered = (repository / "out/prod/a/one/jobset-one.yaml").read_text()
    body = "".join(line for line in rendered.splitlines(True) if not line.startswith("#"))
    assert run("build", "jobs/a/one.yaml").stdout == body


@pytest.mark.parametrize("args", [("build", "jobs/a/one.yaml"), ("report", "-o", "-"), ("explain", "a/one")])
def test_a_mistake_in_the_configuration_is_shown_with_env(repository: Path, run: Run, args: tuple[str, ...]) -> None:
    put(repository, "trainc.yaml", "environments:\n  dev: {queu: spare}\n")
    done = run(*args, "--env", "dev")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "unknown key 'queu'" in done.stderr


def test_a_file_alone_gets_the_runtimes_beside_it(repository: Path, run: Run) -> None:
    """One of jobs/a, which only its jobs may use, replaces a built-in runtime, but the jobs in its file are others."""
    name = "torch-distributed"
    own = RUNTIME.replace("name: plain", f"name: {name}")
    put(repository, "jobs/a/own.yaml", f"{own}---\n{job('beside', runtime=name)}")
    put(repository, "jobs/a/one.yaml", job("one", runtime=name))
    run("render")
    rendered = (repository / "out/prod/a/one/jobset-one.yaml").read_text()
    body = "".join(line for line in rendered.splitlines(True) if not line.startswith("#"))
    for _ in range(2):  # the second time from the cache
        assert run("build", "jobs/a/one.yaml").stdout == body
    put(repository, "jobs/a/own.yaml", own.replace("example.com", "example.org"))
    assert run("build", "jobs/a/one.yaml").stdout == body.replace("example.com", "example.org") != body
    put(repository, "jobs/a/own.yaml", f"{own}spec: [\n")
    done = run("build", "jobs/a/one.yaml")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "jobs/a/own.yaml" in done.stderr


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


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n"])
def test_no_document_at_all(repository: Path, run: Run, text: str) -> None:
    put(repository, "empty.yaml", text)
    result = run("build", "empty.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("empty.yaml:1:1: error[TC014]: no document found\n")
    (repository / "nowhere").mkdir()
    assert run("build", "nowhere").exit_code == 2
    assert run("build", "-", stdin=text.encode()).exit_code == 2


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
    assert "größe 名.yaml:1:1: error[TC011]: the locale does not allow this name" in done.stderr.decode()


def test_a_name_that_is_no_text(tmp_path: Path, process: Process) -> None:
    (tmp_path / "d").mkdir()
    with open(os.path.join(os.fsencode(tmp_path), b"d/\xff.yaml"), "w") as file:  # noqa: PTH118, PTH123
        file.write(job("x", runtime="none"))
    for form in ("text", "json"):
        done = process("build", "--format", form, "d", cwd=tmp_path)
        assert done.returncode == 1
        assert b"xff.yaml" in done.stderr
        assert b"the name is not UTF-8" in done.stderr


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


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
@pytest.mark.parametrize(
    ("command", "status", "message"),
    some(
        [
            ("build jobs >&-", 2, "trainc: error: <stdout>: Bad file descriptor\n"),
            ("import - <&-", 2, "trainc: error: <stdin>: Bad file descriptor\n"),
            ("build - <&-", 2, "trainc: error: <stdin>: Bad file descriptor\n"),
            ("cel --jsonl <&-", 2, "trainc: error: <stdin>: Bad file descriptor\n"),
            ("build jobs/a/one.yaml 2>&-", 0, ""),
            ("cel 1 --object - <&-", 2, "trainc: error: <stdin>: Bad file descriptor\n"),
            ("validate >&-", 0, "3 TrainJobs are valid\n"),
        ],
        2,
    ),
)
def test_closed_streams(repository: Path, command: str, status: int, message: str) -> None:
    shell = ["sh", "-c", f'"$0" -m trainc {command}', sys.executable]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=repository, env=surroundings(), check=False)
    assert (done.returncode, done.stderr) == (status, message)


@pytest.mark.skipif(os.name != "posix", reason="a pipe that does not block")
@pytest.mark.parametrize("command", [("build", "-"), ("cel", "1", "--object", "-"), ("cel", "--jsonl")])
def test_a_standard_input_that_does_not_block(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Another program may have set that for a terminal, which it shares. All of the input is read, as from a file."""
    first, rest = (
        ('{"env": "dyn", "expr": "1"}\n', '{"env": "dyn", "expr": "2"}\n')
        if "--jsonl" in command
        else (job("one", runtime="plain") + "---\n", RUNTIME)
    )
    python = [sys.executable, "-m", "trainc", *command]
    expected = subprocess.run(
        python, input=(first + rest).encode(), capture_output=True, cwd=tmp_path, env=surroundings(), check=False
    )
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    pipe = subprocess.PIPE
    with subprocess.Popen(python, stdin=reader, stdout=pipe, stderr=pipe, cwd=tmp_path, env=surroundings()) as process:
        os.close(reader)
        os.write(writer, first.encode())
        with pytest.raises(subprocess.TimeoutExpired):  # it waits for more
            process.wait(1)
        os.write(writer, rest.encode())
        os.close(writer)
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (expected.returncode, expected.stdout, expected.stderr)
    assert expected.returncode == 0
