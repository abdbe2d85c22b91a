"""Real images: built, compared with images.lock.yaml, unpacked and used. Root, mmdebstrap and a network are needed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from imagecase import IMAGES, REPOSITORY, inputs_of, read
from realimages import Real, build_or_repin, unpack, why_not

from trainc.images.layout import verify_layout, write_layout
from trainc.images.rootfs import sources_of
from trainc.inputs.source import Source
from trainc.project.config import parse_lock

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(bool(reason := why_not()), reason=reason or "possible"),
]


@pytest.fixture(scope="session", params=IMAGES)
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Real:
    """An image of this repository."""
    folder = tmp_path_factory.mktemp(request.param)
    built, repinned = build_or_repin(request.param, folder)
    return Real(built, unpack(built, folder / "rootfs"), repinned)


def locked() -> dict[str, str]:
    lock, findings = parse_lock(Source("images.lock.yaml", (REPOSITORY / "images.lock.yaml").read_bytes()))
    assert findings == ()
    return dict(lock.digests)


def test_the_lock_is_what_the_build_makes(image: Real) -> None:
    if image.repinned:
        pytest.skip("pins are gone from the archive, so other packages were built")
    assert locked()[image.built.image] == image.built.digest, (
        "run: make image, then trainc image lock, then make render"
    )


def test_another_folder_host_umask_and_zone_give_the_same_digest(tmp_path: Path) -> None:
    """Without a cache, against the cached build: another folder, host name, umask, time zone, language, time."""
    name = "mpi4py-openmpi5"
    built, repinned = build_or_repin(name, tmp_path)
    folder = tmp_path / "copy" / "deeper"
    shutil.copytree((tmp_path if repinned else REPOSITORY) / "images", folder / "images")
    (folder / "trainc.yaml").write_text("environments: {prod: {}}\n", encoding="utf-8")
    command = [sys.executable, "-m", "trainc", "image", "build", name, "--cache", str(tmp_path / "cache")]
    script = f"hostname elsewhere; umask 077; cd {shlex.quote(str(folder))}; exec {shlex.join(command)}"
    done = subprocess.run(
        ["unshare", "--uts", "sh", "-c", script],
        env={**os.environ, "TZ": "Asia/Kathmandu", "LANG": "tr_TR.UTF-8", "PYTHONPATH": str(REPOSITORY / "compiler")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{built.image}: {built.digest}\n"


def test_skopeo_takes_the_layout_and_finds_damage(image: Real, tmp_path: Path) -> None:
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    layout = tmp_path / "layout"
    write_layout(image.built.documents, image.built.layers, layout)
    names, blobs = verify_layout(layout)
    assert (dict(names), blobs) == ({image.built.image: image.built.digest}, 4)
    source = f"oci:{layout}:{image.built.image.rpartition(':')[2]}"
    inspected = subprocess.run(["skopeo", "inspect", source], capture_output=True, text=True, check=True)
    assert json.loads(inspected.stdout)["Digest"] == image.built.digest
    copy = ["skopeo", "copy", "--quiet", source]
    subprocess.run([*copy, f"dir:{tmp_path / 'copied'}"], check=True, capture_output=True)
    manifest = (tmp_path / "copied" / "manifest.json").read_bytes()
    assert f"sha256:{hashlib.sha256(manifest).hexdigest()}" == image.built.digest
    blob = max((layout / "blobs" / "sha256").iterdir(), key=lambda path: path.stat().st_size)
    with blob.open("r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes((byte[0] ^ 1,)))
    assert subprocess.run([*copy, f"dir:{tmp_path / 'damaged'}"], capture_output=True, check=False).returncode != 0


def test_the_image_of_the_tool_compiles_as_the_user_of_argo_cd(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "compiler"):  # where pins are renewed, images/ is copied
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, tmp_path / name)
    built, repinned = build_or_repin("trainc", tmp_path)
    tool = Real(built, unpack(built, tmp_path / "rootfs"), repinned)
    script = """
        trainc --version; git --version
        cd /tmp && mkdir -p jobs/team
        printf '%s\\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: TrainJob' 'metadata: {name: j}' \
          'spec: {runtimeRef: {name: torch-distributed}}' > jobs/team/j.yaml
        echo 'environments: {prod: {}}' > trainc.yaml
        cd jobs/team
        export ARGOCD_APP_SOURCE_PATH=jobs/team
        setpriv --reuid=999 --regid=999 --clear-groups trainc cmp --quiet
        cat /home/argocd/cmp-server/config/plugin.yaml
    """
    done = tool.run(script)
    assert done.returncode == 0, done.stderr
    assert re.match(r"trainc [0-9.]+ .*\ngit version 2[.]", done.stdout), done.stdout
    assert "kind: JobSet\n" in done.stdout
    assert done.stdout.endswith((REPOSITORY / "images/trainc/plugin.yaml").read_text(encoding="utf-8"))


CHECK_BYTECODE = r"""
import importlib.util, marshal, os, struct, sys
counts, stale = {"hash": 0, "time": 0}, []
for folder, _, files in os.walk("/usr"):
    for name in files:
        if not name.endswith(".pyc"):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            data = file.read(16)
        source = importlib.util.source_from_cache(path)
        with open(source, "rb") as file:
            text = file.read()
        flags, = struct.unpack("<I", data[4:8])
        if data[:4] != importlib.util.MAGIC_NUMBER:
            stale.append(path)
        elif flags & 1:
            counts["hash"] += 1
            stale += [path] if data[8:] != importlib.util.source_hash(text) else []
        else:
            counts["time"] += 1
            status = os.stat(source)
            expected = struct.pack("<II", int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
            stale += [path] if data[8:] != expected else []
print(counts["hash"], counts["time"], *stale)
"""


def test_every_compiled_module_is_valid(image: Real) -> None:
    done = image.run(f"python3 -B -c {shlex.quote(CHECK_BYTECODE)}")
    assert done.returncode == 0, done.stderr
    hashed, _, *stale = done.stdout.split()
    assert stale == []
    assert int(hashed) > 500


def test_nothing_of_the_machine_that_built_it(image: Real) -> None:
    files = {path.relative_to(image.rootfs).as_posix() for path in image.rootfs.rglob("*")}
    unwanted = r"etc/(hostname|resolv\.conf|ssh/ssh_host_.*|apt/sources\.list.*/.+)|var/lib/apt/lists/.+|.*\.deb|dev/.+"
    assert sorted(name for name in files if re.fullmatch(unwanted, name)) == []
    assert (image.rootfs / "etc/machine-id").read_bytes() == b""
    hosts = {match.encode() for text in _sources() for match in re.findall(r"https?://([^/\s:]+)", text)}
    assert hosts, "the package source has a host"
    # Programs of Debian know its own hosts; another one would be that of a mirror.
    hosts = {host for host in hosts if not host.endswith(b"debian.org")}
    for layer in image.built.layers:
        data = layer.read_bytes()
        assert [host for host in hosts if host in data] == []


def _sources() -> list[str]:
    places = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    lines = [path.read_text(errors="replace").splitlines() for path in places if path.is_file()]
    return ["\n".join(line for line in each if not line.startswith("#")) for each in lines]


SSHD = """
export HOME=$(getent passwd $(id -u) | cut -d: -f6)
mkdir -p -m 1777 $HOME/.ssh
ssh-keygen -q -t ed25519 -N '' -f $HOME/.ssh/id_rsa
cp $HOME/.ssh/id_rsa.pub $HOME/.ssh/authorized_keys
/usr/sbin/sshd -De %(options)s -h $HOME/.ssh/id_rsa 2>/dev/null &
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  ssh 127.0.0.1 true 2>/dev/null && break
  sleep 0.3
done
ssh 127.0.0.1 'echo $(id -u) in $(hostname)'
printf '* %%s\\n[*]:2222 %%s\\n' "$(cat $HOME/.ssh/id_rsa.pub)" "$(cat $HOME/.ssh/id_rsa.pub)" > $HOME/.ssh/known_hosts
ssh 127.0.0.1 echo strict
ssh-keygen -q -t ed25519 -N '' -f $HOME/.ssh/other
printf '* %%s\\n[*]:2222 %%s\\n' "$(cat $HOME/.ssh/other.pub)" "$(cat $HOME/.ssh/other.pub)" > $HOME/.ssh/known_hosts
ssh 127.0.0.1 echo impostor || echo refused
"""


@pytest.mark.parametrize(
    ("user", "options"),
    [("root", ""), ("mpiuser", "-p 2222 -o StrictModes=no -o UsePAM=no -o PidFile=none"), ("mpiuser", "-p 2222")],
)
def test_sshd_and_ssh(image: Real, user: str, options: str) -> None:
    script = SSHD % {"options": options}
    clean = (
        "mount -t tmpfs -o mode=0700 tmpfs /root; mount -t tmpfs -o mode=0755,uid=1000,gid=1000 tmpfs /home/mpiuser; "
    )
    switch = "" if user == "root" else "setpriv --reuid 1000 --regid 1000 --clear-groups "
    done = image.run(f"{clean}{switch}sh -eu -c {shlex.quote(script)}")
    number = 0 if user == "root" else 1000
    assert done.stdout.splitlines() == [f"{number} in inside", "strict", "refused"], done.stderr


@pytest.mark.parametrize("user", [0, 1000])
def test_ranks_train(image: Real, user: int) -> None:
    root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; " if user == 0 else ""
    hydra = "mpich" in image.built.image
    options = "" if hydra else "--oversubscribe --mca mpi_yield_when_idle 1"
    command = f"mpirun {options} -n 3 python3 -m mpi4py /opt/trainc/train.py --steps 20 --check"
    script = f"{root}export HOME=/tmp; exec setpriv --reuid {user} --regid {user} --clear-groups {command}"
    done = image.run(script)
    assert done.returncode == 0, done.stderr
    (found,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert (found["ranks"], found["hosts"]) == (3, ["inside"] * 3)
    expected = {"mpi4py": "Open MPI v4.", "mpi4py-mpich": "MPICH Version", "mpi4py-openmpi5": "Open MPI v5."}
    name = image.built.image.rpartition("/")[2].partition(":")[0]
    assert expected[name] in found["mpi"].replace("\t", " ")


def test_the_bill_of_materials_names_every_package(image: Real) -> None:
    sbom = json.loads(read(image.built.layers[1].read_bytes(), "usr/share/trainc/sbom.spdx.json"))
    named = {(one["name"], one["versionInfo"]) for one in sbom["packages"] if one["SPDXID"].startswith("SPDXRef-deb-")}
    done = image.run("dpkg-query -W -f '${Package} ${Version}\\n'")
    assert named == {(line.split()[0], line.split()[1]) for line in done.stdout.splitlines()}
    wheels = {one["name"] for one in sbom["packages"] if one["SPDXID"].startswith("SPDXRef-wheel-")}
    name = image.built.image.rpartition("/")[2].partition(":")[0]
    assert wheels == {pin.name for pin in inputs_of(REPOSITORY / "images" / name).wheels}
    defined = {one["licenseId"] for one in sbom.get("hasExtractedLicensingInfos", [])}
    used = set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", " ".join(one["licenseDeclared"] for one in sbom["packages"])))
    assert used <= defined


def test_a_pin_that_is_gone_is_named_and_renewed(tmp_path: Path) -> None:
    """In a copy of an image: a version that no archive has, found through --mirror with a file, and pinned anew."""
    folder = tmp_path / "copy"
    shutil.copytree(REPOSITORY / "images", folder / "images")
    (folder / "trainc.yaml").write_text("environments: {prod: {}}\n", encoding="utf-8")
    (folder / "all.sources").write_text(sources_of("bookworm"), encoding="utf-8")
    lock = folder / "images" / "mpi4py" / "packages.lock"
    text = lock.read_text(encoding="utf-8")
    (line,) = re.findall(r"(?m)^tini .*$", text)
    lock.write_text(text.replace(line, f"tini 0.0.1-1 {'0' * 64}"), encoding="utf-8")

    def trainc(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trainc", "image", *arguments, "mpi4py", "--mirror", "all.sources"]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "compiler")}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    done = trainc("build")
    assert done.returncode == 1, done.stderr
    assert "error[TC708]: tini 0.0.1-1 is not available\n" in done.stdout
    assert re.search(r"= expected: [0-9.]+-[0-9]", done.stdout), "the available versions"
    assert not (folder / "build" / "images").exists()
    renewed = trainc("update")
    assert renewed.returncode == 0, renewed.stderr
    assert re.search(r"(?m)^mpi4py: ~ tini \S+ \(was 0\.0\.1-1\)$", renewed.stdout)
    assert "0.0.1-1" not in lock.read_text(encoding="utf-8")
