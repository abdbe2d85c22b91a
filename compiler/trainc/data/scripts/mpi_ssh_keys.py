"""Makes the SSH keys of an MPI job and puts them, once, into the Secret that waits for them.

Runs in a Job of the cluster with nothing but Python 3.8's standard library and ssh-keygen. The Secret is there without
data, from git. It is read; where it has no keys a pair is made and sent with the resourceVersion read, so of several
writers one wins and the others find its keys. What is sent makes the Secret immutable. Key material leaves memory for
a folder in memory and for the API server, never for the log.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

CREDENTIALS = "/var/run/secrets/kubernetes.io/serviceaccount"
PRIVATE, PUBLIC, KNOWN_HOSTS = "ssh-privatekey", "ssh-publickey", "known_hosts"
KEY_TYPES = (("-t", "ed25519"), ("-t", "ecdsa", "-b", "521"))  # the second for images in FIPS mode
LARGEST_ANSWER = 4 * 1024 * 1024
LONGEST_WAIT = 15.0
TIMEOUT = 30.0
QUOTE = 12  # so many characters of a key in a row are a quotation of it


class Trouble(Exception):
    """What nobody can wait for: its text says what to do."""


class Answer(NamedTuple):
    """What the API server said. ``status`` 0: nothing that can be understood; ``text`` says why."""

    status: int
    body: dict[str, Any]
    text: str
    retry_after: float = 0.0


def say(text: str) -> None:
    """Write a line of the log."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Server:
    """The API server, asked about one Secret with the pod's own token."""

    def __init__(self, credentials: str, secret: str) -> None:
        self.credentials = Path(credentials)
        self.host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
        self.port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if not self.host or not self.port.isdigit():
            raise Trouble("KUBERNETES_SERVICE_HOST is not set: this program runs in a pod")
        self.path = f"/api/v1/namespaces/{self.read('namespace')}/secrets/{secret}"
        try:
            self.context = ssl.create_default_context(cafile=str(self.credentials / "ca.crt"))
            self.context.minimum_version = ssl.TLSVersion.TLSv1_2
            # Python 3.13 asks for extensions that the authorities of many clusters lack; chain and name stay checked.
            self.context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        except (OSError, ssl.SSLError) as error:
            raise Trouble(f"cannot read the cluster's certificate authority: {error}") from None

    def read(self, name: str) -> str:
        """Return a file of the service account; the token is read again each time, since it is renewed."""
        try:
            return (self.credentials / name).read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise Trouble(f"cannot read the service account's {name}: {error}") from None

    def ask(self, method: str, change: dict[str, Any] | None = None) -> Answer:
        """Send one request. Raises Trouble where the server is not the cluster's."""
        headers = {"Authorization": "Bearer " + self.read("token"), "Accept": "application/json"}
        data, path = None, self.path
        if change is not None:
            headers["Content-Type"] = "application/merge-patch+json"
            data, path = json.dumps(change).encode("ascii"), path + "?fieldManager=mpi-ssh-keys"
        connection = http.client.HTTPSConnection(self.host, int(self.port), timeout=TIMEOUT, context=self.context)
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            text = response.read(LARGEST_ANSWER)
            if response.length:  # read(n) does not raise where the connection ends too early
                return Answer(0, {}, "the answer is cut off")
            waits = seconds(response.getheader("Retry-After"))
            return answered(response.status, text, waits)
        except ssl.SSLCertVerificationError as error:
            raise Trouble(f"the server is not the cluster's API server: {error}") from None
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, {}, f"{type(error).__name__}: {error}")
        finally:
            connection.close()


def answered(status: int, text: bytes, retry_after: float) -> Answer:
    """Return an answer, parsed; one that is no JSON object counts as none."""
    try:
        body = json.loads(text.decode("utf-8"))
    except ValueError:
        body = None
    if not isinstance(body, dict):
        if status == 200:
            return Answer(0, {}, "the answer is not JSON", retry_after)
        return Answer(status, {}, "", retry_after)
    message = body.get("message")
    return Answer(status, body, message if status != 200 and isinstance(message, str) else "", retry_after)


def seconds(header: str | None) -> float:
    """Return what Retry-After says, seconds or a date, as seconds from now; 0 where it says nothing."""
    if header is None:
        return 0.0
    if header.strip().isdigit():
        return float(header)
    try:
        return max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError, OverflowError):
        return 0.0


class Patience:
    """Waits a little longer each time, and not for ever."""

    def __init__(self, limit: float, first: float) -> None:
        self.end = time.monotonic() + limit
        self.limit = limit
        self.next = first

    def wait(self, why: str, at_least: float = 0.0) -> None:
        """Sleep. Raises Trouble where that would last beyond the limit."""
        pause = max(self.next, at_least)
        if time.monotonic() + pause > self.end:
            raise Trouble(f"gave up after {self.limit:g} s: {why}")
        say(f"{why}; trying again in {pause:.3g} s")
        time.sleep(pause)
        self.next = min(self.next * 2, LONGEST_WAIT)


