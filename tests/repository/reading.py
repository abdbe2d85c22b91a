"""A reader who does what a page of documentation says: its commands, its programs and its documents, in order.

What a page starts with is in pages/<page>.txt, a session as tests/transcripts.py has them; most pages start with
pages/reader.txt, a small repository.

- ```sh: each command runs. trainc runs in this process, all else in bash.
- ```text, ```diff, or no language: what the last command, or the one that the sentence before names, has printed. A
  line that ends in ` ...` is shortened, and a line `...` stands for any number of lines. Where a line begins with `$ `,
  the block holds its own commands.
- ```yaml: is read by what reads such a document (documents.py). After "Save this as `FILE`" or "Replace `FILE`" it
  becomes that file, and so it does after "Say `FILE`", "Suppose that `FILE`" and "This `FILE`", where it may have
  mistakes. After "writes ... `FILE`" it is the content of that file.
- ```python: runs, and prints into the same place. `text` is the last file that a page saves.
- ```json: is JSON, and after a sentence with a command its input and its output.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner
from documents import read_document
from example import ROOT, copied

from gitrepo import commit, git
from trainc.cli.root import trainc
from transcripts import replay

NOT_READ = ("dockerfile", "groovy")
BUILTINS = {"cd", "eval", "printf", "set", "test"}
PROGRAMS = {"trainc", ".venv/bin/trainc", "git", "make", "mkdir", "sed", "rm", "cat", "cp"} | BUILTINS
"""What may run: a page must not install anything or reach for a network."""

STARTS = Path(__file__).parent / "pages"
FENCE = re.compile(r"(?ms)^( *)```([a-z]*)\n(.*?)^ *```$")
NAMED = re.compile(r"`((?:\.venv/bin/)?trainc [^`<]+)`")
SAVED = re.compile(r"\b(Save|Say|Suppose|This|Replace)\b[^`]*`([\w./-]+\.ya?ml)`")
WRITTEN = re.compile(r"\bwrites\b[^`]*`((?:out|jobs)/[\w./-]+\.yaml)`")
PEOPLE = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


class Block(NamedTuple):
    """A fenced block, without its indentation, and the paragraph before it."""

    language: str
    content: str
    before: str

    @property
    def first_line(self) -> str:
        return self.content.partition("\n")[0]

    def commands(self) -> list[str]:
        """Return the commands of a shell block, without comments."""
        lines = re.sub(r"\\\n +", "", self.content).splitlines()
        return [command for line in lines if (command := re.sub(r"(^|  +| )# .*$", "", line).strip())]

    def named(self) -> str | None:
        """Return the command whose output the paragraph before announces."""
        found: list[str] = [name for name in NAMED.findall(self.before) if not re.search(r"[A-Z]{3}|\.\.\.", name)]
        return found[-1] if found and re.search(r":$|\bwrites\b", self.before) else None


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, by its path below the root."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found, end = [], 0
    for fence in FENCE.finditer(text):
        before = text[end : fence.start()].strip().rpartition("\n\n")[2]
        found.append(Block(fence[2], re.sub(rf"(?m)^{fence[1]}", "", fence[3]), " ".join(before.split())))
        end = fence.end()
    return found


@cache
def starts(kind: str, folder: Path) -> Path:
    """Return what pages of one kind start with; it is made once."""
    root = folder / kind
    if kind == "example":
        copied(root)
        for name in ("Makefile", "pyproject.toml", "requirements.lock", "runtime.lock"):
            shutil.copy(ROOT / name, root)
        put_program(root / ".venv" / "bin")
        (root / ".venv" / ".ready").touch()
        commit(root)
        git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    else:
        root.mkdir()
        if kind == "reader":
            replay(root, (STARTS / "reader.txt").read_text(encoding="utf-8"))
    return root


def put_program(folder: Path) -> None:
    """Write the program trainc."""
    folder.mkdir(parents=True)
    program = folder / "trainc"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trainc "$@"\n', encoding="utf-8")
    program.chmod(0o755)


class Reader:
    """Reads one page, in a folder of its own."""

    def __init__(self, folder: Path, shared: Path, page: str, start: str, skipped: Callable[[str], bool]) -> None:
        self.page = page
        self.shared = shared
        self.folder = self.root = folder / "root"
        self.skipped = skipped
        self.printed = self.errorless = ""
        """What the last command has printed, and that without standard error."""
        self.status = 0
        self.statuses: dict[str, int] = {}
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.variables: list[str] = []
        self.moves: dict[str, str] = {}
        self.programs = folder / "bin"
        put_program(self.programs)
        self.environment = {
            **os.environ, **PEOPLE, **ALONE, "TRAINC_CACHE_DIR": str(folder / "cache"),
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", "GITHUB_SHA": "0" * 40, "SHA": "0" * 40,
        }  # fmt: skip
        self.begin(start)

    def begin(self, kind: str) -> None:
        """Go on with another start."""
        self.folder = self.root = self.root.with_name(f"{kind}-{len(list(self.root.parent.iterdir()))}")
        shutil.copytree(starts(kind, self.shared), self.root)
        session = STARTS / f"{Path(self.page).stem}.txt"
        if session.is_file():
            replay(self.root, session.read_text(encoding="utf-8"))

    def read(self, *, only_documents: bool) -> None:
        """Do what the page says."""
        for block in blocks(self.page):
            if only_documents:
                if block.language == "yaml":
                    read_document(block.content, self.root)
            elif block.language == "sh" or not (block.language in NOT_READ or self.excepted(block)):
                {"sh": self.shell, "yaml": self.document, "python": self.program, "json": self.json}.get(
                    block.language, self.output
                )(block)

    def excepted(self, block: Block) -> bool:
        return self.skipped(block.first_line) or self.skipped(f"{self.page} {block.language}")

    def shell(self, block: Block) -> None:
        if "<" not in block.content:  # a word to be replaced
            syntax = subprocess.run(["bash", "-n", "-c", block.content], capture_output=True, text=True, check=False)
            assert (syntax.returncode, syntax.stderr) == (0, ""), block.content
        for command in block.commands():
            self.run(command)

    def document(self, block: Block) -> None:
        if command := block.named():
            self.run(command)
        if written := WRITTEN.search(block.before):
            assert (self.root / written[1]).read_text(encoding="utf-8") == block.content
        elif saved := SAVED.search(block.before):
            path = self.root / saved[2]
            assert not path.exists() or saved[1] == "Replace", f"{path.name} exists"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.content, encoding="utf-8")
            self.names["text"] = block.content
            if saved[1] in ("Say", "Suppose", "This"):
                return  # may be wrong on purpose; the commands that follow read it
            if path.suffix == ".yaml":
                self.run("trainc validate")
                assert re.fullmatch(r"\d+ TrainJobs? (is|are) valid\n", self.printed), self.printed
        for script in read_document(block.content, self.root):
            if script.startswith("trainc "):
                self.run(script)

    def program(self, block: Block) -> None:
        shown = io.StringIO()
        os.chdir(self.folder)
        with contextlib.redirect_stdout(shown):
            exec(compile(block.content, self.page, "exec"), self.names)
        self.printed = self.errorless = shown.getvalue()

    def json(self, block: Block) -> None:
        lines = [json.loads(line) for line in block.content.splitlines()]
        if command := block.named():
            self.run(command, block.content.partition("\n")[0])
            assert [json.loads(line) for line in self.printed.splitlines()] == lines[1:]

    def output(self, block: Block) -> None:
        if block.first_line.startswith("$ "):
            for step in re.split(r"(?m)^\$ ", block.content)[1:]:
                command, _, expected = step.partition("\n")
                self.run(command, transcript=True)
                self.compare(expected)
            return
        if command := block.named():
            self.run(command)
        self.compare(block.content)

    def compare(self, expected: str) -> None:
        lines = (
            (re.escape(line.removesuffix(" ...")) + r".*\n" if line.endswith(" ...") else re.escape(f"{line}\n"))
            if line != "..."
            else r"(?:.*\n)*?"
            for line in expected.splitlines()
        )
        pattern = "".join(lines)
        matches = any(re.fullmatch(pattern, text) for text in (self.printed, self.errorless))
        assert matches, f"{self.page} shows\n{expected}\nprinted is\n{self.printed}"

    def run(self, command: str, stdin: str = "", *, transcript: bool = False) -> None:
        """Run one line, and note its status if it is not 0."""
        if self.skipped(command):
            return
        if command in self.moves:
            self.begin(self.moves[command])
        for part in re.split(" && ", command):
            if re.match(r"[a-z]+=", part):
                self.variables.append(part)
                continue
            assert part.split()[0] in PROGRAMS, f"{part}: runs only where the table of exceptions has a reason not to"
            words = re.fullmatch(r"(?:\.venv/bin/)?trainc (.*?)(?: > (\S+))?", part)
            if words and not re.search(r" (\|\|?|<) ", part):
                self.trainc(self.expand(words[1]), words[2], stdin)
            else:
                self.bash(part)
            if self.status and not transcript:
                self.statuses[command] = self.status
                assert "Traceback" not in self.printed, self.printed

    def expand(self, words: str) -> list[str]:
        """Return words as bash passes them on."""
        if not re.search(r"[$*?\[{~`\\]", words):
            return shlex.split(words)
        return self.execute(f"printf '%s\\0' {words}").split("\0")[:-1]

    def trainc(self, words: list[str], target: str | None, stdin: str) -> None:
        os.chdir(self.folder)
        # Without a tag, so that each page has a cache of its own.
        result = CliRunner().invoke(trainc, words, stdin, prog_name="trainc", env=self.environment)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        self.printed, self.errorless, self.status = result.output, result.stdout, result.exit_code
        if target:
            (self.folder / target).write_bytes(result.stdout_bytes)

    def bash(self, command: str) -> None:
        self.printed = self.errorless = self.execute(f'{command}\npwd >"{self.programs}/cwd"')
        if self.status == 0:
            self.folder = Path((self.programs / "cwd").read_text(encoding="utf-8").strip())

    def execute(self, script: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", "\n".join((*self.variables, script))], cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        self.status = done.returncode
        return done.stdout
