"""Layers: the same content, the same bytes, and nothing that a build leaves behind."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imagecase import EPOCH, STATUS, SYSTEM_FILES, Member, members, read, tar_of

from trainc.images.layers import Entry, Facts, is_left_over, system_layer, upper_layer


def normal(files: Mapping[str, Member], **more: object) -> tuple[bytes, Facts]:
    out = io.BytesIO()
    facts = system_layer(io.BytesIO(tar_of(files, **more)), out, EPOCH)
    return out.getvalue(), facts


def test_order_times_and_owners_names_do_not_matter() -> None:
    one, _ = normal(SYSTEM_FILES, mtime=1, uname="root", gname="root")
    other, _ = normal(dict(reversed(SYSTEM_FILES.items())), mtime=1_790_000_000, uname="admin")
    assert one == other
    found = members(one)
    assert list(found) == sorted(found)
    assert {(member.mtime, member.uname, member.gname) for member in found.values()} == {(EPOCH, "", "")}


@given(st.permutations(list(SYSTEM_FILES)), st.integers(0, 2**31))
def test_any_order_gives_the_same_bytes(names: list[str], mtime: int) -> None:
    assert normal({name: SYSTEM_FILES[name] for name in names}, mtime=mtime)[0] == normal(SYSTEM_FILES)[0]


def test_what_differs_from_build_to_build_is_gone() -> None:
    layer, _ = normal(SYSTEM_FILES)
    found = members(layer)
    assert read(layer, "etc/machine-id") == b""
    assert found["etc/machine-id"].mode == 0o444
    for gone in ("etc/hostname", "etc/ssh/ssh_host_rsa_key", "var/log/dpkg.log", "run/lock"):
        assert gone not in found
    assert b"mirror.example" not in layer
    day = str(EPOCH // 86400).encode()
    assert read(layer, "etc/shadow") == b"root:*:" + day + b":0:99999:7:::\nuser:*:" + day + b":0:99999:7:::\n"


@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("etc/resolv.conf", True),
        ("etc/ssh/ssh_host_ed25519_key.pub", True),
        ("etc/ssh/sshd_config", False),
        ("etc/passwd-", True),
        ("etc/passwd", False),
        ("dev/null", True),
        ("dev", False),
        ("run", False),
        ("run/sshd", True),
        ("var/lib/apt/lists/x_Packages", True),
        ("var/lib/apt/extended_states", False),
        ("var/lib/dpkg/status-old", True),
        ("var/lib/dpkg/status", False),
        ("var/cache/ldconfig/aux-cache", True),
        ("etc/ld.so.cache", False),
        ("var/log/apt/", False),
        ("var/log/apt/history.log", True),
        ("var/log/nginx/", False),
        ("var/log/runit/", False),
        ("var/log/runit/ssh/", True),
        ("etc/apt/preferences.d/pins", True),
        ("etc/apt/apt.conf.d/99mmdebstrap", True),
        ("etc/apt/apt.conf.d/01autoremove", False),
        ("usr/share/doc/run/x", False),
    ],
)
def test_what_is_dropped(name: str, dropped: bool) -> None:
    """A name that ends with a slash is that of a folder."""
    member = tarfile.TarInfo(name.rstrip("/"))
    member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
    assert is_left_over(member.name, member) is dropped


def test_a_hard_link_follows_the_first_of_its_names() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in SYSTEM_FILES.items():
            if isinstance(content, bytes):
                header = tarfile.TarInfo(name)
                header.size = len(content)
                tar.addfile(header, io.BytesIO(content))
        for name, target in (("usr/bin/zz", "usr/bin/bash"), ("usr/bin/aa", "usr/bin/bash")):
            header = tarfile.TarInfo(name)
            header.type, header.linkname = tarfile.LNKTYPE, target
            tar.addfile(header)
    out.seek(0)
    made = io.BytesIO()
    system_layer(out, made, EPOCH)
    found = members(made.getvalue())
    assert found["usr/bin/aa"].isreg()
    assert [found[name].linkname for name in ("usr/bin/bash", "usr/bin/zz")] == ["usr/bin/aa"] * 2
    assert read(made.getvalue(), "usr/bin/zz") == b"#!"


def test_a_hard_link_of_a_symbolic_link_and_a_device_stay_what_they_are() -> None:
    out = io.BytesIO(tar_of(SYSTEM_FILES))
    with tarfile.open(fileobj=out, mode="a") as tar:
        for name, kind, target in (("usr/aa", tarfile.LNKTYPE, "bin"), ("opt/null", tarfile.CHRTYPE, "")):
            header = tarfile.TarInfo(name)
            header.type, header.linkname, header.devmajor, header.devminor = kind, target, 1, 3
            tar.addfile(header)
    out.seek(0)
    made = io.BytesIO()
    facts = system_layer(out, made, EPOCH)
    found = members(made.getvalue())
    assert (found["usr/aa"].issym(), found["usr/aa"].linkname, facts.links["usr/aa"]) == (True, "usr/bin", "usr/bin")
    assert (found["opt/null"].ischr(), found["opt/null"].devmajor, found["opt/null"].devminor) == (True, 1, 3)


def test_modes_owners_and_attributes_stay() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        header = tarfile.TarInfo("var/lib/dpkg/status")
        header.mode, header.uid, header.gid, header.size = 0o4750, 6, 42, len(STATUS)
        header.pax_headers = {"SCHILY.xattr.security.capability": "x", "SCHILY.xattr.a": "y", "mtime": "1.5"}
        tar.addfile(header, io.BytesIO(STATUS.encode()))
    out.seek(0)
    made = io.BytesIO()
    system_layer(out, made, EPOCH)
    found = members(made.getvalue())["var/lib/dpkg/status"]
    assert (found.mode, found.uid, found.gid, found.mtime) == (0o4750, 6, 42, EPOCH)
    assert dict(found.pax_headers) == {"SCHILY.xattr.security.capability": "x", "SCHILY.xattr.a": "y"}


def test_compiled_modules_that_hold_a_time_are_left_out() -> None:
    modules = {
        "usr/lib/__pycache__/a.cpython-311.pyc": b"\xa7\r\r\n\0\0\0\0" + b"time" * 2,
        "usr/lib/__pycache__/b.cpython-311.pyc": b"\xa7\r\r\n\3\0\0\0" + b"hash" * 2,
        "usr/lib/__pycache__/c.pyc": b"",
        "usr/lib/d.pyc": b"\xa7\r\r\n\0\0\0\0" + b"time" * 2,  # a module without a source
    }
    found = members(normal({**SYSTEM_FILES, **modules})[0])
    assert [name for name in modules if name in found] == ["usr/lib/__pycache__/b.cpython-311.pyc", "usr/lib/d.pyc"]


def test_facts() -> None:
    _, facts = normal(SYSTEM_FILES)
    assert facts.status == STATUS
    assert {"etc/ssh", "home", "opt", "usr/share"} <= facts.directories
    assert facts.links["bin"] == "usr/bin"
    assert facts.copyrights["zlib1g"] == facts.copyrights["bash"], "the folder is a link"
    assert list(facts.wheels) == ["numpy-1"]


def test_what_is_no_system() -> None:
    with pytest.raises(tarfile.TarError):
        system_layer(io.BytesIO(b"no tar at all"), io.BytesIO(), EPOCH)
    with pytest.raises(KeyError):
        normal({"etc": None})


def test_an_upper_layer_has_the_folders_that_the_system_lacks() -> None:
    facts = Facts("", frozenset(("opt", "usr", "usr/bin")), {"bin": "usr/bin"})
    entries = [
        Entry("opt/a/b.py", b"b", 0o755),
        Entry("opt/a/c", link="b.py"),
        Entry("run/sshd", folder=True),
        Entry("usr/bin/x", b""),
    ]
    layer = upper_layer(entries, facts, EPOCH)
    assert layer == upper_layer(reversed(entries), facts, EPOCH)
    found = members(layer)
    assert list(found) == ["opt/a", "opt/a/b.py", "opt/a/c", "run", "run/sshd", "usr/bin/x"]
    assert [found[name].isdir() for name in ("opt/a", "run", "run/sshd")] == [True] * 3
    assert (found["opt/a/b.py"].mode, read(layer, "opt/a/b.py")) == (0o755, b"b")
    assert (found["opt/a/c"].issym(), found["opt/a/c"].linkname) == (True, "b.py")
    assert {member.mtime for member in found.values()} == {EPOCH}


def test_an_upper_layer_replaces_no_link() -> None:
    with pytest.raises(ValueError, match=r"/bin/x is below the symbolic link /bin: use /usr/bin instead"):
        upper_layer([Entry("bin/x")], Facts("", links={"bin": "usr/bin"}), EPOCH)
    with pytest.raises(ValueError, match=r"/bin would replace what has this name in the image"):
        upper_layer([Entry("bin", folder=True)], Facts("", links={"bin": "usr/bin"}), EPOCH)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([Entry("opt/a", b"1"), Entry("opt/a/b")], "/opt/a/b is below /opt/a, which is not a folder"),
        ([Entry("opt/a", link="/etc"), Entry("opt/a/b")], "/opt/a/b is below /opt/a, which is not a folder"),
        ([Entry("opt/a", b"1"), Entry("opt/a", b"2")], "/opt/a would replace what has this name in the image"),
        ([Entry("usr/bin", b"1")], "/usr/bin would replace what has this name in the image"),
    ],
)
def test_an_upper_layer_loses_nothing(entries: list[Entry], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        upper_layer(entries, Facts("", frozenset(("opt", "usr", "usr/bin"))), EPOCH)
