"""Every rule of `trainc fix` reads a hint of a case here, so that a hint cannot change without its rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_errors import CASES, CUT, lay_out, parse

from trainc.cli.root import trainc
from trainc.findings.fixes import FIXABLE, NEW_RUN
from trainc.upstream import RUN


@pytest.mark.parametrize("code", FIXABLE)
def test_a_case_has_a_fix(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in sorted(CASES, key=lambda path: not path.stem.startswith(code)):
        above, _, expected = path.read_text(encoding="utf-8").partition(CUT)
        case = parse(above)
        if f"[{code}]: " not in expected or case.base or case.command[0] != "validate":
            continue
        root = tmp_path / path.stem
        lay_out(root, case)
        monkeypatch.chdir(root)
        found = CliRunner().invoke(trainc, [*case.command, "--format", "json", "--no-cache"], prog_name="trainc")
        if any(finding["code"] == code and "fix" in finding for finding in json.loads(found.stdout)):
            return
    pytest.fail(f"no case of {code} has a fix")


@pytest.mark.parametrize("code", NEW_RUN)
def test_an_immutable_change_names_a_run(code: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in CASES if path.stem.startswith(code)]
    assert any(f'add {RUN}: "' in text for text in texts)
