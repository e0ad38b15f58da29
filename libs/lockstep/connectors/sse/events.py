"""The stream of server-sent events as the HTML standard says it: bytes in, events out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MESSAGE: Final = "message"
"""The type of an event that names none."""

RETRY_DIGITS: Final = 9
SHOWN_BYTES: Final = 65_536
"""Of an event that is larger than the limit so many are kept, for who looks what it was."""

LONGEST_NAME: Final = len("event: ")
"""Of a field that counts, with what stands before its value: of a line that is cut it is there."""
_BOM: Final = b"\xef\xbb\xbf"
_FIELDS: Final = (b"event", b"id")
_LINE: Final = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`id`: its own, None where it has none. `last_id`: the last one by then, with which somebody
    goes on behind it. `data`: None for a block that brings an id alone. `refused`: why it cannot be
    taken; `data` is the beginning of it then."""

    data: bytes | None
    type: str
    id: str | None
    last_id: str
    refused: str = ""


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
        self._is_cut = False
        self._is_after_cr = False
        self._begin()

    def _begin(self) -> None:
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._is_over = False
        self._type = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that it ends."""
        for line, is_cut in self._lines(chunk):
            event = self._line(line, is_cut)
            if event is not None:
                yield event
        if self._rest_bytes > self._max_bytes + LONGEST_NAME:
            # Too much for one event: the line's beginning is kept, what comes of it is read over.
            self._is_cut = True
            rest = b"".join(self._rest)[:SHOWN_BYTES]
            self._rest, self._rest_bytes = [rest], 0

    def _lines(self, chunk: bytes) -> list[tuple[bytes, bool]]:
        """Whole ones, and whether they were cut."""
        if self._is_after_cr:
            chunk = chunk.removeprefix(b"\n")  # the other half of that line's end
        if chunk:
            self._is_after_cr = chunk.endswith(b"\r")
        *ends, rest = _LINE.split(chunk)
        lines = []
        for end in ends:
            lines.append((b"".join([*self._rest, b"" if self._is_cut else end]), self._is_cut))
            self._rest, self._rest_bytes, self._is_cut = [], 0, False
        if not self._is_cut:
            self._rest.append(rest)
            self._rest_bytes += len(rest)
        if lines and not self._lines_begun:
            self._lines_begun = True
            lines[0] = (lines[0][0].removeprefix(_BOM), lines[0][1])
        return lines

    def _line(self, line: bytes, is_cut: bool) -> ServerEvent | None:
        if not line:
            return self._ended()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value, is_cut)
        elif is_cut or len(value) > self._max_bytes:
            self._is_over = self._is_over or name in _FIELDS
        elif name == b"event":
            self._type = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = self._last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry_ms = int(value[:RETRY_DIGITS])
        return None

    def _add(self, value: bytes, is_cut: bool) -> None:
        if self._is_over:
            return
        self._is_over = is_cut or self._data_bytes + len(value) > self._max_bytes
        self._data.append(value[:SHOWN_BYTES] if self._is_over else value)
        self._data_bytes += 0 if self._is_over else len(value) + 1

    def _ended(self) -> ServerEvent | None:
        data, type_, own, is_over = self._data, self._type or MESSAGE, self._id, self._is_over
        self._begin()
        if is_over:
            shown = b"\n".join(data)[:SHOWN_BYTES]
            why = f"the event has more than {self._max_bytes} bytes: max.event.bytes"
            return ServerEvent(shown, type_, own or None, self._last_id, why)
        if not data and own is None:
            return None
        return ServerEvent(b"\n".join(data) if data else None, type_, own or None, self._last_id)
