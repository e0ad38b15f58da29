"""length(n) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.windows.length.columns import LengthWindow
from tests.unit.columns.flows import chunks, setup, shown, step


def test_length() -> None:
    """The oldest leaves in front of the new one, at the clock; from slice to slice."""
    window = LengthWindow(setup(), 2)
    assert shown(window.flow(step(chunks([1], [2, 3])))) == [
        ["C1@100"],
        ["C2@200", "X1@200", "C3@200"],
    ]
    window.settle()
    assert shown(window.flow(step(chunks([4], at=[300])))) == [["X2@300", "C4@300"]]
    assert len(window.inside(0)) == 2