def make_pair() -> dict[str, str]:
    """Return a new pair of keys. Raises Trouble where ssh-keygen is missing or makes none."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise Trouble(
            "the image has no ssh-keygen: install OpenSSH's client in it, or name another image in sshKeys.image"
        )
    failures: list[str] = []
    for key_type in KEY_TYPES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "key")
            command = [program, "-q", "-N", "", "-C", "", "-f", str(file), *key_type]
            failure = run(command)
            if failure is None:
                public = file.with_suffix(".pub").read_text(encoding="ascii")
                return with_hosts({PRIVATE: file.read_text(encoding="ascii"), PUBLIC: public.strip() + "\n"})
            failures.append(f"{key_type[1]}: {failure}")
    raise Trouble(f"ssh-keygen makes no key ({'; '.join(failures)})")


def run(command: list[str]) -> str | None:
    """Run a program; return why it failed, or None."""
    nothing = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, check=False, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, timeout=TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    return done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}" if done.returncode else None


def with_hosts(pair: dict[str, str]) -> dict[str, str]:
    """Return keys with the hosts that present the public one: every host, on port 22 and on any other."""
    key = " ".join(pair[PUBLIC].split()[:2])
    return {**pair, KNOWN_HOSTS: f"* {key}\n[*]:* {key}\n"}


def fingerprint(public: str) -> str:
    """Return what ssh-keygen -l shows of a public key."""
    digest = hashlib.sha256(base64.b64decode(public.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def encoded(values: dict[str, str]) -> dict[str, str]:
    """Return values as a Secret holds them."""
    return {name: base64.b64encode(value.encode("ascii")).decode("ascii") for name, value in values.items()}


def missing(secret: dict[str, Any], name: str) -> dict[str, str]:
    """Return what has to be added to a Secret; nothing where the keys are there. Raises Trouble for half a pair."""
    data = secret.get("data") or {}
    absent = [key for key in (PRIVATE, PUBLIC, KNOWN_HOSTS) if not data.get(key)]
    if not absent:
        return {}
    if secret.get("immutable") is True:
        raise Trouble("Secret {} is immutable and has no {}: delete it".format(name, ", ".join(absent)))
    if PRIVATE in absent and PUBLIC in absent:
        return make_pair()
    if absent != [KNOWN_HOSTS]:
        raise Trouble("Secret {} has one half of a pair, but no {}: delete it".format(name, ", ".join(absent)))
    try:
        public = base64.b64decode(data[PUBLIC]).decode("ascii")
        return {KNOWN_HOSTS: with_hosts({PUBLIC: public})[KNOWN_HOSTS]}
    except ValueError:
        raise Trouble(f"{PUBLIC} of Secret {name} is not a public key") from None


def shown(answer: Answer, values: dict[str, str]) -> str:
    """Return what the server said, for the log, unless it quotes what was sent."""
    secrets = [values.get(PRIVATE, ""), encoded(values).get(PRIVATE, "")]
    squeezed = re.sub(r"\\n|\s", "", answer.text)
    for secret in secrets:
        plain = re.sub(r"\s", "", secret)
        if any(plain[start : start + QUOTE] in squeezed for start in range(max(len(plain) - QUOTE + 1, 0))):
            return "(its message quotes the key and is not shown)"
    return answer.text or "(without a message)"


def pause(answer: Answer, patience: Patience, said: str, name: str) -> None:
    """Wait for what passes. Raises Trouble for what does not."""
    if answer.status == 404:
        patience.wait(f"Secret {name} is not there yet")
    elif answer.status == 409:
        patience.wait(f"Secret {name} has changed meanwhile")
    elif answer.status in (401, 408, 429) or answer.status >= 500:
        patience.wait(f"the API server answers {answer.status}: {said}", answer.retry_after)
    elif answer.status == 0:
        patience.wait(f"no answer from the API server: {said}", answer.retry_after)
    elif answer.status == 403:
        raise Trouble(f"not allowed: {said}\nThe Role beside this Job lets it get and patch Secret {name}.")
    else:
        raise Trouble(f"the API server answers {answer.status}: {said}")


def fill(server: Server, name: str, patience: Patience) -> None:
    """Bring the keys into the Secret, or find them there. Raises Trouble."""
    values: dict[str, str] = {}
    while True:
        answer = server.ask("GET")
        if answer.status != 200:
            pause(answer, patience, shown(answer, values), name)
            continue
        values = missing(answer.body, name)
        if not values:
            say(f"Secret {name} has its keys: nothing to do")
            return
        version = (answer.body.get("metadata") or {}).get("resourceVersion")
        change = {"metadata": {"resourceVersion": version}, "data": encoded(values), "immutable": True}
        answer = server.ask("PATCH", change)
        if answer.status == 200:
            made = f"keys, {fingerprint(values[PUBLIC])}" if PUBLIC in values else KNOWN_HOSTS
            say(f"Secret {name} has got its {made}")
            return
        pause(answer, patience, shown(answer, values), name)


def main() -> int:
    """Return 0 where the Secret has keys, else 1."""
    parser = argparse.ArgumentParser(description="Put SSH keys into a Secret that has none.")
    parser.add_argument("--secret", required=True, help="its name")
    parser.add_argument("--credentials", default=CREDENTIALS, help="the folder with token, ca.crt and namespace")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds to wait for the Secret and the server")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds to wait the first time")
    options = parser.parse_args()
    os.umask(0o077)
    try:
        fill(Server(options.credentials, options.secret), options.secret, Patience(options.limit, options.pause))
    except Trouble as trouble:
        sys.stderr.write(f"error: {trouble}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
