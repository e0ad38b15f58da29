"""An event that would make something too deep for anybody, on Spark, beside a neighbour."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from tests.integration.spark.conftest import Make

TEXT = "define stream J (t string); "
MAKING = {
    "read": "from J select json:getObject(t, '$') as o insert into O;",
    "put": "from J select map:create('a', json:toObject(t)) as o insert into O;",
}


def entry(position: int, levels: int) -> LogEntry:
    """An event with a text of so many levels."""
    text = '{"a":' * levels + "1" + "}" * levels
    return LogEntry(position, EventsRecord("J", position, ((InputEvent(position, (text,)),),)))


@pytest.mark.processes
@pytest.mark.parametrize("query", MAKING.values(), ids=MAKING)
def test_it_fails_alone_and_neighbours_stay(make: Make, query: str) -> None:
    """Before, the worker wrote for ever at what it would have said of the failure."""
    neighbour = make(TEXT + "from J select count() as n insert into O;")
    neighbour.run_slice([entry(1, 1)])
    app = make(TEXT + query)
    for position, levels in enumerate((5_000, 1_500, 300), start=1):
        result = app.run_slice([entry(position, levels)])
        assert not result.rows
        (fault,) = result.faults
        assert "nested 100 deep" in fault.reason
    (row,) = app.run_slice([entry(4, 90)]).rows
    assert isinstance(row.data[0], dict)
    (counted,) = neighbour.run_slice([entry(2, 1)]).rows
    assert (counted.data, neighbour.rebuilds) == ((2,), 0)
