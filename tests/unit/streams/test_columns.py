"""What a snapshot and a restore do for each group and instance: next to nothing, as folding stands
still meanwhile. And that each executor goes on from the other's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lockstep.aggregators.extremes.columns import SlidingExtremes
from lockstep.columns.held import HeldRows
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.testing import VirtualApp
from lockstep.testing.virtual_app import rehearsed
from tests.unit.side_by_side import entries_of, rules

STREAM = "define stream S (k string, v double, w long); "
QUERIES = {
    "groups": (
        "@info(name='q') from S#window.length(100000)[v != 3.0]"
        " select k, max(v) as m, min(w) as n, sum(w) as s group by k insert into O;"
    ),
    "groups in any order": (
        "@info(name='q') from S#window.sort(100000, w)"
        " select k, max(v) as m group by k insert into O;"
    ),
    "instances": (
        "partition with (k of S) begin @info(name='q') from S#window.length(50)[v != 3.0]"
        " select k, max(v) as m insert into O; end;"
    ),
    "groups of instances": (
        "partition with (k of S) begin @info(name='q') from S#window.time(5 sec)"
        " select k, w, max(v) as m, min(v) as n group by w insert into O; end;"
    ),
}


def rows_of(keys: int, count: int) -> Iterator[list[Any]]:
    """Events of so many keys: nulls and values that come again among them, many of the first."""
    for n in range(count):
        key = 0 if n % 3 == 0 else n % keys
        yield [f"k{key}", None if n % 11 == 0 else float(n * 7 % 90), n % 4]


def folded(query: str, keys: int) -> ColumnarExecutor:
    """An executor that holds three events of each key."""
    plan = rehearsed(STREAM + QUERIES[query])
    executor = ColumnarExecutor(plan)
    executor.run_slice(entries_of(plan, [(0, "S", list(rows_of(keys, 3 * keys)))]))
    return executor


def counted(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> list[int]:
    """One entry for each call of a method from now on."""
    calls: list[int] = []
    method = getattr(kind, name)

    def spy(*given: Any) -> Any:
        calls.append(1)
        return method(*given)

    monkeypatch.setattr(kind, name, spy)
    return calls


@pytest.mark.parametrize("query", ["groups", "groups in any order", "instances"])
def test_held_values_are_looked_at_once_for_all_groups(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the times and columns that the window itself writes, which are drawn later."""
    looks = []
    for keys in (5, 200):
        executor = folded(query, keys)
        with monkeypatch.context() as patching:
            calls = counted(patching, HeldRows, "column")
            drawn = counted(patching, HeldRows, "columns")
            executor.snapshot()
        looks.append(len(calls) - 3 * len(drawn))
    assert looks[0] == looks[1] <= 4


@pytest.mark.parametrize("query", list(QUERIES))
def test_held_values_enter_once_for_all_instances(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restore: one feed for each aggregator, however many instances there are."""
    snapshot = folded(query, 100).snapshot()
    executor = ColumnarExecutor(rehearsed(STREAM + QUERIES[query]))
    runs = counted(monkeypatch, SlidingExtremes, "run")
    executor.restore(snapshot)
    assert len(runs) == QUERIES[query].count("max(") + QUERIES[query].count("min(")


@pytest.mark.parametrize("query", list(QUERIES))
def test_each_executor_goes_on_from_the_others_snapshot(query: str) -> None:
    """Few values are written one by one, and many as columns: both are read."""
    text = STREAM + QUERIES[query]
    assert None not in rules(text)
    rows = list(rows_of(7, 240))
    brought = []
    for kinds in (("reference",) * 3, ("columnar",) * 3, ("reference", "columnar", "reference")):
        app = VirtualApp(text, executor=kinds[0])
        found: list[Any] = []
        for part, kind in enumerate(kinds):
            snapshot, clock = app.snapshot(), app.clock_ms
            app = VirtualApp.restore(text, snapshot, executor=kind, start_ms=clock)
            for start in range(80 * part, 80 * part + 80, 20):
                app.send_many("S", rows[start : start + 20])
                app.advance(700)
            found += [event.data for event in app.stream("O")]
        brought.append(found)
    assert brought[0] == brought[1] == brought[2] != []
