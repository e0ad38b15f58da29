"""The shape of a log line: one JSON object with the time, the level, what happened and where.

Words for where, the same in every service: app, group, partition, position, epoch. Within traced
work also trace_id and span_id.
"""

from __future__ import annotations

import atexit
import errno
import io
import logging
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final, TextIO, cast

import structlog

from lockstep.clock import Clock, SystemClock
from lockstep.telemetry.tail import LogTail
from lockstep.telemetry.traces import CURRENT, ids_of

Logger = structlog.typing.FilteringBoundLogger

WAIT_S: Final = 0.1
"""For so long a line may hold up who writes it, where nobody takes it."""
MAX_WAITING_BYTES: Final = 1_048_576
"""Of lines that nobody takes; more are lost."""
END_S: Final = 2.0
"""For so long the end of a process waits for them."""

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def is_logging_configured() -> bool:
    """Whether this process has a form of its lines: a worker of Spark begins without."""
    return structlog.is_configured()


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
    raises for that, nor waits for it for long. Such lines are counted, although a stream may keep a
    few and write them later. The first line that is written again is followed by one that tells how
    many.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._pipe = _Pipe(self._written)
        self._lost = 0
        self.count_lost: Callable[[], object] = lambda: None
        self.tell: Callable[[int], str] = str

    def write(self, text: str) -> int:
        """See TextIO. A whole line, and at once: what waits in a buffer fails later."""
        try:
            stream = self._now()
            mode = None if stream is None else _mode_of(stream)
            line = _bytes_of(stream, text) if stream is not None and mode is not None else None
        except (OSError, ValueError):  # it is closed
            stream, mode, line = None, None, None
        if stream is None:
            self._is_lost()
        elif mode is None or line is None:
            self._written(stream, text)
        else:
            # A terminal says that there is room for a part. What was lost is told behind a line.
            at_once = not (self._lost or (stat.S_ISCHR(mode) and stream.isatty()))
            if not self._pipe.write(stream, line, at_once=at_once):
                self._is_lost()
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

    def _written(self, stream: TextIO, said: str | bytes) -> None:
        if not _is_written(stream, said):
            self._is_lost()
        elif (lost := self._lost) and _is_written(stream, self.tell(lost)):
            self._lost -= lost

    def _is_lost(self) -> None:
        self._lost += 1
        self.count_lost()

    def _now(self) -> TextIO | None:
        return sys.stderr if self._stream is None else self._stream


class _Pipe:
    """Writes to what may stand still: a pipe whose reader lives and does not read takes 64 KiB, and
    then whoever writes to it waits for ever.

    A line that the system takes at once is written by whoever says it: to wait for another thread
    costs milliseconds where threads are busy. All others are written in a thread of its own. Who
    writes such a line waits for it, as long as lines go through: so they are in their order among
    what others write there, and none is lost by a process that ends at once. Once a line has taken
    WAIT_S, nobody waits until all have gone through.
    """

    def __init__(self, write: Callable[[TextIO, bytes], None]) -> None:
        self._write = write
        self._begin()

    def _begin(self) -> None:
        """Anew in a process that was forked: it has no thread, and the other one writes what
        waited."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._lines: deque[tuple[TextIO, bytes]] = deque()
        self._size = 0
        self._taken = self._done = 0
        self._stands_still = False
        self._thread: threading.Thread | None = None

    def write(self, stream: TextIO, line: bytes, *, at_once: bool) -> bool:
        """Whether it was taken; not where too much waits. `at_once`: who says it may write it."""
        if os.getpid() != self._process:
            self._begin()
        with self._changed:
            if self._size + len(line) > MAX_WAITING_BYTES and self._lines:
                return False
            if at_once and not self._lines:
                line = line[_taken_at_once(stream, line) :]
                if not line:
                    return True
            if not self._has_thread():
                self._write(stream, line)
                return True
            self._lines.append((stream, line))
            self._size += len(line)
            self._taken += 1
            mine = self._taken
            self._changed.notify_all()
            if not self._stands_still:
                through = self._changed.wait_for(lambda: self._done >= mine, WAIT_S)
                self._stands_still = not through
        return True

    def _has_thread(self) -> bool:
        """It begins with the first line. None can begin while the process ends."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="log lines", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
            atexit.register(self._end)
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                stream, line = self._lines[0]
            self._write(stream, line)
            with self._changed:
                self._lines.popleft()
                self._size -= len(line)
                self._done += 1
                self._stands_still = self._stands_still and bool(self._lines)
                self._changed.notify_all()

    def _end(self) -> None:
        """What waits goes through, if it does so soon."""
        if os.getpid() == self._process:
            with self._changed:
                self._changed.wait_for(lambda: not self._lines, END_S)


def _mode_of(stream: TextIO) -> int | None:
    """Of a pipe, a socket or a terminal, which may stand still; None for files, and for what is
    none of the system's, which never do."""
    if not isinstance(stream, io.TextIOWrapper):
        return None
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except io.UnsupportedOperation:
        return None
    return None if stat.S_ISREG(mode) else mode


def _bytes_of(stream: TextIO, text: str) -> bytes:
    return text.encode(stream.encoding or "utf-8", stream.errors or "replace")


def _taken_at_once(stream: TextIO, line: bytes) -> int:
    """How many bytes of it were written without standing still."""
    # A pipe takes so many whole or not at all.
    if sys.platform != "linux" or len(line) > select.PIPE_BUF:
        return 0
    try:
        number = stream.fileno()
        try:
            return os.pwritev(number, [line], -1, os.RWF_NOWAIT)
        except OSError as error:
            # So Linux before 6.4. There somebody else who writes to the same pipe may take the room
            # between the question and the line, and this process stands still with it.
            if error.errno == errno.EOPNOTSUPP and _has_room(number):
                return os.write(number, line)
    except (OSError, ValueError):  # the thread finds out why, and counts the line
        pass
    return 0


def _has_room(number: int) -> bool:
    """For a line that is short enough."""
    asked = select.poll()
    asked.register(number, select.POLLOUT)
    return asked.poll(0) == [(number, select.POLLOUT)]


def _is_written(stream: TextIO, said: str | bytes) -> bool:
    try:
        if isinstance(said, bytes) or _mode_of(stream) is not None:
            # Not by way of the stream: the end of a process needs its lock, which who stands still
            # would hold.
            left = memoryview(said if isinstance(said, bytes) else _bytes_of(stream, said))
            while left:
                left = left[os.write(stream.fileno(), left) :]
        else:
            stream.write(said)
            stream.flush()
    except (OSError, ValueError):  # no room, nobody who reads; or it is closed
        return False
    return True


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
