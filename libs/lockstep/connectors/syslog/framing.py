"""Where messages begin and end in a stream of bytes (RFC 6587, RFC 5425). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_ENDS: Final = re.compile(rb"[\n\0]")
# A count has nine digits at most.
_COUNT: Final = re.compile(rb"([1-9]\d{0,8}) ")
_COUNT_SO_FAR: Final = re.compile(rb"[1-9]\d{0,8}\Z")


class Framing(StrEnum):
    """How a sender tells its messages from each other."""

    AUTO = "auto"
    """By the first byte of each: a digit is a count's."""
    COUNTED = "octet.counting"
    LINES = "non.transparent"
    """Each ends with a line feed, or with a zero byte."""


class FrameError(Exception):
    """The stream makes no sense from here on."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A message. `is_cut`: it was longer than the limit."""

    data: bytes
    is_cut: bool = False


class Frames:
    """Of one connection. It holds no more than one message and what came with its last bytes."""

    def __init__(self, framing: Framing, max_bytes: int) -> None:
        self._framing = framing
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._skip_bytes = 0
        self._is_in_long_line = False

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The messages that it ends. FrameError behind those."""
        self._buffer += chunk
        while self._skipped() and self._buffer:
            found = self._next()
            if found is None:
                return
            if found.data:
                yield found

    def _skipped(self) -> bool:
        """Whether all is passed over that belongs to what was cut."""
        if self._skip_bytes:
            gone = min(self._skip_bytes, len(self._buffer))
            del self._buffer[:gone]
            self._skip_bytes -= gone
        if self._is_in_long_line:
            end = _ENDS.search(self._buffer)
            del self._buffer[: len(self._buffer) if end is None else end.end()]
            self._is_in_long_line = end is None
        return not self._skip_bytes and not self._is_in_long_line

    def _next(self) -> Frame | None:
        """None: more has to come."""
        if self._framing is Framing.LINES:
            return self._line()
        count = _COUNT.match(self._buffer)
        if count is not None:
            return self._counted(count.end(), int(count[1]))
        if _COUNT_SO_FAR.match(self._buffer):
            return None
        if self._framing is Framing.COUNTED:
            raise FrameError(f"{bytes(self._buffer[:20])!r} begins with no count")
        return self._line()

    def _counted(self, at: int, length: int) -> Frame | None:
        wanted = min(length, self._max_bytes)
        if len(self._buffer) < at + wanted:
            return None
        data = bytes(self._buffer[at : at + wanted])
        del self._buffer[: at + wanted]
        self._skip_bytes = length - wanted
        return Frame(data, length > wanted)

    def _line(self) -> Frame | None:
        end = _ENDS.search(self._buffer)
        if end is None and len(self._buffer) <= self._max_bytes:
            return None
        length = len(self._buffer) if end is None else end.start()
        data = bytes(self._buffer[: min(length, self._max_bytes)])
        del self._buffer[: length if end is None else end.end()]
        self._is_in_long_line = end is None
        return Frame(data, length > self._max_bytes)


def framed(message: bytes, framing: Framing) -> bytes:
    """On the wire. FrameError for a message that would be two."""
    if framing is Framing.COUNTED:
        return b"%d %b" % (len(message), message)
    if _ENDS.search(message):
        raise FrameError("its text has a line feed or a zero byte, which would end it")
    return message + b"\n"
