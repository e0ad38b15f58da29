"""Tests may send what is not of its attribute's type: on Spark the same comes of it as on the
reference. So it does with what the log has from when an attribute had another type."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import sieve
from lockstep.plan import plan_of
from lockstep.testing import VirtualApp
from tests.integration.spark.conftest import Make

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


TYPED = "define stream S (v {}); from S#window.length(2) select sum(v) as t insert into O;"


def of_before(position: int, kind: str, value: Any) -> EncodedEntry:
    """A record from when the attribute was of that type."""
    schemas = plan_of(f"define stream S (v {kind}); from S insert into O;").schemas
    record = EventsRecord("S", position, ((InputEvent(position, (value,)),),))
    return EncodedEntry(position, encode_record(record, schemas))


def test_records_from_before_an_upgrade_are_the_same_on_both(make: Make) -> None:
    """An attribute has got another type since: numbers go on, all else is set aside."""
    log = [
        of_before(1, "int", 1),
        of_before(2, "double", 2.0),
        of_before(3, "string", "3"),
        of_before(4, "double", 4.5),
        of_before(5, "long", 5),
    ]
    plan = plan_of(TYPED.format("long"))
    sieved = sieve(log, plan.schemas, SendMemory(10))
    assert [fault.position for fault in sieved.faults] == [3, 4]
    results = [
        each.run_encoded(sieved.entries) for each in (ReferenceExecutor(plan), make(plan.text))
    ]
    assert [[row.data for row in each.rows] for each in results] == [[(1,), (3,), (7,)]] * 2
    assert [each.faults for each in results] == [(), ()]


def test_what_no_sieve_has_kept_away_harms_no_worker(make: Make) -> None:
    """The reference folds it, as all that has no columnar form."""
    executor = make(TYPED.format("int"))
    result = executor.run_encoded([of_before(1, "long", 1 << 40), of_before(2, "int", 1)])
    assert [row.data for row in result.rows] == [(1 << 40,), ((1 << 40) + 1,)]
