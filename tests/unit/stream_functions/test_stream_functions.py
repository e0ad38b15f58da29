"""Stream functions and stream processors, driven through an app."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.operators.contract import StreamEvent
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.catalogue import Argument
from lockstep.stream_functions.call import StreamCall
from lockstep.stream_functions.deduplicate.meaning import Deduplicate
from lockstep.testing import VirtualApp
from tests.unit.operators.plain_context import PlainContext


def rows(text: str, events: list[list[Any]], *, cut: int | None = None) -> list[tuple[Any, ...]]:
    """What stream O carries after the events were sent to S; restored in front of event `cut`."""
    app, carried = VirtualApp(text), []
    for number, event in enumerate(events):
        if number == cut:
            carried += app.stream("O")
            app = VirtualApp.restore(text, app.snapshot())
        app.send("S", event)
    return [event.data for event in (*carried, *app.stream("O"))]


def test_pol2cart_takes_degrees() -> None:
    """0.7854 degrees, 5 → 4.99953…, 0.06853…; z is handed on."""
    text = (
        "define stream S (t double, r double); from S#pol2Cart(t, r, 3.0) select * insert into O;"
    )
    (found,) = rows(text, [[0.7854, 5.0]])
    assert found == pytest.approx((0.7854, 5.0, 4.99953024681082, 0.06853693328228748, 3.0))
    assert math.hypot(*found[2:4]) == pytest.approx(5.0)


def test_log_hands_events_on(capsys: pytest.CaptureFixture[str]) -> None:
    """All forms write a line, except at OFF."""
    text = """
    define stream S (v int);
    from S#log('INFO', 'seen', true)#log('plain')#log(false)#log('OFF', 'never')
    select * insert into O;
    """
    assert rows(text, [[1]]) == [(1,)]
    written = capsys.readouterr()
    assert "seen" in written.out + written.err
    assert "never" not in written.out + written.err


def test_str_tokenize() -> None:
    """One event per piece; distinct ones on demand; null drops the chunk."""
    text = "define stream S (s string); from S#str:tokenize(s, ','{}) select token insert into O;"
    assert rows(text.format(""), [["b,c,b,,d"]]) == [("b",), ("c",), ("b",), ("",), ("d",)]
    assert rows(text.format(", true"), [["b,c,b,,d"]]) == [("b",), ("c",), ("",), ("d",)]
    assert rows(text.format(""), [[None], ["a"]]) == [("a",)]


def test_list_and_map_tokenize() -> None:
    """Several lists side by side; keys with their values."""
    text = (
        "define stream S (a object, b object);"
        "from S#{}:tokenize(a, b) select {}, value insert into O;"
    )
    assert rows(text.format("list", "index"), [[[1, 2], [3]]]) == [(0, [1, 3]), (1, [2, None])]
    assert rows(text.format("map", "key"), [[{"x": 1}, {"y": 2}]]) == [
        ("x", [1, None]),
        ("y", [None, 2]),
    ]
    single = (
        "define stream S (a object); from S#list:tokenize(a) select index, value insert into O;"
    )
    assert rows(single, [[["p", "q"]]]) == [(0, "p"), (1, "q")]


def test_json_tokenize() -> None:
    """Elements as JSON text or as objects; a missing path drops, or gives null."""
    text = (
        "define stream S (j string, p string);"
        "from S#json:{}(j, p{}) select jsonElement insert into O;"
    )
    events = [['{"a":[{"b":1},"x"]}', "$.a"], ['{"a":1}', "$.c"]]
    assert rows(text.format("tokenize", ""), events) == [('{"b":1}',), ('"x"',)]
    assert rows(text.format("tokenizeAsObject", ", false"), events) == [
        ({"b": 1},),
        ("x",),
        (None,),
    ]


DEDUPLICATE = """
@app:playback define stream S (k string, t long);
from S#unique:deduplicate(k, 1 sec) select k, t insert into O;
"""


@pytest.mark.parametrize("cut", [None, 1, 2, 3, 4])
def test_deduplicate(cut: int | None) -> None:
    """A gap of exactly t is a duplicate, and what is dropped prolongs nothing."""
    app, passed = VirtualApp(DEDUPLICATE), []
    for number, time in enumerate([1000, 1500, 2000, 2999, 3500]):
        if number == cut:
            passed += app.stream("O")
            app = VirtualApp.restore(DEDUPLICATE, app.snapshot())
        app.send("S", ["a", time], timestamp_ms=time)
    passed += app.stream("O")
    assert [event.data[1] for event in passed] == [1000, 2999]


AHEAD_MS = 10**12


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        # One event with a timestamp ahead: neither its key nor another one is lost.
        (
            [("f", AHEAD_MS), ("k", 2000), ("k", 2500), ("k", 5000), ("f", 5000), ("f", 5500)],
            [("f", AHEAD_MS), ("k", 2000), ("k", 5000), ("f", 5000)],
        ),
        # A late event does not hide behind a newer one of another key.
        (
            [("a", 10_000), ("late", 1000), ("late", 11_000)],
            [("a", 10_000), ("late", 1000), ("late", 11_000)],
        ),
        # Late by up to t is a duplicate; by more than that it is none.
        ([("k", 9000), ("k", 8000), ("k", 7999)], [("k", 9000), ("k", 7999)]),
        # What passed with several timestamps is forgotten by the last of them.
        (
            [("k", 9000), ("k", 5000), ("x", 10_001), ("k", 9500), ("k", 10_001)],
            [("k", 9000), ("k", 5000), ("x", 10_001), ("k", 9500)],
        ),
        # An event of another key that is ahead, a little or far, makes no key forgotten.
        (
            [("b", 1000), ("b", 1900), ("a", 2500), ("b", 1950), ("b", 1960)],
            [("b", 1000), ("a", 2500)],
        ),
        (
            [("b", 1000), ("a", AHEAD_MS), ("b", 1001), ("a", AHEAD_MS), ("b", 1002)],
            [("b", 1000), ("a", AHEAD_MS)],
        ),
    ],
)
def test_deduplicate_when_timestamps_fall(
    executor: str, sent: list[tuple[str, int]], expected: list[tuple[str, int]]
) -> None:
    """Whole and restored before each event."""
    text = DEDUPLICATE.replace("@app:playback ", "")
    whole, pieces = VirtualApp(text, executor=executor), VirtualApp(text, executor=executor)
    passed: list[Event] = []
    for key, time in sent:
        whole.send("S", [key, time], timestamp_ms=time)
        pieces = VirtualApp.restore(text, pieces.snapshot(), executor=executor)
        pieces.send("S", [key, time], timestamp_ms=time)
        passed += pieces.stream("O")
    assert [event.data for event in whole.stream("O")] == expected
    assert [event.data for event in passed] == expected


def deduplicate_of_a_second() -> tuple[Deduplicate, PlainContext, list[StreamEvent]]:
    """(the function, its clock, what it lets pass)."""
    arguments = [
        Argument(AttributeType.STRING),
        Argument(AttributeType.LONG, is_constant=True, value=1000),
    ]
    values = [lambda event: event.data[0], lambda event: 1000]
    context, passed = PlainContext(), list[StreamEvent]()
    function = Deduplicate(StreamCall(arguments, values, StreamSchema("S", ()), context))
    function.emit = passed.extend
    return function, context, passed


def test_what_deduplicate_remembers_does_not_grow_with_the_events() -> None:
    """A key that comes ahead and late in turn is one key."""
    function, _, passed = deduplicate_of_a_second()
    for number in range(4000):
        time = AHEAD_MS if number % 2 else 2000
        function.process([StreamEvent(time, ("k",))])
    assert function.snapshot() == [("k", AHEAD_MS, 0)]
    assert len(passed) == 4000


def test_deduplicate_forgets_by_the_clock() -> None:
    """A key is remembered for two t of it, whatever the timestamps say; what is dropped is no
    reason to remember it for longer."""
    function, context, passed = deduplicate_of_a_second()
    for now, time, key in [(0, 7, "k"), (500, 7, "x"), (2000, 7, "k"), (2001, 8, "k")]:
        context.now = now
        function.process([StreamEvent(time, (key,))])
    assert [(event.timestamp_ms, event.data[0]) for event in passed] == [
        (7, "k"),
        (7, "x"),
        (8, "k"),
    ]
    assert function.snapshot() == [("x", 7, 500), ("k", 8, 2001)]
    context.now = 0  # playback was switched on
    function.process([StreamEvent(7, ("y",))])
    assert function.snapshot() == [("x", 7, 500), ("k", 8, 2001), ("y", 7, 0)]
    context.now = 10**6
    function.process([StreamEvent(7, ("y",))])
    assert function.snapshot() == [("y", 7, 10**6)]


def test_deduplicate_takes_over_what_an_earlier_release_remembered() -> None:
    """It did not know when keys passed by the clock; they count as if it were now."""
    function, context, passed = deduplicate_of_a_second()
    function.restore([("k", 7), ("x", 8)])
    assert function.snapshot() == [("k", 7, None), ("x", 8, None)]
    function.restore(function.snapshot())
    context.now = 10**6
    function.process([StreamEvent(9, ("k",))])
    assert not passed
    assert function.snapshot() == [("k", 7, 10**6), ("x", 8, 10**6)]


def test_what_deduplicate_remembers_of_a_past_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A year is read while the clock stands still; an event far ahead makes two be forgotten."""
    monkeypatch.setattr("lockstep.stream_functions.deduplicate.meaning._MANY", 50)
    function, _, passed = deduplicate_of_a_second()
    for number in range(4000):
        function.process([StreamEvent(100 * number, (f"k{number}",))])
    assert len(passed) == 4000
    assert len(function.snapshot()) == 50
    passed.clear()
    function.process([StreamEvent(AHEAD_MS, ("far",))])
    for number in range(3950, 4000):
        function.process([StreamEvent(100 * number, (f"k{number}",))])
    assert len(passed) <= 3


