"""What executors tell of their queries: rows, whoever folds them."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.local import open_local
from lockstep.execute.work import joined_work
from lockstep.plan import plan_of

TEXT = """
define stream S (a string, b int);
@info(name='big') from S[b > 1] select a, b insert into T;
@info(name='sums') from T#window.length(2) select a, sum(b) as total insert into U;
partition with (a of S) begin
  @info(name='inner') from S select a, b insert into V;
end;
"""


def _entry(position: int, *values: int) -> LogEntry:
    chunk = tuple(InputEvent(1_000, (f"k{value % 2}", value)) for value in values)
    return LogEntry(position, EventsRecord("S", 1_000, (chunk,)))


@pytest.mark.parametrize("columnar", [False, True])
def test_counts_the_rows_of_each_query(columnar: bool) -> None:
    """Once each, and from zero after they were taken."""
    executor = open_local(plan_of(TEXT), columnar=columnar)
    executor.run_slice([_entry(1, 1, 2), _entry(2, 3)])
    found = {name: rows for name, (rows, _) in executor.take_work().items()}
    assert {name: found[name] for name in ("big", "sums", "inner")} == {
        "big": 2, "sums": 2, "inner": 3,
    }  # fmt: skip
    assert not any(rows for rows, _ in executor.take_work().values())


def test_columns_measure_the_time() -> None:
    """Something was needed for it."""
    executor = open_local(plan_of(TEXT))
    executor.run_slice([_entry(1, *range(1_000))])
    assert sum(took_us for _, took_us in executor.take_work().values()) > 0


def test_shards_are_added() -> None:
    """Each has a share of the rows."""
    assert joined_work([{"q": (1, 10)}, {"q": (2, 5), "r": (0, 3)}]) == {"q": (3, 15), "r": (0, 3)}
