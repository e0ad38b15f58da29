"""A fold that stops: at a time, or where a query first gives a row; and what the app holds then."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.history import stopping
from lockstep.history.backtest import Wanted
from lockstep.history.errors import HistoryError
from lockstep.history.stopping import Gave, Stopped, plain, stopped
from lockstep.operators.contract import JoinedEvent, MatchedEvent, StreamEvent
from lockstep.plan import plan_of
from lockstep.settings import load_settings

TEXT = """
@app:name('Stops')
define stream In (k string, v int);
define table Last (k string, v int);
define window Newest (k string, v int) length(2);
@info(name='sum') from In#window.length(3) select k, sum(v) as total group by k insert into Out;
@info(name='up') from In select k, v update or insert into Last on Last.k == k;
from In insert into Newest;
@info(name='pairs') from every a=In[v % 10 == 4] -> b=In[v == a.v + 4]
select a.v as one, b.v as two insert into Pairs;
@info(name='high') from In[v > 50] select k, v insert into High;
partition with (k of In) begin
@info(name='own') from In#window.length(2) select k, max(v) as most having most > 40
insert into Most;
end;
"""
SETTINGS = load_settings({})
BEGIN_MS = 1_700_000_000_000
COUNT = 70


def time_of(number: int) -> int:
    """Of event `number`, which has that value and stands at the position behind it."""
    return BEGIN_MS + number * 1_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """What the app took in."""
    return archived_into(tmp_path_factory.mktemp("archive"))


def archived_into(folder: Path) -> Place:
    """An event a second."""
    schemas = plan_of(TEXT).schemas
    found = []
    for number in range(COUNT):
        event = InputEvent(time_of(number), (f"k{number % 3}", number))
        record = EventsRecord("In", time_of(number), ((event,),))
        found.append(EncodedEntry(number + 1, encode_record(record, schemas)))
    place = Place(str(folder))
    SideArchive(place, Logs("Stops", 5), INPUT).write(rows_of(found))
    return place


def tried(place: Place, watch: str | None = None, rows: int = 20, **wanted: Any) -> Stopped:
    """Where it stopped."""
    return stopped(Wanted(TEXT, **wanted), watch, place, SETTINGS, rows=rows)


def events_of(found: Stopped, part: str) -> Sequence[tuple[int | None, Sequence[Any]]]:
    """What a part holds."""
    (held,) = [one for one in found.state if one.part == part]
    return held.events


def test_a_time(place: Place) -> None:
    """Windows, tables and patterns hold what came before it."""
    found = tried(place, to_ms=time_of(35))
    assert (found.position, found.clock_ms, found.events) == (35, time_of(34), 35)
    assert (found.came, found.gave) == (None, ())
    newest = [(time_of(at), (f"k{at % 3}", at)) for at in (32, 33, 34)]
    assert list(events_of(found, "query/sum/handler_0/window")) == newest
    assert list(events_of(found, "window/Newest/window")) == newest[1:]
    assert events_of(found, "table/Last/rows") == [
        (None, ("k0", 33)),
        (None, ("k1", 34)),
        (None, ("k2", 32)),
    ]
    (pattern,) = [one.rest for one in found.state if one.part == "query/pairs/pattern"]
    assert {"at_ms": time_of(34), "values": ["k1", 34]} in pattern[0][-1][0]
    own = events_of(found, "partition/partition_1/k1/query/own/handler_0/window")
    assert [values for _, values in own] == [("k1", 31), ("k1", 34)]


def test_only_the_newest_are_shown(place: Place) -> None:
    """As many as asked for, of how many there are."""
    found = tried(place, rows=1)
    (held,) = [one for one in found.state if one.part == "query/sum/handler_0/window"]
    assert held.count == 3
    assert [values for _, values in held.events] == [("k0", COUNT - 1)]


@pytest.mark.parametrize("at_once", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("watch", "first", "gave"),
    [("high", 51, ("k0", 51)), ("pairs", 8, (4, 8)), ("Most", 41, ("k2", 41))],
)
def test_the_first_row_of_a_query(
    place: Place, monkeypatch: pytest.MonkeyPatch, watch: str, first: int, gave: Any, at_once: int
) -> None:
    """It stops at the very record, however many are folded at once, and no other query is told."""
    monkeypatch.setattr(stopping, "WATCHED_EVENTS", at_once)
    found = tried(place, watch)
    assert (found.position, found.clock_ms, found.events) == (first + 1, time_of(first), first + 1)
    assert found.gave == [Gave(time_of(first), gave, expired=False)]
    came = {"position": first + 1, "clock_ms": time_of(first), "stream": "In"}
    assert found.came == {**came, "events": [[f"k{first % 3}", first]]}
    assert (None, (f"k{first % 3}", first)) in events_of(found, "table/Last/rows")
    others = {"sum", "up", "high", "pairs", "own"} - {watch} if watch != "Most" else ()
    assert not [one for one in found.state if any(f"query/{o}/" in one.part for o in others)]


def test_the_first_row_behind_a_time(place: Place) -> None:
    """What it gave before does not stop it; the state is that of what was warmed up, too."""
    found = tried(place, "sum", from_ms=time_of(30), warm_up_ms=10_000)
    assert found.position == 31
    window = events_of(found, "query/sum/handler_0/window")
    assert [values[1] for _, values in window] == [28, 29, 30]
    assert [one.values for one in found.gave if not one.expired] == [("k0", 30)]


def test_a_query_that_gives_nothing(place: Place) -> None:
    """The state is that of the end of the span."""
    found = tried(place, "high", to_ms=time_of(20))
    assert (found.position, found.gave, found.came) == (20, (), None)


def test_what_cannot_be(place: Place) -> None:
    """A query that is not there: the names are told. One of a partition: what to watch is."""
    with pytest.raises(HistoryError, match="no query or stream 'none'") as raised:
        tried(place, "none")
    assert "high, pairs" in str(raised.value.hint)
    with pytest.raises(HistoryError, match="a query of a partition") as raised:
        tried(place, "own")
    assert raised.value.hint == "watch what it writes: Most"


def test_parts_of_many_keys_are_counted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not all told."""
    whole = tried(place)
    monkeypatch.setattr(stopping, "MAX_PARTS", 4)
    found = tried(place)
    assert list(found.state) == list(whole.state[:4])
    assert found.more_parts == len(whole.state) - 4 > 0


def test_states_in_plain_values() -> None:
    """All that a state may hold."""
    event = StreamEvent(5, ("a", 1))
    told = {"at_ms": 5, "values": ["a", 1]}
    assert plain((event, [None, 1.5])) == [told, [None, 1.5]]
    assert plain(JoinedEvent(6, event, None)) == {"at_ms": 6, "left": told, "right": None}
    assert plain(MatchedEvent(7, [event, None])) == {"at_ms": 7, "slots": [told, None]}
    assert plain({("k", 1): {3, 1, 2}, "b": b"\x01\xff"}) == {"('k', 1)": [1, 2, 3], "b": "01ff"}


def test_the_sums_are_those_of_the_values(place: Place) -> None:
    """A stop at each of some records shows the running table."""
    sums = list(accumulate(range(12)))
    for number in (3, 7, 11):
        found = tried(place, to_ms=time_of(number + 1))
        assert found.events == number + 1
        held = events_of(found, "query/sum/handler_0/window")
        assert sum(values[1] for _, values in held) == sums[number] - sums[number - 3]
