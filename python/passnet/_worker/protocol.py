"""Frames between the referee and its processes, as `docs/reference/worker-protocol.md` describes them."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from typing import Any

VERSION = 10
MAX_FRAME_BYTES = 64 << 20

_LENGTH = struct.Struct("<I")


class ProtocolError(Exception):
    """The other side sent bytes that are not a frame."""


def send(sock: socket.socket, message: dict[str, Any], descriptor: int | None = None) -> None:
    """Sends one frame; `descriptor` travels with its first byte."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame of {len(body)} bytes exceeds the limit of {MAX_FRAME_BYTES}")
    frame = _LENGTH.pack(len(body)) + body
    if descriptor is not None:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))
        frame = frame[sock.sendmsg([frame], [rights]) :]
    # Not called for an empty rest: it would still be a system call, which fails if the other side has read the
    # frame and closed the socket.
    if frame:
        sock.sendall(frame)


def receive(sock: socket.socket) -> tuple[dict[str, Any], int | None] | None:
    """Receives one frame and its descriptor, which the caller has to close. Returns `None` at the end of the stream."""
    space = socket.CMSG_SPACE(array.array("i").itemsize)
    head, ancillary, _, _ = sock.recvmsg(_LENGTH.size, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    descriptor = descriptors[0] if descriptors else None
    try:
        if not head:
            return None
        head += _exactly(sock, _LENGTH.size - len(head))
        (length,) = _LENGTH.unpack(head)
        if length > MAX_FRAME_BYTES:
            raise ProtocolError(f"a frame of {length} bytes exceeds the limit of {MAX_FRAME_BYTES}")
        message = json.loads(_exactly(sock, length))
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            raise ProtocolError("a frame is not an object with a `type`")
    except Exception:
        if descriptor is not None:
            os.close(descriptor)
        raise
    return message, descriptor


def _exactly(sock: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = sock.recv(count)
        if not part:
            raise ProtocolError("the stream ended inside a frame")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
