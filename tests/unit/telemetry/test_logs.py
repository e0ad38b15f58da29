"""Log lines: one JSON object each, with time, level, message and where."""

from __future__ import annotations

import io
import json
import logging
from asyncio import sslproto
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from lockstep.clock import VirtualClock
from lockstep.telemetry import configure_logging, get_logger


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
