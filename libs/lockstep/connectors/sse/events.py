"""The stream of server-sent events as the HTML standard says it: bytes in, events out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MESSAGE: Final = "message"
"""The type of an event that names none."""

RETRY_DIGITS: Final = 9

_BOM: Final = b"\xef\xbb\xbf"
_LINE: Final = re.compile(rb"\r\n|\r|\n")


class TooLargeError(OSError):
    """An event is larger than the limit."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`id`: its own, None where it has none. `last_id`: the last one by then, with which somebody
    goes on behind it. `data`: None for a block that brings an id alone."""

    data: bytes | None
    type: str
    id: str | None
    last_id: str


class Parser:
    """Of one connection. `retry_ms`: how long the server wants a client to wait before it connects
    again; None where it has not said so."""

    def __init__(self, last_id: str, max_bytes: int) -> None:
        self.retry_ms: int | None = None
        self._last_id = last_id
        self._max_bytes = max_bytes
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._lines_begun = False
        self._is_after_cr = False
        self._begin()

    def _begin(self) -> None:
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._type = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that it ends. TooLargeError behind those that are not."""
        for line in self._lines(chunk):
            event = self._line(line)
            if event is not None:
                yield event
        self._limit(self._rest_bytes)

    def _limit(self, more_bytes: int) -> None:
        if self._data_bytes + more_bytes > self._max_bytes:
            raise TooLargeError(f"an event has more than {self._max_bytes} bytes: max.event.bytes")

    def _lines(self, chunk: bytes) -> list[bytes]:
        if self._is_after_cr:
            chunk = chunk.removeprefix(b"\n")  # the other half of that line's end
        if chunk:
            self._is_after_cr = chunk.endswith(b"\r")
        *ends, rest = _LINE.split(chunk)
        lines = []
        for end in ends:
            lines.append(b"".join([*self._rest, end]))
            self._rest, self._rest_bytes = [], 0
        self._rest.append(rest)
        self._rest_bytes += len(rest)
        if lines and not self._lines_begun:
            self._lines_begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        return lines

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._ended()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._limit(len(value))
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif name == b"event":
            self._type = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = self._last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry_ms = int(value[:RETRY_DIGITS])
        return None

    def _ended(self) -> ServerEvent | None:
        data, type_, own = self._data, self._type or MESSAGE, self._id
        self._begin()
        if not data and own is None:
            return None
        return ServerEvent(b"\n".join(data) if data else None, type_, own or None, self._last_id)
