"""Pull requests of an attacker, each in a repository of its own: what changes a cluster against the rules fails.

The rules are those of the revision that a pull request goes to, as docs/threat-model.md describes. The tests there are
these and others; tests/repository/test_threat_model.py checks the table.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from builders import policy, runtime, trainjob
from gitrepo import commit, git, needs_git
from trainc.cli.root import trainc
from trainc.project.git import odd_folders

pytestmark = needs_git

ROOT = "training"
"""The project, a folder of its repository."""

NODES = "object.spec.replicatedJobs.all(job, job.template.spec.parallelism <= 4)"
RULE = policy("few-nodes", NODES, "no more than four nodes")
RELAXED = policy("few-nodes", "true", "no more than four nodes")
ROLES = policy(
    "no-roles", "false", "roles are not for runtimes", resource="rbac.authorization.k8s.io/rolebindings"
).replace("v1alpha2", "v1")
LARGE = trainjob("large", trainer="{numNodes: 8}")
BASE = {
    "trainc.yaml": "environments: {prod: {}}\nseverities:\n  TC521: {level: error, locked: true}\n",
    "policies/few-nodes.yaml": RULE,
    "policies/no-roles.yaml": ROLES,
    "runtimes/rt.yaml": runtime(),
    "jobs/a/one.yaml": trainjob("one"),
}
COMPANION = f"""\
{runtime()}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: all}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects: [{{kind: ServiceAccount, name: default, namespace: a}}]
"""


def write(root: Path, files: dict[str, str | None]) -> None:
    """Write files; None removes one, and ``-> TARGET`` makes a link."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None or path.is_symlink():
            path.unlink()
        if text is not None and text.startswith("-> "):
            path.symlink_to(text[3:])
        elif text is not None:
            path.write_text(text, encoding="utf-8")


