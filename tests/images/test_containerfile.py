"""The Containerfiles, built with buildah on a base image made here: root, mmdebstrap, buildah and a network."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from imagecase import IMAGES, REPOSITORY
from realimages import CACHE, Real, build_or_repin, why_not

from trainc.images.build import build, update
from trainc.images.definition import read_image
from trainc.images.layout import write_layout

pytestmark = [
    pytest.mark.containerfile,
    pytest.mark.skipif(bool(reason := why_not()), reason=reason or "possible"),
    pytest.mark.skipif(shutil.which("buildah") is None, reason="buildah is not installed"),
]

BASE = """\
image: localhost/base:1
suite: bookworm
created: "2026-11-21T00:00:00Z"
packages: [ca-certificates]
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layout of a small Debian, which stands for the registry's."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "image.yaml").write_text(BASE, encoding="utf-8")
    inputs, _ = read_image(folder)
    assert inputs is not None
    update(inputs, CACHE)
    inputs, _ = read_image(folder)
    assert inputs is not None
    built, findings = build(inputs, CACHE)
    assert built is not None, findings
    write_layout(built.documents, built.layers, folder / "layout")
    return folder / "layout"


@pytest.mark.parametrize("name", IMAGES)
def test_a_containerfile(name: str, base: Path, tmp_path: Path) -> None:
    context = REPOSITORY / "images"
    _, repinned = build_or_repin(name, tmp_path)
    if repinned:
        context = tmp_path / "images"
    store = tmp_path / "store"
    buildah = ["buildah", "--root", str(store), "--runroot", str(tmp_path / "run"), "--storage-driver", "vfs"]
    environment = {**os.environ, "BUILDAH_ISOLATION": "chroot"}

    def run(*command: str) -> str:
        done = subprocess.run([*buildah, *command], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    # How apt and pip reach their sources is the machine's matter: neither is in the base image.
    given = [Path("/etc/apt/sources.list.d"), Path("/etc/pip.conf"), Path(os.environ.get("PIP_CERT", "/nowhere"))]
    reach = [f"--volume={place}:{place}:ro" for place in given if place.exists()]
    if "PIP_CERT" in os.environ:
        reach.append(f"--env=PIP_CERT={os.environ['PIP_CERT']}")
    arguments = ["--build-arg", f"BASE_IMAGE=oci:{base}:1", "--timestamp", "1795219200", *reach]
    run(
        "bud",
        "--quiet",
        "--layers=false",
        *arguments,
        "-f",
        str(context / name / "Containerfile"),
        "-t",
        name,
        str(context),
    )
    container = run("from", "--pull-never", f"localhost/{name}").strip()
    rootfs = Path(run("mount", container).strip())
    try:
        config = json.loads(run("inspect", "--type", "image", f"localhost/{name}"))["OCIv1"]["config"]
        assert config["Entrypoint"] == ["/usr/bin/tini", "--"]
        hosts = sorted((rootfs / "etc" / "ssh").glob("ssh_host_*"))
        assert hosts == []
        image = Real(build_or_repin(name, tmp_path)[0], rootfs, repinned)
        flags = "" if "mpich" in name else "--oversubscribe"
        done = image.run(
            "export HOME=/tmp; exec setpriv --reuid 1000 --regid 1000 --clear-groups "
            f"mpirun {flags} -n 2 python3 -m mpi4py /opt/trainc/train.py --steps 5 --check"
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["hosts"] == ["inside", "inside"]
    finally:
        run("umount", container)
        run("rm", container)
