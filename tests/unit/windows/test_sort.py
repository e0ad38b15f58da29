"""sort(n, …) on columns: what enters, and what leaves behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from random import Random
from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Column, Unfit
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.testing import VirtualApp
from lockstep.windows.contract import ColumnarCall
from lockstep.windows.sort import kernel as sorting
from lockstep.windows.sort import meaning
from lockstep.windows.sort.columns import SortWindow, sort
from tests.unit.columns.flows import chunks, longs, setup, shown, step
from tests.unit.side_by_side import Step, played, rules, stepped
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


def test_the_kernel_knows_what_is_last() -> None:
    """The latest of equals; what stays is the rest, and the heap holds each row once."""
    root, count, ordered = longs(-1), longs(0), np.zeros(1, bool)
    below, beside = np.full(4, -1, np.int64), np.full(4, -1, np.int64)
    rows = sorting.Rows(longs(2, 1, 2, 1), longs(0, 1, 2, 3), below, beside, 1)
    starts, now, keys, places = longs(0, 4), longs(100), longs(0), longs(0, 1, 2, 3)
    kind, _, place, _, _ = sorting.slide_by_order(
        starts, now, keys, places, 3, rows, ordered, root, count
    )
    assert kind.tolist() == [0, 0, 0, 0, 1]
    assert place.tolist() == [0, 1, 2, 3, 2]
    assert ordered.all()
    found = sorting.inside(root[0], count[0], rows.below, rows.beside).tolist()
    assert (found[0], sorted(found)) == (0, [0, 1, 3])


ORDERS: dict[str, Callable[[int], list[int]]] = {
    "at random": lambda count: Random(3).sample(range(count), count),
    "rising": lambda count: list(range(count)),
    "falling": lambda count: list(range(count, 0, -1)),
    "equals": lambda count: [7] * count,
}


@pytest.mark.parametrize("order", ORDERS)
def test_each_event_costs_by_the_logarithm_of_those_inside(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in rows that are compared: while the window fills, when it overflows, and later."""
    size, compared = 1000, 0
    loops = [name for name, each in vars(sorting).items() if hasattr(each, "py_func")]
    for name in loops:
        monkeypatch.setattr(sorting, name, getattr(sorting, name).py_func)
    plain = sorting.stands_before

    def counted(*arguments: Any) -> bool:
        nonlocal compared
        compared += 1
        return bool(plain(*arguments))

    monkeypatch.setattr(sorting, "stands_before", counted)
    window = SortWindow(setup(), size, [(0, False)])
    values = ORDERS[order](3 * size)
    window.flow(step(chunks(values)))
    kept = sorted(enumerate(values), key=lambda each: (each[1], each[0]))[:size]
    assert window.held.column(0, window.inside(0)).to_pylist() == [value for _, value in kept]
    assert 0 < compared < 3 * size * 4 * np.log2(size)


@pytest.mark.parametrize("order", ORDERS)
def test_the_reference_looks_at_few_of_those_inside(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It puts all in order once, and then each event to its place."""
    size, looks = 300, 0

    def counting(compare: Any) -> Any:
        def counted(left: Any, right: Any) -> Any:
            nonlocal looks
            looks += 1
            return compare(left, right)

        return cmp_to_key(counted)

    monkeypatch.setattr(meaning, "cmp_to_key", counting)
    app = VirtualApp(f"{S}from S#window.sort({size}, w) select w insert into O;")
    for value in ORDERS[order](3 * size):
        app.send("S", ["k", 0.0, value])
    assert 0 < looks < 3 * size * 2 * np.log2(size)


def _drawn(seed: int) -> list[Step]:
    """Few different values, so that there are many equals; nulls, zeros, and some instances."""
    random = Random(seed)
    values = [None, 0.0, -0.0, *(random.randrange(9) / 2 for _ in range(9))]

    def event() -> Sequence[Any]:
        return ["abc"[random.randrange(3)], random.choice(values), random.randrange(3)]

    return [(100 + at, "S", [event() for _ in range(random.randrange(1, 9))]) for at in range(60)]


@pytest.mark.parametrize("by", ["v", "v, 'desc', w", "w, v, 'desc'"])
def test_both_executors_keep_the_same(by: str) -> None:
    """What enters and leaves, and over restores, what is inside in which order."""
    query = f"from S#window.sort(9, {by}) select k, v, w, sum(w) as s insert all events into O;"
    for text in (f"{S}{query}", f"{S}partition with (k of S) begin {query} end;"):
        assert any(played(text, *_drawn(0), rule="sliding window"))


@pytest.mark.parametrize("is_restored", [False, True])
def test_the_order_of_what_is_inside_is_the_reference_s(is_restored: bool) -> None:
    """That of arrival until the first one leaves; a restore does not change it."""
    text = f"{S}define window W (k string, v double, w int) sort(9, v) output all events;"
    text += "from S select k, v, w insert into W; from W select k, v, w insert into O;"
    apps = {name: VirtualApp(text, executor=name) for name in ("reference", "columnar")}
    for _, _, events in _drawn(5):
        shown = []
        for name, app in apps.items():
            app.send_many("S", events)
            if is_restored:
                apps[name] = app = VirtualApp.restore(text, app.snapshot(), executor=name)
            shown.append(app.on_demand("from W select k, v, w"))
        assert repr(shown[0]) == repr(shown[1])
