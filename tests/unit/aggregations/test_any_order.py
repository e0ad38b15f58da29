"""An aggregation is what arithmetic says, whatever the order of arrival, chunks and restarts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.operators import state
from lockstep.testing import VirtualApp

APP = """
define stream S (k string, v int, ts long);
define aggregation A from S
  select k, sum(v) as t, count() as n, min(v) as lo, max(v) as hi, distinctCount(v) as d
  group by k aggregate by ts every sec ... day;
"""
LENGTHS = {"sec": 1_000, "min": 60_000, "hour": 3_600_000, "day": 86_400_000}
FIELDS = "AGG_TIMESTAMP, k, t, n, lo, hi, d"
Event = tuple[str, int, int]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.integers(-3, 3),
        st.integers(0, 100_000) | st.integers(0, 10**8),
    ),
    max_size=25,
)


def computed(events: list[Event], length: int) -> list[tuple[Any, ...]]:
    """The rows of one granularity, straight from the events."""
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    for key, value, at in events:
        groups[(at - at % length, key)].append(value)
    return sorted(
        (start, key, sum(v), len(v), min(v), max(v), len(set(v)))
        for (start, key), v in groups.items()
    )


def read(app: VirtualApp, per: str) -> list[tuple[Any, ...]]:
    """All rows of one granularity."""
    return app.on_demand(f"from A within 0L, {10**12}L per '{per}' select {FIELDS}")


@settings(max_examples=40, deadline=None)
@given(events=EVENTS, data=st.data())
def test_buckets_are_what_arithmetic_says(events: list[Event], data: st.DataObject) -> None:
    """Cut into chunks anywhere, with a restart between two of them."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=4)))
    restart = data.draw(st.integers(0, 5))
    app = VirtualApp(APP)
    for number, (low, high) in enumerate(zip([0, *cuts], [*cuts, len(events)], strict=True)):
        app.send_many("S", events[low:high])
        if number == restart:
            app = VirtualApp.restore(APP, app.snapshot())
    for per, length in LENGTHS.items():
        rows = read(app, per)
        assert sorted(rows) == computed(events, length)
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)


@settings(max_examples=20, deadline=None)
@given(events=EVENTS, low=st.integers(0, 10**5), span=st.integers(1, 10**8))
def test_within_cuts_at_bucket_starts(events: list[Event], low: int, span: int) -> None:
    """A bucket belongs to the range in which it starts; one group is found by its key alone."""
    app = VirtualApp(APP)
    app.send_many("S", events)
    for per, length in LENGTHS.items():
        wanted = [row for row in computed(events, length) if low <= row[0] < low + span]
        text = f"within {low}L, {low + span}L per '{per}' select {FIELDS}"
        assert sorted(app.on_demand(f"from A {text}")) == wanted
        of_a = [row for row in wanted if row[1] == "a"]
        assert app.on_demand(f"from A on k == 'a' {text}") == of_a


DOUBLES = """
define stream S (v double, ts long);
define aggregation A from S select min(v) as lo, max(v) as hi aggregate by ts every sec, min;
"""


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.sampled_from([None, float("nan"), -1.5, 0.0, 2.0, float("inf")])),
    restart=st.integers(0, 5),
)
def test_extremes_pass_over_nan(executor: str, values: list[float | None], restart: int) -> None:
    """As over null, in whatever order they come."""
    app = VirtualApp(DOUBLES, executor=executor)
    for at, value in enumerate(values):
        if at == restart:
            app = VirtualApp.restore(DOUBLES, app.snapshot(), executor=executor)
        app.send("S", [value, at * 600])
    for per, length in (("sec", 1_000), ("min", 60_000)):
        buckets: dict[int, list[float]] = defaultdict(list)
        for at, value in enumerate(values):
            numbers = buckets[at * 600 // length * length]
            numbers += [] if value is None or value != value else [value]
        assert app.on_demand(f"from A within 0L, {10**12}L per '{per}' select *") == [
            (start, min(numbers, default=None), max(numbers, default=None))
            for start, numbers in buckets.items()
        ]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_nan_that_an_earlier_release_kept_is_null(executor: str) -> None:
    """And does not stand in the way of what comes."""
    app = VirtualApp(DOUBLES, executor=executor)
    app.send_many("S", [[1.0, 0], [2.0, 61_000]])
    position, body = state.unseal(app.snapshot())
    ((_, buckets),) = [one for one in body["engine"]["operators"] if one[0].startswith("agg")]
    for _, saved, _ in buckets:
        saved[0][1][0][1][1:] = [float("nan")] * 2
    app = VirtualApp.restore(DOUBLES, state.seal(position, body), executor=executor)
    read = f"from A within 0L, {10**12}L per 'min' select *"
    assert app.on_demand(read) == [(0, None, None), (60_000, 2.0, 2.0)]
    app.send("S", [5.0, 1])
    assert app.on_demand(read) == [(0, 5.0, 5.0), (60_000, 2.0, 2.0)]