def run(*command: str) -> tuple[int, str]:
    done = CliRunner().invoke(trainc, command, prog_name="trainc")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered and committed repository."""
    top = tmp_path_factory.mktemp("reviewed")
    write(top / ROOT, BASE)
    assert run("render", "-q", "--root", str(top / ROOT)) == (0, "")
    commit(top)
    return top


@pytest.fixture
def root(reviewed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of a copy, which is the working directory."""
    shutil.copytree(reviewed, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy" / ROOT)
    return tmp_path / "copy" / ROOT


class Attack(NamedTuple):
    """The files of a pull request, and the error that ``validate --base`` reports."""

    files: dict[str, str | None]
    error: str


ATTACKS = {
    "breaks-a-policy": Attack(
        {"jobs/a/large.yaml": LARGE}, "jobs/a/large.yaml:6:13: error[TC501]: policy 'few-nodes' "
    ),
    "removes-the-policy": Attack(
        {"jobs/a/large.yaml": LARGE, "policies/few-nodes.yaml": None},
        "jobs/a/large.yaml:6:13: error[TC501]: policy 'few-nodes' of HEAD ",
    ),
    "relaxes-the-policy": Attack(
        {"jobs/a/large.yaml": LARGE, "policies/few-nodes.yaml": RELAXED},
        "jobs/a/large.yaml:6:13: error[TC501]: policy 'few-nodes' of HEAD ",
    ),
    "brings-its-own-policy": Attack(
        {"jobs/a/large.yaml": f"{RELAXED}---\n{LARGE}"}, "error[TC501]: policy 'few-nodes' "
    ),
    "silences-the-policy": Attack(
        {"jobs/a/large.yaml": f"# trainc: ignore TC501 please\n{LARGE}"}, ":7:13: error[TC501]: policy 'few-nodes' "
    ),
    "lowers-a-severity": Attack(
        {"trainc.yaml": "environments: {prod: {}}\nseverities: {TC521: ignore}\n"},
        "trainc.yaml:2:14: error[TC521]: severity of TC521 lowered from error to ignore since HEAD",
    ),
    "removes-trainc-yaml": Attack({"trainc.yaml": None}, "trainc.yaml:1:1: error[TC521]: severity of TC521 lowered"),
    "brings-its-own-objects": Attack(
        {"trainc.yaml": f"{BASE['trainc.yaml']}unmanaged: [out/prod/a/x]\n", "out/prod/a/x/pod.yaml": "kind: Pod\n"},
        "error[TC521]: files at out/prod/a/x that trainc did not write are no longer an error since HEAD",
    ),
    "adds-an-object": Attack({"out/prod/a/one/pod.yaml": "kind: Pod\n"}, "out/prod/a/one/pod.yaml:1:1: error[TC903]: "),
    "adds-a-kustomization": Attack({"out/prod/a/kustomization": "x"}, "out/prod/a/kustomization:1:1: error[TC903]: "),
    "links-its-own-objects": Attack({"out/prod/b": "-> ../../jobs/a"}, "out/prod/b:1:1: error[TC903]: "),
    "replaces-a-runtime-for-all": Attack(
        {
            "jobs/b/rt.yaml": runtime(name="torch-distributed"),
            "jobs/a/t.yaml": trainjob("t", runtime="torch-distributed"),
        },
        "jobs/a/t.yaml:5:16: error[TC021]: ",
    ),
    "writes-for-another-namespace": Attack(
        {"jobs/a/two.yaml": trainjob("two", metadata=", namespace: b")}, "jobs/a/two.yaml:3:23: error[TC010]: "
    ),
    "reads-the-machine": Attack({"jobs/a/two.yaml": "-> /etc/passwd"}, "jobs/a/two.yaml:1:1: error[TC011]: "),
    "reads-the-token": Attack({"jobs/a/two.yaml": "-> ../../../.git/config"}, "jobs/a/two.yaml:1:1: error[TC011]: "),
    "replaces-the-plugin": Attack(
        {
            "jobs/a/.argocd-source.yaml": "plugin: null\ndirectory: {include: .pod.yaml}\n",
            "jobs/a/.pod.yaml": "kind: Pod\n",
        },
        "jobs/a/.argocd-source.yaml:1:1: error[TC011]: ",
    ),
    "replaces-the-plugin-behind-a-link": Attack(
        {"jobs/b": "-> ../shared", "shared/.argocd-source.yaml": "plugin: null\n"},
        "jobs/b:1:1: error[TC011]: ",
    ),
    "replaces-the-plugin-of-the-project": Attack(
        {".argocd-source-prod.yaml": "plugin: null\n"}, ".argocd-source-prod.yaml:1:1: error[TC011]: "
    ),
    "brings-its-own-project": Attack({"jobs/a/trainc.yaml": trainjob("two")}, "jobs/a/trainc.yaml:1:1: error[TC011]: "),
    "grants-roles": Attack({"runtimes/rt.yaml": COMPANION}, "error[TC501]: policy 'no-roles' denies the RoleBinding"),
    "moves-a-tag": Attack(
        {"images.lock.yaml": f"images:\n  example.com/img:1: sha256:{'1' * 64}\n"},
        "runtimes/rt.yaml:14:43: error[TC204]: ",
    ),
    "writes-a-workflow": Attack(
        {"trainc.yaml": f"{BASE['trainc.yaml']}defaults: {{argocd: {{write: .github/workflows}}}}\n"},
        "error[TC013]: .github/ belongs to git or GitHub",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_pull_request_fails(name: str, root: Path) -> None:
    write(root, ATTACKS[name].files)
    status, output = run("validate", "--base", "HEAD")
    assert status == 1, output
    assert ATTACKS[name].error in output


@pytest.mark.parametrize("name", ["notes.txt", ".sourceignore", ".hidden/two", "two"])
def test_a_link_is_an_error(name: str, root: Path) -> None:
    """Argo CD reads nothing of a repository with one that leads out of it, and Flux nothing with several others."""
    write(root, {f"jobs/a/{name}": "-> one.yaml", "trainc.yaml": "unmanaged: [out/prod/a]\n"})
    write(root, {"out/prod/a/.link": "-> one"})
    commit(root.parent)
    status, output = run("validate", "--base", "HEAD^")
    assert status == 1, output
    assert f"jobs/a/{name}:1:1: error[TC011]: symbolic link, which trainc does not follow" in output
    assert "out/prod/a/.link:1:1: error[TC903]: a symbolic link, which trainc never creates" in output
    status, output = run("validate")  # so that the author sees it before CI does
    assert status == 1, output
    assert f"jobs/a/{name}:1:1: error[TC011]: symbolic link, which trainc does not follow" in output


@pytest.mark.parametrize("named", [None, "other", f"{ROOT}/jobs/a/more"])
def test_a_submodule_with_which_argo_cd_reads_nothing_is_an_error(named: str | None, root: Path) -> None:
    """Without a .gitmodules, it is an empty folder: some 50,000 are 3 KB, and have more paths than Argo CD can send."""
    path = f"{ROOT}/jobs/a/more"
    if named is not None:
        modules = f'[submodule "x"]\n\tpath = {named}\n\turl = https://example.com/x\n'
        write(root.parent, {".gitmodules": modules})
    head = commit(root.parent)
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{head},{path}")
    status, output = run("validate", "--base", "HEAD")
    assert status == (0 if named == path else 1), output
    error = "jobs/a/more:1:1: error[TC011]: submodule that .gitmodules does not name"
    assert (error in output) is (named != path)


@pytest.mark.parametrize(
    ("names", "is_read"),
    [
        (("../../out/prod/a/one/aux.md", "../../out/prod/a/one/a\\b"), False),
        (("aux.md", "Con/x", "nul ", "com1.a.b", "conin$", "a\tb", "a\\b", "x../n"), False),
        ((".g\u200cit", "\ufeff.GI\u202eT\u206f/x"), False),
        ((".g\u0130t", "G\u0130T~1", "g\u0130t~1x/.G\u0130t/y"), False),
        (("auxiliary", "com10", "a.aux", "a:b", "...", "é", "x./n", ".g\u0131t", ".gitx", ".git\u200b"), True),
        (("x.g\u0130t", "g\u0131t~1", "g\u0130t~2", ".g\u200c\u0130t"), True),
    ],
)
def test_a_name_with_which_flux_reads_nothing_is_an_error(names: tuple[str, ...], is_read: bool, root: Path) -> None:
    files = dict.fromkeys((f"jobs/a/{name}" for name in names), "")
    write(root, {**files, "trainc.yaml": "environments: {prod: {}, st: {target: flux}}\n"})
    commit(root.parent)
    _, output = run("validate", "--base", "HEAD")
    assert output.count(": error[TC011]: a name that Flux refuses: ") == (0 if is_read else len(names)), output
    write(root, {"trainc.yaml": "environments: {prod: {}}\n"})
    _, output = run("validate", "--base", "HEAD^")
    assert "a name that Flux refuses" not in output, output


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (f"/{ROOT}/out/** working-tree-encoding=ASCII//TRANSLIT", 1),
        ("[attr]ours ident\n*.yaml ours", 1),
        (f"*.ps1 working-tree-encoding=UTF-16\n* ident\n/{ROOT}/** -ident", 0),
        ("* text=auto working-tree-encoding=UTF-8", 0),
    ],
)
def test_an_attribute_with_which_flux_reads_other_bytes_is_an_error(line: str, status: int, root: Path) -> None:
    (root.parent / ".gitattributes").write_text(line + "\n")
    commit(root.parent)
    for command in (("validate", "--base", "HEAD^"), ("render", "--check")):
        found, output = run(*command)
        assert (found, output.count("error[TC903]: by an attribute of git")) == (status, status), output


@pytest.mark.parametrize("target", ["argocd", "flux"])
def test_patterns_that_flux_may_have_no_memory_for_are_an_error(target: str, root: Path) -> None:
    write(
        root,
        {"jobs/a/.x/.sourceignore": "", "jobs/a/sourceignore": "", "trainc.yaml": f"defaults: {{target: {target}}}"},
    )
    commit(root.parent)
    _, output = run("validate", "--base", "HEAD")
    assert output.count("error[TC011]: Flux reads the patterns of this file") == (target == "flux"), output


@pytest.mark.parametrize("target", ["argocd", "flux"])
def test_folders_so_deep_that_git_and_flux_take_too_long_are_an_error(target: str, root: Path) -> None:
    name = "d" * 255
    for folder in ("jobs/.x", "out/prod"):
        write(root, {f"{folder}/{f'{name}/' * more}file": "" for more in (8, 9)})
    write(root, {"trainc.yaml": f"defaults: {{target: {target}}}"})
    commit(root.parent)
    _, output = run("validate", "--base", "HEAD")
    assert output.count("error[TC011]: more than 10 folders in each other: ") == 2, output


@pytest.mark.parametrize("more", [0, 1])
def test_folders_of_which_argo_cd_cannot_send_the_paths_are_an_error(
    more: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"jobs/a/é/d/x": "", "jobs/a/é/e/x": ""})
    commit(root.parent)
    read = [f"{ROOT}/{folder}" for folder in ("jobs", "runtimes", "policies", "out")]
    names = git(root.parent, "ls-files", "-z", *read).rstrip("\0").split("\0")
    folders = {folder.as_posix() for name in names for folder in Path(name).parents} - {".", ROOT}
    monkeypatch.setattr("trainc.project.clones._MOST", sum(len(each.encode()) for each in folders) - more)
    _, output = run("validate", "--base", "HEAD")
    assert output.count("error[TC011]: the paths of this and all other folders have more than ") == more, output


