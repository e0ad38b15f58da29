"""The parser of event streams, and how long a source waits before it connects again."""

from __future__ import annotations

import pytest

from lockstep.connectors.sse.events import SHOWN_BYTES, Parser, ServerEvent
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


LONG = b"x" * (SHOWN_BYTES + 30)


@pytest.mark.parametrize("piece", [1, 7, 10**6])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"data: " + b"x" * 20, b"x"),
        (b"data: 12345\ndata: 67890", b"12345\n6789"),
        (b"data: 12345\ndata: 67890\ndata: 1", b"12345\n6789"),
        (b"data: 1234567890\ndata: 1", b"1234567890\n"),
        (b"event: " + b"x" * 20, b""),
        (b"data: " + LONG, b"x"),
    ],
)
def test_what_is_larger_than_the_limit_is_refused(text: bytes, shown: bytes, piece: int) -> None:
    """One line, several, a name; in whatever pieces it comes. All others are taken."""
    parser = Parser("", 10)
    stream = b"id: 1\ndata: a\n\nid: 2\n" + text + b"\n\nid: 3\ndata: b\n\n"
    pieces = [stream[at : at + piece] for at in range(0, len(stream), piece)]
    first, large, last = [event for one in pieces for event in parser.feed(one)]
    assert [(one.id, one.data, one.refused) for one in (first, last)] == [
        ("1", b"a", ""),
        ("3", b"b", ""),
    ]
    assert large.refused == "the event has more than 10 bytes: max.event.bytes"
    assert large.id == "2"
    assert large.data is not None
    assert large.data.startswith(shown)
    assert len(large.data) <= SHOWN_BYTES


def test_an_id_that_is_too_large_is_none() -> None:
    """Half of it would be another one; the event says why it is refused."""
    parser = Parser("0", 10)
    pieces = [b"id: ", b"1" * 9, b"1" * 9, b"1", b"\ndata: a\n\n"]
    (large,) = [event for one in pieces for event in parser.feed(one)]
    assert (large.id, large.last_id, large.refused[:20]) == (None, "0", "the event has more t")


def test_a_comment_may_be_of_any_size() -> None:
    """Nobody reads it, and nothing keeps it."""
    parser = Parser("", 10)
    found = [*parser.feed(b": " + LONG), *parser.feed(LONG + b"\ndata: a\n\n")]
    assert [(one.data, one.refused) for one in found] == [(b"a", "")]


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
