"""docs/report.md: its commands run and write the page, and its table has every option of the command."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click import Option
from example import ROOT, copied

from effort import thorough
from gitrepo import commit, git, needs_git
from trainc.cli.report import command
from trainc.report.page import TITLE

PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


@thorough
@needs_git
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_commands_write_the_page(tmp_path: Path) -> None:
    root = copied(tmp_path / "repository")
    commit(root)
    revision = git(root, "log", "-1", "--format=%h").strip()
    written = []
    for script in re.findall(r"(?ms)^```sh\n(.*?)^```$", PAGE):
        program = f'trainc() {{ "{sys.executable}" -m trainc "$@"; }}\n{script}'
        done = subprocess.run(["bash", "-euc", program], cwd=root, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        written.append((root / "report.html").read_text(encoding="utf-8"))
    first, second = written
    assert f'<p class="note">{revision}, ' not in first
    assert f'<p class="note">{revision}, ' in second
    assert re.sub(r"(?m)^ *<p class=\"note\">.*\n", "", second) == first, "nothing else has a date"
    assert f"<h1>{TITLE}</h1>" in first
    assert "llama-1b-alpaca" in first


def test_the_table_has_every_option_of_its_own() -> None:
    rows = dict(re.findall(r"(?m)^\| `(-[-a-z]+) [A-Z]+` \| .*?(?:default: `?([\w .]+)`?)?(?:\. .*)? \|$", PAGE))
    general = {"--root", "--format", "--fail-on", "--quiet", "--verbose"}
    own = {option.opts[0] for option in command.params if isinstance(option, Option) and option.opts[-1] not in general}
    assert set(rows) == own
    assert TITLE in PAGE
