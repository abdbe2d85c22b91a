"""The images of this repository: definitions, pins, Containerfiles and the lock say the same."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from imagecase import IMAGES, REPOSITORY, inputs_of

from trainc.images.definition import PATH, Inputs
from trainc.images.layout import labels
from trainc.inputs.imagelock import DIGEST
from trainc.inputs.source import Source
from trainc.project.config import parse_lock

FOLDER = REPOSITORY / "images"


@pytest.fixture(params=IMAGES)
def inputs(request: pytest.FixtureRequest) -> Inputs:
    return inputs_of(FOLDER / request.param)


def containerfile(inputs: Inputs) -> str:
    text = (FOLDER / inputs.name / "Containerfile").read_text(encoding="utf-8")
    return re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")


def instructions(inputs: Inputs, name: str) -> list[str]:
    return [line.removeprefix(f"{name} ") for line in containerfile(inputs).splitlines() if line.startswith(f"{name} ")]


def test_these_are_all_images() -> None:
    assert tuple(sorted(path.parent.name for path in FOLDER.glob("*/image.yaml"))) == (*IMAGES, "trainc")


def test_every_image_is_locked() -> None:
    lock, findings = parse_lock(Source("images.lock.yaml", (REPOSITORY / "images.lock.yaml").read_bytes()))
    assert findings == ()
    for name in IMAGES:
        assert DIGEST.fullmatch(lock.digests[inputs_of(FOLDER / name).definition.image])


def test_what_is_asked_for_is_pinned(inputs: Inputs) -> None:
    names = {pin.name for pin in inputs.packages}
    assert set(inputs.definition.packages) | {"libc6", "dpkg", "bash"} <= names
    assert {re.split("[<>=]", wheel)[0] for wheel in inputs.definition.wheels} == {pin.name for pin in inputs.wheels}


def test_pins_are_as_update_writes_them(inputs: Inputs) -> None:
    from trainc.images.definition import PACKAGES, WHEELS, pins_text

    assert (FOLDER / inputs.name / "packages.lock").read_text(encoding="utf-8") == pins_text(inputs.packages, PACKAGES)
    wheels = FOLDER / inputs.name / "wheels.lock"
    assert wheels.exists() is bool(inputs.wheels)
    assert not inputs.wheels or wheels.read_text(encoding="utf-8") == pins_text(inputs.wheels, WHEELS)


def test_the_runtimes_name_them() -> None:
    named = set()
    for path in (REPOSITORY / "runtimes").glob("*.yaml"):
        named |= set(re.findall(r"image: (ghcr\.io/trainc/\S+)", path.read_text(encoding="utf-8")))
    assert named
    assert named <= {inputs_of(FOLDER / name).definition.image for name in IMAGES}


def test_a_containerfile_installs_the_same_packages(inputs: Inputs) -> None:
    (command,) = [part for run in instructions(inputs, "RUN") for part in run.split(";") if "apt-get install" in part]
    words = [word for word in shlex.split(command) if not word.startswith("-") and word not in ("apt-get", "install")]
    assert words == list(inputs.definition.packages)
    assert f"source={inputs.name}/packages.lock" in containerfile(inputs)
    assert ("--require-hashes" in containerfile(inputs)) is bool(inputs.wheels)
    assert (f"source={inputs.name}/wheels.lock" in containerfile(inputs)) is bool(inputs.wheels)


def test_a_containerfile_copies_the_same_files(inputs: Inputs) -> None:
    copied = {tuple(line.split()) for line in instructions(inputs, "COPY")}
    here = FOLDER / inputs.name
    expected = {
        ((here / each.source).resolve().relative_to(FOLDER).as_posix(), each.target) for each in inputs.definition.files
    }
    assert copied == expected
    assert not any(each.executable for each in inputs.definition.files), "COPY would keep the mode of the checkout"
    for link, target in inputs.definition.links.items():
        assert f"ln -s {target} {link}" in containerfile(inputs)
    for folder in inputs.definition.folders:
        assert f"mkdir -p {folder};" in containerfile(inputs)
    user = inputs.definition.user
    assert user is not None
    assert re.search(rf"useradd --uid {user.id} .*'\*' {user.name};", containerfile(inputs))


def test_every_base_is_pinned_by_digest() -> None:
    """A name or tag alone is another image tomorrow. All Containerfiles start from one base."""
    files = [path for path in FOLDER.rglob("*") if re.search(r"(?i)containerfile|dockerfile", path.name)]
    assert {path.parent.name for path in files} == {*IMAGES}
    bases = set()
    for path in files:
        text = path.read_text(encoding="utf-8")
        given = dict(re.findall(r"(?m)^ARG (\w+)=(\S+)$", text))
        for name in re.findall(r"(?mi)^\s*FROM\s+(\S+)", text):
            variable = re.fullmatch(r"\$\{?(\w+)\}?", name)
            bases.add(given[variable[1]] if variable else name)
    (base,) = bases
    assert re.fullmatch(r"debian:bookworm-[0-9]{8}-slim@sha256:[0-9a-f]{64}", base)


def test_a_containerfile_runs_the_same(inputs: Inputs) -> None:
    definition = inputs.definition
    assert [json.loads(text) for text in instructions(inputs, "ENTRYPOINT")] == [list(definition.entrypoint)]
    assert [json.loads(text) for text in instructions(inputs, "CMD")] == [list(definition.command)]
    assert instructions(inputs, "WORKDIR") == [definition.working_directory]
    assert instructions(inputs, "ARG")[1:] == [f"SOURCE_DATE_EPOCH={definition.epoch}"]
    (text,) = instructions(inputs, "LABEL")
    found = dict(word.split("=", 1) for word in shlex.split(text))
    expected = dict(labels(definition))
    del expected["org.opencontainers.image.created"]
    assert found == expected
    assert definition.suite == "bookworm"
    assert not definition.environment
    assert PATH.endswith("/usr/sbin:/usr/bin:/sbin:/bin"), "as the base image has it"


def test_no_image_names_a_package_source() -> None:
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert re.findall(r"https?://", text) == [], path.name


def test_the_program_is_shared() -> None:
    assert {Path(name).name for name in IMAGES if (FOLDER / name / "train.py").exists()} == {"mpi4py"}
