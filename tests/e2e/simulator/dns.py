"""Cluster DNS: answers for Services and the pods behind them as CoreDNS does, and for nothing else."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

A: Final = 1
PTR: Final = 12
_ANY: Final = 255
_SECONDS: Final = 5
"""How long an answer may be kept; CoreDNS' default for a cluster's names."""
_HEADER: Final = struct.Struct(">HHHHHH")
_NOT_FOUND: Final = 3
_ANSWER: Final = 0x8580  # a response, authoritative, recursion asked for and there


@dataclass(frozen=True, slots=True)
class Query:
    """A question: a name in lower case without its final dot, and a record type."""

    name: str
    kind: int


Resolver = Callable[[Query], Sequence[str] | None]
"""A question to its answers (addresses, or names for PTR); none of this type: empty; no such name: None."""


class Server(threading.Thread):
    """Answers on one address, in a thread of its own. Over UDP only: some sixty pods of one name fit into an answer."""

    def __init__(self, address: str, resolver: Resolver) -> None:
        super().__init__(name="cluster DNS", daemon=True)
        self._resolver = resolver
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self._address = self._socket.getsockname()
        self._closing = False

    def run(self) -> None:
        while not self._closing:
            with contextlib.suppress(OSError):
                packet, client = self._socket.recvfrom(4096)
                reply = answer(packet, self._resolver)
                if reply:
                    self._socket.sendto(reply, client)

    def close(self) -> None:
        """Stop answering."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._socket.sendto(b"", self._address)  # wakes the thread
        self.join(10)
        self._socket.close()


def answer(packet: bytes, resolver: Resolver) -> bytes:
    """Return the reply to a query (RFC 1035, one question); nothing for what is not one."""
    try:
        number, flags, questions, _, _, _ = _HEADER.unpack_from(packet)
        query, end = _question(packet)
    except (struct.error, IndexError, UnicodeDecodeError):
        return b""
    if flags & 0x8000 or questions != 1:
        return b""
    found = resolver(query)
    records = b"".join(
        b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, _SECONDS, len(data)) + data
        for kind, data in map(_record, found or ())
    )
    code = _NOT_FOUND if found is None else 0
    return _HEADER.pack(number, _ANSWER | code, 1, len(found or ()), 0, 0) + packet[_HEADER.size : end] + records


def address_of(name: str) -> str | None:
    """Return the IPv4 address that a name of the reverse tree stands for, None for another name."""
    labels = name.removesuffix(".in-addr.arpa").split(".")
    if not name.endswith(".in-addr.arpa") or len(labels) != 4:
        return None
    try:
        return str(ipaddress.IPv4Address(".".join(reversed(labels))))
    except ValueError:
        return None


def _question(packet: bytes) -> tuple[Query, int]:
    labels = []
    place = _HEADER.size
    while packet[place]:
        length = packet[place]
        labels.append(packet[place + 1 : place + 1 + length].decode("ascii"))
        place += 1 + length
    kind = struct.unpack_from(">HH", packet, place + 1)[0]
    return Query(".".join(labels).lower(), A if kind == _ANY else kind), place + 5


def _record(value: str) -> tuple[int, bytes]:
    try:
        return A, ipaddress.IPv4Address(value).packed
    except ValueError:
        labels = value.split(".")
        return PTR, b"".join(bytes((len(label),)) + label.encode() for label in labels) + b"\0"
