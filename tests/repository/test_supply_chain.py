"""What is installed, here and by users: with hashes, under licences that are allowed, and listed in each release."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from functools import cache
from importlib.metadata import distribution, distributions, metadata, requires
from pathlib import Path
from types import ModuleType
from typing import cast

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from trainc import __version__
from trainc.images.sbom import wheel_license

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "runtime.lock", ".ci/detect-secrets.txt", ".ci/pip-audit.txt")
ALLOWED = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "PSF-2.0"}
"""Licences under which trainc can be used and passed on in companies without more than a notice."""

SCRIPTS = (
    "Makefile",
    "action.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "docs/argocd.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / ".ci").iterdir())),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / ".github/workflows").iterdir())),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "ci").rglob("*.yml"))),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "images").rglob("Containerfile"))),
    *(
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "compiler/trainc/data/templates/init").rglob("*.j2"))
    ),
)
INSTALLS = re.compile(
    r"\bpip3?\b[^\n#;]*\binstall\b|\$\(PIP\) install|\$\{install\[@\]\}"
    r"|\bgo (?:run|install) [^\s;]*@|\b(?:npm|curl|wget|gem) "
)
CHECKED = ("--require-hashes", "--no-deps --no-build-isolation", "--no-build-isolation --no-deps", "install=(")
"""What an installation has: hashes, or nothing but this repository; action.yml names the beginning of its commands."""


def blocks(name: str) -> dict[str, str]:
    """Return the lines of each requirement of a lock, by its name."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / name).read_text(encoding="utf-8"))
    return {found[1]: found[0] for found in re.finditer(r"(?m)^([a-z0-9-]+)==.*\n(?: .*\n)*", text)}


def needed(name: str, *, everywhere: bool) -> Iterator[str]:
    """Yield the packages that a package needs without extras: on this Python, or ``everywhere``."""
    for text in requires(name) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or (marker.evaluate({"extra": ""}) if not everywhere else "extra" not in str(marker)):
            yield canonicalize_name(requirement.name)


def closure(*, everywhere: bool) -> set[str]:
    """Return all packages that trainc needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [canonicalize_name(Requirement(text).name) for text in project["dependencies"]]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [] if everywhere and name not in installed() else needed(name, everywhere=everywhere)
    return found


@cache
def installed() -> frozenset[str]:
    return frozenset(canonicalize_name(each.metadata["Name"]) for each in distributions())


@cache
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_tool", ROOT / "compiler/tools/release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins() -> list[tuple[str, str]]:
    """Return the packages of users and their versions, without those that build the action's own commit."""
    text = (ROOT / "runtime.lock").read_text(encoding="utf-8")
    found: list[tuple[str, str]] = tool().pins(text.partition(tool().BACKEND)[0])
    return found


def test_every_pin_has_hashes() -> None:
    for name in LOCKS:
        found = blocks(name)
        assert len(found) >= 7, name
        assert [each for each, text in found.items() if not re.search(r"--hash=sha256:[0-9a-f]{64}", text)] == [], name
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        rest = [line for line in lines if line and not line.startswith(("#", "    --hash=sha256:"))]
        assert len(rest) == len(found), f"{name}: a line that is no pin"


def test_users_get_what_is_tested_and_nothing_more() -> None:
    tested, used = blocks("requirements.lock"), blocks("runtime.lock")
    assert {name: text for name, text in used.items() if tested.get(name) != text} == {}
    names = {name for name, _ in pins()}
    assert set(used) - names == {"setuptools"}, "which builds the action's own commit"
    assert closure(everywhere=False) <= names <= closure(everywhere=True)


def test_nothing_is_installed_without_a_hash() -> None:
    commands = []
    for name in SCRIPTS:
        text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
        commands += [
            (name, line.strip())
            for line in text.splitlines()
            if INSTALLS.search(line) and not line.strip().startswith("#")
        ]
    assert len(commands) >= 10
    unchecked = [(name, line) for name, line in commands if not any(each in " ".join(line.split()) for each in CHECKED)]
    assert unchecked == []


