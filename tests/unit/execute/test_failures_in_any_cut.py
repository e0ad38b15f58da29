"""What an event fails of is told, and what goes on goes on, on both executors alike, wherever the
log is cut into slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.contract import Executor
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, plan_of

STREAMS = """
define stream S (k string, v long);
define stream R (k string);
define stream Q (k string);
@sink(type='log') define stream P (v long, c string);
"""
CHAR = "str:charAt(k, 1) as c"
CHUNKS: list[Any] = [
    ("S", ("aa", 1)),
    ("S", ("x", 2), ("bb", 2)),
    ("S", ("y", 3)),
    ("S", ("cc", 3), ("dd", 4)),
    ("R", ("r",)),
    1000,
    ("S", ("ee", 5), ("z", 6)),
    ("R", ("r",)),
    ("S", ("ff", 7)),
    2000,
    ("S", ("gg", 8)),
]
"""By entry of the log: the events that one send brings to a stream, or the clock alone."""

APPS = {
    "a group": f"from S select v, {CHAR} group by v",
    "a group behind a window": f"from S#window.length(2) select v, {CHAR} group by v",
    "what leaves": f"from S#window.length(1) select v, {CHAR} order by v insert expired events",
    "what leaves a batch": f"from S#window.lengthBatch(2) select v, {CHAR} group by v"
    " insert expired events",
    "a limit": f"from S select v, {CHAR} order by v desc limit 1",
    "an offset": f"from S select v, {CHAR} offset 1",
    "a rate": f"from S#window.length(1) select v, {CHAR} output all every 1 events"
    " insert expired events",
    "having": f"from S select v, {CHAR} having v > 2",
    "an aggregate": "from S#window.length(3) select sum(v) as v, str:charAt(k, 1) as c",
    "matches of a tick": "from every e1=S -> not Q for 1 sec"
    " select sum(e1.v) as v, str:charAt(e1.k, 1) as c",
    "matches of an event": "from every e1=S -> e2=R"
    " select sum(e1.v) as v, str:charAt(e1.k, 1) as c",
    "a state's filter": "from every e1=S[str:charAt(k, 1) != 'z'] -> e2=R"
    " select sum(e1.v) as v, e1.k as c",
    "a sequence": "from every e1=S, e2=S select sum(e1.v) as v, str:charAt(e1.k, 1) as c",
    "a self join": "from S#window.length(1) as l join S#window.lengthBatch(2) as r"
    " on l.v > r.v and str:charAt(l.k, 1) != 'z' select sum(r.v) as v, r.k as c",
    "what a self join selects": "from S#window.length(1) as l join S#window.length(3) as r"
    " on l.v > r.v select r.v as v, str:charAt(l.k, 1) as c",
}
"""By what each shows: a query whose rows go into P."""


def log_of() -> list[LogEntry]:
    """The chunks as a log."""
    entries, clock_ms = [], 0
    for position, step in enumerate(CHUNKS, start=1):
        if isinstance(step, int):
            clock_ms = step
            entries.append(LogEntry(position, TickRecord(clock_ms)))
            continue
        stream, *rows = step
        chunk = tuple(InputEvent(clock_ms, row) for row in rows)
        entries.append(LogEntry(position, EventsRecord(stream, clock_ms, (chunk,))))
    return entries


def brought(
    executor: Executor, log: Sequence[LogEntry], size: int
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows and the faults of the log in slices of so many entries."""
    rows: list[tuple[Any, ...]] = []
    faults: list[tuple[Any, ...]] = []
    for start in range(0, len(log), size):
        result = executor.run_slice(log[start : start + size])
        rows += [(row.id, row.data) for row in result.rows]
        faults += [
            (fault.position, fault.stream, [event.data for event in fault.events], fault.reason)
            for fault in result.faults
        ]
    return rows, faults


@pytest.mark.parametrize("text", APPS.values(), ids=APPS)
def test_failures_are_the_same_in_any_cut(text: str) -> None:
    """In slices of one entry, of two, and of all; there are rows, and there are faults."""
    ending = " into P;" if " insert " in text else " insert into P;"
    plan: AppPlan = plan_of(STREAMS + text + ending)
    log = log_of()
    expected = brought(ReferenceExecutor(plan, start_ms=0), log, len(log))
    assert all(expected)
    for size in (1, 2, len(log)):
        assert brought(ReferenceExecutor(plan, start_ms=0), log, size) == expected
        assert brought(InProcessExecutor(plan, start_ms=0), log, size) == expected
