"""What a run loads and makes before its first job is kept small."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from syntax import ROOT

HEAVY = {"celpy", "jinja2", "jsonschema", "lark"}
"""Libraries that word findings and read what is unusual."""


def loaded(*args: str, root: Path = ROOT) -> set[str]:
    """Return the modules that a run in this repository, or in another, has loaded at its end."""
    code = (
        "import json, sys\n"
        "from trainc.cli.root import trainc\n"
        "try:\n"
        f"    trainc({list(args)!r})\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=surroundings, cwd=root)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_a_run_with_warnings_loads_no_heavy_library(tmp_path: Path) -> None:
    """Twenty jobs of all kinds, with findings that are placed in their files."""
    for name in ("jobs", "runtimes", "policies", "out"):
        shutil.copytree(ROOT.parent / name, tmp_path / name)
    shutil.copy(ROOT.parent / "trainc.yaml", tmp_path)
    for path in tmp_path.glob("[jr]*/**/*.yaml"):
        path.write_text(re.sub("# trainc: ignore.*", "#", path.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(ROOT.parent / "images.lock.yaml", tmp_path)
    found = loaded("render", "--check", "--no-cache", root=tmp_path)
    assert {"trainc.pipeline.compile", "trainc.documents.yaml", "trainc.plugins.flux"} <= found
    assert HEAVY & found == {"jinja2"}, "for the scripts of Flux"


SELDOM = {"getopt"}
"""Parts of the standard library, and click, that few runs need and that take a millisecond or more to load."""


def test_one_job_loads_little() -> None:
    found = loaded("build", "--no-cache", "-q", str(ROOT.parent / "jobs/team-vision/mnist-cpu.yaml"))
    assert "trainc.cli.build" in found
    assert SELDOM & found == set()
