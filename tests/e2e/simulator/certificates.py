"""The cluster's certificate authority and the API server's certificate, made by openssl."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

NAMES: Final = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")

_NEW: Final = (
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "2",
)


def make(folder: Path, address: str) -> tuple[ssl.SSLContext, bytes]:
    """Return what the server needs for TLS at an IP address, and the authority's certificate as PEM.

    Args:
        folder: An empty folder for keys.
        address: The server's IP address.

    Raises:
        subprocess.CalledProcessError: openssl makes none.
    """
    ca, ca_key, own, own_key = (folder / name for name in ("ca.crt", "ca.key", "server.crt", "server.key"))
    extensions = ["-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
    _run([*_NEW, "-subj", "/CN=kubernetes", "-keyout", str(ca_key), "-out", str(ca), *extensions])
    names = ",".join((*(f"DNS:{name}" for name in NAMES), f"IP:{address}"))
    extensions = ["-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:FALSE"]
    signed = ["-CA", str(ca), "-CAkey", str(ca_key), "-keyout", str(own_key), "-out", str(own)]
    _run([*_NEW, "-subj", "/CN=kube-apiserver", *signed, *extensions, "-addext", "extendedKeyUsage=serverAuth"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own, own_key)
    return context, ca.read_bytes()


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
