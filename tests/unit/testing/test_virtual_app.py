"""VirtualApp: the interface that tests of apps rely on."""

from __future__ import annotations

import pytest

from lockstep.operators.state import position_of
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing import Event, VirtualApp

SUM = (
    "define stream S (s string, v int);"
    "@info(name='q') from S#window.length(2) select s, sum(v) as t insert all events into O;"
)
PLAYBACK_SUM = "@app:playback " + SUM


def test_sends_at_the_clock_or_at_a_time_of_their_own() -> None:
    """Without a time the virtual clock stamps the event."""
    with VirtualApp(SUM, start_ms=100) as app:
        app.send("S", ["a", 1])
        app.advance(50)
        app.send("S", ["b", 2])
        app.send("S", ["c", 3], timestamp_ms=7)
        assert [event.timestamp_ms for event in app.stream("S")] == [100, 150, 7]


def test_chunks_of_queries_and_streams() -> None:
    """What arrives together leaves together; expired events are told apart."""
    app = VirtualApp(SUM.replace("s, sum(v) as t", "s"))
    app.send_many("S", [["a", 1], ["b", 2], ["c", 3]])
    output = app.query("q")
    assert [Event(0, ("a",)), Event(0, ("b",)), Event(0, ("c",))] == output.current
    assert [Event(0, ("a",), expired=True)] == output.expired
    assert [(output.current, output.expired)] == output.chunks
    assert [len(app.stream_chunks(name)[0]) for name in ("S", "O")] == [3, 4]


def test_an_array_may_have_a_time_per_row() -> None:
    """The chunk's clock is its last event's in playback."""
    app = VirtualApp(PLAYBACK_SUM)
    app.send_many("S", [["a", 1], ["b", 2]], timestamp_ms=[10, 20])
    assert [event.timestamp_ms for event in app.query("q").current] == [20]


def test_unknown_names_are_lookup_errors() -> None:
    """Streams to send to, streams and queries to look at."""
    app = VirtualApp(SUM)
    for ask in (app.stream, app.stream_chunks, app.query):
        with pytest.raises(LookupError, match="nowhere"):
            ask("nowhere")
    with pytest.raises(LookupError, match="nowhere"):
        app.send("nowhere", [1])


def test_invalid_apps_are_positioned_errors() -> None:
    """A ValueError with a line and a column."""
    with pytest.raises(SiddhiQLError) as caught:
        VirtualApp("define stream S (v int);\nfrom S select w insert into O;")
    assert (caught.value.line, caught.value.column) == (2, 15)


def test_unknown_executors_are_refused() -> None:
    """There are two."""
    with pytest.raises(ValueError, match="no executor"):
        VirtualApp(SUM, executor="abacus")


def test_a_restored_app_goes_on() -> None:
    """The state travels; what was put out before does not."""
    app = VirtualApp(SUM)
    app.send("S", ["a", 1])
    other = VirtualApp.restore(SUM, app.snapshot())
    other.send("S", ["b", 2])
    assert [event.data for event in other.query("q").current] == [("b", 3)]


def test_playback_can_be_switched_while_running() -> None:
    """On: the clock follows the events; off: it is the virtual clock again."""
    text = (
        "define stream S (v int); from S#window.time(1 sec) select v insert expired events into O;"
    )
    app = VirtualApp(text, start_ms=5_000)
    app.enable_playback(True)
    app.send("S", [1], timestamp_ms=100)
    app.advance(10_000)
    assert app.stream("O") == []
    app.send("S", [2], timestamp_ms=1_100)
    assert [event.data[0] for event in app.stream("O")] == [1]
    app.enable_playback(False)
    app.advance(10_000)
    assert [event.data[0] for event in app.stream("O")] == [1, 2]


def test_an_idle_playback_app_jumps() -> None:
    """idle_ms and increment_ms as in @app:playback."""
    text = (
        "define stream S (v int); from S#window.time(1 sec) select v insert expired events into O;"
    )
    app = VirtualApp(text)
    app.enable_playback(True, idle_ms=100, increment_ms=2_000)
    app.send("S", [1], timestamp_ms=100)
    app.advance(99)
    assert app.stream("O") == []
    app.advance(1)
    assert [event.timestamp_ms for event in app.stream("O")] == [2_100]


