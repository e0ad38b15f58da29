"""Events behind their own expired copies leave nothing in aggregates (semantics 7.14)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.aggregators.registry import aggregators
from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Argument
from lockstep.testing import VirtualApp

S = "define stream S (v int, d double, k string);"
SELECT = (
    "select v, sum(v) as s, count() as n, avg(v) as a, min(v) as lo, max(v) as hi,"
    " distinctCount(v) as c, stdDev(v) as dev, stdDev(d) as exact, sum(d) as t"
)
APP = (
    f"{S} @info(name='q') from S#window.expression('sum(v) < 10') {SELECT} insert into O;"
    f" @info(name='g') from S#window.expression('sum(v) < 10') {SELECT} group by k insert into P;"
)
EXECUTORS = ("reference", "columnar")


def expected(held: list[int]) -> tuple[Any, ...]:
    """The aggregates of values by arithmetic."""
    if not held:
        return (None, 0, None, None, None, 0, None, None, None)
    mean = sum(held) / len(held)
    spread = math.sqrt(sum((value - mean) ** 2 for value in held) / len(held))
    numbers = (sum(held), len(held), mean, min(held), max(held), len(set(held)))
    return (*numbers, spread, spread, float(sum(held)))


def shown(values: list[int], executor: str, *, cut: bool) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of both queries; `cut`: with a snapshot and a restore behind each event."""
    app = VirtualApp(APP, executor=executor)
    found: dict[str, list[tuple[Any, ...]]] = {"q": [], "g": []}
    for value in values:
        app.send("S", [value, float(value), "odd" if value % 2 else "even"])
        for name, rows in found.items():
            rows.append(app.query(name).current[-1].data)
        if cut:
            app = VirtualApp.restore(APP, app.snapshot(), executor=executor)
    assert not app.faults()
    return found


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_event_that_expires_itself_leaves_nothing(executor: str, cut: bool) -> None:
    """Nothing is left when it is the only one, and the next finds nothing of it."""
    held: list[int] = []
    rows = shown(values := [20, 1, 20, 20, 1, 4, 6, 30, 2], executor, cut=cut)
    for at, value in enumerate(values):
        held.append(value)
        while sum(held) >= 10:
            held.pop(0)
        assert rows["q"][at] == (value, *map(pytest.approx, expected(held)))
        of_group = [other for other in held if other % 2 == value % 2]
        assert rows["g"][at] == (value, *map(pytest.approx, expected(of_group)))


@pytest.mark.parametrize("events", ["expired events", "all events"])
def test_both_executors_show_what_leaves_alike(events: str) -> None:
    """Also the copy that stands in front."""
    text = APP.replace("insert into", f"insert {events} into")
    found = []
    for executor in EXECUTORS:
        app = VirtualApp(text, executor=executor)
        for value in (4, 20, 3, 20, 20, 9):
            app.send("S", [value, value / 3, "k"])
        found.append([app.query(name).chunks for name in ("q", "g")])
        assert not app.faults()
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_groups_that_hold_nothing_are_forgotten(executor: str) -> None:
    """However many keys have come and gone at once."""
    text = f"{S} from S#window.expression('sum(v) < 10') {SELECT} group by k insert into O;"
    sizes = []
    for count in (50, 200):
        app = VirtualApp(text, executor=executor)
        for number in range(count):
            app.send("S", [20, 20.0, str(number)])
        sizes.append(len(app.snapshot()))
    assert sizes[1] < sizes[0] + 100


NAMES = ("min", "max", "distinctCount", "sum", "avg", "count", "stdDev")


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12))
def test_a_debt_survives_a_snapshot(steps: list[tuple[int, bool]]) -> None:
    """An aggregator that is stored and restored anywhere goes on as the one that was not."""
    for name in NAMES:
        argument = Argument(AttributeType.INT, is_constant=False, value=None)
        make = aggregators(is_siddhi_5_1=False)["", name]
        one, other = make([argument]), make([argument])
        for value, comes in steps:
            restored = make([argument])
            restored.restore(other.snapshot())
            other = restored
            for each in (one, other):
                (each.add if comes else each.remove)(value)
            assert repr(one.value()) == repr(other.value())
            assert one.is_empty() == other.is_empty()


@pytest.mark.parametrize("name", ["min", "max", "distinctCount"])
def test_only_what_comes_next_pays(name: str) -> None:
    """An aggregator that missed an event is right again when the next has come."""
    argument = Argument(AttributeType.INT, is_constant=False, value=None)
    made = aggregators(is_siddhi_5_1=False)["", name]([argument])
    made.remove(7)
    made.add(5)
    made.add(7)
    made.remove(5)
    assert made.value() == (1 if name == "distinctCount" else 7)
    made.remove(7)
    made.remove(9)
    made.remove(9)
    made.add(9)
    made.add(9)
    assert made.is_empty()
