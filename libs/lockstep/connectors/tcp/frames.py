"""The frame of the older products' TCP clients and servers: a context and bytes. Pure.

Byte 2, then big-endian 32-bit lengths: of all that follows, of a session id and the id, of the
context and the context, of the message and the message.
"""

from __future__ import annotations

import struct
from typing import Final

PROTOCOL: Final = 2
HEAD_BYTES: Final = 5
_LENGTH: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">bi")


class FrameError(ValueError):
    """Bytes that are no frame: the connection cannot be read on."""


def frame(context: str, message: bytes, session: str = "") -> bytes:
    """A whole frame."""
    parts = (session.encode(), context.encode(), message)
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    return _HEAD.pack(PROTOCOL, len(body)) + body


def body_bytes(head: bytes, limit: int) -> int:
    """How many bytes follow the first five."""
    protocol, length = _HEAD.unpack(head)
    if protocol != PROTOCOL or not 0 <= length <= limit:
        raise FrameError(f"a frame begins with {head.hex()}")
    return int(length)


def parsed(body: bytes) -> tuple[str, bytes]:
    """Context and message of a frame's body."""
    parts, at = [], 0
    for _ in range(3):
        if at + _LENGTH.size > len(body):
            raise FrameError("a frame ends within a length")
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        if length < 0 or at + length > len(body):
            raise FrameError("a frame ends within a part")
        parts.append(body[at : at + length])
        at += length
    try:
        return parts[1].decode(), parts[2]
    except UnicodeDecodeError as error:
        raise FrameError("a context is no text") from error
