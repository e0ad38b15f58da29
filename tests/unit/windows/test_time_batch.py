"""timeBatch(t) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.columns.order import places_of
from lockstep.windows.time_batch.columns import TimeBatchWindow
from tests.unit.columns.flows import chunks, keyed, moves, setup, shown, step


def test_time_batch() -> None:
    """A batch per boundary, while there is something to emit at it."""
    window = TimeBatchWindow(setup(), 100, None)
    stream = chunks([1], [2], at=[100, 150])
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [["R", "C1@100", "C2@150"], ["X1@300", "X2@300", "R"]]
    assert flow.now.tolist() == [200, 300]
    assert places_of(flow.order) == [(200, 5, 0, 0), (300, 5, 0, 0)]
    assert window.due_ms() is None


def test_each_realm_has_its_own_batches() -> None:
    """They close by timers in the order in which the realms asked for them."""
    stream = keyed(chunks([1], [2], [3], at=[100, 100, 150]), 1, 0, 1)
    window = TimeBatchWindow(setup(keyed=True), 100, None)
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [
        ["R", "C1@100", "C3@150"],
        ["R", "C2@100"],
        *[["X1@300", "X3@300", "R"], ["X2@300", "R"]],
    ]
    assert flow.keys is not None
    assert flow.keys.tolist() == [1, 0, 1, 0]
    assert places_of(flow.order)[:2] == [(200, 5, 0, 0), (200, 5, 1, 0)]
