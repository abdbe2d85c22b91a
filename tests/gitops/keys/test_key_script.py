"""The script that fills the Secret, run as a process against an API server that enforces the Role that trainc emits."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakeapi import FakeApi, Reply, certificates, missing_tools, ok, serving, status
from mpijob import build

from builders import the
from effort import some
from trainc.basics.jsonvalues import get

NAMESPACE, SECRET = "team", "job-mpi-ssh-auth"
TOKEN = "token-of-team-job-mpi-ssh-keys"
BUILD = build()
KEYS = ("ssh-privatekey", "ssh-publickey", "known_hosts")

pytestmark = pytest.mark.skipif(bool(missing_tools()), reason=f"not installed: {' and '.join(missing_tools())}")


@dataclass
class Pod:
    """A pod of the key Job: what is mounted lies in a folder, the rest is as emitted."""

    api: FakeApi
    folder: Path
    port: int

    def command(self, *more: str) -> list[str]:
        """Return the emitted command line with the mounts' paths replaced."""
        container = get(the(BUILD, "Job"), "spec", "template", "spec", "containers", 0)
        command, args = get(container, "command"), get(container, "args")
        assert isinstance(command, list)
        assert isinstance(args, list)
        script = str(command[-1]).replace("/etc/mpi-ssh-keys", str(self.folder / "script"))
        assert command[0] == "python3"
        return [sys.executable, *map(str, command[1:-1]), script, *map(str, args), *more]

    def environment(self, **changed: str) -> dict[str, str]:
        (self.folder / "tmp").mkdir(exist_ok=True)
        host = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}
        return {"PATH": os.environ["PATH"], "TMPDIR": str(self.folder / "tmp"), **host, **changed}

    def start(self, *more: str, limit: str = "20", pause: str = "0.01", **changed: str) -> subprocess.Popen[str]:
        options = (f"--credentials={self.folder / 'account'}", f"--limit={limit}", f"--pause={pause}", *more)
        return subprocess.Popen(
            self.command(*options),
            env=self.environment(**changed),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *more: str, **changed: str) -> tuple[int, str]:
        """Run to the end; return the exit status and the whole log, in which no key is."""
        return self.finish(self.start(*more, **changed))

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        log = out + err
        assert "Traceback" not in log
        assert TOKEN not in log
        assert not leaks(log, self.data)
        assert list((self.folder / "tmp").iterdir()) == [], "a folder with keys was left behind"
        return process.returncode, log

    @property
    def secret(self) -> dict[str, Any]:
        return self.api.secret(NAMESPACE, SECRET)

    @property
    def data(self) -> dict[str, str]:
        """What the Secret holds, decoded."""
        found = self.secret.get("data", {})
        return {key: base64.b64decode(value).decode() for key, value in found.items()}


def leaks(log: str, data: dict[str, str]) -> bool:
    """Tell whether a log holds a part of the private key, as text or in base64."""
    private = data.get("ssh-privatekey", "")
    parts = [*private.split("\n"), base64.b64encode(private.encode()).decode()]
    pieces = {part[at : at + 16] for part in parts for at in range(max(len(part) - 15, 0))}
    return "PRIVATE KEY" in log or any(piece in log for piece in pieces)


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    certificates(folder)
    return folder


@pytest.fixture
def pod(tmp_path: Path, certified: Path) -> Iterator[Pod]:
    api = FakeApi()
    api.apply([made.data for made in BUILD.objects])
    account = tmp_path / "account"
    account.mkdir()
    for name, text in (("token", TOKEN), ("namespace", NAMESPACE), ("ca.crt", (certified / "ca.crt").read_text())):
        (account / name).write_text(text, encoding="ascii")
    (tmp_path / "script").mkdir()
    (script,) = [
        made.data["data"] for made in BUILD.objects if "mpi-ssh-keys" in made.name and made.kind == "ConfigMap"
    ]
    assert isinstance(script, dict)
    for name, text in script.items():
        (tmp_path / "script" / name).write_text(str(text), encoding="utf-8")
    with serving(api, certified) as port:
        yield Pod(api, tmp_path, port)


