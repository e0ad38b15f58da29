"""The shape of a log line: one JSON object with the time, the level, what happened and where.

Words for where, the same in every service: app, group, partition, position, epoch. Within traced
work also trace_id and span_id.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, TextIO, cast

import structlog

from lockstep.clock import Clock, SystemClock
from lockstep.telemetry.tail import LogTail
from lockstep.telemetry.traces import CURRENT, ids_of

Logger = structlog.typing.FilteringBoundLogger

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure_logging(
    *,
    service: str,
    level: str = "info",
    log_format: str = "json",
    clock: Clock | None = None,
    stream: TextIO | None = None,
    tail: LogTail | None = None,
) -> None:
    """Sets up structlog for the process; lines of the standard library take the same shape.

    `level` is debug, info, warning or error; `log_format` is json or console. Lines go to
    `stream`, by default standard error as it is then, so that standard output stays for answers.
    A line that cannot be written disturbs nobody. `tail` keeps the last of them, these too.
    """
    target = _Target(stream)
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        _stamp(clock or SystemClock(), service),
        structlog.processors.StackInfoRenderer(),
    ]
    rendering = _rendering(log_format, has_colours=target.isatty())
    if tail is not None:
        rendering[-1] = _keeping(rendering[-1], tail)
        target.count_lost = lambda: tail.count_lost()
    target.tell = _telling([*shared, *rendering])
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, target)),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    handler.addFilter(_has_something_to_say)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Below warning libraries speak of themselves; our own lines do not pass here.
    root.setLevel(max(_LEVELS[level], logging.WARNING))


def get_logger(**context: object) -> Logger:
    """A logger that carries `context` on every line, for example app, group and partition.

    One that a module makes before `configure_logging` was called writes as that says later on. All
    others write as it was configured when they were made, whatever comes after.
    """
    logger: Logger = structlog.get_logger(**context)
    return logger.bind() if structlog.is_configured() else logger


class _Target:
    """Where lines go: a stream, or whatever is standard error when a line is written. That changes
    where children get another one than the process itself, and a process may have none.

    A full disk, or a pipe that nobody reads, must not stop what writes a line. So nothing here
    raises for that. Such lines are counted, although a stream may keep a few and write them later.
    The first line that is written again is followed by one that tells how many.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._lost = 0
        self.count_lost: Callable[[], object] = lambda: None
        self.tell: Callable[[int], str] = str

    def write(self, text: str) -> int:
        """See TextIO. A whole line, and at once: what waits in a buffer fails later."""
        if not self._is_written(text):
            self._lost += 1
            self.count_lost()
        elif self._lost and self._is_written(self.tell(self._lost)):
            self._lost = 0
        return len(text)

    def flush(self) -> None:
        """See TextIO. Nothing waits."""

    def isatty(self) -> bool:
        """See TextIO."""
        try:
            stream = self._now()
            return stream is not None and stream.isatty()
        except (OSError, ValueError):  # it is closed
            return False

    def _is_written(self, text: str) -> bool:
        try:
            if (stream := self._now()) is None:
                return False
            stream.write(text)
            stream.flush()
        except (OSError, ValueError):  # no room, nobody who reads; or it is closed
            return False
        return True

    def _now(self) -> TextIO | None:
        return sys.stderr if self._stream is None else self._stream


def _has_something_to_say(record: logging.LogRecord) -> bool:
    """Not so what asyncio says of each connection over TLS that its other side has closed, where a
    library began TLS on a connection that was open: nothing is wrong, and nobody can mend it."""
    return not (record.name == "asyncio" and "returning true from eof_received" in str(record.msg))


def _stamp(clock: Clock, service: str) -> structlog.typing.Processor:
    def stamp(
        _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        event["at_ms"] = clock.now_ms()
        event["service"] = service
        if (ids := ids_of(CURRENT.get())) is not None:
            event["trace_id"], event["span_id"] = ids
        return event

    return stamp


def _keeping(render: structlog.typing.Processor, tail: LogTail) -> structlog.typing.Processor:
    """What the last step has made is what is written."""

    def keep(logger: object, method: str, event: MutableMapping[str, Any]) -> Any:
        level = str(event.get("level", method))
        written = render(logger, method, event)
        tail.add(level, str(written))
        return written

    return keep


def _telling(steps: Sequence[structlog.typing.Processor]) -> Callable[[int], str]:
    """The line about lost ones, in the shape of all others."""

    def tell(lost: int) -> str:
        made: Any = {"event": "log lines could not be written", "lines": lost}
        for step in steps:
            made = step(None, "error", made)
        return f"{made}\n"

    return tell


def _rendering(log_format: str, *, has_colours: bool) -> list[structlog.typing.Processor]:
    if log_format == "json":
        return [
            # As text: the structured form carries local variables, and with them secrets.
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(default=str),
        ]
    # Likewise; and laying out a large app's variables takes seconds, in which nobody is served.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=has_colours, exception_formatter=plain)]
