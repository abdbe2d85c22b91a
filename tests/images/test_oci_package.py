"""`trainc package`: an OCI artifact with the files of an environment."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imagecase import REPOSITORY, Run, blob

from folders import deep_folders
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.images import layout as layouts
from trainc.images.layout import (
    INDEX,
    MANIFEST,
    LayoutError,
    canonical,
    digest_of,
    file_digest,
    index_of,
    verify_layout,
    write_layout,
)
from trainc.images.package import _gzip, package

SKOPEO = shutil.which("skopeo")

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: j}
spec: {runtimeRef: {name: torch-distributed}}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobs" / "team").mkdir(parents=True)
    (tmp_path / "jobs" / "team" / "j.yaml").write_text(JOB, encoding="utf-8")
    (tmp_path / "trainc.yaml").write_text("environments: {prod: {}}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def unpacked(layout: Path) -> tuple[dict[str, object], dict[str, bytes]]:
    (entry,) = json.loads((layout / "index.json").read_bytes())["manifests"]
    manifest = json.loads(blob(layout, entry["digest"]))
    (layer,) = manifest["layers"]
    with tarfile.open(fileobj=io.BytesIO(blob(layout, layer["digest"])), mode="r:gz") as tar:
        files = {each.name: tar.extractfile(each) for each in tar.getmembers() if each.isfile()}
        return manifest, {name: file.read() for name, file in files.items() if file is not None}


def test_it_has_the_files_of_render(root: Path, run: Run) -> None:
    assert run("render").exit_code == 0
    result = run("package", "ghcr.io/acme/jobs:1", "--annotation", "org.opencontainers.image.revision=main")
    assert result.exit_code == 0, result.output
    manifest, files = unpacked(root / "build" / "package")
    out = root / "out" / "prod"
    assert files == {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.yaml")}
    assert list(files) == ["team/j/jobset-j.yaml"]
    assert manifest["annotations"] == {"org.opencontainers.image.revision": "main"}
    (entry,) = json.loads((root / "build/package/index.json").read_bytes())["manifests"]
    assert result.stdout == f"ghcr.io/acme/jobs:1: {entry['digest']}\n"
    assert run("image", "verify", "build/package").exit_code == 0


def test_nothing_is_written_after_an_error(root: Path, run: Run) -> None:
    (root / "jobs/team/bad.yaml").write_text(JOB.replace("name: j", "name: k, nme: k"), encoding="utf-8")
    result = run("package")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "TC101" in result.stderr
    assert not (root / "build").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "out/prod"), "out/prod is below out/, which Argo CD reads"),
        (("--annotation", "nothing"), "'nothing' is not KEY=VALUE"),
        (("--annotation", "a=\udc80"), "'a=\\udc80' is not UTF-8"),
        (("--env", "other"), "environment 'other' not found in trainc.yaml (prod)"),
        (("a\nb",), "'a\\nb' is neither a tag nor the name of an image: "),
        (("ghcr.io/Acme/jobs:1",), "its path is not in lower case"),
        (("-o", "jobs"), "jobs is neither empty nor an image layout: it is not overwritten"),
    ],
)
def test_wrong_usage(root: Path, run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("package", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert (root / "jobs/team/j.yaml").exists()


def test_a_link_to_out_is_not_followed(root: Path, run: Run) -> None:
    run("render")
    (root / "build").symlink_to("out")
    result = run("package")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "which Argo CD reads" in result.stderr
    assert not (root / "out/package").exists()


def test_the_working_directory_is_not_replaced(root: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "empty").mkdir()
    monkeypatch.chdir(root / "empty")
    result = run("package", "--root", "..", "-o", ".")
    assert (result.exit_code, result.stdout) == (2, "")
    assert ". is the working directory: it is not replaced" in result.stderr


def test_what_others_have_put_into_a_layout_is_kept(root: Path, run: Run) -> None:
    assert run("package", "-o", "made").exit_code == 0
    notes = root / "made/blobs/notes"
    notes.write_text("mine", encoding="utf-8")
    assert "made has blobs/notes, which is not part of an image layout" in run("package", "-o", "made").stderr
    notes.unlink()
    index = json.loads((root / "made/index.json").read_bytes())
    index["manifests"] *= 2
    (root / "made/index.json").write_bytes(canonical(index))
    assert "made has 2 images: it is not overwritten" in run("package", "-o", "made").stderr
    (root / "made/index.json").write_bytes(b"{")  # damaged
    assert run("package", "-o", "made").exit_code == 0


def test_a_link_in_the_place_of_a_layout_is_followed(root: Path, run: Run) -> None:
    (root / "link").symlink_to("made")
    assert run("package", "-o", "link").exit_code == 0
    assert (root / "link").is_symlink()
    assert (root / "made/oci-layout").is_file()


def test_a_link_to_itself_in_the_place_of_a_layout_is_an_error(root: Path, run: Run) -> None:
    (root / "loop").symlink_to("loop")
    result = run("package", "-o", "loop")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "TC902" not in result.stderr
    assert sorted(each.name for each in root.glob("*loop*")) == ["loop"]


def test_an_environment_without_jobs_and_several_environments(root: Path, run: Run) -> None:
    (root / "trainc.yaml").write_text("environments: {prod: {}, test: {jobs: [other/*]}}\n", encoding="utf-8")
    result = run("package")
    assert result.exit_code == 2
    assert "--env is required: trainc.yaml has several environments (prod, test)" in result.stderr
    result = run("package", "--env", "test")
    assert result.exit_code == 2
    assert "no TrainJob found for environment test" in result.stderr


def test_the_digest_depends_on_the_files_alone() -> None:
    one, two = (package(files, "latest") for files in ({"a/x": b"1", "b": b"2"}, {"b": b"2", "a/x": b"1"}))
    assert one == two
    assert one[1].digest != package({"a/x": b"1", "b": b"3"}, "latest")[1].digest


@given(st.one_of(st.binary(), st.integers(0, 200_000).map(lambda size: bytes(size % 251 for size in range(size)))))
def test_gzip_without_compression_is_gzip(data: bytes) -> None:
    assert gzip.decompress(b"".join(_gzip(data or b"-"))) == (data or b"-")


@pytest.mark.skipif(SKOPEO is None, reason="skopeo is not installed")
def test_other_tools_read_it(root: Path, run: Run) -> None:
    digest = run("package", "-o", "made", "latest").stdout.strip().rpartition(" ")[2]
    copy = [str(SKOPEO), "copy", "--quiet", "--preserve-digests", "oci:made:latest", "dir:copied"]
    done = subprocess.run(copy, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert blob(root / "made", digest) == (root / "copied" / "manifest.json").read_bytes()


def test_the_image_of_the_tool_has_the_plugin(run: Run) -> None:
    assert run("argocd", "--cmp").stdout == (REPOSITORY / "images/trainc/plugin.yaml").read_text(encoding="utf-8")


def test_indexes_of_indexes_are_verified_once(tmp_path: Path) -> None:
    blobs = [canonical({"manifests": []})]
    for number in range(1200):
        entry: JsonObject = {"mediaType": INDEX, "digest": digest_of(blobs[-1]), "size": len(blobs[-1])}
        blobs.append(canonical({"manifests": [entry, entry], "number": number}))
    write_layout(index_of(blobs[-2], blobs[-1], {"mediaType": INDEX}), blobs, tmp_path / "layout")
    assert verify_layout(tmp_path / "layout")[1] == 1201


def test_a_blob_is_read_once_for_all_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many layers are this blob, manifests have this configuration, and entries of index.json are one image."""
    config, layer = canonical({"rootfs": {"diff_ids": [digest_of(b"layer")] * 50}}), b"layer"
    plain = "application/vnd.oci.image.layer.v1.tar"
    layers: list[Json] = [{"mediaType": plain, "digest": digest_of(layer), "size": len(layer)}] * 50
    of_config: JsonObject = {"digest": digest_of(config), "size": len(config)}
    manifests = [canonical({"config": of_config, "layers": layers, "number": number}) for number in range(20)]
    entries = [{"mediaType": MANIFEST, "digest": digest_of(each), "size": len(each)} for each in manifests]
    write_layout(index_of(config, manifests[0], {}), [layer, *manifests], tmp_path / "layout")
    index = canonical({"manifests": [*entries, *entries]})
    (tmp_path / "layout" / "index.json").write_bytes(index)
    hashed: list[str] = []
    parsed: list[str] = []

    def note_digest(path: Path) -> tuple[str, int]:
        hashed.append(path.name)
        return file_digest(path)

    def note_bytes(path: Path) -> bytes:
        parsed.append(path.name)
        return path.read_bytes()

    monkeypatch.setattr(layouts, "file_digest", note_digest)
    monkeypatch.setattr(layouts, "read_bytes", note_bytes)
    assert verify_layout(tmp_path / "layout")[1] == 22
    assert len(hashed) == len({*hashed}) == 22
    assert len(parsed) == len({*parsed}) == 23  # without the layer, with oci-layout and index.json