KSLACK = "define stream S (t long); from S#reorder:kslack(t{}) select t insert into O;"
RUN = [[t] for t in (10, 12, 11, 13, 15, 14, 20, 13, 30, 40)]


@pytest.mark.parametrize("cut", [None, *range(1, 10)])
def test_kslack(cut: int | None) -> None:
    """The example of extensions 10, restored anywhere."""
    found = [row[0] for row in rows(KSLACK.format(""), RUN, cut=cut)]
    assert found == [10, 12, 11, 13, 14, 13, 15, 20]


def test_kslack_may_discard_and_be_limited() -> None:
    """Late events go; K grows no further than max.k."""
    late = [row[0] for row in rows(KSLACK.format(", true"), RUN)]
    assert late == sorted(late)
    limited = [row[0] for row in rows(KSLACK.format(", -1L, 1L"), RUN)]
    assert limited == [10, 12, 11, 13, 14, 15, 13, 20, 30]


def test_kslack_gives_up_after_its_timeout() -> None:
    """What waits leaves when the timer is due, also after a restore."""
    text = KSLACK.format(", 1000L")
    app = VirtualApp(text, start_ms=1)
    for event in RUN[:6]:
        app.send("S", event)
    before = len(app.stream("O"))
    app = VirtualApp.restore(text, app.snapshot(), start_ms=1)
    app.advance(1000)
    assert before == 4
    assert [event.data[0] for event in app.stream("O")] == [15]
    app.advance(10_000)
    app.send("S", [16])
    app.send("S", [15])
    app.advance(2000)
    assert [event.data[0] for event in app.stream("O")][1:] == [14, 16]


