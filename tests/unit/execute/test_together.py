"""Records that are read together before they are folded: which can be, and that they are the same
as when they are folded one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, OutputRow, TickRecord, WriteRecord
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.encoding import encoded
from lockstep.execute.spark import blocks, wire
from lockstep.execute.together import Together, put_together
from lockstep.plan import plan_of

TEXT = """
define stream S (s string, i int, b bool); define stream R (s string, d double);
from S#window.length(3) select s, sum(i) as t insert into O;
from S[b] join R#window.time(1 sec) on S.s == R.s select S.s as s, R.d as d insert into P;
"""
PLAN = plan_of(TEXT)
PLAYED = plan_of("@app:playback" + TEXT)
SCHEMAS = PLAN.checked.streams


def record(stream: str, number: int, *, per_chunk: int = 1) -> EventsRecord:
    """Four events, with nulls among them."""
    events = []
    for k in range(4):
        name = (None, "a", "b", "äöü")[(number + k) % 4]
        data = (name, number + k or None, k % 3 != 0) if stream == "S" else (name, k / 3)
        events.append(InputEvent(1000 + 100 * number + k, data))
    chunks = tuple(tuple(events[at : at + per_chunk]) for at in range(0, 4, per_chunk))
    return EventsRecord(stream, 1000 + 100 * number, chunks, True)


def entries(count: int = 12) -> list[EncodedEntry]:
    """Records of two streams, by turns and not."""
    log = [LogEntry(2 * n, record("SSR"[n % 3], n)) for n in range(1, count + 1)]
    return encoded(log, SCHEMAS)


def mixed() -> list[EncodedEntry]:
    """The same with ticks, and with records whose events have one time."""
    one_time = InputEvent(1450, ("a", 1, True))
    others = [
        LogEntry(1, TickRecord(1000)),
        LogEntry(7, TickRecord(1350)),
        LogEntry(9, EventsRecord("S", 1460, ((one_time,), (one_time,)), True)),
        LogEntry(11, EventsRecord("S", 1560, ((one_time,), (one_time,)), False)),
        LogEntry(25, TickRecord(9000)),
    ]
    found = [*entries(), *encoded(others, SCHEMAS)]
    return sorted(found, key=lambda each: each.position)


def travelled(records: Together) -> Together:
    """The same as a worker reads them."""
    holder = blocks.Holder()
    block = holder.put(wire.encode_together(records), shared=blocks.can_share())
    parts = blocks.Reader().get(block)
    return wire.decode_together(list(records.batches), parts)


@pytest.mark.parametrize("plan", [PLAN, PLAYED], ids=["live", "playback"])
@pytest.mark.parametrize("way", [lambda each: each, travelled], ids=["here", "travelled"])
def test_they_bring_what_they_bring_one_by_one(
    plan: object, way: Callable[[Together], Together]
) -> None:
    """Rows, their order and times, and the state behind them."""
    one, other = ColumnarExecutor(plan), ColumnarExecutor(plan)  # type: ignore[arg-type]
    log = mixed()
    rows: list[OutputRow] = []
    for part in (log[:1], log[1:7], log[7:8], log[8:]):
        expected = one.run_encoded(part)
        records = put_together(part, SCHEMAS)
        assert records is not None
        found = other.run_encoded(way(records))
        assert list(found.rows) == list(expected.rows)
        assert (found.position, found.next_due_ms) == (expected.position, expected.next_due_ms)
        rows += found.rows
    assert {row.stream for row in rows} == {"O", "P"}
    assert one.snapshot() == other.snapshot()


def test_they_say_of_each_record_what_its_header_says() -> None:
    """And of each stream its events, in order."""
    found = put_together(entries(4), SCHEMAS)
    assert found is not None
    assert len(found) == 4
    assert found.positions.tolist() == [2, 4, 6, 8]
    assert found.rows.tolist() == [4, 4, 4, 4]
    assert found.clocks_ms.tolist() == [1100, 1200, 1300, 1400]
    assert found.heard.all()
    names = list(found.batches)
    assert [names[number] for number in found.streams] == ["S", "R", "S", "S"]
    ((batch,), (other,)) = (found.batches["S"], found.batches["R"])
    assert (batch.num_rows, other.num_rows) == (12, 4)
    assert batch.column(batch.num_columns - 1).to_pylist()[:2] == [1100, 1101]


@pytest.mark.parametrize(
    "other",
    [
        WriteRecord("delete T", "request", 2000),
        record("S", 9, per_chunk=2),
        EventsRecord(
            "S",
            2000,
            ((InputEvent(2000, ("a", 1, True), "x"),), (InputEvent(2001, ("a", 1, True)),)),
            True,
        ),
    ],
    ids=["a write", "two in a chunk", "an id"],
)
def test_others_are_left_to_be_read_one_by_one(other: EventsRecord | WriteRecord) -> None:
    """A slice with one of them is not read together."""
    (entry,) = encoded([LogEntry(99, other)], SCHEMAS)
    assert put_together([*entries(2), entry], SCHEMAS) is None
    assert put_together(entries(2), SCHEMAS) is not None


def test_nothing_is_no_records() -> None:
    """Nor are events of a stream that the app does not have, or bytes that are no record."""
    assert put_together([], SCHEMAS) is None
    assert put_together(entries(), {"S": SCHEMAS["S"]}) is None
    payload = entries(1)[0].payload
    assert put_together([EncodedEntry(2, payload[: len(payload) // 2])], SCHEMAS) is None
    assert put_together([EncodedEntry(2, b"?")], SCHEMAS) is None


def test_records_whose_columns_have_other_names_are_left() -> None:
    """One that says its names and one that does not: of a sender without the app's schema."""
    named = entries(1)[0]
    unnamed = EncodedEntry(4, encode_record(record("S", 5)))
    assert put_together([named], SCHEMAS) is not None
    assert put_together([named, unnamed], SCHEMAS) is None
