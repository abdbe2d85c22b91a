"""Sessions in a small repository of three jobs, one per file of sessions/; tests/transcripts.py has their form.

`pytest tests/cli/test_sessions.py --update` writes the output; read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gitrepo import needs_git
from transcripts import replay

SESSIONS = sorted(Path(__file__).parent.glob("sessions/**/*.txt"))


def session(path: Path) -> object:
    marks = [needs_git] if "\n$ git " in path.read_text(encoding="utf-8") else []
    return pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=marks)


@pytest.mark.parametrize("path", [session(path) for path in SESSIONS])
def test_session(path: Path, repository: Path, update: bool) -> None:
    expected = path.read_text(encoding="utf-8")
    found = replay(repository, expected)
    if update:
        path.write_text(found, encoding="utf-8", newline="")
        return
    assert found == expected


def test_every_session_says_what_it_shows() -> None:
    assert SESSIONS
    for path in SESSIONS:
        assert path.read_text(encoding="utf-8").startswith("# "), path
