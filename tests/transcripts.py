"""Case files of shell sessions: files to write, commands, and the exact output that is expected.

    # An error in any file writes nothing
    >>> jobs/b/bad.yaml
    kind: [
    $ trainc render
    jobs/b/bad.yaml:2:1: error[TC002]: ...
    2> 1 error
    exit 1
    $ rm jobs/b/bad.yaml
    $ trainc render
    2> out/: 3 created, 0 changed, 0 removed, 0 unchanged
    + out/prod/a/one/jobset-one.yaml

Lines of standard error begin with `2> `. `exit` follows where the status is not 0. `+`, `~` and `-` list the files that
a command has created, changed and removed. The commands are trainc, cd, rm, mkdir, mv, cat, git and `replace FILE OLD
NEW`; `git commit` commits everything, `NAME=VALUE trainc ...` sets variables, `trainc ... < FILE` reads a file as
standard input. `>>> PATH append` adds to a file, `>>> PATH escaped` holds bytes as Python escapes, `>>> PATH -> TARGET`
is a symbolic link.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from itertools import takewhile
from pathlib import Path

from click.testing import CliRunner

from gitrepo import commit, git

VARIABLE = re.compile(r"[A-Z_]+=")
STEP = re.compile(r"^(?=>>> |\$ )", re.M)


def write_file(root: Path, name: str, body: str) -> None:
    """Write one `>>> ` file of a case."""
    place, _, how = name.partition(" ")
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if how.startswith("-> "):
        path.symlink_to(how.removeprefix("-> "))
    elif how == "escaped":
        path.write_bytes(body.rstrip("\n").encode("ascii").decode("unicode_escape").encode("latin-1"))
    else:
        assert how in ("", "append"), f"unknown {how!r}"
        with path.open("a" if how else "w", encoding="utf-8", newline="") as file:
            file.write(body)


def replay(root: Path, text: str) -> str:
    """Run a session, starting in ``root``; return its text with the output of this run. Changes the working folder."""
    comment, *steps = STEP.split(text)
    played = comment
    os.chdir(root)
    for step in steps:
        head, _, body = step.partition("\n")
        if head.startswith(">>> "):
            write_file(root, head.removeprefix(">>> "), body)
            played += step
        else:
            before = files(root)
            output = execute(root, shlex.split(head.removeprefix("$ ")))
            played += f"{head}\n{output}{changes(before, files(root)) if 'trainc ' in head else ''}"
    return played


def execute(root: Path, command: list[str]) -> str:
    """Run one command in the working folder; return its output."""
    environment = dict(word.split("=", 1) for word in takewhile(VARIABLE.match, command))
    match command[len(environment) :]:
        case ["trainc", *words, "<", name]:
            return trainc(root, words, environment, Path(name).read_bytes())
        case ["trainc", *words]:
            return trainc(root, words, environment)
        case ["cd", folder]:
            os.chdir(folder)
        case ["rm", *names]:
            for name in names:
                shutil.rmtree(name) if Path(name).is_dir() and not Path(name).is_symlink() else Path(name).unlink()
        case ["mkdir", name]:
            Path(name).mkdir(parents=True)
        case ["mv", old, new]:
            Path(old).rename(new)
        case ["cat", name]:
            return Path(name).read_text(encoding="utf-8")
        case ["replace", name, old, new]:
            text = Path(name).read_text(encoding="utf-8")
            assert text.count(old) == 1, f"{name}: {text.count(old)} times {old!r}"
            Path(name).write_text(text.replace(old, new), encoding="utf-8")
        case ["git", "commit"]:
            commit(root)
        case ["git", *words]:
            git(root, *words)
        case _:
            raise AssertionError(f"unknown command: {command}")
    return ""


def trainc(root: Path, words: list[str], environment: dict[str, str], stdin: bytes = b"") -> str:
    """Run trainc in this process; return its output and its exit status."""
    from trainc.cli.root import trainc

    result = CliRunner().invoke(trainc, words, stdin, prog_name="trainc", env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    errors = "".join(f"2> {line}" for line in result.stderr.splitlines(True))
    status = f"exit {result.exit_code}\n" if result.exit_code else ""
    output = f"{result.stdout}{errors}".replace(str(root), "$ROOT")
    return f"{output}\n{status}" if output and not output.endswith("\n") else f"{output}{status}"


def files(root: Path) -> dict[str, bytes]:
    """Return the content of every file below root, git's aside."""
    paths = [path for path in root.rglob("*") if path.is_symlink() or path.is_file()]
    names = {path.relative_to(root).as_posix(): path for path in paths}
    return {
        name: os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for name, path in names.items()
        if not name.startswith(".git/")
    }


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Return a line for each file that differs."""
    lines = [f"+ {name}\n" for name in after.keys() - before.keys()]
    lines += [f"~ {name}\n" for name in after.keys() & before.keys() if after[name] != before[name]]
    lines += [f"- {name}\n" for name in before.keys() - after.keys()]
    return "".join(sorted(lines, key=lambda line: line[2:]))
