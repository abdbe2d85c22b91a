"""A stranger's first steps with the wheel alone, in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from wheels import BUILD, ROOT, Distributions, call

from importcases import CLASSES, jobs_to_import
from trainc import __version__
from trainc.basics.about import DOCUMENTATION
from trainc.cli.root import COMMANDS
from trainc.findings.codes import page

pytestmark = pytest.mark.install

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: first
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 2
    image: registry.example.com/train:1.0
"""

MODULES = """\
import importlib, pkgutil, sys, trainc
assert not any(path.startswith({root!r}) for path in sys.path), sys.path
for module in pkgutil.walk_packages(trainc.__path__, "trainc."):
    if module.name != "trainc.__main__" and ".data.scripts" not in module.name and module.name != "trainc.sdk":
        importlib.import_module(module.name)
try:
    import trainc.sdk
except ImportError as error:
    assert str(error) == "trainc.sdk needs the Kubeflow SDK: pip install 'trainc[sdk]'", error
print(trainc.__file__)
"""


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(distributions: Distributions) -> None:
    assert contents(distributions.wheel) == contents(distributions.direct)


def test_building_twice_gives_the_same_bytes(source: Path, tmp_path: Path) -> None:
    made = []
    for folder, zone, language, seconds in (("one", "UTC", "C", 0), ("another/folder", "Asia/Tokyo", "C.UTF-8", 1e6)):
        shutil.copytree(source, tmp_path / folder)
        for path in sorted((tmp_path / folder).rglob("*"), reverse=bool(seconds)):
            os.utime(path, (1.8e9 + seconds, 1.8e9 + seconds))
        surroundings = {
            "SOURCE_DATE_EPOCH": "1790000000",
            "TZ": zone,
            "LC_ALL": language,
            "PYTHONHASHSEED": str(len(made)),
        }
        call(*BUILD, "--outdir", tmp_path / f"dist{len(made)}", tmp_path / folder, cwd=tmp_path, **surroundings)
        made.append(sorted((tmp_path / f"dist{len(made)}").iterdir()))
    (wheel, sdist), (other_wheel, other_sdist) = made
    assert (wheel.suffix, wheel.read_bytes()) == (".whl", other_wheel.read_bytes())
    with tarfile.open(sdist) as one, tarfile.open(other_sdist) as other:
        assert one.getnames() == other.getnames()
        for member in (each for each in one.getmembers() if each.isfile()):
            content, same = (archive.extractfile(member.name) for archive in (one, other))
            assert content is not None and same is not None
            assert content.read() == same.read(), member.name


def test_the_wheel_has_the_whole_package_and_nothing_else(distributions: Distributions) -> None:
    found = {name for name in contents(distributions.wheel) if ".dist-info/" not in name}
    package = ROOT / "compiler" / "trainc"
    files = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert found == {f"trainc/{path.relative_to(package).as_posix()}" for path in files}
    with tarfile.open(distributions.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "pyproject.toml", "docs/package.md", "compiler/trainc/py.typed"} <= names


def test_the_metadata(distributions: Distributions) -> None:
    files = contents(distributions.wheel)
    metadata = message_from_bytes(files[f"trainc-{__version__}.dist-info/METADATA"])
    assert metadata["Version"] == __version__
    assert f"Documentation, {DOCUMENTATION}" in metadata.get_all("Project-URL", [])
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    extras = metadata.get_all("Provides-Extra", [])
    assert {"dev", "mpi"} <= set(extras)


def test_every_module_can_be_imported_and_nothing_is_of_the_repository(installed: Path, tmp_path: Path) -> None:
    printed = call(installed / "python", "-c", MODULES.format(root=str(ROOT)), cwd=tmp_path)
    assert printed.startswith(str(installed.parent))


def test_version_and_explain(installed: Path, tmp_path: Path) -> None:
    assert call(installed / "trainc", "--version", cwd=tmp_path).startswith(f"trainc {__version__} (")
    assert call(installed / "trainc", "explain", "TC101", cwd=tmp_path) == page("TC101")


