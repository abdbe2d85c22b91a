"""No private key in any byte that trainc writes, nor in any that git holds: searched as text and in base64."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpijob import build

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import JsonObject
from trainc.documents.emit import emit

ROOT = Path(__file__).parents[3]
WORDS = (b"-----BEGIN", b"PRIVATE KEY-----", b"openssh-key-v1\0")
"""What begins and ends keys in PEM, and what the body of OpenSSH's own format begins with."""

EXEMPT = {
    "tests/gitops/keys/test_no_private_key.py",
    "compiler/trainc/findings/secrets.py",
    "tests/checks/test_check_findings.py",
    "tests/cli/test_plaintext.py",
    "tests/errors/TC002-private-key.txt",
    "tests/errors/TC414-import.txt",
    "tests/errors/TC414-patch.txt",
    "tests/errors/TC414-private-key.txt",
}
"""Files that say what is searched for, and inputs that must be refused: beginnings of keys, with made-up bodies."""

LONGEST = 200
"""No key of these files may have more characters of base64 than this: a private key of RSA or OpenSSH has more."""


def aligned(word: bytes) -> Iterator[bytes]:
    """Yield what base64 makes of a word wherever it stands in what is encoded, cut down to what the word decides."""
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + word)
        start = (shift * 8 + 5) // 6
        end = (shift + len(word)) * 8 // 6
        yield encoded[start:end]


ONCE = tuple(marker for word in WORDS for marker in aligned(word))
TWICE = tuple(marker for word in ONCE for marker in aligned(word))
MARKERS = (*WORDS[1:], b"-----BEGIN OPENSSH", b"-----BEGIN EC ", b"-----BEGIN RSA ", *ONCE, *TWICE)


def held(data: bytes) -> list[bytes]:
    """Return the markers of a private key in data, line breaks inside base64 left out of account."""
    joined = data.replace(b"\n", b"").replace(b"\r", b"").replace(b" ", b"")
    return [marker for marker in MARKERS if marker in data or marker in joined]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not installed: ssh-keygen")
@pytest.mark.parametrize("kind", [("ed25519",), ("ecdsa", "-b", "521"), ("rsa", "-m", "PEM"), ("ecdsa", "-m", "PKCS8")])
def test_the_search_finds_every_kind_of_key(tmp_path: Path, kind: tuple[str, ...]) -> None:
    command = ["ssh-keygen", "-q", "-N", "", "-f", str(tmp_path / "key"), "-t", *kind]
    subprocess.run(command, check=True)
    key = (tmp_path / "key").read_bytes()
    for shift in range(3):
        text = b"x" * shift + key
        once = base64.b64encode(text)
        assert held(text)
        assert held(once)
        assert held(base64.b64encode(b"y" * shift + once))
        assert held(b"\n".join(once[at : at + 76] for at in range(0, len(once), 76)))
        assert held(b"  " + text.replace(b"\n", b"\n      "))
    body = b"".join(key.splitlines()[1:-1])
    assert not kind[0].startswith("ed") or held(body), "without its first and last line"
    assert not held((tmp_path / "key.pub").read_bytes())


def test_no_file_of_git_holds_one() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    names = [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    assert sum(name.startswith("out/") for name in names) > 20
    found = {name: markers for name in names if (markers := held((ROOT / name).read_bytes()))}
    assert found.keys() == EXEMPT, found
    for name in EXEMPT:
        assert max(map(len, re.findall(rb"[A-Za-z0-9+/=]+", (ROOT / name).read_bytes()))) < LONGEST, name


def test_nothing_that_is_rendered_holds_one() -> None:
    modes: list[JsonObject | str | None] = [None, "external-secrets", {"mode": "existing", "secret": "mpi-keys"}]
    for mode in modes:
        made = build(mode, fixes=("recommended",))
        assert made.files
        for data in (*made.files.values(), *(emit(one.data).encode() for one in made.objects)):
            assert not held(data)
        assert not [
            one.data for one in made.objects if one.kind == "Secret" and {"data", "stringData"} & one.data.keys()
        ]


def test_jobs_of_this_repository_hold_none() -> None:
    paths = [*sorted(ROOT.glob("jobs/*/*.yaml")), *sorted(ROOT.glob("runtimes/*.yaml"))]
    made = compile([Source(path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in paths], Options())
    assert sum(name.rpartition("/")[2].startswith("secret-") for name in made.files) >= 4
    assert not [name for name, data in made.files.items() if held(data)]
