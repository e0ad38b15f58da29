"""sort(n, …) on columns: what enters, and what leaves behind it."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.column import Column, Unfit
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.contract import ColumnarCall
from lockstep.windows.sort import kernel as sorting
from lockstep.windows.sort.columns import SortWindow, sort
from tests.unit.columns.flows import chunks, longs, setup, shown, step
from tests.unit.side_by_side import Step, rules, stepped
from tests.unit.windows.played import written

S = "define stream S (k string, v double, w int); "


def test_the_last_in_order_leaves_behind_the_new_one() -> None:
    """At the clock; also the new one itself; from slice to slice. Among equals the latest goes."""
    window = SortWindow(setup(), 2, [(0, False)])
    assert shown(window.flow(step(chunks([5], [3, 4])))) == [
        ["C5@100"],
        ["C3@200", "C4@200", "X5@200"],
    ]
    window.settle()
    assert shown(window.flow(step(chunks([9], [4], [1], at=[300, 400, 500])))) == [
        ["C9@300", "X9@300"],
        ["C4@400", "X4@400"],
        ["C1@500", "X4@500"],
    ]
    window.settle()
    found = window.held.column(0, window.inside(0)).to_pylist()
    assert found == [1, 3]


def test_none_is_inside_where_there_is_no_room() -> None:
    """Each leaves at once."""
    window = SortWindow(setup(), 0, [(0, True)])
    assert shown(window.flow(step(chunks([5, 3])))) == [["C5@100", "X5@100", "C3@100", "X3@100"]]
    assert len(window.inside(0)) == 0


@pytest.mark.parametrize("by", ["v", "v, 'desc'", "v, 'desc', w", "w, 'asc', v"])
def test_nulls_and_zeros_stand_where_the_reference_has_them(by: str) -> None:
    """Nulls behind all else in either direction, -0.0 beside 0.0; over a restore."""
    text = f"{S}from S#window.sort(3, {by}) select k, v, w insert all events into O;"
    assert rules(text) == ["sliding window"]
    values = [0.0, -0.0, None, 2.5, -1.5, None, 0.0, -7.0, 1e300, -1e300]
    steps: list[Step] = [
        (100 + number, "S", [[f"k{number}", value, number % 3]])
        for number, value in enumerate(values * 2)
    ]
    expected = stepped(text, steps, "reference", restored=False)
    assert stepped(text, steps, "columnar", restored=False) == expected
    assert stepped(text, steps, "columnar", restored=True) == expected


def test_what_has_no_order_on_columns() -> None:
    """Texts stay on the reference's window, and NaN has no place."""
    handler, call, _ = written("sort(2, k)")
    with pytest.raises(NotLowerable, match="sort by an attribute of type string"):
        sort(ColumnarCall(handler, call), setup())
    window = SortWindow(setup(), 2, [(0, False)])
    column = Column(AttributeType.DOUBLE, np.array([1.0, float("nan")]))
    with pytest.raises(Unfit, match="NaN"):
        window._rank(longs(0, 1), [column])


def test_the_first_of_each_partition() -> None:
    """All of it is in columns, and the reference brings the same."""
    text = (
        f"{S}partition with (k of S) begin"
        " from S#window.sort(2, v, 'desc') select k, v insert all events into O; end;"
    )
    assert rules(text) == ["sliding window"]
    values = [3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 0.5]
    steps: list[Step] = [(100, "S", [["ab"[i % 2], value, i] for i, value in enumerate(values)])]
    expected = stepped(text, steps, "reference", restored=False)
    assert stepped(text, steps, "columnar", restored=True) == expected


def test_the_kernel_puts_a_full_realm_in_order_once() -> None:
    """Behind it, the chain stands in order, with the latest of equals last."""
    head, tail, count = (longs(-1) for _ in range(3))
    count[0] = 0
    newer, older, ordered = np.full(4, -1, np.int64), np.full(4, -1, np.int64), np.zeros(1, bool)
    starts, now, keys, places = longs(0, 4), longs(100), longs(0), longs(0, 1, 2, 3)
    kind, _, place, _, _ = sorting.slide_by_order(
        starts, now, keys, places, 3, longs(2, 1, 2, 1), 1, ordered, older, head, tail, count, newer
    )
    assert kind.tolist() == [0, 0, 0, 0, 1]
    assert place.tolist() == [0, 1, 2, 3, 2]
    assert ordered.all()
    assert sliding.follow(head[0], newer, count[0]).tolist() == [1, 3, 0]
