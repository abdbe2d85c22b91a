from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from trainc.findings import Severity
from trainc.inputs.source import Source
from trainc.project import read
from trainc.project.clones import source_overrides
from trainc.project.foreign import _with_other_content
from trainc.project.links import leads_out
from trainc.project.missing import submodules
from trainc.project.read import (
    Inputs,
    find_root,
    merge,
    name_below,
    read_beside_policies,
    read_config,
    read_given,
    read_stdin,
    read_tree,
)


def tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def names(inputs: Inputs) -> list[str]:
    return [source.name for source in inputs.sources]


def problems(inputs: Inputs) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.file, finding.message) for finding in inputs.findings]


def test_jobs_in_order_of_name(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "jobs/b/z.yaml",
        "jobs/b/a.yml",
        "jobs/a/x.json",
        "jobs/a-b/y.YAML",
        "jobs/a/README.md",
        "other/x.yaml",
    )
    inputs = read_tree(tmp_path, "jobs")
    assert names(inputs) == ["jobs/a-b/y.YAML", "jobs/a/x.json", "jobs/b/a.yml", "jobs/b/z.yaml"]
    assert inputs.sources[0].text == b"jobs/a-b/y.YAML"
    assert inputs.findings == ()


def test_the_order_is_not_the_file_system_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, *(f"jobs/{folder}/{file}.yaml" for folder in "cab" for file in "zxy"), "jobs/wrong.yaml")
    expected = read_tree(tmp_path, "jobs")

    class Backwards:
        def __init__(self, path: str) -> None:
            with scandir(path) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *_: object) -> None:
            return

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", Backwards)
    found = read_tree(tmp_path, "jobs")
    assert found.sources == expected.sources
    assert problems(found) == problems(expected)


def test_hidden_entries_are_skipped(tmp_path: Path) -> None:
    tree(tmp_path, "jobs/a/.x.yaml", "jobs/.git/x.yaml", "jobs/a/x.yaml", "runtimes/.y.yaml")
    assert names(read_tree(tmp_path, "jobs")) == ["jobs/a/x.yaml"]
    assert read_tree(tmp_path, "runtimes") == Inputs()


def test_a_file_with_a_misspelt_ending_is_reported(tmp_path: Path) -> None:
    odd = ("jobs/a/x.ymal", "jobs/a/x.YLM", "jobs/a/x.yaml ", "policies/p.jsno", "runtimes/b/r.yalm")
    tree(tmp_path, *odd, "jobs/a/x.jsonl", "jobs/a/x.yaml~", "jobs/a/x.toml", "jobs/a/yaml", "jobs/a/.ymal")
    found = [read_tree(tmp_path, name) for name in ("jobs", "policies", "runtimes")]
    message = "not read: the name does not end in .yaml, .yml, .json"
    assert sorted(each for one in found for each in problems(one)) == sorted(("TC011", name, message) for name in odd)
    assert {each.severity for one in found for each in one.findings} == {Severity.WARNING}
    assert not any(map(names, found))


