"""A table with a store tells the output log what came and what went."""

from __future__ import annotations

from typing import Any

from lockstep.events import EventsRecord, InputEvent, LogEntry, Operation
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of

APP = """
define stream S (k string, v int);
define stream D (k string);
@store(type='rdbms') @PrimaryKey('k') define table T (k string, v int);
define table Own (k string, v int);
from S update or insert into T on T.k == k;
from S insert into Own;
from D delete T on T.k == k;
"""


def rows(
    executor: ReferenceExecutor, stream: str, *data: tuple[Any, ...]
) -> list[tuple[str, Operation, tuple[Any, ...]]]:
    """What a chunk brings to the output log."""
    chunk = tuple(InputEvent(5, row) for row in data)
    record = EventsRecord(stream, 5, (chunk,))
    result = executor.run_slice([LogEntry(executor.position + 1, record)])
    return [(row.stream, row.operation, row.data) for row in result.rows]


def test_changes_become_rows_of_the_output_log() -> None:
    """UPSERT with the new values, DELETE with the old ones; tables without a store say nothing."""
    executor = ReferenceExecutor(plan_of(APP), start_ms=0)
    assert rows(executor, "S", ("a", 1), ("b", 2), ("a", 3)) == [
        ("T", Operation.UPSERT, ("a", 1)),
        ("T", Operation.UPSERT, ("b", 2)),
        ("T", Operation.UPSERT, ("a", 3)),
    ]
    assert rows(executor, "D", ("a",), ("z",)) == [("T", Operation.DELETE, ("a", 3))]


def test_a_restored_table_goes_on_without_repeating() -> None:
    """A restore itself brings no rows; the next change does."""
    executor = ReferenceExecutor(plan_of(APP), start_ms=0)
    rows(executor, "S", ("a", 1))
    again = ReferenceExecutor(plan_of(APP), start_ms=0)
    again.restore(executor.snapshot())
    assert rows(again, "S", ("a", 2)) == [("T", Operation.UPSERT, ("a", 2))]
