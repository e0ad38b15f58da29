"""The last log lines of a process, kept in memory as they were written: nothing is in them that is
not in the log, and who reads them needs no way to the machine."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

LEVELS: Final = ("debug", "info", "warning", "error")
MAX_LINE_BYTES: Final = 16_384
"""A longer line (a traceback may be one) is kept up to here."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class LogLine:
    """`line`: as it was written, without the colours of a terminal."""

    level: str
    line: str


class LogTail:
    """Lines may come from any thread. Those that are over `max_lines` or `max_bytes` make room, the
    oldest first."""

    def __init__(self, *, max_lines: int, max_bytes: int) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._lines: deque[tuple[LogLine, int]] = deque()
        self._size_bytes = 0
        self._lock = Lock()
        self.count_lost: Callable[[], object] = lambda: None
        """Called for each line that is here alone, as it could not be written."""

    def add(self, level: str, written: str) -> None:
        """A line is written."""
        encoded = _COLOURS.sub("", written).encode("utf-8", "replace")
        if len(encoded) > MAX_LINE_BYTES:
            left = len(encoded) - MAX_LINE_BYTES
            encoded = encoded[:MAX_LINE_BYTES] + f" ({left} bytes more)".encode()
        line = LogLine(level, encoded.decode("utf-8", "ignore"))
        with self._lock:
            self._lines.append((line, len(encoded)))
            self._size_bytes += len(encoded)
            while len(self._lines) > self._max_lines or self._size_bytes > self._max_bytes:
                self._size_bytes -= self._lines.popleft()[1]

    def last(self, count: int, level: str = LEVELS[0]) -> Sequence[LogLine]:
        """The newest `count` lines of at least that level, the newest last."""
        with self._lock:
            there = [line for line, _ in self._lines]
        wanted = [one for one in there if _rank(one.level) >= _rank(level)]
        return wanted[max(0, len(wanted) - count) :]


def _rank(level: str) -> int:
    """What other libraries call worse than an error is one."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS) - 1