@pytest.mark.parametrize("cut", [None, 7, 40])
def test_akslack_holds_back_less_than_kslack_and_survives_a_restore(cut: int | None) -> None:
    """With small batches K follows the controller; the same input gives the same output."""
    text = """
    define stream S (t long, v double);
    from S#reorder:akslack(t, v, 20L, -1L, -1L, false, 0.03, 0.95) select t insert into O;
    """
    events = [[t if t % 10 else t - 7, float(t % 13)] for t in range(1, 100)]
    whole = rows(text, events)
    assert rows(text, events, cut=cut) == whole
    plain = rows(
        text.replace("akslack(t, v, 20L, -1L, -1L, false, 0.03, 0.95)", "kslack(t)"), events
    )
    assert len(whole) >= len(plain)
    assert not Counter(whole) - Counter((event[0],) for event in events)


@pytest.mark.parametrize(
    "call",
    [
        "reorder:kslack(s)",
        "reorder:kslack(t, 5)",
        "reorder:akslack(t)",
        "reorder:akslack(t, d, 1L, 1L, 1L, true, 0.1)",
        "str:tokenize(s, s)",
        "str:tokenize(s)",
        "pol2Cart(t, d)",
        "unique:deduplicate(s, t)",
        "json:tokenize(t, s)",
        "list:tokenize()",
        "nope:nope()",
    ],
)
def test_wrong_arguments_are_refused(call: str) -> None:
    """At creation, with a place."""
    with pytest.raises(SiddhiQLError):
        VirtualApp(
            f"define stream S (s string, t long, d double); from S#{call} select * insert into O;"
        )
