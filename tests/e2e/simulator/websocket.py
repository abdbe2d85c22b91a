"""WebSocket (RFC 6455) as the server of `kubectl exec` needs it: frames in both directions on a TLS connection.

The channels on top are Kubernetes' v4.channel.k8s.io and v5.channel.k8s.io: the first byte of a message is the channel.
"""

from __future__ import annotations

import base64
import hashlib
import select
import ssl
import struct
import time
from collections.abc import Iterator
from typing import Final

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
"""Channels. A message of CLOSE names a channel that gets no more input (v5)."""

_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _END, _PING, _PONG = 0, 1, 2, 8, 9, 10
_LONGEST_WAIT: Final = 30.0
_FAREWELL: Final = 5.0


def accept(key: str) -> str:
    """Return what a server answers to Sec-WebSocket-Key."""
    return base64.b64encode(hashlib.sha1((key + _GUID).encode("ascii"), usedforsecurity=False).digest()).decode("ascii")


class Connection:
    """One connection after its handshake. One thread only: TLS cannot be read and written by two at a time."""

    def __init__(self, connection: ssl.SSLSocket, read: bytes = b"") -> None:
        self._connection = connection
        self._connection.setblocking(False)
        self._read = bytearray(read)
        self._message = bytearray()
        self.open = True

    def fileno(self) -> int:
        """Return the number to select on."""
        return self._connection.fileno()

    def waiting(self) -> bool:
        """Say whether there is something to read that select does not see."""
        return self._connection.pending() > 0

    def messages(self) -> Iterator[bytes]:
        """Read what has come, and yield the messages that are whole. ``open`` is False after the other side's end."""
        try:
            while data := self._connection.recv(65536):
                self._read += data
            self.open = False
        except ssl.SSLWantReadError:
            pass
        except OSError:
            self.open = False
        while (frame := self._frame()) is not None:
            final, opcode, payload = frame
            if opcode == _END:
                self.open = False
            elif opcode == _PING:
                self._send(_PONG, payload)
            elif opcode in (_CONTINUATION, _TEXT, _BINARY):
                self._message += payload
                if final:
                    message, self._message = bytes(self._message), bytearray()
                    yield message

    def send(self, channel: int, data: bytes) -> None:
        """Send a message on a channel; nothing happens where the connection has ended."""
        self._send(_BINARY, bytes((channel,)) + data)

    def close(self) -> None:
        """Say that all has been said (1000), and wait for the other side's end: what was sent would else be lost."""
        self._send(_END, struct.pack(">H", 1000))
        self.open = False
        end = time.monotonic() + _FAREWELL
        try:
            while (left := end - time.monotonic()) > 0:
                try:
                    if not self._connection.recv(65536):
                        return
                except ssl.SSLWantReadError:
                    select.select([self._connection], [], [], left)
        except OSError:
            return

    def _frame(self) -> tuple[bool, int, bytes] | None:
        """Take a whole frame from what was read; None where there is none yet."""
        data = self._read
        if len(data) < 2:
            return None
        size, start = data[1] & 0x7F, 2
        if size > 125:
            length = 2 if size == 126 else 8
            if len(data) < start + length:
                return None
            size, start = int.from_bytes(data[start : start + length], "big"), start + length
        masked = bool(data[1] & 0x80)
        end = start + 4 * masked + size
        if len(data) < end:
            return None
        payload = bytes(data[end - size : end])
        if masked:
            mask = bytes(data[start : start + 4])
            pattern = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            payload = (int.from_bytes(payload, "big") ^ pattern).to_bytes(size, "big")
        head = data[0]
        del data[:end]
        return bool(head & 0x80), head & 0x0F, payload

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = struct.pack(">BB", 0x80 | opcode, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 0x80 | opcode, 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 127, size)
        rest = memoryview(head + payload)
        try:
            while rest and self.open:
                try:
                    rest = rest[self._connection.send(rest) :]
                except ssl.SSLWantWriteError:
                    if not select.select([], [self._connection], [], _LONGEST_WAIT)[1]:
                        self.open = False
                except ssl.SSLWantReadError:
                    select.select([self._connection], [], [], _LONGEST_WAIT)
        except OSError:
            self.open = False
