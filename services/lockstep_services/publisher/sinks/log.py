"""@sink(type='log'): messages in the publisher's own log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lockstep.sinks import Message, Sink
from lockstep.telemetry import Logger

LEVELS: Final = {
    "TRACE": "debug", "DEBUG": "debug", "INFO": "info", "WARN": "warning", "ERROR": "error",
    "FATAL": "error",
}  # fmt: skip


class LogSink(Sink):
    """Options: `priority` (INFO), `prefix` (app : stream)."""

    def __init__(self, options: Mapping[str, str], log: Logger, title: str) -> None:
        self._prefix = options.get("prefix", title)
        self._write = getattr(log, LEVELS[options.get("priority", "INFO").upper()])

    async def send(self, message: Message) -> None:
        """One line."""
        self._write(
            f"{message.fill(self._prefix)} : {message.payload.decode()}",
            id=message.id,
            timestamp_ms=message.timestamp_ms,
        )