def test_a_job_with_a_built_in_runtime(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    printed = call(installed / "trainc", "build", "job.yaml", cwd=tmp_path)
    assert "kind: JobSet\nmetadata:\n  name: first\n" in printed
    assert "image: registry.example.com/train:1.0\n" in printed


def test_a_repository_of_ones_own(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs" / "team-a").mkdir(parents=True)
    (tmp_path / "jobs" / "team-a" / "first.yaml").write_text(JOB, encoding="utf-8")
    (tmp_path / "trainc.yaml").write_text("environments: {prod: {}}\n", encoding="utf-8")
    call(installed / "trainc", "render", cwd=tmp_path)
    assert (tmp_path / "out/prod/team-a/first/jobset-first.yaml").is_file()
    assert call(installed / "trainc", "render", "--check", cwd=tmp_path) == ""
    words = {"COMP_WORDS": "trainc explain team-a/", "COMP_CWORD": "2", "_TRAINC_COMPLETE": "bash_complete"}
    assert call(installed / "trainc", cwd=tmp_path, **words) == "plain,team-a/first\n"


def test_a_repository_of_jobs_of_other_operators(installed: Path, tmp_path: Path) -> None:
    call(installed / "trainc", "init", "--yes", "--policies", cwd=tmp_path)
    (tmp_path / "old").mkdir()
    for path in jobs_to_import():
        (tmp_path / "old" / path.name).write_bytes(path.read_bytes())
    call(installed / "trainc", "import", "--write", "old", cwd=tmp_path)
    assert len(list((tmp_path / "jobs").glob("*/*.yaml"))) >= 30
    (tmp_path / "runtimes" / "priorities.yaml").write_text(CLASSES, encoding="utf-8")
    for command in (["render"], ["render", "--check"], ["policy", "test"]):
        call(installed / "trainc", *command, cwd=tmp_path)


def test_the_files_that_only_some_commands_read_are_there(installed: Path, tmp_path: Path) -> None:
    for command in (
        ["cel", "1 + 1"],
        ["cel", "--engine", "celpy", "1 + 1"],
        ["argocd", "--health"],
        ["argocd", "--cmp"],
    ):
        assert call(installed / "trainc", *command, cwd=tmp_path), command


README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif("init" not in COMMANDS, reason="trainc init does not exist yet")
def test_the_first_lines_of_the_readme(distributions: Distributions, installed: Path, tmp_path: Path) -> None:
    first, second = re.findall(r"(?ms)^```sh\n(.*?)^```$", README)[:2]
    assert first.startswith("pipx install trainc")
    assert "trainc init" in second
    (tmp_path / "own").mkdir()
    for line in second.splitlines():
        call("bash", "-euc", f'PATH="{installed}:$PATH"; {line.partition("  #")[0]}', cwd=tmp_path / "own")
    assert list((tmp_path / "own" / "out").rglob("jobset-first.yaml"))
    call(installed / "trainc", "render", "--check", "--fail-on", "warning", cwd=tmp_path / "own")


def test_the_page_of_the_installation(distributions: Distributions, installed: Path, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    commands = [line for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", text) for line in block.splitlines()]
    tried = []
    for command in commands:
        if command.startswith((".venv/bin/", "python3 -m venv")):
            call(
                "bash",
                "-euc",
                re.sub(r"(install (?:--upgrade )?)trainc$", rf"\g<1>{distributions.wheel}", command),
                cwd=tmp_path,
            )
        elif command.startswith("eval "):
            call("bash", "-euc", f'PATH="{installed}:$PATH"; {command.replace("zsh", "bash")}', cwd=tmp_path)
        else:
            continue
        tried.append(command)
    assert [command.split()[0] for command in commands if command not in tried] == [
        *("pipx", "uv", "pipx", "uv"),  # tools of their own
        "_TRAINC_COMPLETE=fish_source",
        *("pip", "gh"),  # need a release
    ]