def test_links_in_the_project_are_errors(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", "jobs/a/x.yaml", "more/b/y.yaml", "trainc.yaml")
    links = {
        "jobs/a/.hidden.yaml": "x.yaml",
        "jobs/a/broken.yaml": "nowhere",
        "jobs/a/file.txt": "x.yaml",
        "jobs/a/link.yaml": "../../more/b/y.yaml",
        "jobs/a/loop.yaml": "loop.yaml",
        "jobs/b": "../more/b",
        "jobs/c": "nowhere",
        "more/folder": "b",
        "more/y.yaml": "b/y.yaml",
        "runtimes": "more",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    inputs = read_tree(root, "jobs")
    assert names(inputs) == ["jobs/a/x.yaml"]
    read = ("a/broken.yaml", "a/file.txt", "a/link.yaml", "a/loop.yaml", "b", "c")
    message = "symbolic link, which trainc does not follow"
    assert sorted(problems(inputs)) == [("TC011", f"jobs/{name}", message) for name in read]
    assert {finding.severity for finding in inputs.findings} == {Severity.ERROR}
    for name in ("jobs/b", "jobs/b/y.yaml", "runtimes", "jobs/a/link.yaml"):
        assert problems(read_tree(root, name)) == problems(read_given(root, root, name)) == [("TC011", name, message)]
    found = read_given(root, root, "more")
    assert names(found) == ["more/b/y.yaml"]
    assert problems(found) == [("TC011", name, message) for name in ("more/folder", "more/y.yaml")]
    (root / "trainc.yaml").rename(root / "other.yaml")
    (root / "trainc.yaml").symlink_to("other.yaml")
    assert problems(read_config(root)) == [("TC011", "trainc.yaml", message)]


def test_nobody_asks_where_a_link_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a file system that does not answer, such as one of another machine below /net."""
    root = tree(tmp_path, "jobs/a/x.yaml", "out/prod/a/x/jobset-x.yaml", "trainc.yaml", ".git/HEAD")
    links = ("jobs/b", "jobs/a/y.yaml", "jobs/a/run.sh", "jobs/a/folder", "out/prod/a/x/.gitattributes")
    for name in links:
        (root / name).symlink_to(root)
    stat, asked = os.stat, list[str]()

    def seen(path: Any, **options: Any) -> os.stat_result:
        if options.get("follow_symlinks", True) and any(str(path).startswith(str(root / name)) for name in links):
            asked.append(str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", seen)
    found = [*read_tree(root, "jobs").findings, *source_overrides(root)]
    found += _with_other_content(root, ["out/prod/a/x/jobset-x.yaml"])
    assert sorted(each.file for each in found) == sorted(links)
    assert not asked


def test_links_beside_policies_are_not_read(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", "policies/.x.yaml", "policies/tests/y.yaml", "policies/z.yaml")
    (root / "policies/.link.yaml").symlink_to("z.yaml")
    assert names(read_beside_policies(root)) == ["policies/.x.yaml", "policies/tests/y.yaml"]
    (root / "policies").rename(root / "rules")
    (root / "policies").symlink_to("rules")
    assert names(read_beside_policies(root)) == []


def test_links_to_files_elsewhere_are_read(tmp_path: Path) -> None:
    """As of a ConfigMap that is mounted into a pod: its files are links, and its folders are hidden."""
    root = tree(tmp_path / "root")
    mounted = tree(tmp_path / "mounted", "..1/x.yaml", "more/y.yaml")
    for name, target in (
        ("..data", "..1"),
        ("x.yaml", "..data/x.yaml"),
        ("folder", "more"),
        ("loop.yaml", "loop.yaml"),
    ):
        (mounted / name).symlink_to(target)
    found = read_given(root, root, str(mounted))
    assert [Path(name).name for name in names(found)] == ["y.yaml", "x.yaml"]
    assert [(finding.severity, finding.message) for finding in found.findings] == [
        (Severity.WARNING, "symbolic link, which trainc does not follow"),
        (Severity.ERROR, "loop of symbolic links"),
    ]


@pytest.mark.parametrize("mark", ["trainc.yaml", ".git/HEAD", "mounted/.git/HEAD", ""])
def test_links_below_a_root_that_is_no_project_are_read(mark: str, tmp_path: Path) -> None:
    """The root may be the working directory of a container, such as /, and a ConfigMap is mounted below it."""
    root = tree(tmp_path / "root", "mounted/..1/x.yaml", *([mark] if mark else []))
    for name, target in {"mounted/..data": "..1", "mounted/x.yaml": "..data/x.yaml", "linked": "mounted"}.items():
        (root / name).symlink_to(target)
    for path, wrong in (("mounted", "mounted/x.yaml"), ("linked", "linked"), ("mounted/x.yaml", "mounted/x.yaml")):
        found = read_given(root, root, path)
        assert [name for _, name, _ in problems(found)] == ([wrong] if mark else [])
        assert names(found) == ([] if mark else [f"{path.removesuffix('/x.yaml')}/x.yaml"])


def test_the_folder_above_a_link_is_not_the_one_with_the_link(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", "trainc.yaml", "more/x.yaml")
    tree(tmp_path / "other", "folder/y.yaml", "x.yaml")
    (root / "more/link").symlink_to("../../other/folder")
    message = "symbolic link, which trainc does not follow"
    found = read_given(root, root, "more/link/../x.yaml")
    assert (names(found), problems(found)) == ([], [("TC011", "more/x.yaml", message)])


@pytest.mark.parametrize("path", [".", "jobs/a"])
def test_the_root_may_be_a_link(path: str, tmp_path: Path) -> None:
    tree(tmp_path / "real", "trainc.yaml", "jobs/a/x.yaml")
    (tmp_path / "root").symlink_to("real")
    for place in (tmp_path / "root", tmp_path / "real"):
        assert names(read_given(tmp_path / "root", place, path)) == ["jobs/a/x.yaml"]


def test_gitmodules_is_read_once_for_many_empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    monkeypatch.setattr("trainc.project.listing.submodules", lambda folder: read.append(folder) or frozenset())
    for name in ("jobs/a", "jobs/b", "jobs/c"):
        (tmp_path / name).mkdir(parents=True)
    assert read_tree(tmp_path, "jobs") == Inputs()
    assert str(tmp_path) in read
    assert len(read) == len(set(read))


def test_a_gitmodules_that_takes_git_too_long_is_not_read(tmp_path: Path) -> None:
    """For each line, git compares all of the name: four times as long for twice the bytes."""
    for length, expected in ((60_000, None), (30_000, frozenset())):
        (tmp_path / ".gitmodules").write_text(f'[submodule "{"x" * length}"]\n' + "y\n" * (length // 2))
        assert submodules(str(tmp_path)) == expected


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("length", [30, 2000])
def test_many_links_in_a_row(length: int, tmp_path: Path) -> None:
    """Before 3.13, Python resolves them by recursion."""
    tree(tmp_path, "here/x")
    for number in range(length):
        (tmp_path / f"here/{number}").symlink_to(str(number + 1) if number + 1 < length else "x")
    assert leads_out(tmp_path, tmp_path / "here/0") is (length == 2000 and sys.version_info < (3, 13))
    assert leads_out(tmp_path / "elsewhere", tmp_path / "here/0")


def test_the_wrong_depth_below_jobs(tmp_path: Path) -> None:
    tree(tmp_path, "jobs/x.yaml", "jobs/a/b/x.yaml", "jobs/a/b/README.md", "jobs/a/x.yaml")
    inputs = read_tree(tmp_path, "jobs")
    assert names(inputs) == ["jobs/a/x.yaml"]
    assert [(finding.file, finding.expected, finding.severity) for finding in inputs.findings] == [
        ("jobs/a/b/x.yaml", "jobs/<namespace>/<file>", Severity.ERROR),
        ("jobs/x.yaml", "jobs/<namespace>/<file>", Severity.ERROR),
    ]


def test_runtimes_lie_flat_or_in_one_folder(tmp_path: Path) -> None:
    tree(tmp_path, "runtimes/x.yaml", "runtimes/a/x.yaml", "runtimes/a/b/x.yaml")
    inputs = read_tree(tmp_path, "runtimes")
    assert names(inputs) == ["runtimes/a/x.yaml", "runtimes/x.yaml"]
    assert problems(inputs) == [("TC011", "runtimes/a/b/x.yaml", "file at the wrong depth")]


def test_one_file_or_one_folder_of_jobs(tmp_path: Path) -> None:
    tree(tmp_path, "jobs/a/x.yaml", "jobs/a/y.yaml", "jobs/b/x.yaml", "jobs/a/.h.yaml", "jobs/a/t.txt")
    assert names(read_tree(tmp_path, "jobs/a")) == ["jobs/a/x.yaml", "jobs/a/y.yaml"]
    assert names(read_tree(tmp_path, "jobs/a/y.yaml")) == ["jobs/a/y.yaml"]
    for name in ("jobs/a/.h.yaml", "jobs/a/t.txt"):
        message = "neither a folder nor a file ending in .yaml, .yml, .json"
        assert problems(read_tree(tmp_path, name)) == [("TC011", name, message)]


@pytest.mark.parametrize("name", ["jobs", "runtimes", "jobs/a/x.yaml"])
def test_nothing_there_is_no_finding(tmp_path: Path, name: str) -> None:
    assert read_tree(tmp_path, name) == Inputs()


def test_a_special_file_does_not_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "jobs/a").mkdir(parents=True)
    os.mkfifo(tmp_path / "jobs/a/x.yaml")
    assert problems(read_tree(tmp_path, "jobs")) == [("TC011", "jobs/a/x.yaml", "not a regular file")]


def test_unreadable_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "jobs/a/x.yaml", "jobs/b/y.yaml")
    scandir, os_open = os.scandir, os.open

    def no_folder(path: str) -> object:
        if path.endswith("/b"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    def no_file(path: str, flags: int) -> object:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", no_folder)
    monkeypatch.setattr(os, "open", no_file)
    assert problems(read_tree(tmp_path, "jobs")) == [
        ("TC011", "jobs/b", "cannot be read: Permission denied"),
        ("TC011", "jobs/a/x.yaml", "cannot be read: Permission denied"),
    ]
    monkeypatch.setattr(os, "open", os_open)
    assert names(read_tree(tmp_path, "jobs")) == ["jobs/a/x.yaml"]


@pytest.mark.parametrize(("size", "fits"), [(100, True), (101, False)])
def test_the_limit_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, fits: bool) -> None:
    monkeypatch.setattr(read, "LIMIT", 100)
    path = tmp_path / "jobs/a/x.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"#" * size)
    inputs = read_tree(tmp_path, "jobs")
    assert (len(inputs.sources) == 1) is fits
    assert [finding.code for finding in inputs.findings] == ([] if fits else ["TC012"])
    assert bool(read_stdin(io.BytesIO(b"#" * size)).sources) is fits


def test_a_folder_that_cannot_be_looked_at_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a mount whose server is gone; Path.is_dir of Python 3.14 says that there is none."""
    (tmp_path / "policies").mkdir()
    stat = os.stat

    def failing(path: str | Path, **options: bool) -> os.stat_result:
        if os.fspath(path).endswith("policies") and options.get("follow_symlinks", True):
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(OSError, match="not connected"):
        read_tree(tmp_path, "policies")


def test_standard_input() -> None:
    assert read_stdin(io.BytesIO(b"\xffx")) == Inputs((Source("<stdin>", b"\xffx"),))


def test_root_is_the_nearest_with_a_configuration(tmp_path: Path) -> None:
    tree(tmp_path, "repo/trainc.yaml", "repo/jobs/a/x.yaml", "repo/inner/trainc.yaml", "repo/inner/jobs/b/y.yaml")
    assert find_root(tmp_path / "repo/jobs/a") == tmp_path / "repo"
    assert find_root(tmp_path / "repo") == tmp_path / "repo"
    assert find_root(tmp_path / "repo/inner/jobs") == tmp_path / "repo/inner"
    (tmp_path / "repo/jobs/trainc.yaml").mkdir()
    assert find_root(tmp_path / "repo/jobs/a") == tmp_path / "repo", "a folder is no configuration"


def test_without_a_configuration_the_folder_itself(tmp_path: Path) -> None:
    assert find_root(tmp_path) == tmp_path
    assert read_config(tmp_path) == Inputs()


def test_the_configuration(tmp_path: Path) -> None:
    tree(tmp_path, "trainc.yaml")
    assert read_config(tmp_path) == Inputs((Source("trainc.yaml", b"trainc.yaml"),))


def test_files_that_someone_may_take_for_the_configuration(tmp_path: Path) -> None:
    tree(tmp_path, "Trainc.YML", "my-trainc.yml", "trainc.json", "trainc.yml/x")
    (found,) = read_config(tmp_path).findings
    assert (found.file, found.severity, found.hint) == ("Trainc.YML", Severity.ERROR, "rename it to trainc.yaml")
    tree(tmp_path, "trainc.yaml")
    inputs = read_config(tmp_path)
    hint = "move its content to trainc.yaml, and delete it"
    assert names(inputs) == ["trainc.yaml"]
    assert [(one.file, one.severity, one.hint) for one in inputs.findings] == [("Trainc.YML", Severity.WARNING, hint)]


@pytest.mark.parametrize(
    ("folder", "path", "name"),
    [
        ("", "jobs/a", "jobs/a"),
        ("", "./jobs//a/", "jobs/a"),
        ("jobs/a", "x.yaml", "jobs/a/x.yaml"),
        ("jobs/a", "..", "jobs"),
        ("jobs", "../..", None),
        ("", "..x", "..x"),
        ("", ".", "."),
        ("", "/elsewhere", None),
    ],
)
def test_names_count_from_the_root(folder: str, path: str, name: str | None) -> None:
    root = Path("/r/repo")
    assert name_below(root, root / folder, path) == name
    if name is not None:
        assert name_below(root, Path("/"), str(root / name)) == name


@pytest.mark.parametrize("name", [".", "jobs", "jobs/a", "jobs/a/x.yaml", "jobs/a/new.yaml", "jobs/a/link.yaml"])
def test_a_path_through_a_link_to_the_project(tmp_path: Path, name: str) -> None:
    root, links = tmp_path / "project", tmp_path / "links"
    tree(root, "jobs/a/x.yaml")
    (root / "jobs/a/link.yaml").symlink_to("x.yaml")
    links.mkdir()
    (links / "home").symlink_to(tmp_path)
    (links / "project").symlink_to(root)
    (links / "x.yaml").symlink_to(root / "jobs/a/x.yaml")
    for start in (links / "project", links / "home/project"):
        assert name_below(root, Path("/"), str(start / name)) == name
        assert name_below(start, root, name) == name
        assert name_below(start, root / "jobs", f"../{name}") == name
    assert name_below(root, links, "x.yaml") is None  # a file that the user names, wherever its content is


def test_given_files_and_folders(tmp_path: Path) -> None:
    tree(tmp_path, "r/a.yaml", "r/in/b.json", "r/in/deep/er/c.yml", "r/in/note.txt", "r/in/.d.yaml", "odd.txt")
    root = tmp_path / "r"
    assert names(read_given(root, root, "a.yaml")) == ["a.yaml"]
    assert names(read_given(root, root, "in")) == ["in/b.json", "in/deep/er/c.yml"]
    assert names(read_given(root, root, ".")) == ["a.yaml", "in/b.json", "in/deep/er/c.yml"]
    assert names(read_given(root, root / "in", "b.json")) == ["in/b.json"]
    assert names(read_given(root, root, "../odd.txt")) == ["../odd.txt"], "a file that is named is read"
    assert names(read_given(root, root, str(tmp_path / "odd.txt"))) == [(tmp_path / "odd.txt").as_posix()]
    assert problems(read_given(root, root, "none.yaml")) == [
        ("TC011", "none.yaml", "cannot be read: No such file or directory")
    ]


def test_a_given_link_and_a_given_pipe_are_read(tmp_path: Path) -> None:
    tree(tmp_path, "a.yaml")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    (source,) = read_given(tmp_path / "elsewhere", tmp_path, "link.yaml").sources
    assert source.text == b"a.yaml"
    reader, writer = os.pipe()
    os.write(writer, b"kind: X")
    os.close(writer)
    (source,) = read_given(tmp_path, tmp_path, f"/dev/fd/{reader}").sources
    os.close(reader)
    assert source.text == b"kind: X"


def test_the_same_file_twice_counts_once(tmp_path: Path) -> None:
    tree(tmp_path, "a.yaml", "b.yaml")
    parts = [read_given(tmp_path, tmp_path, path) for path in ("b.yaml", "./a.yaml", "a.yaml", ".", "none", "none")]
    inputs = merge(parts)
    assert names(inputs) == ["a.yaml", "b.yaml"]
    assert [finding.file for finding in inputs.findings] == ["none"]


def test_the_root_is_read_without_what_trainc_makes(tmp_path: Path) -> None:
    for name in ("trainc.yaml", "jobs/a/j.yaml", "out/prod/a/j/jobset-j.yaml", "outer/x.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a: b\n")
    assert [source.name for source in read_given(tmp_path, tmp_path, ".").sources] == ["jobs/a/j.yaml", "outer/x.yaml"]
    (tmp_path / "trainc.yaml").unlink()
    assert "out/prod/a/j/jobset-j.yaml" in [source.name for source in read_given(tmp_path, tmp_path, ".").sources]
