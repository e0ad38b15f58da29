"""Log lines: one JSON object each, with time, level, message and where."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import os
import select
import socket
import subprocess
import sys
import threading
import time
from asyncio import sslproto
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from lockstep.clock import VirtualClock
from lockstep.telemetry import LogTail, configure_logging, get_logger
from lockstep.telemetry.logs import MAX_WAITING_BYTES, WAIT_S


class Full(io.StringIO):
    """A file on a disk without room, until there is some."""

    has_room = False

    def write(self, text: str) -> int:
        """See TextIO."""
        if not self.has_room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


class Buffered(Full):
    """One that finds out when its buffer is written."""

    def write(self, text: str) -> int:
        """See TextIO."""
        return io.StringIO.write(self, text)

    def flush(self) -> None:
        """See TextIO."""
        if not self.has_room:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the lines go; the configuration is undone afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    captured = io.StringIO()
    configure_logging(service="receiver", clock=VirtualClock(5), stream=captured)
    yield captured
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_time_level_message_and_context(stream: io.StringIO) -> None:
    """The logger's own words and those of the call stand beside each other."""
    get_logger(app="a", partition=1).info("started", position=9, epoch=3)
    assert _lines(stream) == [
        {
            "at_ms": 5,
            "level": "info",
            "message": "started",
            "service": "receiver",
            "app": "a",
            "partition": 1,
            "position": 9,
            "epoch": 3,
        }
    ]


def test_a_logger_of_a_module_writes_as_it_was_configured_later(stream: io.StringIO) -> None:
    """Modules are imported, and make theirs, before a process knows its settings."""
    structlog.reset_defaults()
    early = get_logger(part="tables")
    configure_logging(service="processor", level="warning", stream=stream)
    early.info("too small")
    early.warning("a row was dropped", table="T")
    (line,) = _lines(stream)
    assert (line["message"], line["part"], line["table"]) == ("a row was dropped", "tables", "T")


def test_a_logger_writes_where_it_was_made(stream: io.StringIO) -> None:
    """What is left of a simulated suite is not heard in the story of the next one."""
    configure_logging(service="processor", stream=stream)
    made = get_logger(part="tables")
    configure_logging(service="processor", stream=io.StringIO())
    made.warning("here")
    (line,) = _lines(stream)
    assert line["message"] == "here"


def test_below_the_level_nothing_is_written(stream: io.StringIO) -> None:
    """Debug lines are off by default."""
    get_logger().debug("quiet")
    assert _lines(stream) == []


def test_other_libraries_take_the_same_shape(stream: io.StringIO) -> None:
    """A warning of the standard library's logging is a line like ours."""
    logging.getLogger("nats").warning("lost %s", "connection")
    assert [(line["message"], line["level"]) for line in _lines(stream)] == [
        ("lost connection", "warning")
    ]


def test_exceptions_are_text_without_local_variables(stream: io.StringIO) -> None:
    """The trace is there, values of variables are not: they may be secrets."""
    logger = get_logger()
    try:
        password = "hid" + "den"
        raise RuntimeError("no luck")
    except RuntimeError:
        logger.exception("failed")
    assert "RuntimeError: no luck" in str(_lines(stream)[0]["exception"])
    assert password not in stream.getvalue()


