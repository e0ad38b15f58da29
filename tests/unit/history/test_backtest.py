"""A back-test gives, row for row, what an app gave; of a changed one it says what is different."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pytest

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.rows_out import Published, published_rows
from lockstep.events import EventsRecord, InputEvent, OutputRecord, TickRecord, WriteRecord
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.observe import Observe
from lockstep.history.backtest import Report, Wanted, backtest, run_here
from lockstep.history.errors import HistoryError
from lockstep.history.folding import linked
from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.settings import load_settings

TEXT = """
@app:name('Sums')
define stream In (k string, v int);
define table Seen (k string, v int);
@sink(type='log') define stream Out (k string, total long);
@sink(type='log') define stream High (k string, v int);
from In#window.time(10 sec) select k, sum(v) as total group by k insert into Out;
from In[v > 90] select k, v insert into High;
"""
SETTINGS = load_settings({})
BEGIN_MS = 1_700_000_000_000


def entries(count: int = 400) -> list[EncodedEntry]:
    """Sends of one to three events, with ticks and a write between them."""
    schemas = plan_of(TEXT).schemas
    found: list[EncodedEntry] = []
    for at in range(count):
        clock_ms = BEGIN_MS + at * 500
        if at % 11 == 10:
            payload = encode_record(TickRecord(clock_ms))
        elif at == 50:
            payload = encode_record(WriteRecord("delete Seen on v == 1", "r", clock_ms))
        else:
            chunks = tuple(
                tuple(
                    InputEvent(clock_ms, (f"k{(at + i * 7) % 5}", (at * 37 + i) % 100))
                    for i in range(size)
                )
                for size in (at % 3 + 1, 1)
            )
            payload = encode_record(EventsRecord("In", clock_ms, chunks), schemas)
        found.append(EncodedEntry(at + 1, payload))
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """What the app took in and gave out, folded in slices of seven, and archived. A back-test
    writes beside it, under a name of its own."""
    found = entries()
    place, logs = Place(str(tmp_path_factory.mktemp("archive"))), Logs("Sums", 5)
    live = InProcessExecutor(plan_of(TEXT), observe=Observe.NOTHING)
    out = SideArchive(place, logs, OUTPUT)
    slices = (found[start : start + 7] for start in range(0, len(found), 7))
    given = [
        Published(number, OutputRecord(1, live.run_encoded(each).rows))
        for number, each in enumerate(slices, start=1)
    ]
    for start in range(0, len(given), 10):
        out.write(published_rows(given[start : start + 10], BEGIN_MS))
    into = SideArchive(place, logs, INPUT)
    for start in range(0, len(found), 90):
        into.write(rows_of(found[start : start + 90]))
    return place


def tried(place: Place, text: str = TEXT, **wanted: object) -> Report:
    """In this process."""
    return backtest(Wanted(text, **wanted), place, SETTINGS, run_here, uuid4().hex)  # type: ignore[arg-type]


@pytest.mark.parametrize("parallel", [1, 3])
def test_the_same_text(place: Place, parallel: int) -> None:
    """All rows are the same, however the app is cut."""
    report = tried(place, parallel=parallel)
    assert report.tasks == (1 if parallel == 1 else len(linked(fleet_of(plan_of(TEXT), 3))))
    found = report.compared
    assert found is not None
    assert (found.missing, found.other, report.not_compared) == (0, 0, 0)
    assert found.same == report.done.rows > 400


def test_a_task_that_runs_twice(place: Place) -> None:
    """As Spark may: its rows are there once."""
    twice = backtest(
        Wanted(TEXT), place, SETTINGS,
        lambda work, requests: [work(one) for one in [*requests, *requests]][: len(requests)],
        "twice",
    )  # fmt: skip
    found = twice.compared
    assert found is not None
    assert (found.missing, found.other) == (0, 0)


def test_a_changed_text(place: Place) -> None:
    """What it does not give any more is missing, what it gives beyond is other."""
    report = tried(place, TEXT.replace("v > 90", "v > 80 and v < 95"))
    found = report.compared
    assert found is not None
    records = [one.record() for one in entries()]
    values = [
        event.data[1]
        for record in records
        if isinstance(record, EventsRecord)
        for chunk in record.chunks
        for event in chunk
    ]
    missing = [one for one in values if isinstance(one, int) and one >= 95]
    other = [one for one in values if isinstance(one, int) and 80 < one <= 90]
    assert (found.missing, found.other) == (len(missing), len(other))
    assert {one.stream for one in found.first} == {"High"}
    assert found.first == sorted(found.first, key=lambda one: one.position)


def test_a_span_with_a_warm_up(place: Place) -> None:
    """Behind a window's length everything is as it was; in front of it nothing counts."""
    begin_ms = BEGIN_MS + 100_000
    cold = tried(place, from_ms=begin_ms, to_ms=begin_ms + 30_000)
    warm = tried(place, from_ms=begin_ms, to_ms=begin_ms + 30_000, warm_up_ms=10_500)
    assert cold.compared is not None
    assert warm.compared is not None
    assert cold.compared.missing
    assert (warm.compared.missing, warm.compared.other) == (0, 0)
    assert warm.span.after == cold.span.after - 21


def test_what_there_is_not(place: Place) -> None:
    """Errors say what to do."""
    with pytest.raises(HistoryError, match="nothing of an app 'Other'"):
        tried(place, app="Other")
    with pytest.raises(HistoryError, match="nothing in the archive between"):
        tried(place, from_ms=BEGIN_MS + 10**9)


def test_streams_that_are_not_archived(tmp_path: Path) -> None:
    """An app that reads one is refused, unless told otherwise."""
    place = Place(str(tmp_path))
    side = SideArchive(place, Logs("Sums"), INPUT)
    side.write(rows_of(entries(20), lambda _: False))
    with pytest.raises(HistoryError, match="'In' are not archived"):
        tried(place)
    assert tried(place, despite_gaps=True).done.missing > 0


def test_the_hint_of_a_gap_is_a_time_that_goes(tmp_path: Path) -> None:
    """The archive has nothing of the first events; the time that the refusal names begins behind
    them, and an earlier one does not."""
    place = Place(str(tmp_path))
    side = SideArchive(place, Logs("Sums"), INPUT)
    found = entries(40)
    side.write(rows_of(found[:20], lambda _: False))
    with pytest.raises(HistoryError, match="position 1 on") as refused:
        tried(place)
    assert "nothing behind the last gap, position 20, is archived yet" in str(refused.value.hint)
    side.write(rows_of(found[20:]))
    with pytest.raises(HistoryError) as refused:
        tried(place)
    told = re.search(r"there from (\S+) on", str(refused.value.hint))
    assert told is not None
    from_ms = round(datetime.fromisoformat(told[1]).timestamp() * 1_000)
    assert tried(place, from_ms=from_ms).span.after == 20
    with pytest.raises(HistoryError):
        tried(place, from_ms=from_ms - 1)
