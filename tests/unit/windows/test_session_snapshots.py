"""Snapshots of sessions in columns: what they cost does not grow with every session; the bytes are
the reference's, and either executor goes on from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.columns.held import HeldRows
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.events import AttributeType, EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators import state
from lockstep.operators.contract import StreamEvent
from lockstep.operators.packed import SMALL_ROWS, PackedEvents
from lockstep.plan import build
from lockstep.siddhiql import check

BY_KEY = """
@app:name('Sessions') @app:playback
define stream S (k string, i int, d double, f float, x long, b bool);
from S#window.session(10 sec, k{latency}) select k, i, d, f, x, b insert all events into O;
"""
IN_EACH = """
@app:name('Sessions') @app:playback
define stream S (k string, i int, d double, f float, x long, b bool);
partition with (k of S) begin
from S#window.session(10 sec) select k, i, d, f, x, b insert all events into O;
end;
"""
WINDOW = "query/query_1/handler_0/window"
TYPES = (
    AttributeType.STRING,
    AttributeType.INT,
    AttributeType.DOUBLE,
    AttributeType.FLOAT,
    AttributeType.LONG,
    AttributeType.BOOL,
)
LATENCIES = ["", ", 5 sec"]
MANY = 1_000


def row(key: str, n: int) -> tuple[Any, ...]:
    """With nulls and zeros of both signs."""
    if n % 7 == 3:
        return (key, None, None, None, None, None)
    return (key, n, (-0.0, n / 3)[n % 2], n / 4, n * 10**12, n % 3 == 0)


def entries(sent: list[list[tuple[int, tuple[Any, ...]]]], first: int = 1) -> list[LogEntry]:
    """Chunks of (time, values), each at the time of its last event."""
    made = []
    for position, chunk in enumerate(sent, first):
        events = tuple(InputEvent(time, values) for time, values in chunk)
        record = EventsRecord("S", chunk[-1][0], (events,), has_timestamps=True)
        made.append(LogEntry(position, record))
    return made


def rounds(keys: int) -> list[LogEntry]:
    """Each key in two rounds: with allowed latency, the sessions of the first one are put aside
    behind the second."""
    return entries([[(at, row(f"k{n}", n)) for n in range(keys)] for at in (1_000, 12_000)])


def rows(result: Any) -> list[Any]:
    """With identities."""
    return [(each.id, each.stream, each.timestamp_ms, repr(each.data)) for each in result.rows]


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often held rows are drawn, and how often some are added."""
    calls: list[str] = []
    columns, add = HeldRows.columns, HeldRows.add

    def drawn(held: HeldRows, places: Any) -> Any:
        calls.append("drawn")
        return columns(held, places)

    def added(held: HeldRows, *more: Any) -> Any:
        calls.append("added")
        return add(held, *more)

    monkeypatch.setattr(HeldRows, "columns", drawn)
    monkeypatch.setattr(HeldRows, "add", added)
    return calls


@pytest.mark.parametrize("latency", LATENCIES)
def test_many_small_sessions_are_drawn_and_added_at_once(latency: str, touched: list[str]) -> None:
    """For so many it is done as often as for a few, those put aside included."""
    plan = build(check(BY_KEY.format(latency=latency)))
    found = []
    for keys in (10, MANY):
        executor = ColumnarExecutor(plan)
        executor.run_slice(rounds(keys))
        touched.clear()
        snapshot = executor.snapshot()
        kept = list(touched)
        touched.clear()
        ColumnarExecutor(plan).restore(snapshot)
        found.append((kept, list(touched)))
    assert found[0] == found[1]
    assert found[0][0] == ["drawn"]
    assert found[0][1].count("added") == 1


