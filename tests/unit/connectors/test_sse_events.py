"""The parser of event streams, and how long a source waits before it connects again."""

from __future__ import annotations

import pytest

from lockstep.connectors.sse.events import Parser, ServerEvent, TooLargeError
from lockstep.connectors.sse.reached import LONGEST_PAUSE_MS, LONGEST_WISH_MS, Pause, Reached


def parsed(text: bytes, *, last_id: str = "", size: int = 10_000) -> list[ServerEvent]:
    """Of one connection, cut into pieces of that size."""
    parser = Parser(last_id, 10_000)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [event for piece in pieces for event in parser.feed(piece)]


CASES = [
    (b"data: a\n\n", [ServerEvent(b"a", "message", None, "")]),
    (b"data:a\n\ndata: b\n\n", [ServerEvent(one, "message", None, "") for one in (b"a", b"b")]),
    (b"\xef\xbb\xbfdata: a\r\n\r\n", [ServerEvent(b"a", "message", None, "")]),
    (b"data: a\rdata:  b\r\r", [ServerEvent(b"a\n b", "message", None, "")]),
    (b": comment\ndata\n\n", [ServerEvent(b"", "message", None, "")]),
    (b"id: 7\nevent: row\ndata: {}\n\n", [ServerEvent(b"{}", "row", "7", "7")]),
    (
        b"id: 7\ndata: a\n\ndata: b\n\n",
        [ServerEvent(b"a", "message", "7", "7"), ServerEvent(b"b", "message", None, "7")],
    ),
    (b"id: 8\n\n", [ServerEvent(None, "message", "8", "8")]),
    (
        b"id: 8\ndata: a\n\nid\ndata: b\n\n",
        [ServerEvent(b"a", "message", "8", "8"), ServerEvent(b"b", "message", None, "")],
    ),
    (b"id: a\0b\ndata: c\n\n", [ServerEvent(b"c", "message", None, "")]),
    (b"event: row\n\ndata: a\n\n", [ServerEvent(b"a", "message", None, "")]),
    (b"unknown: x\nData: x\nretry: 1s\ndata: a\n\n", [ServerEvent(b"a", "message", None, "")]),
    (b"data: never ended\n", []),
    (b"\n\n\n", []),
    ("data: é漢\n\n".encode(), [ServerEvent("é漢".encode(), "message", None, "")]),
]


@pytest.mark.parametrize(("text", "events"), CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 10_000])
def test_events_are_the_same_however_the_bytes_come(
    text: bytes, events: list[ServerEvent], size: int
) -> None:
    """All ends of lines, comments, several lines of data, ids that stay, unknown fields."""
    assert parsed(text, size=size) == events


def test_who_goes_on_has_the_id_of_before() -> None:
    """Until the server names another one."""
    first, second = parsed(b"data: a\n\nid: 9\ndata: b\n\n", last_id="8")
    assert (first.id, first.last_id) == (None, "8")
    assert (second.id, second.last_id) == ("9", "9")


def test_the_server_says_how_long_to_wait() -> None:
    """Digits alone; the last one counts."""
    parser = Parser("", 100)
    assert parser.retry_ms is None
    list(parser.feed(b"retry: 1500\nretry: soon\nretry: -1\n"))
    assert parser.retry_ms == 1_500


@pytest.mark.parametrize(
    "text", [b"data: " + b"x" * 20, b"data: 12345\ndata: 67890\n", b": " + b"x" * 20]
)
def test_what_is_larger_than_the_limit_is_told_behind_what_is_not(text: bytes) -> None:
    """One line, several, a comment without an end."""
    parser = Parser("", 10)
    found = parser.feed(b"data: a\n\n" + text)
    assert next(found).data == b"a"
    with pytest.raises(TooLargeError, match=r"more than 10 bytes: max\.event\.bytes"):
        list(found)


def test_one_goes_on_behind_the_first_event_that_is_not_durable() -> None:
    """In whatever order they become so."""
    reached = Reached("0")
    one, two, three = (reached.begin(name) for name in "123")
    assert reached.last_id == "0"
    two.is_done = True
    assert reached.last_id == "0"
    one.is_done = True
    assert reached.last_id == "2"
    three.is_done = True
    assert reached.last_id == "3"


def test_pauses_grow_up_to_a_limit_and_obey_the_server() -> None:
    """Twice as long after each failure in a row; what the server wants is the shortest."""
    pause = Pause(1_000)
    rests = []
    for _ in range(7):
        pause.failed(50, "why")
        rests.append(pause.rest_ms(50))
    assert rests == [1_000, 2_000, 4_000, 8_000, 16_000, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS]
    assert pause.rest_ms(50 + LONGEST_PAUSE_MS) == 0
    assert (pause.reason, pause.has_failed) == ("why", True)
    pause.connected()
    assert not pause.has_failed
    for wish_ms, rest_ms in ((70_000, 70_000), (10**8, LONGEST_WISH_MS)):
        pause.wished(wish_ms)
        pause.failed(0, "why")
        assert pause.rest_ms(0) == rest_ms
