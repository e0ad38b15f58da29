"""`#log` and `#pol2Cart` (extensions 1.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.convert import object_text
from lockstep.operators.contract import EXPIRED, Emit, StreamEvent, nowhere
from lockstep.stream_functions.call import Appending, StreamCall, StreamLink
from lockstep.telemetry.logs import Logger, get_logger

_LEVELS = {
    "TRACE": "debug",
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warning",
    "ERROR": "error",
    "FATAL": "critical",
}
"""Priorities by the log's levels; OFF and unknown ones write nothing."""


class Log:
    """Writes a line for each event and passes the chunk on as it is.

    The line goes to the process's log: every replica writes its own, and a replay writes it again.
    """

    __slots__ = ("_logger", "_message", "_priority", "_with_event", "emit")

    def __init__(self, call: StreamCall) -> None:
        self.emit: Emit = nowhere
        self._logger: Logger = get_logger(stream=call.schema.name)
        strings = [v for a, v in zip(call.arguments, call.values, strict=True) if _is_text(a.type)]
        flags = [
            v for a, v in zip(call.arguments, call.values, strict=True) if not _is_text(a.type)
        ]
        self._priority: Callable[[Any], Any] = strings[0] if len(strings) > 1 else lambda _: "INFO"
        self._message: Callable[[Any], Any] = strings[-1] if strings else lambda _: ""
        self._with_event: Callable[[Any], Any] = flags[0] if flags else lambda _: True

    def process(self, chunk: list[StreamEvent]) -> None:
        for event in chunk:
            if event.kind <= EXPIRED:
                self._write(event)
        self.emit(chunk)

    def _write(self, event: StreamEvent) -> None:
        level = _LEVELS.get(str(self._priority(event)).upper())
        if level is None:
            return
        message = object_text(self._message(event)) or "event"
        write: Callable[..., Any] = getattr(self._logger, level)
        if self._with_event(event) is True:
            data = [object_text(value) for value in event.data]
            write(message, data=data, event_ms=event.timestamp_ms, expired=event.kind == EXPIRED)
        else:
            write(message)


def _is_text(type_: AttributeType) -> bool:
    return type_ is AttributeType.STRING


def _pol2cart(call: StreamCall) -> StreamLink:
    theta_of, rho_of, *rest = call.values

    def append(event: StreamEvent) -> tuple[Any, ...]:
        theta, rho = math.radians(theta_of(event)), rho_of(event)
        point = (rho * math.cos(theta), rho * math.sin(theta))
        return (*point, rest[0](event)) if rest else point

    return Appending(append)


STREAM_FUNCTIONS: dict[tuple[str, str], Callable[[StreamCall], StreamLink]] = {
    ("", "log"): Log,
    ("", "pol2Cart"): _pol2cart,
}
