"""`trainc image build` and `verify` on an image whose packages lie in the cache, and the cache itself."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest
from imagecase import (
    BASH,
    PACKAGES_LOCK,
    SYSTEM_FILES,
    Run,
    blob,
    fill_cache,
    inputs_of,
    manifest_of,
    members,
    read,
    tar_of,
    write_image,
)

from folders import put
from gitrepo import commit, git, needs_git
from trainc.images import build as builder
from trainc.images.build import build, layers
from trainc.images.definition import BuildError, Pin

PATH = os.environ["PATH"]
ENTRY = "ghcr.io/team/small:1.2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an image below the working directory, with what it needs in the cache."""
    root = tmp_path / "repository"
    found = write_image(root)
    fill_cache(found, root / "build" / "cache")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", "/nowhere")
    return found


def test_a_cache_by_a_relative_path(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder.parents[1]
    put(root, "bin/apt-get", '#!/bin/sh\necho "$@" >&2\nexit 1\n').chmod(0o755)
    put(root, "bin/mmdebstrap", "").chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin:{PATH}")
    result = run("image", "build", "--cache", "other", "--mirror", "http://example.com")
    assert f"-oDir::State={root}/other/" in result.stderr


@needs_git
def test_a_layer_that_is_committed_is_not_taken(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder.parents[1]
    monkeypatch.setenv("PATH", PATH)
    commit(root)  # also what .gitignore names, as with git add --force
    (root / "cache").symlink_to("build/cache")
    for options in ((), ("--cache", "cache")):
        result = run("image", "build", *options)
        assert result.exit_code == 2, result.output
        assert "git has files in this cache" in result.stderr
    git(root, "rm", "-r", "-q", "--cached", "build")
    assert run("image", "build").exit_code == 0


@needs_git
def test_a_layer_that_is_committed_above_the_project_is_not_taken(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder.parents[1]
    monkeypatch.setenv("PATH", PATH)
    (root / "build" / "cache").rename(root.parent / "elsewhere")
    (root / "build" / "cache").symlink_to("../../elsewhere")
    commit(root.parent)
    result = run("image", "build")
    assert result.exit_code == 2, result.output
    assert "git has files in this cache" in result.stderr


@needs_git
def test_a_cache_of_which_git_cannot_tell_is_not_taken(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, where git is missing, or refuses a checkout of another user."""
    root = folder.parents[1]
    (root / ".git").mkdir()
    without_git = run("image", "build")
    monkeypatch.setenv("PATH", PATH)
    for result in (without_git, run("image", "build")):
        assert result.exit_code == 2, result.output
        assert "git cannot tell whether it has files in this cache" in result.stderr
        assert "--cache" in result.stderr
    outside = (root / "build" / "cache").rename(root.parent / "elsewhere")
    assert run("image", "build", "--cache", str(outside)).exit_code == 0


def digest_in(text: str) -> str:
    return text.strip().rpartition(" ")[2]


def test_build(folder: Path, run: Run) -> None:
    result = run("image", "build")
    assert result.exit_code == 0, result.output
    layout = Path("build/images/small")
    manifest, config = manifest_of(layout)
    digest = digest_in(result.stdout)
    assert result.stdout == f"{ENTRY}: {digest}\n"
    assert digest == "sha256:" + hashlib.sha256(blob(layout, digest)).hexdigest()
    assert config["config"] == {
        "Cmd": ["hello"],
        "Entrypoint": ["/usr/bin/shared"],
        "Env": ["LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Labels": manifest["annotations"],
        "WorkingDir": "/opt/hello",
    }
    assert manifest["annotations"] == {
        "com.example.team": "small",
        "org.opencontainers.image.created": "2026-11-21T00:00:00Z",
        "org.opencontainers.image.description": "A small one",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.title": "small",
        "org.opencontainers.image.version": "1.2",
    }
    assert isinstance(manifest["layers"], list)
    digests = [layer["digest"] for layer in manifest["layers"]]
    assert config["rootfs"] == {"type": "layers", "diff_ids": digests}
    program = blob(layout, digests[1])
    assert read(program, "opt/hello/hello.py") == b"print('hello')\n"
    found = members(program)
    assert (found["usr/bin/shared"].mode, found["usr/bin/hi"].linkname) == (0o755, "../../opt/hello/hello.py")
    assert found["run/sshd"].isdir()


def test_the_digest_depends_on_content_only(
    folder: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("image", "build").stdout
    other = write_image(tmp_path / "elsewhere" / "deep")
    os.utime(other / "hello.py", (1, 1))
    (other / "hello.py").chmod(0o600)
    cache = tmp_path / "cache"
    old = os.umask(0o077)
    try:
        fill_cache(other, cache)
        monkeypatch.chdir(other)
        result = run("image", "build", "small", "--cache", str(cache), "--output", str(tmp_path / "made"))
    finally:
        os.umask(old)
    assert result.stdout == first, result.output
    tree = {path.relative_to(tmp_path / "made/small"): path.read_bytes() for path in _files(tmp_path / "made/small")}
    here = folder.parents[1] / "build/images/small"
    assert tree == {path.relative_to(here): path.read_bytes() for path in _files(here)}


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_change_of_a_file_needs_no_new_system(folder: Path, run: Run) -> None:
    first, system = run("image", "build").stdout, manifest_of(Path("build/images/small"))[0]["layers"]
    (folder / "hello.py").write_text("print('other')\n", encoding="utf-8")
    second = run("image", "build")
    assert second.exit_code == 0, "without mmdebstrap on the PATH"
    assert second.stdout != first
    changed = manifest_of(Path("build/images/small"))[0]["layers"]
    assert isinstance(system, list)
    assert isinstance(changed, list)
    assert (changed[0] == system[0], changed[1] == system[1]) == (True, False)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("image.yaml", "suite: bookworm", "suite: trixie"),
        ("image.yaml", "packages: [bash]", "packages: [zlib1g]"),
        ("image.yaml", 'created: "2026', 'created: "2025'),
        ("image.yaml", "id: 1000", "id: 1001"),
        ("packages.lock", BASH, "c" * 64),
    ],
)
def test_another_system_is_another_entry_of_the_cache(folder: Path, run: Run, name: str, old: str, new: str) -> None:
    (folder / name).write_text((folder / name).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    result = run("image", "build")
    assert result.exit_code == 2
    assert "small: mmdebstrap is not installed: it is in Debian's package mmdebstrap" in result.stderr


@pytest.mark.parametrize("name", ["layer.tar", "facts.json", "sums.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_entry_counts_as_absent(folder: Path, run: Run, name: str, damage: str) -> None:
    (path,) = Path("build/cache").glob(f"*/{name}")
    data = path.read_bytes()
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes(data[:-9] if damage == "cut" else bytes((data[0] ^ 1,)) + data[1:])
    result = run("image", "build")
    assert (result.exit_code, "mmdebstrap is not installed" in result.stderr) == (2, True)
    fill_cache(folder, Path("build/cache"))
    assert run("image", "build").exit_code == 0, "the entry was replaced"


def test_layers_for_other_programs(folder: Path) -> None:
    system, program = layers(folder, Path("build/cache"))
    assert (read(system.read_bytes(), "usr/bin/bash"), "run/sshd" in members(program.read_bytes())) == (b"#!", True)
    (folder / "packages.lock").unlink()
    with pytest.raises(BuildError, match=r"bash is not pinned in packages\.lock"):
        layers(folder, Path("build/cache"))


def test_sbom_and_license_list(folder: Path, run: Run) -> None:
    assert run("image", "build").exit_code == 0
    _, program = layers(folder, Path("build/cache"))
    sbom = json.loads(read(program.read_bytes(), "usr/share/trainc/sbom.spdx.json"))
    assert (sbom["spdxVersion"], sbom["dataLicense"], sbom["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert sbom["creationInfo"] == {"created": "2026-11-21T00:00:00Z", "creators": ["Tool: trainc"]}
    image, bash, zlib = sbom["packages"]
    assert (image["name"], image["versionInfo"]) == ("ghcr.io/team/small", "1.2")
    assert (bash["name"], bash["versionInfo"]) == ("bash", "5.2-1")
    assert bash["checksums"] == [{"algorithm": "SHA256", "checksumValue": BASH}]
    assert bash["licenseDeclared"] == "(GPL-3.0-or-later OR MIT) AND LicenseRef-bash-odd"
    assert zlib["externalRefs"][0]["referenceLocator"] == (
        "pkg:deb/debian/zlib1g@1%3A1.2%2Bdfsg-1?arch=amd64&distro=bookworm"
    )
    assert zlib["sourceInfo"] == "Debian source package zlib"
    identifiers = [package["SPDXID"] for package in sbom["packages"]]
    assert len(set(identifiers)) == 3
    assert [(one["relationshipType"], one["relatedSpdxElement"]) for one in sbom["relationships"]] == [
        ("DESCRIBES", identifiers[0]),
        ("CONTAINS", identifiers[1]),
        ("CONTAINS", identifiers[2]),
    ]
    extracted = {one["licenseId"]: one["extractedText"] for one in sbom["hasExtractedLicensingInfos"]}
    assert extracted["LicenseRef-bash-odd"] == "Do as you like.\n\nBut well."
    listed = read(program.read_bytes(), "usr/share/trainc/licenses.txt").decode()
    assert "bash 5.2-1: (GPL-3.0-or-later OR MIT) AND LicenseRef-bash-odd\n" in listed


def test_lock_and_verify(folder: Path, run: Run) -> None:
    digest = digest_in(run("image", "build").stdout)
    assert run("image", "verify").stdout == f"{ENTRY}: {digest} (4 blobs, not in images.lock.yaml)\n"
    assert run("image", "lock", "build/images/small").exit_code == 0
    assert run("image", "lock", "--check", "build/images/small").exit_code == 0
    assert run("image", "verify").stdout == f"{ENTRY}: {digest} (4 blobs, as in images.lock.yaml)\n"
    other = "sha256:" + "0" * 64
    assert run("image", "lock", f"{ENTRY}={other}").exit_code == 0
    result = run("image", "verify", "build/images/small")
    assert (result.exit_code, result.stdout) == (
        1,
        f"{ENTRY}: {digest} (4 blobs, differs from {other} in images.lock.yaml)\n",
    )


def test_verify_reports_a_lock_that_is_not_read(folder: Path, run: Run) -> None:
    assert run("image", "build").exit_code == 0
    Path("images.lock.yml").write_text(f"images: {{'{ENTRY}': 'sha256:{'0' * 64}'}}\n", encoding="utf-8")
    result = run("image", "verify")
    assert (result.exit_code, "error[TC011]: not read because of its name" in result.output) == (1, True)


def test_two_images_of_one_name(folder: Path, run: Run) -> None:
    """Whichever of them images.lock.yaml names, the other one may be what is pushed."""
    locked = digest_in(run("image", "build").stdout)
    assert run("image", "lock", "build/images/small").exit_code == 0
    layout = Path("build/images/small")
    other = json.dumps({**manifest_of(layout)[0], "annotations": {}}).encode()
    digest = hashlib.sha256(other).hexdigest()
    (layout / "blobs/sha256" / digest).write_bytes(other)
    index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    (descriptor,) = index["manifests"]
    assert descriptor["digest"] == locked
    index["manifests"].insert(0, {**descriptor, "digest": f"sha256:{digest}", "size": len(other)})
    (layout / "index.json").write_text(json.dumps(index), encoding="utf-8")
    result = run("image", "verify")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"index.json has two manifests named {ENTRY}" in result.stderr


@pytest.mark.parametrize("which", ["manifest", "config", "system", "program"])
@pytest.mark.parametrize("damage", ["flip", "longer", "remove"])
def test_verify_reads_every_blob(folder: Path, run: Run, which: str, damage: str) -> None:
    digest = digest_in(run("image", "build").stdout)
    layout = Path("build/images/small")
    manifest, _ = manifest_of(layout)
    assert isinstance(manifest["layers"], list)
    assert isinstance(manifest["config"], dict)
    system, program = (layer["digest"] for layer in manifest["layers"])
    named = {"manifest": digest, "config": manifest["config"]["digest"], "system": system, "program": program}[which]
    path = layout / "blobs" / "sha256" / named.removeprefix("sha256:")
    data = path.read_bytes()
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes(data + b" " if damage == "longer" else data[:-20] + bytes((data[-20] ^ 1,)) + data[-19:])
    result = run("image", "verify")
    assert result.exit_code == 1, result.output
    told = " ".join(result.stderr.split())
    expected = {"flip": "has another digest: sha256:", "longer": "bytes, and", "remove": "cannot be read"}[damage]
    assert expected in told


def test_a_folder_in_the_way(folder: Path, run: Run) -> None:
    Path("build/images/small").mkdir(parents=True)
    Path("build/images/small/notes.txt").write_text("mine", encoding="utf-8")
    result = run("image", "build")
    assert (result.exit_code, "is neither empty nor an image layout" in result.stderr) == (2, True)
    assert Path("build/images/small/notes.txt").read_text(encoding="utf-8") == "mine"


def test_what_others_put_into_a_layout_stays(folder: Path, run: Run) -> None:
    assert run("image", "build").exit_code == 0
    Path("build/images/small/notes.txt").write_text("mine", encoding="utf-8")
    result = run("image", "build")
    assert (result.exit_code, "has notes.txt, which is not part of an image layout" in result.stderr) == (2, True)
    assert Path("build/images/small/notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("build", "nowhere"), "image.yaml not found in images/nowhere or nowhere"),
        (("verify", "nowhere"), "oci-layout cannot be read"),
        (("build", "--mirror", "nowhere"), "mmdebstrap is not installed"),
    ],
)
def test_arguments_that_make_no_sense(folder: Path, run: Run, arguments: tuple[str, ...], told: str) -> None:
    (folder / "packages.lock").write_text(PACKAGES_LOCK.replace(BASH, "c" * 64), encoding="utf-8")
    result = run("image", *arguments)
    assert result.exit_code != 0
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize("name", ["image.yaml", "packages.lock", "hello.py", ""])
def test_links_are_not_followed(folder: Path, run: Run, name: str) -> None:
    """They stay in the project here; of those out of it, nothing may be shown either."""
    place = folder / name
    place.rename(folder.parent / "target")
    place.symlink_to(folder.parent / "target")
    result = run("image", "build")
    assert (result.exit_code, "which trainc does not follow" in " ".join(result.stderr.split())) == (2, True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("link", ["build/images", "build/images/small"])
def test_a_layout_is_not_written_through_a_link_out_of_the_project(run: Run, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(link).parent.mkdir(parents=True, exist_ok=True)
    Path(link).symlink_to(outside)
    result = run("image", "build")
    assert (result.exit_code, list(outside.iterdir())) == (2, [])
    assert "symbolic link that leads out of the project, not followed" in " ".join(result.stderr.split())


@pytest.mark.usefixtures("folder", "usual_recursion")
@pytest.mark.parametrize("option", ["--output", "--cache"])
def test_more_new_folders_in_each_other_than_python_creates(
    run: Run, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(builder, "make_rootfs", lambda *_: ())
    result = run("image", "build", option, "a/" * 1500 + "b")
    assert (result.exit_code, result.stderr.startswith("Error: small: ")) == (2, True)
    assert result.stderr.endswith("too many folders in each other\n")
    assert not Path("a").exists()


def test_a_system_with_other_packages_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def made(*_: object) -> Path:
        (tmp_path / "made.tar").write_bytes(tar_of(SYSTEM_FILES))
        return tmp_path / "made.tar"

    monkeypatch.setattr(builder, "make_rootfs", made)
    lock = PACKAGES_LOCK.replace("5.2-1", "5.2-2")
    (folder / "packages.lock").write_text(lock, encoding="utf-8")
    with pytest.raises(BuildError) as caught:
        build(inputs_of(folder), Path("build/cache"))
    assert str(caught.value).splitlines() == [
        "the installed packages differ from the pins",
        "bash 5.2-2: pinned, not installed",
        "bash 5.2-1: installed, not pinned",
    ]


@pytest.mark.parametrize("name", ["usr/share/doc/\udcff", "usr/share/\udcff"])
def test_a_name_of_a_system_that_is_not_utf_8_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As of a folder or link of a package; what the cache keeps of them is JSON."""
    made = Path("made.tar").absolute()
    made.write_bytes(tar_of({**SYSTEM_FILES, name: None if "doc" in name else "bash"}))
    monkeypatch.setattr(builder, "make_rootfs", lambda *_: made)
    with pytest.raises(BuildError, match=r"a name in the system is not UTF-8: 'usr/share/.*\\udcff'"):
        build(inputs_of(folder), Path("empty"))
    assert list(Path("empty").iterdir()) == []


@pytest.mark.usefixtures("folder")
def test_what_the_system_refuses_is_told_with_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "build/cache/x")

    monkeypatch.setattr(builder, "build", fail)
    result = run("image", "build")
    assert (result.exit_code, result.stderr) == (2, "Error: small: build/cache/x: No space left on device\n")


class Source(NamedTuple):
    """A package source whose only packages are those of the image."""

    packages: tuple[Pin, ...]

    def resolve(self, _packages: object) -> tuple[Pin, ...]:
        return self.packages


def test_wheels_that_are_needed_no_more_are_not_pinned(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = folder / "wheels.lock"
    wheels.write_text(f"numpy==2.0 --hash=sha256:{'c' * 64}\n", encoding="utf-8")
    monkeypatch.setattr(builder, "open_archive", lambda *_: Source(inputs_of(folder).packages))
    result = run("image", "update", "small")
    assert (result.exit_code, result.stdout) == (0, "small: - numpy 2.0\n")
    assert inputs_of(folder).wheels == ()
    assert run("image", "update", "small").stdout == ""


def test_wheels_that_image_yaml_does_not_require_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy requires nothing, and nobody requires it: image.yaml does not have it any more."""
    made = Path("made.tar").absolute()
    made.write_bytes(tar_of(SYSTEM_FILES))
    monkeypatch.setattr(builder, "make_rootfs", lambda *_: made)
    (folder / "wheels.lock").write_text(f"numpy==1 --hash=sha256:{'c' * 64}\n", encoding="utf-8")
    with pytest.raises(BuildError) as caught:
        build(inputs_of(folder), Path("build/cache"))
    assert str(caught.value).splitlines()[1:] == ["numpy 1: pinned, not required"]
