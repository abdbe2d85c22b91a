"""`trainc image lock`: digests given, OCI layouts, what is wrong with them, and the file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from small import Run

from folders import put
from trainc.images.layout import FULL_NAME, REF_NAME
from trainc.inputs.imagelock import key_of
from trainc.inputs.source import Source
from trainc.project.config import parse_lock

ONE = "sha256:" + "1" * 64
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def layout(folder: Path, *references: dict[str, str], **broken: object) -> list[str]:
    """Write a layout with a manifest for each set of annotations; return their digests."""
    manifests, digests = [], []
    for number, named in enumerate(references):
        content = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "number": number}).encode()
        digest = hashlib.sha256(content).hexdigest()
        (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        (folder / "blobs" / "sha256" / digest).write_bytes(content)
        digests.append(f"sha256:{digest}")
        entry = {"mediaType": MANIFEST, "digest": digests[-1], "size": len(content), "annotations": named}
        manifests.append({**entry, **broken})
    put(folder, "oci-layout", '{"imageLayoutVersion": "1.0.0"}')
    put(folder, "index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}))
    return digests


def locked(root: Path) -> dict[str, str]:
    lock, findings = parse_lock(Source("images.lock.yaml", (root / "images.lock.yaml").read_bytes()))
    assert findings == ()
    return dict(lock.digests)


@pytest.mark.parametrize(
    ("image", "key"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3", "docker.io/library/python:3"),
        ("team/x", "docker.io/team/x:latest"),
        ("localhost/x:1", "localhost/x:1"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("ghcr.io/a/b:1@" + ONE, "ghcr.io/a/b:1"),
        ("ghcr.io/a/b@" + ONE, None),
        ("ghcr.io/A/b:1", None),
        ("ghcr.io/a/b:1 ", None),
        ("", None),
    ],
)
def test_what_the_lock_calls_an_image(image: str, key: str | None) -> None:
    assert key_of(image) == key


def test_a_layout_that_names_its_images(repository: Path, run: Run) -> None:
    one, two = layout(
        repository / "layout", {REF_NAME: "ghcr.io/a/b:1"}, {FULL_NAME: "docker.io/library/c:2", REF_NAME: "2"}
    )
    assert run("image", "lock", "layout").exit_code == 0
    assert locked(repository) == {"ghcr.io/a/b:1": one, "docker.io/library/c:2": two}


def test_a_layout_that_is_given_a_name(repository: Path, run: Run) -> None:
    one, two = layout(repository / "layout", {REF_NAME: "1"}, {REF_NAME: "2"})
    assert run("image", "lock", "ghcr.io/a/b:2=layout").exit_code == 0
    assert locked(repository) == {"ghcr.io/a/b:2": two}
    layout(repository / "single", {})
    assert run("image", "lock", "ghcr.io/a/c:9=single").exit_code == 0
    assert locked(repository)["ghcr.io/a/c:9"] == one


def test_the_tag_of_another_image_is_not_the_name(repository: Path, run: Run) -> None:
    """A slip of the pen in NAME must not pin the other image of the layout."""
    layout(repository / "layout", {FULL_NAME: "ghcr.io/a/b:1", REF_NAME: "1"}, {FULL_NAME: "ghcr.io/c/d:2"})
    result = run("image", "lock", "ghcr.io/c/d:1=layout")
    assert result.exit_code == 2
    assert "not exactly one named ghcr.io/c/d:1 or 1" in " ".join(result.stderr.split())
    assert not (repository / "images.lock.yaml").exists()


def test_a_name_in_capitals_is_read_as_it_was_written(repository: Path, run: Run) -> None:
    assert run("image", "lock", f"TEAM/b:1={ONE}").exit_code == 0
    assert locked(repository) == {"TEAM/b:1": ONE}


def test_content_that_is_another_one(repository: Path, run: Run) -> None:
    (digest,) = layout(repository / "layout", {REF_NAME: "ghcr.io/a/b:1"})
    blob = repository / "layout" / "blobs" / "sha256" / digest.removeprefix("sha256:")
    content = blob.read_bytes()
    blob.write_bytes(content.replace(b"0", b"7"))
    result = run("image", "lock", "layout")
    assert result.exit_code == 2
    assert "has another digest: sha256:" in result.stderr.replace("\n", " ")
    blob.write_bytes(content + b" ")
    assert "bytes, and index.json says" in run("image", "lock", "layout").stderr.replace("\n", " ")
    blob.unlink()
    assert "cannot be read" in run("image", "lock", "layout").stderr
    assert not (repository / "images.lock.yaml").exists()


@pytest.mark.parametrize(
    ("references", "broken", "told"),
    [
        (({REF_NAME: "latest"},), {}, "only 'latest'"),
        (({},), {}, "index.json has no name of the image"),
        ((), {}, "has no manifest"),
        (({REF_NAME: "a.io/b:1"}, {REF_NAME: "a.io/b:1"}), {}, "two manifests named a.io/b:1"),
        (({REF_NAME: "a.io/b:1"},), {"digest": "sha512:00"}, "instead of a sha256 digest"),
        (({REF_NAME: "a.io/b:1"},), {"digest": "sha256:../../../x"}, "instead of a sha256 digest"),
        (({REF_NAME: "a.io/b:1"},), {"mediaType": "text/plain"}, "is not an image manifest"),
    ],
)
def test_a_layout_that_cannot_be_used(
    repository: Path, run: Run, references: tuple[dict[str, str], ...], broken: dict[str, object], told: str
) -> None:
    layout(repository / "layout", *references, **broken)
    result = run("image", "lock", "layout")
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize("index", ["[]", "{", "[" * 100000])
def test_an_index_that_is_none(repository: Path, run: Run, index: str) -> None:
    layout(repository / "layout", {REF_NAME: "a.io/b:1"})
    put(repository, "layout/index.json", index)
    assert run("image", "lock", "layout").exit_code == 2


def test_two_images_with_one_name_do_not_replace_each_other(repository: Path, run: Run) -> None:
    definition = "image: ghcr.io/{}/one:1\nsuite: bookworm\ncreated: 2026-01-31T00:00:00Z\npackages: [git]\n"
    for folder in ("a", "b"):
        put(repository, f"{folder}/one/image.yaml", definition.format(folder))  # without pins, nothing is built
    assert run("image", "build", "a/one", "a/../a/one").exit_code == 1
    done = run("image", "build", "a/one", "b/one", "--output", "made")
    assert done.exit_code == 2
    assert "one: made/one is for " in done.stderr
    assert "build b/one with another --output" in done.stderr.replace(f"{repository}/", "")


def test_render_pins(repository: Path, run: Run) -> None:
    made = repository / "out/prod/a/one/jobset-one.yaml"
    assert run("render").exit_code == 0
    image = next(line.split()[-1] for line in made.read_text().splitlines() if "image:" in line)
    assert run("image", "lock", f"{image}={ONE}").exit_code == 0
    assert run("render", "--check").exit_code == 3
    assert run("render").exit_code == 0
    assert f"image: {image}@{ONE}\n" in made.read_text()
    assert f"image: {image}\n" in run("build", "--faithful", "runtimes", "jobs/a/one.yaml").stdout
