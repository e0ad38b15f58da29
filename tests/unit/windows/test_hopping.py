"""hopping(t, hop) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.windows.hopping.columns import HoppingWindow
from tests.unit.columns.flows import chunks, moves, setup, shown, step


def test_hopping() -> None:
    """At each hop the events of the last t; what waits longer than a hop comes twice."""
    window = HoppingWindow(setup(), 200, 100)
    stream = chunks([1], [2], at=[100, 250])
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [
        ["R", "C1@100"],
        ["X1@300", "R", "C1@100", "C2@250"],
        ["X1@400", "X2@400", "R", "C2@250"],
        ["X2@500", "R"],
    ]
    window.settle()
    assert len(window.held) == 0
    assert window.due_ms() is None