@pytest.mark.parametrize("latency", LATENCIES)
def test_small_sessions_have_the_bytes_of_the_reference(latency: str) -> None:
    """Some put aside, some with late events in front; but timers that nobody waits for any more."""
    plan = build(check(BY_KEY.format(latency=latency)))
    late = [(11_500, row(f"k{n}", n + 1)) for n in range(0, 50, 3)]
    columnar, reference = ColumnarExecutor(plan), ReferenceExecutor(plan)
    for executor in (columnar, reference):
        executor.run_slice([*rounds(50), *entries([late], 3)])
    position, body = state.unseal(columnar.snapshot())
    body["engine"]["operators"] = state.unseal(reference.snapshot())[1]["engine"]["operators"]
    assert columnar.snapshot() == state.seal(position, body)


def of_sizes(sizes: list[int]) -> list[LogEntry]:
    """A key for each size, which twice has a session of so many events; the last one is late."""
    sent = []
    for at in (1_000, 13_000):
        for number, size in enumerate(sizes):
            times = [*(at + n % 50 for n in range(size - 1)), at - 500]
            sent.append([(time, row(f"k{number}", n)) for n, time in enumerate(times)])
    return entries(sent)


def sessions_in(snapshot: bytes, *, keep_packed: bool = False) -> dict[str, Any]:
    """What the windows hold."""
    _, body = state.unseal(snapshot, keep_packed=keep_packed)
    return {path: held for path, held in body["engine"]["operators"] if path.endswith("/window")}


def one_by_one(snapshot: bytes) -> dict[str, bytes]:
    """What the windows hold, every event by itself."""
    return {path: state.encode(held) for path, held in sessions_in(snapshot).items()}


@pytest.mark.parametrize("text", [*(BY_KEY.format(latency=each) for each in LATENCIES), IN_EACH])
def test_sessions_of_all_sizes_go_on_in_either_executor(text: str) -> None:
    """Small ones and packed ones by turns: each gets its own rows back, in order."""
    plan = build(check(text))
    sizes = [3, SMALL_ROWS + 1, 1, 200, SMALL_ROWS, 2, 40, 5_000, 1]
    before = of_sizes(sizes)
    ends = [[(13_200, row("k1", 1))], [(24_000, row("k2", 2))], [(60_000, row("z", 3))]]
    after = entries(ends, len(before) + 1)
    folded, expected = ColumnarExecutor(plan), ReferenceExecutor(plan)
    for executor in (folded, expected):
        executor.run_slice(before)
    snapshots = (folded.snapshot(), expected.snapshot())
    held = one_by_one(snapshots[1])
    assert one_by_one(snapshots[0]) == held
    left = rows(expected.run_slice(after))
    assert len(left) > sum(sizes)
    for snapshot in snapshots:
        for again in (ColumnarExecutor(plan), ReferenceExecutor(plan)):
            again.restore(snapshot)
            assert one_by_one(again.snapshot()) == held
            assert rows(again.run_slice(after)) == left


def test_small_sessions_that_are_packed_are_read() -> None:
    """Nothing in a snapshot says that they are not, nor that a large one is."""
    plan = build(check(BY_KEY.format(latency="")))
    executor = ColumnarExecutor(plan)
    executor.run_slice(of_sizes([3, SMALL_ROWS + 1, 2, 30]))
    snapshot = executor.snapshot()
    position, body = state.unseal(snapshot)
    opened, aside = sessions_in(snapshot)[WINDOW]
    turned = [
        (key, (events if len(events) > SMALL_ROWS else packed(events), *span))
        for key, (events, *span) in opened
    ]
    operators = dict(body["engine"]["operators"]) | {WINDOW: (turned, aside)}
    body["engine"]["operators"] = list(operators.items())
    again = ColumnarExecutor(plan)
    again.restore(state.seal(position, body))
    assert again.snapshot() == snapshot
    (kept, _) = sessions_in(snapshot, keep_packed=True)[WINDOW]
    kinds = [type(saved[0]) for _, saved in kept]
    assert kinds == [list, PackedEvents, list, PackedEvents]


def packed(events: Sequence[StreamEvent]) -> PackedEvents:
    """As columns, however few they are."""
    held = HeldRows(TYPES, StringPool())
    times, columns = columns_of(events, TYPES)
    places = held.add(columns, times)
    return PackedEvents(b"".join(events_of(held, places).buffers()))
