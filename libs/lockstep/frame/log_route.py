"""The door's own log: `GET /log?lines=&level=`, the last lines that the process has written."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, TypedDict

from aiohttp import web

from lockstep.frame.bodies import whole_number
from lockstep.frame.problems import Problem
from lockstep.telemetry import LEVELS, LogLine, LogTail

PATH: Final = "/log"
DEFAULT_LINES: Final = 100
MAX_LINES: Final = 1_000_000
"""Nobody keeps more: a number over it is a mistake."""


class WrittenLine(TypedDict):
    """A line as it was written, and its level."""

    level: str
    line: str


class WrittenLines(TypedDict):
    """The newest last."""

    lines: list[WrittenLine]


def wanted_lines(request: web.Request) -> tuple[int, str]:
    """How many, and of which level at least. Problem 400."""
    given, level = request.query.get("lines"), request.query.get("level", LEVELS[0])
    count = DEFAULT_LINES if given is None else whole_number(given, MAX_LINES)
    if not count:
        raise Problem(HTTPStatus.BAD_REQUEST, f"lines: expected 1 to {MAX_LINES}")
    if level not in LEVELS:
        raise Problem(HTTPStatus.BAD_REQUEST, f"level: expected {', '.join(LEVELS)}")
    return count, level


class LogRoute:
    """Of a process without a tail nothing is kept."""

    def __init__(self, tail: LogTail | None) -> None:
        self._tail = tail

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The path."""
        router.add_get(PATH, self._show)

    async def _show(self, request: web.Request) -> web.Response:
        count, level = wanted_lines(request)
        found: Sequence[LogLine] = () if self._tail is None else self._tail.last(count, level)
        lines: list[WrittenLine] = [{"level": one.level, "line": one.line} for one in found]
        return web.json_response({"lines": lines})