def test_licences() -> None:
    stated = {name: tool().software(name, version).license for name, version in pins() if name in installed()}
    assert len(stated) >= 18
    assert {name: text for name, text in stated.items() if not set(re.split(r" (?:AND|OR) ", text)) <= ALLOWED} == {}
    for name, identifier in tool().LICENSES.items():
        assert wheel_license(cast(Message, metadata(name)))[0] not in ALLOWED, f"{name} states its licence by now"
        (text,) = (file.read_text() for file in distribution(name).files or () if file.name == "LICENSE")
        begins = {"Apache-2.0": "Apache License Version 2.0", "MIT": "Permission is hereby granted, free of charge"}
        assert begins[identifier] in " ".join(text.split()), name


def test_a_release_lists_what_it_needs(tmp_path: Path) -> None:
    wheel, sdist = tmp_path / "trainc.whl", tmp_path / "trainc.tar.gz"
    sdist.write_bytes(b"sdist")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(zipfile.ZipInfo("trainc/x.py", (2026, 1, 31, 12, 0, 2)), b"")
    lock = (ROOT / "runtime.lock").read_text(encoding="utf-8")
    lines = tool().requirements([wheel, sdist], lock).splitlines()
    assert lines[1] == f"trainc=={__version__} \\"
    hashes = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, sdist))
    assert [line.strip(" \\") for line in lines[2:4]] == [f"--hash=sha256:{digest}" for digest in hashes]
    assert "setuptools" not in "\n".join(lines)
    bill = json.loads(tool().bill(wheel, lock))
    assert bill["creationInfo"]["created"] == "2026-01-31T12:00:02Z"
    packages = {package["name"]: package for package in bill["packages"]}
    assert set(packages) == {"trainc", *blocks("runtime.lock")} - {"setuptools"}
    assert {package["licenseDeclared"] for package in packages.values()} <= ALLOWED
    related = {(each["spdxElementId"], each["relationshipType"]) for each in bill["relationships"]}
    assert related == {("SPDXRef-DOCUMENT", "DESCRIBES"), ("SPDXRef-wheel-trainc", "DEPENDS_ON")}
    assert tool().bill(wheel, lock) == tool().bill(wheel, lock)


PINNED = re.compile(
    r"@[0-9a-f]{40} # v|(?:@|: )sha256:[0-9a-f]{64}|^[a-z0-9-]+==\S+ (?:\\$|--hash)|^\s+\S+ v\d+\.\d+\.\d+", re.M
)
BY_HAND = {
    "images.lock.yaml": "trainc image lock",
    **{
        f"tests/oracle/operators/trainer/{release}.mod": "an old release of Trainer, for the jobs that import reads"
        for release in ("v2.0", "v2.2")
    },
    **{f"images/{name}/wheels.lock": "trainc image update" for name in ("mpi4py-mpich", "mpi4py-openmpi5", "trainc")},
}
"""Files with pins that no bot changes, and what does, or why nothing should."""


def test_a_bot_keeps_every_pin_fresh() -> None:
    config = json.loads((ROOT / "renovate.json").read_text(encoding="utf-8"))
    managers = [config.get(name, {}) for name in config["enabledManagers"] if name != "custom.regex"]
    patterns = [each for one in (*managers, *config["customManagers"]) for each in one.get("managerFilePatterns", ())]
    patterns += [r"/(^|/)go\.mod$/", r"/(^|/)pyproject\.toml$/"]  # those of gomod and pep621 by default
    assert all(each[0] == each[-1] == "/" for each in patterns)
    folders = (".ci", ".github", "ci", "images", "compiler/trainc/data/templates/init", "tests/oracle")
    files = [*(path for path in ROOT.iterdir() if path.is_file()), *(p for f in folders for p in (ROOT / f).rglob("*"))]
    pinned = set()
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        kinds = (".lock", ".txt", ".mod", ".yml", ".yaml", ".j2", "Containerfile")
        if not path.is_file() or not name.endswith(kinds) or "/cases/" in name or "/goldens/" in name:
            continue
        if PINNED.search(path.read_text(encoding="utf-8")):
            pinned.add(name)
    assert {*LOCKS, "action.yml", ".ci/go.mod", "tests/oracle/go.mod", *BY_HAND} <= pinned
    assert {name for name in pinned if not any(re.search(each[1:-1], name) for each in patterns)} == set(BY_HAND)
