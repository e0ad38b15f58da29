"""LogTail: the last lines as they were written, within its limits."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
import structlog

from lockstep.clock import VirtualClock
from lockstep.telemetry import LogLine, LogTail, configure_logging, get_logger
from lockstep.telemetry.tail import MAX_LINE_BYTES

Written = tuple[io.StringIO, LogTail]


@pytest.fixture(params=["json", "console"])
def written(request: pytest.FixtureRequest) -> Iterator[Written]:
    """Where lines go, in each shape; the configuration is undone afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream, tail = io.StringIO(), LogTail(max_lines=3, max_bytes=10_000)
    configure_logging(
        service="x", log_format=request.param, clock=VirtualClock(5), stream=stream, tail=tail
    )
    yield stream, tail
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def test_holds_what_was_written_and_nothing_else(written: Written) -> None:
    """Lines of other libraries, too; what is below the level is in neither."""
    stream, tail = written
    get_logger().debug("quiet")
    get_logger(app="a").info("begun")
    logging.getLogger("nats").warning("lost %s", "connection")
    found = tail.last(10)
    assert "".join(one.line + "\n" for one in found) == stream.getvalue()
    assert [one.level for one in found] == ["info", "warning"]


def test_an_error_with_its_traceback_is_one_line(written: Written) -> None:
    """As it is one call."""
    _, tail = written
    try:
        raise ValueError("that")
    except ValueError:
        get_logger().exception("failed")
    (one,) = tail.last(10)
    assert (one.level, "ValueError: that" in one.line) == ("error", True)


def test_older_lines_make_room() -> None:
    """Whichever limit is met first: of lines or of bytes."""
    tail = LogTail(max_lines=3, max_bytes=20)
    for number in range(5):
        tail.add("info", f"{number}")
    assert [one.line for one in tail.last(10)] == ["2", "3", "4"]
    tail.add("info", "x" * 19)
    assert [one.line for one in tail.last(10)] == ["4", "x" * 19]


def test_the_newest_of_a_level_at_least() -> None:
    """What other libraries call critical is an error, and nobody asks for more than there is."""
    tail = LogTail(max_lines=10, max_bytes=1_000)
    for level in ("debug", "info", "warning", "error", "critical", "info"):
        tail.add(level, level)
    assert [one.line for one in tail.last(2)] == ["critical", "info"]
    assert [one.line for one in tail.last(2, "warning")] == ["error", "critical"]
    assert [one.line for one in tail.last(99, "warning")] == ["warning", "error", "critical"]
    assert list(tail.last(0)) == []


def test_a_long_line_is_cut_and_says_so() -> None:
    """By bytes, and never within a character."""
    tail = LogTail(max_lines=2, max_bytes=100_000)
    tail.add("info", "a" + "\u00e4" * MAX_LINE_BYTES)
    (one,) = tail.last(1)
    assert one.line.endswith(f" ({MAX_LINE_BYTES + 1} bytes more)")
    assert len(one.line.encode()) <= MAX_LINE_BYTES + 40


def test_colours_are_the_terminals() -> None:
    """And are left out."""
    tail = LogTail(max_lines=2, max_bytes=1_000)
    tail.add("info", "\x1b[2m2026\x1b[0m [\x1b[32minfo\x1b[0m] begun")
    assert list(tail.last(1)) == [LogLine("info", "2026 [info] begun")]
