"""length(n) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from dataclasses import replace

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


def test_what_comes_and_leaves_in_a_slice_is_never_held() -> None:
    """Where nobody looks for it by its place. What stays is there for the next slice."""
    window = LengthWindow(setup(), 2)
    for cut, brought in (
        (chunks([1], [2, 3]), [["C1@100"], ["C2@200", "X1@200", "C3@200"]]),
        (chunks([4], at=[300]), [["X2@300", "C4@300"]]),
        (
            chunks([5], [6], [7], at=[400, 500, 600]),
            [["X3@400", "C5@400"], ["X4@500", "C6@500"], ["X5@600", "C7@600"]],
        ),
    ):
        assert shown(window.flow(replace(step(cut), by_place=False))) == brought
        window.settle()
        assert len(window.held) == len(window.inside(0)) == 2
    assert window.held.times[window.inside(0)].tolist() == [500, 600]
