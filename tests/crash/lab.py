"""Projects to write in, and what each command that writes must leave after a fault."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from faults import ERRORS, FAULTS, KILLED, SIGNALS, WRITING

from builders import policy, runtime, trainjob
from folders import put

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "compiler"
CASES = HERE.parent / "migrate" / "cases"

POLICY = policy("images", "object.metadata.name != 'five'", "five is refused", operations='["*"]')
CONFIG = "environments:\n  prod: {}\nunmanaged: [out/prod/a/notes.md]\n"
WRONG = "\n  trainer: {numNods: 2}\n"

Files = dict[str, str | None]
"""Texts by name; None removes the file."""

Tree = dict[str, tuple[int, bytes]]
"""Modes and contents of files and links, by name."""


def job(name: str, image: str = "example.com/img:2") -> str:
    return trainjob(name, runtime="plain", trainer=f"{{image: '{image}'}}")


BASE: Files = {
    "trainc.yaml": CONFIG,
    "runtimes/plain.yaml": runtime(name="plain"),
    "jobs/a/one.yaml": job("one"),
    "jobs/a/two.yaml": job("two"),
    "jobs/b/three.yaml": job("three"),
    "out/prod/a/notes.md": "of somebody else\n",
    "notes.txt": "of somebody else\n",
}
FIXABLE: Files = {
    "jobs/a/one.yaml": job("one").replace("trainer: {image", "trainer: {imag"),
    "jobs/b/three.yaml": job("three").replace("trainer: {image", "trainer: {imag"),
}
OLD = (CASES / "trainer-pod-spec-overrides.yaml").read_text(encoding="utf-8")


class Command(NamedTuple):
    """A command that writes. ``edits`` follow a first render; without ``first`` there is no first render."""

    args: tuple[str, ...]
    edits: Files = {}  # noqa: RUF012 - never changed
    first: bool = True
    status: int = 0
    more: dict[str, Any] = {}  # noqa: RUF012

    @property
    def renders(self) -> bool:
        return self.args[0] == "render"


EDITS: Files = {"jobs/a/one.yaml": job("one", "example.com/img:3"), "jobs/b/three.yaml": None}
COMMANDS = {
    "render": Command(("render",), first=False),
    "render-changes": Command(("render",), {**EDITS, "jobs/c/four.yaml": job("four")}),
    "render-one-changed": Command(("render",), {"jobs/a/one.yaml": job("one", "example.com/img:3")}),
    "render-many": Command(("render",), {**EDITS, "jobs/c/four.yaml": job("four")}, more={"many": 2}),
    "render-path": Command(("render", "jobs/a"), EDITS),
    "render-no-cache": Command(("render", "--no-cache"), EDITS),
    "render-check": Command(("render", "--check"), EDITS, status=3),
    "render-refused": Command(
        ("render",), {**EDITS, "jobs/c/five.yaml": job("five"), "policies/images.yaml": POLICY}, status=1
    ),
    "fix": Command(("fix",), FIXABLE),
    "rerun": Command(("rerun", "one", "three")),
    "import-new": Command(
        ("import", "--write", "old"), {"old/job.yaml": (CASES / "pytorch-python.yaml").read_text(encoding="utf-8")}
    ),
    "import-in-place": Command(("import", "--write", "jobs"), {"jobs/default/old.yaml": OLD}),
    "init": Command(("init", "-y"), {"trainc.yaml": None}),
    "new-job": Command(("new", "job", "-n", "a", "--runtime", "plain", "fresh")),
    "new-runtime": Command(("new", "runtime", "--from", "plain", "fresh")),
    "image-lock": Command(("image", "lock", f"ghcr.io/a/b:1=sha256:{'0' * 64}")),
    "report": Command(("report",)),
    "package": Command(("package", "-q")),
    "package-again": Command(("package", "-q", "again"), more={"twice": ("package", "-q")}),
    "schema": Command(("schema", "--all", "-o", "schemas")),
    "sdk-train": Command(("fresh", "img:1"), more={"call": "sdkcalls.train"}),
    "sdk-train-again": Command(("fresh", "img:2"), more={"call": "sdkcalls.train", "twice": ("fresh", "img:1")}),
}


def tree(root: Path) -> Tree:
    """Return the files and links below a folder."""
    found: Tree = {}
    for folder, folders, files in os.walk(root):
        for name in (*files, *(each for each in folders if Path(folder, each).is_symlink())):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            data = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes()
            found[path.relative_to(root).as_posix()] = stat.S_IMODE(mode), data
    return found


def temporary(name: str) -> bool:
    """Return whether a file is a temporary one of trainc, by its path."""
    return any(step.startswith(".") and step.endswith((".tmp", ".making", ".old")) for step in name.split("/"))


class Lab:
    """A project, its cache, and a server that runs trainc in both."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.cache = folder, folder / "work" / "project", folder / "work" / "cache"
        warm = folder / "warm"
        self.put(warm, {**BASE, **FIXABLE, "jobs/b/three.yaml": job("three")})
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "CI"))}
        paths = os.pathsep.join((str(PACKAGE), str(HERE)))
        environment = {**kept, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        self.server = subprocess.Popen(
            [sys.executable, str(HERE / "faults.py"), str(warm)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "TRAINC_CACHE_DIR": str(self.cache)},
        )

    def close(self) -> None:
        """End the server."""
        self.server.kill()
        self.server.communicate()

    @staticmethod
    def put(root: Path, files: Files) -> None:
        """Write files below a folder."""
        for name, text in files.items():
            if text is None:
                (root / name).unlink()
            else:
                put(root, name, text).chmod(0o600 if name.endswith("three.yaml") else 0o644)

    def ask(self, *args: str, **more: Any) -> dict[str, Any]:
        """Run trainc with arguments in the project."""
        return self.ask_all([{"args": args, **more}])[0]

    def ask_all(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Run trainc in the project, once for each request, side by side."""
        common = {"folder": str(self.root), "watched": [str(self.folder / "work")]}
        assert self.server.stdin and self.server.stdout and self.server.stderr
        self.server.stdin.write(json.dumps([{**common, **request} for request in requests]) + "\n")
        self.server.stdin.flush()
        line = self.server.stdout.readline()
        assert line, self.server.stderr.read()
        found: list[dict[str, Any]] = json.loads(line)
        return found

    def prepare(self, command: Command) -> Experiment:
        """Set up the project before a command, and keep a copy of it."""
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        self.put(self.root, BASE)
        if command.first:
            assert self.ask("render")["status"] == 0
        if (twice := command.more.get("twice")) is not None:
            assert self.ask(*twice, **({"call": command.more["call"]} if "call" in command.more else {}))["status"] == 0
        self.put(self.root, command.edits)
        return Experiment(self, command)


class Experiment:
    """A command, and the files before and after it."""

    def __init__(self, lab: Lab, command: Command) -> None:
        self.lab, self.command = lab, command
        self.template = lab.folder / "template"
        shutil.rmtree(self.template, ignore_errors=True)
        shutil.copytree(lab.folder / "work", self.template, symlinks=True)
        self.before = tree(lab.root)
        self.clean = self.run(log=True)
        assert self.clean["status"] == command.status, self.clean
        self.after = tree(lab.root)
        self.folders = {path for path in lab.root.rglob("*") if path.is_dir()}
        assert self.after != self.before or command.status, "the command writes something"
        self.lab.ask("render", "--check")

    def run(self, **more: Any) -> dict[str, Any]:
        """Run the command."""
        return self.lab.ask(*self.command.args, **self.command.more, **more)

    def reset(self) -> None:
        """Restore the files before the command."""
        shutil.rmtree(self.lab.folder / "work")
        shutil.copytree(self.template, self.lab.folder / "work", symlinks=True)

    @cached_property
    def calls(self) -> list[str]:
        """The names of the calls of a clean run."""
        return [line.partition(" ")[0] for line in self.clean["calls"] if not line.startswith("BYPASS")]

    def cases(self) -> Iterator[tuple[int, str]]:
        """Yield each call with each fault that can happen to it. A kill matters only before a change."""
        for number, name in enumerate(self.calls, 1):
            for fault in FAULTS:
                if fault in ("short", "torn", "killed-writing"):
                    fits = name == "write"
                elif fault in SIGNALS:
                    fits = "call" not in self.command.more  # in a notebook, they are not trainc's
                elif fault == "kill":
                    fits = name in WRITING or name in ("unlink", "rmdir", "remove")
                else:
                    fits = ERRORS[fault] != ERRORS["ENOSPC"] or name in WRITING
                if fits:
                    yield number, fault

    def wrong(self, number: int, fault: str) -> str | None:
        """Return what is wrong after a fault at a call, and after the next run; None if nothing is."""
        self.reset()
        done = self.run(at=number, fault=fault)
        if done["count"] < number:  # a run that finds what was just copied needs a call less
            return None
        status, killed = done["status"], done["status"] == KILLED
        left = tree(self.lab.root)
        kept = {name: data for name, data in left.items() if not temporary(name)}
        text = done["out"] + done["err"]
        if fault in SIGNALS and status != SIGNALS[fault]:
            return f"{fault}: status {status}: {text}"
        if not killed and status not in (0, 1, 2, 3, SIGNALS.get(fault)):
            return f"status {status}: {text}"
        if "Traceback" in text or "TC902" in text:
            return f"an internal error: {text}"
        # A file is created by a link from a temporary one, which is then removed: that may fail, too.
        linked = self.calls[number - 1] == "unlink" and fault in ("kill", *ERRORS)
        # The old layout goes last: the next run removes what is left of it, or puts it back where that failed.
        is_between = kept == self.after or not any(name.startswith("build/package/") for name in kept)
        rest = [name for name in self.temporaries() if "/.package.old/" not in f"/{name}" or not is_between]
        if not killed and not linked and rest:
            return f"temporary files: {rest}"
        # The page of a report has the findings on files that cannot be read.
        shown = status == 0 and b"cannot be read: " in kept.get("report.html", (0, b""))[1]
        for name in sorted({*self.before, *self.after, *kept}):
            gone = self.command.args[0] == "package" and name not in kept  # between two renames
            if kept.get(name) not in (self.before.get(name), self.after.get(name)) and not gone and not shown:
                return f"{name} is neither old nor new: {kept.get(name)}"
        is_new = kept == self.after
        if shown:
            return self.repaired(is_new)
        if status == self.command.status and not is_new:
            return f"status {status}, and not all is written: {text}"
        if not killed and status not in (self.command.status, 1, 2, SIGNALS.get(fault)):
            return f"status {status}: {text}"
        if (
            status in (1, 2)
            and status != self.command.status
            and os.strerror(ERRORS.get(fault, errno.ENOSPC)) not in text
        ):
            return f"the message does not say what is wrong: {text}"
        if self.command.renders and (problem := self.check(kept)):
            return problem
        return self.repaired(is_new, linked=linked)

    def check(self, kept: Tree) -> str | None:
        """Return whether `render --check` says the wrong thing about the files of out/."""
        checked = self.lab.ask("render", "--check")
        outputs = [{n: d for n, d in each.items() if n.startswith("out/")} for each in (kept, self.after)]
        whole = self.command.args[1:] in ((), ("--no-cache",))
        stale = outputs[0] != outputs[1] or not whole or self.command.status == 3
        expected = (1,) if self.command.status == 1 else (3,) if stale and whole else (0, 3)
        if checked["status"] not in expected:
            return f"render --check: status {checked['status']} {checked['out']}{checked['err']}"
        return None

    def repaired(self, is_new: bool, *, linked: bool = False) -> str | None:
        """Return what is wrong after the command is run again. Of the cache, the next hour removes what is left."""
        for path in self.lab.cache.rglob(".*.tmp"):
            os.utime(path, (0, 0))
        done = self.run()
        now = {name: data for name, data in tree(self.lab.root).items() if not (linked and temporary(name))}
        again = self.command.args[0] in ("rerun", "new") and is_new
        if done["status"] != self.command.status and not again:
            return f"the next run: status {done['status']} {done['out']}{done['err']}"
        if self.command.args[0] == "rerun":  # which raises the numbers again
            now = {name: data for name, data in now.items() if name in self.after}
        elif now != self.after:
            differing = {n for n in {*now, *self.after} if now.get(n) != self.after.get(n)}
            return f"the next run leaves {sorted(differing)}"
        if self.temporaries() and not linked:
            return f"after the next run: {self.temporaries()}"
        return None

    def temporaries(self) -> list[str]:
        """Return the temporary files in the project and the cache."""
        return [name for name in tree(self.lab.folder / "work") if temporary(name)]
