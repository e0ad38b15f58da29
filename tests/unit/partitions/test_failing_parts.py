"""What an instance of a partition fails of: only that part of a chunk is told and left out, on each
executor, with any number of shards, and however the events were sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from lockstep.testing import VirtualApp

STREAMS = "define stream S (k string, v long, t string); define stream Out (k string, n long); "
WINDOWED = (
    "partition with (k of S) begin from S#window.length(5)[str:charAt(t, 1) != 'z']"
    " select k, sum(v) as n insert into Out; end;"
)
CASES = {
    "a window of its own": WINDOWED,
    "a key that cannot be told": (
        "partition with (str:concat(k, str:charAt(t, 1)) of S) begin from S#window.length(5)"
        " select k, count() as n insert into Out; end;"
    ),
    "a query behind, in the instance": (
        "partition with (k of S) begin"
        " from S select k, str:charAt(t, 1) as c insert into #In;"
        " from S#window.length(5) select k, sum(v) as n insert into Out; end;"
    ),
    "a pattern": (
        "partition with (k of S) begin"
        " from every e1=S[str:charAt(t, 1) != 'z'] -> e2=S[str:charAt(t, 1) != 'z']"
        " select e1.k as k, e2.v as n insert into Out; end;"
    ),
}
SENT = [
    ("aa", 1, "xx"),
    ("bb", 100, "x"),
    ("ab", 2, "xx"),
    ("cd", 5, "xx"),
    ("bb", 3, "xx"),
    ("aa", 4, "y"),
    ("ab", 6, "xx"),
    ("aa", 7, "xx"),
]


def brought(
    text: str, cut: int, sent: Sequence[Sequence[Any]] = SENT, **options: Any
) -> tuple[list[str], list[str]]:
    """The rows and the told events, both in an order of their own: keys have none between them."""
    with VirtualApp(STREAMS + text, **options) as app:
        for start in range(0, len(sent), cut):
            app.send_many("S", sent[start : start + cut])
        rows = sorted(repr(event.data) for event in app.stream("Out"))
        told = sorted(repr(event.data) for fault in app.faults() for event in fault.events)
    return rows, told


def ways() -> Iterator[dict[str, Any]]:
    """Each executor with each number of shards."""
    for executor, parallel in product(("reference", "columnar"), (1, 2, 4)):
        yield {"executor": executor, "parallel": parallel}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_only_the_parts_that_fail_are_told(text: str) -> None:
    """No key has neighbours here, so each event is a part, and no cut makes a difference."""
    found = [brought(text, cut, **way) for way in ways() for cut in (1, 2, len(SENT))]
    rows, told = found[0]
    assert found == [found[0]] * len(found)
    assert told == ["('aa', 4, 'y')", "('bb', 100, 'x')"]
    assert rows


def test_others_go_on() -> None:
    """With their running values, into which no event comes that the filter failed of."""
    rows, _ = brought(WINDOWED, len(SENT))
    right = [("aa", 1), ("aa", 8), ("ab", 2), ("ab", 8), ("bb", 3), ("cd", 5)]
    assert rows == list(map(repr, right))


def test_a_part_is_told_as_a_whole() -> None:
    """It is a chunk of its own: neighbours of one key fall together."""
    sent = [("aa", 1, "xx"), ("aa", 2, "x"), ("ab", 3, "xx"), ("aa", 4, "xx")]
    found = [brought(WINDOWED, len(sent), sent, **way) for way in ways()]
    assert found == [found[0]] * len(found)
    assert found[0] == (
        ["('aa', 5)", "('ab', 3)"],
        ["('aa', 1, 'xx')", "('aa', 2, 'x')"],
    )


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_what_all_instances_get_fails_in_each_by_itself(executor: str) -> None:
    """It is told once, and the instances behind get it."""
    text = (
        "define stream B (t string); partition with (k of S) begin"
        " from S#window.length(1) as s join B#window.length(1) as b"
        " on str:charAt(b.t, convert(s.v, 'int')) == 'b'"
        " select s.k as k, s.v as n insert into Out; end;"
    )
    with VirtualApp(STREAMS + text, executor=executor) as app:
        app.send_many("S", [("far", 7, ""), ("farther", 8, ""), ("near", 1, "")])
        app.send("B", ["ab"])
        assert [event.data for event in app.stream("Out")] == [("near", 1)]
        assert [[event.data for event in fault.events] for fault in app.faults()] == [[("ab",)]]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_instances_behind_a_failing_reader_of_a_named_window(executor: str) -> None:
    """Their sums take what came with the failing event, and let go of it."""
    text = (
        "define window W (k string, v long, t string) length(2); from S insert into W;"
        " from W select str:charAt(t, 1) as c insert into Other;"
        " partition with (k of W) begin"
        " from W select k, sum(v) as n insert into Out; end;"
    )
    sent = [("a", 1, "xx"), ("a", 100, "x"), ("a", 2, "xx"), ("a", 4, "xx"), ("a", 8, "xx")]
    rows, told = brought(text, 1, sent, executor=executor)
    assert rows == ["('a', 1)", "('a', 102)", "('a', 12)", "('a', 6)"]
    assert told == ["('a', 100, 'x')"]