def test_an_error_on_the_console_shows_no_variables() -> None:
    """They may hold secrets, and are slow to lay out."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    captured = io.StringIO()
    configure_logging(service="x", log_format="console", clock=VirtualClock(5), stream=captured)
    try:
        secret = "hunter2-" + "x" * 8
        raise ValueError(len(secret))
    except ValueError:
        get_logger().exception("failed")
    finally:
        root.handlers[:], root.level = handlers, level
        structlog.reset_defaults()
    assert "ValueError: 16" in captured.getvalue()
    assert "hunter2-x" not in captured.getvalue()


def test_what_asyncio_says_of_every_closed_connection_is_left_out(stream: io.StringIO) -> None:
    """Under its very words, which another release may change; everything else of it is told."""
    words = Path(sslproto.__file__).read_text()
    assert "'returning true from eof_received() '" in words
    logging.getLogger("asyncio").warning("returning true from eof_received() has no effect")
    logging.getLogger("asyncio").warning("socket.send() raised exception.")
    assert [line["message"] for line in _lines(stream)] == ["socket.send() raised exception."]


def _said_by_both() -> None:
    """A line of ours and one of a library."""
    get_logger().error("ours")
    logging.getLogger("nats").error("theirs")


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize("made", [Full, Buffered])
def test_lines_that_cannot_be_written_are_counted_and_kept(made: type[Full]) -> None:
    """Nobody who writes one is disturbed. With room again the log goes on, and says it."""
    full, tail, lost = made(), LogTail(max_lines=9, max_bytes=10_000), []
    configure_logging(service="x", clock=VirtualClock(5), stream=full, tail=tail)
    tail.count_lost = lambda: lost.append(1)
    _said_by_both()
    assert len(lost) == 2
    assert [json.loads(one.line)["message"] for one in tail.last(9)] == ["ours", "theirs"]
    full.has_room = True
    get_logger().info("again")
    get_logger().info("as ever")
    again, told, as_ever = _lines(full)[-3:]
    assert (again["message"], as_ever["message"], len(lost)) == ("again", "as ever", 2)
    assert told == {
        "at_ms": 5, "level": "error", "service": "x", "lines": 2,
        "message": "log lines could not be written",
    }  # fmt: skip


@pytest.mark.usefixtures("stream")
def test_a_console_says_likewise_what_was_lost() -> None:
    """In its own shape."""
    full = Full()
    configure_logging(service="x", log_format="console", clock=VirtualClock(5), stream=full)
    _said_by_both()
    full.has_room = True
    get_logger().info("again")
    _, told = full.getvalue().splitlines()
    assert "log lines could not be written" in told
    assert "lines=2" in told


@pytest.mark.usefixtures("stream")
def test_a_process_without_standard_error_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines are in memory all the same."""
    monkeypatch.setattr(sys, "stderr", None)
    tail = LogTail(max_lines=9, max_bytes=10_000)
    for log_format in ("json", "console"):
        configure_logging(service="x", log_format=log_format, tail=tail)
        _said_by_both()
    assert len(tail.last(9)) == 4


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_closed_stream_disturbs_nobody(log_format: str) -> None:
    """As at the end of a process."""
    closed, tail = io.StringIO(), LogTail(max_lines=9, max_bytes=10_000)
    closed.close()
    configure_logging(service="x", log_format=log_format, stream=closed, tail=tail)
    _said_by_both()
    assert len(tail.last(9)) == 2


@pytest.mark.usefixtures("stream")
def test_a_pipe_that_nobody_reads_disturbs_nobody() -> None:
    """As of `| head` and `| less`."""
    reader, writer = os.pipe()
    tail = LogTail(max_lines=9, max_bytes=10_000)
    # Unbuffered below: a buffer would fail once more when it is closed.
    with io.TextIOWrapper(io.FileIO(writer, "w"), write_through=True) as pipe:
        configure_logging(service="x", stream=pipe, tail=tail)
        os.close(reader)
        _said_by_both()
    assert len(tail.last(9)) == 2


def _filled(writer: int) -> None:
    """No byte more goes into the pipe."""
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, b"x" * 4_096):
            pass
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, b"x"):
            pass
    os.set_blocking(writer, True)