def test_the_layout_survives_a_killed_run_and_a_failed_one(tmp_path: Path) -> None:
    """A run that is killed between its two renames leaves the older layout beside the place of the new one."""
    layout, documents = tmp_path / "layout", index_of(b"{}", b"{}", {})
    write_layout(documents, [b"one"], layout)
    layout.rename(tmp_path / ".layout.old")
    with pytest.raises(FileNotFoundError):
        write_layout(documents, [tmp_path / "missing"], layout)
    assert (layout / "blobs" / "sha256" / digest_of(b"one").removeprefix("sha256:")).read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["layout"]


@pytest.mark.parametrize("suffix", ["making", "old"])
def test_a_folder_of_somebody_else_is_not_removed(root: Path, run: Run, suffix: str) -> None:
    """It has the name of what a killed run leaves."""
    other = root / f".made.{suffix}" / "notes.txt"
    other.parent.mkdir()
    other.write_text("mine", encoding="utf-8")
    done = run("package", "-o", "made")
    assert done.exit_code == 2
    assert f".made.{suffix} has notes.txt, which is not part of an image layout: it is not overwritten" in done.stderr
    assert other.read_text(encoding="utf-8") == "mine"
    assert not (root / "made").exists()


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("name", ["made", ".made.making", ".made.old"])
def test_folders_of_somebody_else_are_refused_however_deep_they_are(root: Path, run: Run, name: str) -> None:
    """A pull request may bring more than Python lists or removes."""
    assert run("package", "-o", "made").exit_code == 0
    with deep_folders(root / name, 1200) as deep:
        done = run("package", "-o", "made")
        assert deep.is_dir()
    assert done.exit_code == 2
    assert f"{name} has a, which is not part of an image layout: it is not overwritten" in done.stderr


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("length", [60, 1200])
def test_a_row_of_links_in_the_place_of_a_layout(
    root: Path, tmp_path_factory: pytest.TempPathFactory, run: Run, length: int
) -> None:
    links = tmp_path_factory.mktemp("links")
    for number in range(length):
        (links / f"l{number}").symlink_to(f"l{number + 1}")
    done = run("package", "-o", f"{links}/l0")
    if length > 1000 and sys.version_info < (3, 13):  # Python follows no more
        assert done.exit_code == 2
        assert done.stderr.endswith(f"trainc: error: {links}/l0 leads through too many links\n")
    else:
        assert done.exit_code == 0, done.stderr
        assert (links / f"l{length}" / "oci-layout").is_file()