def keygen(*arguments: str) -> str:
    return subprocess.run(["ssh-keygen", *arguments], check=True, capture_output=True, text=True).stdout


def is_pair(pod: Pod) -> bool:
    """Tell whether the Secret's keys are a pair, and its hosts those of the public key."""
    assert set(pod.data) == set(KEYS)
    for name, text in pod.data.items():
        path = pod.folder / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="ascii")
    public = keygen("-y", "-f", str(pod.folder / "ssh-privatekey")).split()[:2]
    hosts = [
        keygen("-F", host, "-f", str(pod.folder / "known_hosts")).splitlines()[1].split()[1:]
        for host in ("job-node-0-0.job", "[job-node-0-0.job]:2222")
    ]
    return [public, public] == hosts and pod.data["ssh-publickey"].split() == public


def test_the_role_that_is_emitted_is_enough_and_no_more(pod: Pod, certified: Path) -> None:
    context = ssl.create_default_context(cafile=str(certified / "ca.crt"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the authority has no extensions, as those of many clusters
    base = f"/api/v1/namespaces/{NAMESPACE}/secrets"

    def ask(method: str, path: str, token: str = TOKEN) -> int:
        connection = http.client.HTTPSConnection("127.0.0.1", pod.port, context=context, timeout=10)
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"})
        code = connection.getresponse().status
        connection.close()
        return code

    assert ask("GET", f"{base}/{SECRET}") == 200
    refused = [("GET", base), ("GET", f"{base}/other"), ("DELETE", f"{base}/{SECRET}"), ("PUT", f"{base}/{SECRET}")]
    refused += [("POST", base), ("GET", f"/api/v1/namespaces/other/secrets/{SECRET}")]
    refused += [("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{SECRET}"), ("PATCH", f"{base}/other")]
    assert [ask(*request) for request in refused] == [403] * len(refused)
    assert ask("GET", f"{base}/{SECRET}", "another") == 401


def test_an_empty_secret_is_filled_once(pod: Pod) -> None:
    code, log = pod.run()
    assert code == 0, log
    assert is_pair(pod)
    assert pod.secret["immutable"] is True
    assert pod.secret["type"] == "Opaque"
    assert "OPENSSH PRIVATE KEY" in pod.data["ssh-privatekey"]
    assert pod.data["ssh-publickey"].startswith("ssh-ed25519 ")
    shown = keygen("-l", "-f", str(pod.folder / "ssh-publickey")).split()[1]
    assert log == f"Secret {SECRET} has got its keys, {shown}\n"
    before = dict(pod.data)
    assert pod.run() == (0, f"Secret {SECRET} has its keys: nothing to do\n")
    assert pod.data == before
    assert pod.api.asked == [("GET", 200), ("PATCH", 200), ("GET", 200)]


def test_a_secret_that_is_not_synced_yet_is_waited_for(pod: Pod) -> None:
    (empty,) = [made.data for made in BUILD.objects if made.kind == "Secret"]
    pod.api.objects.remove("Secret", NAMESPACE, SECRET)
    process = pod.start()
    while ("GET", 404) not in pod.api.asked:
        assert process.poll() is None
        time.sleep(0.01)
    pod.api.apply([empty])
    code, log = pod.finish(process)
    assert code == 0, log
    assert is_pair(pod)
    assert f"Secret {SECRET} is not there yet; trying again in 0.01 s" in log


def test_a_secret_that_never_comes(pod: Pod) -> None:
    pod.api.objects.remove("Secret", NAMESPACE, SECRET)
    code, log = pod.run(limit="0.3")
    assert code == 1
    assert log.endswith(f"error: gave up after 0.3 s: Secret {SECRET} is not there yet\n")


def test_a_conflict_is_read_again(pod: Pod) -> None:
    def somebody_else(api: FakeApi, method: str, body: bytes) -> None:
        assert method == "PATCH"
        api.objects.merge("Secret", NAMESPACE, SECRET, {"metadata": {"labels": {"by": "somebody-else"}}})

    pod.api.faults = [lambda *_: None, somebody_else]
    code, log = pod.run()
    assert code == 0, log
    assert is_pair(pod)
    assert pod.api.asked == [("GET", 200), ("PATCH", 409), ("GET", 200), ("PATCH", 200)]


def test_two_at_once(pod: Pod) -> None:
    both = threading.Barrier(2, timeout=25)  # the script waits no longer for an answer

    def together(api: FakeApi, method: str, body: bytes) -> Reply:
        """Answer both with the empty Secret, before either has sent its pair."""
        reply = ok(api.secret(NAMESPACE, SECRET))
        both.wait()
        return reply

    pod.api.faults = [together, together]
    processes = pod.start(limit="60"), pod.start(limit="60")
    for process in processes:
        process.wait(timeout=60)  # finish() would find the folder of the other one
    results = [pod.finish(process) for process in processes]
    assert [code for code, _ in results] == [0, 0]
    assert is_pair(pod)
    fingerprint = keygen("-l", "-f", str(pod.folder / "ssh-publickey")).split()[1]
    winners = [log for _, log in results if f"has got its keys, {fingerprint}" in log]
    losers = [log for _, log in results if log.endswith(f"Secret {SECRET} has its keys: nothing to do\n")]
    assert (len(winners), len(losers)) == (1, 1)
    assert Counter(pod.api.asked) == {("GET", 200): 3, ("PATCH", 200): 1, ("PATCH", 409): 1}


@pytest.mark.parametrize("verb", ["get", "patch"])
def test_what_the_role_lacks_is_said(pod: Pod, verb: str) -> None:
    for role in pod.api.objects.list("Role"):
        role["rules"][0]["verbs"].remove(verb)
    code, log = pod.run()
    assert code == 1
    assert pod.data == {}
    user = "system:serviceaccount:team:job-mpi-ssh-keys"
    assert f'error: not allowed: secrets "{SECRET}" is forbidden: User "{user}" cannot {verb} resource "secrets"' in log
    assert f"The Role beside this Job lets it get and patch Secret {SECRET}." in log
    assert pod.api.asked[-1][1] == 403


def always(reply: Reply) -> Callable[[FakeApi, str, bytes], Reply]:
    return lambda *_: reply


CUT = Reply(200, b'{"kind": "Secret", "metadata": {"resourceV', announced=900)


PASSING = [
    (status(500, "etcdserver: leader changed"), "the API server answers 500: etcdserver: leader changed"),
    (status(503, "apiserver is shutting down"), "the API server answers 503: apiserver is shutting down"),
    (status(401, "Unauthorized"), "the API server answers 401: Unauthorized"),
    (Reply(502, b"<html>bad gateway</html>"), "the API server answers 502: (without a message)"),
    (CUT, "no answer from the API server: the answer is cut off"),
    (Reply(200, b"gibberish"), "no answer from the API server: the answer is not JSON"),
    (Reply(200, b'["a list"]'), "no answer from the API server: the answer is not JSON"),
]


@pytest.mark.parametrize(
    ("reply", "said", "request_number"), some([(*each, number) for each in PASSING for number in (0, 1)], 3)
)
def test_what_passes_is_tried_again(pod: Pod, reply: Reply, said: str, request_number: int) -> None:
    nothing: list[Any] = [lambda *_: None] * request_number
    pod.api.faults = [*nothing, always(reply), always(reply)]
    if request_number:
        pod.api.faults.insert(2, lambda *_: None)
    code, log = pod.run()
    assert code == 0, log
    assert is_pair(pod)
    assert log.count(f"{said}; trying again in ") == 2


def test_an_answer_lost_after_the_keys_were_stored(pod: Pod) -> None:
    def stored_but_cut(api: FakeApi, method: str, body: bytes) -> Reply:
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/merge-patch+json"}
        assert api.serve(method, f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}", headers, body).status == 200
        return CUT

    pod.api.faults = [lambda *_: None, stored_but_cut]
    code, log = pod.run()
    assert code == 0, log
    assert is_pair(pod)
    assert log.endswith("has its keys: nothing to do\n")


@pytest.mark.parametrize("header", ["1", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"])
def test_too_many_requests(pod: Pod, header: str) -> None:
    pod.api.faults = [always(status(429, "too many requests", Retry_After=header))]
    code, log = pod.run()
    assert code == 0, log
    wait = "1" if header == "1" else "0.01"
    assert f"the API server answers 429: too many requests; trying again in {wait} s\n" in log


def test_a_longer_wait_than_the_limit_ends_at_once(pod: Pod) -> None:
    pod.api.faults = [always(status(429, "too many requests", Retry_After="3600"))]
    code, log = pod.run()
    assert (code, log) == (1, "error: gave up after 20 s: the API server answers 429: too many requests\n")


@pytest.mark.parametrize("code", [400, 415, 422])
def test_what_never_passes_ends_at_once_and_quotes_no_key(pod: Pod, code: int) -> None:
    def quoting(api: FakeApi, method: str, body: bytes) -> Reply:
        value = json.loads(body)["data"]["ssh-privatekey"]
        api.secret(NAMESPACE, SECRET)["data"] = {"ssh-privatekey": value}  # so that the log is searched for it
        return status(code, f"Secret is invalid: data: Invalid value: {value[20:60]}")

    pod.api.faults = [lambda *_: None, quoting]
    found, log = pod.run()
    assert (found, log) == (1, f"error: the API server answers {code}: (its message quotes the key and is not shown)\n")


def test_a_policy_that_denies_is_quoted(pod: Pod) -> None:
    pod.api.faults = [lambda *_: None, always(status(422, "ValidatingAdmissionPolicy 'p' denied request: no"))]
    assert pod.run() == (1, "error: the API server answers 422: ValidatingAdmissionPolicy 'p' denied request: no\n")


def test_keys_that_are_there_stay(pod: Pod) -> None:
    pod.secret["data"] = {key: base64.b64encode(key.encode()).decode() for key in KEYS}
    assert pod.run() == (0, f"Secret {SECRET} has its keys: nothing to do\n")
    assert pod.data == {key: key for key in KEYS}
    assert pod.api.asked == [("GET", 200)]


def test_a_pair_without_hosts_gets_them(pod: Pod) -> None:
    keygen("-q", "-t", "ed25519", "-N", "", "-C", "me@here", "-f", str(pod.folder / "own"))
    pair = {"ssh-privatekey": (pod.folder / "own").read_bytes(), "ssh-publickey": (pod.folder / "own.pub").read_bytes()}
    pod.secret["data"] = {key: base64.b64encode(value).decode() for key, value in pair.items()}
    assert pod.run() == (0, f"Secret {SECRET} has got its known_hosts\n")
    assert pod.data["ssh-privatekey"].encode() == pair["ssh-privatekey"]
    assert "me@here" not in pod.data["known_hosts"]
    assert [line.split()[0] for line in pod.data["known_hosts"].splitlines()] == ["*", "[*]:*"]


@pytest.mark.parametrize(
    ("data", "immutable", "said"),
    [
        (["ssh-privatekey"], False, "has one half of a pair, but no ssh-publickey, known_hosts: delete it"),
        (["ssh-publickey"], False, "has one half of a pair, but no ssh-privatekey, known_hosts: delete it"),
        (["ssh-privatekey", "ssh-publickey"], True, "is immutable and has no known_hosts: delete it"),
        ([], True, "is immutable and has no ssh-privatekey, ssh-publickey, known_hosts: delete it"),
    ],
)
def test_what_somebody_has_put_there_is_never_replaced(pod: Pod, data: list[str], immutable: bool, said: str) -> None:
    pod.secret.update(data={key: base64.b64encode(b"x").decode() for key in data}, immutable=immutable)
    assert pod.run() == (1, f"error: Secret {SECRET} {said}\n")
    assert {method for method, _ in pod.api.asked} == {"GET"}


def fake_keygen(pod: Pod, text: str) -> str:
    """Put a program of that name before the real one; return the PATH."""
    folder = pod.folder / "bin"
    folder.mkdir()
    program = folder / "ssh-keygen"
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_an_image_without_ssh_keygen(pod: Pod) -> None:
    (pod.folder / "bin").mkdir()
    code, log = pod.run(PATH=str(pod.folder / "bin"))
    assert code == 1
    assert log.startswith("error: the image has no ssh-keygen: install OpenSSH's client in it")
    assert pod.data == {}


def test_an_image_in_fips_mode_makes_another_kind_of_key(pod: Pod) -> None:
    refusing = 'case "$*" in *ed25519*) echo "ED25519 keys are not allowed in FIPS mode" >&2; exit 1;; esac'
    code, log = pod.run(PATH=fake_keygen(pod, f'{refusing}\nPATH="${{PATH#*:}}" exec ssh-keygen "$@"'))
    assert code == 0, log
    assert is_pair(pod)
    assert pod.data["ssh-publickey"].startswith("ecdsa-sha2-nistp521 ")


def test_a_user_that_the_image_does_not_know(pod: Pod) -> None:
    code, log = pod.run(PATH=fake_keygen(pod, 'echo "No user exists for uid 65534" >&2; exit 255'))
    assert code == 1
    said = "No user exists for uid 65534"
    assert log == f"error: ssh-keygen makes no key (ed25519: {said}; ecdsa: {said})\n"


def test_a_server_that_is_not_the_clusters_gets_no_token(pod: Pod, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    certificates(other)
    (pod.folder / "account" / "ca.crt").write_text((other / "ca.crt").read_text(), encoding="ascii")
    code, log = pod.run()
    assert code == 1
    assert log.startswith("error: the server is not the cluster's API server: ")
    assert pod.api.asked == []


def test_nobody_answers(pod: Pod) -> None:
    code, log = pod.run(KUBERNETES_SERVICE_PORT="1", limit="0.2")
    assert code == 1
    assert re.search(r"error: gave up after 0.2 s: no answer from the API server: ConnectionRefusedError", log)


@pytest.mark.parametrize("name", ["token", "ca.crt", "namespace"])
def test_a_pod_without_its_account(pod: Pod, name: str) -> None:
    (pod.folder / "account" / name).unlink()
    code, log = pod.run()
    assert code == 1
    assert log.startswith("error: cannot read the ")
    assert pod.api.asked == []


def test_it_is_run_outside_of_a_cluster(pod: Pod) -> None:
    code, log = pod.run(KUBERNETES_SERVICE_HOST="")
    assert (code, log) == (1, "error: KUBERNETES_SERVICE_HOST is not set: this program runs in a pod\n")


def test_a_token_that_is_renewed_meanwhile(pod: Pod) -> None:
    pod.api.tokens["a-new-one"] = pod.api.tokens.pop(TOKEN)

    def renewed(api: FakeApi, method: str, body: bytes) -> None:
        (pod.folder / "account" / "token").write_text("a-new-one", encoding="ascii")

    pod.api.faults = [renewed]
    code, log = pod.run()
    assert code == 0, log
    assert pod.api.asked == [("GET", 401), ("GET", 200), ("PATCH", 200)]


def test_the_search_for_leaks_finds_one() -> None:
    data = {"ssh-privatekey": "-----BEGIN\nabcdefghijklmnopqrstuvwxyz0123456789\n"}
    assert leaks("... cdefghijklmnopqrstu ...", data)
    assert leaks(base64.b64encode(data["ssh-privatekey"].encode()).decode()[5:25], data)
    assert not leaks("nothing", data)