@pytest.mark.parametrize("target, limit", [("argocd", "_MOST_OTHERS"), ("flux", "_MOST_FOR_FLUX")])
@pytest.mark.parametrize("more", [0, 1])
def test_so_many_files_that_git_and_flux_take_too_long_are_an_error(
    more: int, target: str, limit: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ["jobs/a/.d/e/x", "jobs/a/README.md", "jobs/b/copy.yaml", "policies/tests/x.yaml", "out/prod/a/README.md"]
    write(root, {**dict.fromkeys(others, "tests: []\n"), "trainc.yaml": f"defaults: {{target: {target}}}"})
    commit(root.parent)
    monkeypatch.setattr(f"trainc.project.clones.{limit}", len(others) - more)
    _, output = run("validate", "--base", "HEAD")
    message = f"error[TC011]: one of more than {len(others) - 1} files that are copies or that trainc does not read: "
    assert output.count(message) == more
    assert ("policies/tests/x.yaml:1:1: error[TC011]: " in output) == (more == 1), output


@pytest.mark.parametrize("folder", ["", "deploy", f"{ROOT}/jobs/a"])
@pytest.mark.parametrize(
    ("entries", "is_odd"),
    [
        (["40000100644 x"], True),  # its last 32 bits are the mode of a file
        ([], True),  # a million of them are a few objects, which take git a second, and Flux more than it may take
        (["100644 x", "100644 x"], True),
        (["100644 y", "100644 x"], True),
        (["100644 x", "100755 y"], False),
        (["100664 x", "100644 y"], False),  # of the first versions of git
        (["0100644 x", "100755 y"], False),  # GitHub once wrote a zero first
        (["00100644 x", "100755 y"], True),  # with millions of zeros in hundreds of folders, Flux takes minutes
    ],
)
def test_a_folder_that_flux_leaves_out_is_an_error(entries: list[str], is_odd: bool, folder: str, root: Path) -> None:
    top, name = root.parent, folder
    # Of a file and a folder with one name, CI checks out the file, and Argo CD, after an earlier commit, the folder.
    target = "argocd" if folder == "deploy" else "flux"
    write(root, {"../deploy/x": "", "trainc.yaml": f"environments: {{prod: {{target: {target}}}}}\n"})
    commit(top)

    def written(text: bytes, *command: str) -> str:
        done = subprocess.run(["git", *command], cwd=top, input=text, check=True, capture_output=True)
        return done.stdout.decode().strip()

    file = bytes.fromhex(git(top, "rev-parse", "HEAD:deploy/x"))
    data = b"".join(f"{entry}\0".encode() + file for entry in entries)
    tree = written(data, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
    while name:
        above = name.rpartition("/")[0]
        old = git(top, "rev-parse", f"HEAD:{name}")
        tree, name = written(git(top, "ls-tree", f"HEAD:{above}").replace(old, tree).encode() + b"\n", "mktree"), above
    git(top, "update-ref", "HEAD", git(top, "commit-tree", tree, "-p", "HEAD", "-m", "a commit"))
    _, output = run("validate", "--base", "HEAD^")
    shown = {"": "..", "deploy": "../deploy"}.get(folder, "jobs/a")
    assert (f"{shown}:1:1: error[TC011]: not stored as git writes a folder: " in output) is (
        is_odd and (folder, entries) != ("", [])
    ), output


@pytest.mark.parametrize("target", ["../jobs", "nowhere", "tests"])
def test_a_link_in_place_of_the_tests_of_policies_is_an_error(target: str, root: Path) -> None:
    (root / "policies/tests").symlink_to(target)
    code, output = run("policy", "test")
    assert (code, output.count("policies/tests:1:1: error[TC011]: symbolic link")) == (1, 1), output
    assert run("report", "-o", "-")[0] != 2


@pytest.mark.parametrize(
    ("levels", "width", "length"),
    [(60, 2, 1), (2000, 1, 200)],  # 2^60 folders of which git would write the paths; and a path of 400 KB
)
def test_folders_that_repeat_one_another(levels: int, width: int, length: int, tmp_path: Path) -> None:
    commit(tmp_path)
    tree, objects = sha1(b"tree 0\0"), {}
    for _ in range(levels):
        data = b"".join(b"40000 " + bytes([97 + number]) * length + b"\0" + tree.digest() for number in range(width))
        tree = sha1(b"tree %d\0" % len(data) + data)
        objects[tree.hexdigest()] = zlib.compress(b"tree %d\0" % len(data) + data)
    for name, packed in objects.items():
        path = tmp_path / ".git/objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(packed)
    git(tmp_path, "hash-object", "-t", "tree", "-w", "/dev/null")
    git(tmp_path, "update-ref", "HEAD", git(tmp_path, "commit-tree", tree.hexdigest(), "-m", "a commit"))
    start = time.process_time()
    assert len(list(odd_folders(tmp_path))) == 1
    assert time.process_time() - start < 1


def test_folders_that_git_does_not_read_to_their_end_are_an_error(root: Path) -> None:
    """Such as at the limit of processor time."""
    write(root, {"../deploy/x": ""})
    commit(root.parent)
    tree = git(root.parent, "rev-parse", "HEAD:deploy")
    (root.parent / ".git/objects" / tree[:2] / tree[2:]).unlink()
    _, output = run("validate", "--base", "HEAD")
    assert "trainc.yaml:1:1: error[TC011]: git cannot read the folders of HEAD: " in output, output


def test_a_name_of_many_modes_in_a_folder(tmp_path: Path) -> None:
    """From each mode, the rest of the name could be searched for its end."""
    commit(tmp_path)
    (tmp_path / "tree").write_bytes(b"100644 " * 5000 + b"/\0" + bytes(20))
    tree = git(tmp_path, "hash-object", "-t", "tree", "-w", "--literally", "tree")
    git(tmp_path, "update-ref", "HEAD", git(tmp_path, "commit-tree", tree, "-m", "a commit"))
    start = time.process_time()
    assert list(odd_folders(tmp_path)) == [""]
    assert time.process_time() - start < 1


def faked(root: Path) -> None:
    """Add files that make the project look like a bare repository, in whose history there is no policy."""
    write(root, {"policies/few-nodes.yaml": RELAXED})
    other = root.parent.parent / "other"
    shutil.copytree(root, other)
    commit(other)
    for name in ("HEAD", "objects", "refs"):
        (other / ".git" / name).rename(root / name)
    write(root, {"config": "[core]\n\tworktree = ..\n"})


def test_the_base_is_the_base(root: Path) -> None:
    faked(root)
    write(root, {"jobs/a/large.yaml": LARGE})
    status, output = run("validate", "--base", "HEAD")
    assert status == 1, output
    assert "jobs/a/large.yaml:6:13: error[TC501]: policy 'few-nodes' of HEAD denies the JobSet" in output


def test_an_old_branch_meets_new_policies(root: Path) -> None:
    write(root, {"policies/few-nodes.yaml": None})
    old = commit(root.parent)
    write(root, {"policies/few-nodes.yaml": RULE})
    new = commit(root.parent)
    write(root, {"policies/few-nodes.yaml": None, "jobs/a/large.yaml": LARGE})
    assert run("validate", "--base", old)[0] == 0
    status, output = run("validate", "--base", old, "--policies-from", new)
    assert status == 1
    assert f"error[TC501]: policy 'few-nodes' of {new} denies the JobSet" in output


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("example.com/img:1", "example.com/other:1"),
        lambda text: f"{text}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "",
    ],
    ids=["another-image", "another-object", "other-line-ends", "nothing"],
)
@pytest.mark.parametrize("place", ["out/prod/a/one/jobset-one.yaml", "out/prod/b/one/jobset-one.yaml"])
def test_output_that_nobody_rendered_is_stale(change: Callable[[str], str], place: str, root: Path) -> None:
    text = (root / "out/prod/a/one/jobset-one.yaml").read_bytes().decode()
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_bytes(change(text).encode())
    status, output = run("render", "--check")
    assert status == 3, output
    assert re.search(rf"(?m)^(changed|stale) {place}$", output)


def test_modules_of_a_pull_request_are_not_run(root: Path) -> None:
    write(
        root,
        {f"{name}.py": "raise SystemExit('run')\n" for name in ("click", "msgspec", "trainc", "json", "sitecustomize")},
    )
    done = subprocess.run(
        [sys.executable, "-I", "-m", "trainc", "validate"], capture_output=True, text=True, check=False
    )
    if "No module named trainc" in done.stderr:
        pytest.skip("trainc is not installed for this interpreter")
    assert (done.returncode, done.stdout + done.stderr) == (0, "1 TrainJob is valid\n")
