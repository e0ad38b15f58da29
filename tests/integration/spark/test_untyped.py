"""Tests may send what is not of its attribute's type: on Spark the same comes of it as on the
reference."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.testing import VirtualApp

TEXT = """
define stream S (s string, v int, d double, b bool);
define table T (s string, d double);
@info(name='sums') from S#window.length(3) select s, sum(v) as t, avg(d) as m insert into O;
@info(name='big') from S[d > 1.0] select s, instanceOfDouble(d) as x, d insert into P;
partition with (s of S) begin
@info(name='keyed') from S#window.lengthBatch(2) select s, count() as c, b insert into Q;
end;
from S select s, d insert into T;
"""
ROWS: list[list[Any]] = [
    ["a", 1, 1.5, True],
    ["b", 2, 2.5, None],
    ["a", 3, "90.5", True],
    ["b", "four", 4.5, False],
    [5, 5, 5.5, "yes"],
    ["a", 2**40, 6.5, 1],
    ["b", 7, [7.5], True],
    ["a", 8, 8.5, False],
    ["b", 9, 0.5, None],
]


@pytest.mark.usefixtures("spark_env")
@pytest.mark.parametrize("cut", [3, 8])
def test_on_spark_as_on_the_reference(cut: int) -> None:
    """Rows, chunks and faults, also from a snapshot that holds such values."""
    seen = []
    for executor in ("reference", "spark"):
        with VirtualApp(TEXT, executor=executor) as app:
            for at, row in enumerate(ROWS[:cut]):
                app.send("S", row, timestamp_ms=at)
            first, faults = repr(app.observations), repr(app.faults())
            snapshot = app.snapshot()
        with VirtualApp.restore(TEXT, snapshot, executor=executor) as app:
            app.send_many("S", ROWS[cut : cut + 2])
            for at, row in enumerate(ROWS[cut + 2 :]):
                app.send("S", row, timestamp_ms=100 + at)
            stored = repr(app.on_demand("from T select s, d"))
            seen.append((first, faults, repr(app.observations), repr(app.faults()), stored))
    assert seen[0] == seen[1]
    assert "EventFault" in seen[0][1] + seen[0][3]