def test_values_are_taken_as_they_come() -> None:
    """Numbers become the attribute's kind of number; what does not fit fails where it is used."""
    app = VirtualApp(
        "define stream S (d double, f float); from S[d > 1.0] select d, f insert into O;"
    )
    app.send("S", [2, 0.1])
    app.send("S", ["two", 0.1])
    assert [event.data for event in app.stream("O")] == [(2.0, 0.10000000149011612)]
    assert [e.data for f in app.faults() for e in f.events] == [("two", 0.10000000149011612)]


SOURCES_AND_SINKS = """
@source(type='inMemory', topic='in', @map(type='passThrough'))
define stream S (k string, v int);
@sink(type='inMemory', topic='out-{{k}}')
@sink(type='inMemory', topic='all')
define stream O (k string, v int);
from S select k, v insert into O;
"""


def test_sources_read_and_sinks_publish() -> None:
    """Events and lists of events; one message per distinct value of a topic."""
    app = VirtualApp(SOURCES_AND_SINKS)
    app.publish("in", Event(1, ("a", 1)))
    app.publish("elsewhere", Event(1, ("a", 1)))
    app.publish("in", [Event(2, ("a", 2)), Event(2, ("b", 3)), Event(2, ("a", 4))])
    one, two, three = Event(2, ("a", 2)), Event(2, ("b", 3)), Event(2, ("a", 4))
    assert [
        ("out-a", Event(1, ("a", 1))),
        ("all", Event(1, ("a", 1))),
        ("out-a", [one, three]),
        ("out-b", two),
        ("all", [one, two, three]),
    ] == app.published()


def test_a_source_without_a_topic_has_that_of_the_older_product() -> None:
    """Its sinks name one always."""
    app = VirtualApp(
        "@source(type='inMemory', @map(type='passThrough')) define stream S (k string);"
        " from S select k insert into O;"
    )
    app.publish("input inMemory source", ["a"])
    assert [event.data for event in app.stream("O")] == [("a",)]


@pytest.mark.parametrize(
    ("strategy", "topics"),
    [
        ("roundRobin", ["t0", "t1", "t0"]),
        ("partitioned", ["t1", "t0", "t1"]),
        ("broadcast", ["t0", "t1"] * 3),
    ],
)
def test_distributed_sinks(strategy: str, topics: list[str]) -> None:
    """One after the other, by the hash of a key, or to all."""
    app = VirtualApp(
        "define stream S (k string); @sink(type='inMemory', "
        f"@distribution(strategy='{strategy}', partitionKey='k', "
        "@destination(topic='t0'), @destination(topic='t1'))) define stream O (k string);"
        "from S select k insert into O;"
    )
    for key in ("a", "b", "a"):
        app.send("S", [key])
    assert topics == [topic for topic, _ in app.published()]


def test_time_that_stands_fires_what_is_due_and_folds_nothing_else() -> None:
    """A late event's timer is due at once, also for an app that goes on from a snapshot."""
    text = (
        "define stream S (v int); from S#window.time(1 sec) select v insert expired events into O;"
    )
    app = VirtualApp(text, start_ms=5_000)
    app.send("S", [1], timestamp_ms=100)
    restored = VirtualApp.restore(text, app.snapshot(), start_ms=5_000)
    for each in (app, restored):
        each.advance(0)
        assert [event.data[0] for event in each.stream("O")] == [1]
        position = position_of(each.snapshot())
        each.advance(0)
        assert position_of(each.snapshot()) == position
        each.advance(1)
        assert position_of(each.snapshot()) == position + 1


def test_an_executor_that_there_is_not() -> None:
    """The error names those that there are."""
    with pytest.raises(ValueError, match=r"'fast'.*'reference', 'columnar', 'spark'"):
        VirtualApp("define stream S (k string);", executor="fast")