@pytest.mark.usefixtures("stream")
def test_a_pipe_whose_reader_does_not_read_holds_up_nobody() -> None:
    """Some lines wait, the others are counted; when it reads on, what waited comes in its order,
    and how many are lost."""
    reader, writer = os.pipe()
    tail, lost = LogTail(max_lines=9, max_bytes=10_000), []
    tail.count_lost = lambda: lost.append(1)
    pipe = io.TextIOWrapper(io.FileIO(writer, "w"), write_through=True)
    configure_logging(service="x", clock=VirtualClock(5), stream=pipe, tail=tail)
    _filled(writer)
    long, count = "y" * 10_000, 200
    began_s = time.monotonic()
    for number in range(count):
        get_logger().error(long, number=number)
    took_s = time.monotonic() - began_s
    assert took_s < 20 * WAIT_S, "only the first one waits for a while"
    waiting = count - len(lost)
    assert 0 < waiting <= MAX_WAITING_BYTES // len(long) + 1
    held = bytearray()

    def read(lines: int) -> None:
        while held.count(b"\n") < lines:
            held.extend(os.read(reader, 65_536))

    read(waiting + 1)
    get_logger().error("as ever")
    read(waiting + 2)
    lines = [json.loads(line) for line in held.decode().lstrip("x").splitlines()]
    assert [line["number"] for line in lines if line["message"] == long] == list(range(waiting))
    (told,) = [line for line in lines if "could not be written" in line["message"]]
    assert (told["lines"], lines[-1]["message"]) == (len(lost), "as ever")
    os.close(reader)
    pipe.close()


def _writers() -> int:
    """Threads that write lines."""
    return sum(one.name == "log lines" for one in threading.enumerate())


@contextlib.contextmanager
def _busy(threads: int) -> Iterator[None]:
    """So many do nothing but Python."""
    ends = threading.Event()

    def turn() -> None:
        while not ends.is_set():
            pass

    turning = [threading.Thread(target=turn) for _ in range(threads)]
    for one in turning:
        one.start()
    try:
        yield
    finally:
        ends.set()
        for one in turning:
            one.join()


def _old_system(*_given: object) -> int:
    """Linux before 6.4, of pipes."""
    raise OSError(errno.EOPNOTSUPP, "Operation not supported")


@pytest.mark.usefixtures("stream")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread writes all lines")
@pytest.mark.parametrize("kind", ["pipe", "pipe of an old system", "socket"])
def test_a_line_that_is_taken_at_once_waits_for_no_thread(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where others are busy, each switch to one and back costs milliseconds."""
    if kind == "pipe of an old system":
        monkeypatch.setattr(os, "pwritev", _old_system)
    ends = [one.detach() for one in socket.socketpair()] if kind == "socket" else os.pipe()
    reader, writer = ends
    with io.TextIOWrapper(io.FileIO(writer, "w"), write_through=True) as pipe:
        configure_logging(service="x", clock=VirtualClock(5), stream=pipe)
        before = _writers()
        with _busy(2):
            for number in range(50):
                get_logger().error("said", number=number)
        assert _writers() == before
        get_logger().error("y" * select.PIPE_BUF)
        assert _writers() == before + 1, "longer than what goes through at once"
    with io.FileIO(reader) as held:
        said = [json.loads(line) for line in held.readall().splitlines()]
    assert [line.get("number") for line in said] == [*range(50), None]


_CHILD = """
import os, sys, time
from lockstep.telemetry import configure_logging, get_logger
configure_logging(service="x")
sys.stdin.readline()
for number in range(int(sys.argv[1])):
    get_logger().error("said", number=number)
print("said all", flush=True)
if sys.argv[2] == "at once":
    os._exit(0)
"""


def _child(count: int, how: str, stderr: int) -> subprocess.Popen[str]:
    """A process that writes so many lines and ends."""
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(count), how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["in good order", "at once"])
def test_no_line_is_lost_at_the_end_of_a_process(how: str) -> None:
    """Of one whose lines are read."""
    with _child(3_000, how, subprocess.PIPE) as child:
        out, said = child.communicate("go\n", timeout=60)
    assert (out, child.returncode) == ("said all\n", 0)
    assert [json.loads(line)["number"] for line in said.splitlines()] == list(range(3_000))


def test_a_process_ends_though_nobody_reads_its_lines() -> None:
    """By itself, and without an error of Python's own."""
    reader, writer = os.pipe()
    try:
        _filled(writer)
        with _child(1_000, "in good order", writer) as child:
            out, _ = child.communicate("go\n", timeout=60)
        assert (out, child.returncode) == ("said all\n", 0)
    finally:
        os.close(reader)
        os.close(writer)