DESCRIPTOR: JsonObject = {"mediaType": INDEX, "digest": digest_of(b"{}"), "size": 2}


@pytest.mark.parametrize(
    "document",
    [
        [],
        [DESCRIPTOR],
        {},
        "manifests",
        {"manifests": {}},
        {"manifests": [DESCRIPTOR, 1]},
        {"config": DESCRIPTOR},
        {"config": [], "layers": []},
        {"config": DESCRIPTOR, "layers": "x"},
        {"config": DESCRIPTOR, "layers": [], "manifests": []},
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_document_that_is_no_manifest(tmp_path: Path, document: Json, nested: bool) -> None:
    blobs = [json.dumps(document).encode()]
    if nested:
        entry: JsonObject = {"mediaType": INDEX, "digest": digest_of(blobs[0]), "size": len(blobs[0])}
        blobs.append(canonical({"manifests": [entry]}))
    write_layout(index_of(blobs[-1], blobs[-1], {"mediaType": INDEX}), [b"{}", *blobs], tmp_path / "layout")
    with pytest.raises(LayoutError, match=f"{digest_of(blobs[0])} is neither a manifest, .* nor an index"):
        verify_layout(tmp_path / "layout")


def test_an_index_json_with_more_than_mappings(tmp_path: Path) -> None:
    blob = canonical({"manifests": []})
    write_layout(index_of(blob, blob, {"mediaType": INDEX}), [blob], tmp_path / "layout")
    path = tmp_path / "layout" / "index.json"
    found = json.loads(path.read_bytes())
    path.write_text(json.dumps({**found, "manifests": [*found["manifests"], []]}), encoding="utf-8")
    with pytest.raises(LayoutError, match=r"a manifest in index\.json is not a mapping"):
        verify_layout(tmp_path / "layout")
