"""Apps under test that are cut into partitions."""

from __future__ import annotations

import pytest

from lockstep.cli.commands.samples import FOLDER
from lockstep.operators.errors import SnapshotError
from lockstep.testing import VirtualApp
from lockstep.testing.difference import differences
from lockstep.testing.files import run_paths
from lockstep.testing.scenario import parse_file

COUNT = (
    "define stream In (k string, v int);"
    " @info(name='sum') from In select k, sum(v) as t group by k insert into Mid;"
    " @info(name='big') from Mid[t > 2] select k, t insert into Big;"
)
KEYS = [f"k{i}" for i in range(9)]


def partitions_of(app: VirtualApp) -> set[int]:
    """How many each group of its fleet has."""
    assert app.fleet is not None
    return {group.partitions for group in app.fleet.groups}


def feed(app: VirtualApp) -> None:
    """One send with all keys."""
    app.send_many("In", [[key, 1] for key in KEYS])


on_each_executor = pytest.mark.parametrize("executor", ["reference", "columnar"])


@on_each_executor
def test_rows_of_each_key_are_those_of_one_node(executor: str) -> None:
    """Of queries by name and of streams, each told once; what was sent is told as it was sent."""
    with VirtualApp(COUNT) as one, VirtualApp(COUNT, executor=executor, parallel=3) as many:
        assert partitions_of(many) == {3}
        for app in (one, many):
            for _ in range(4):
                feed(app)
        for key in KEYS:
            for name in ("Mid", "Big"):
                of_one, of_many = (
                    [event for event in app.stream(name) if event.data[0] == key]
                    for app in (one, many)
                )
                assert of_one == of_many != []
        assert sorted(one.query("sum").current, key=str) == sorted(
            many.query("sum").current, key=str
        )
        assert [len(chunk) for chunk in many.stream_chunks("In")] == [len(KEYS)] * 4


@on_each_executor
def test_state_goes_on_in_another_number_of_partitions(executor: str) -> None:
    """A snapshot of three partitions, restored in two."""
    with VirtualApp(COUNT, executor=executor, parallel=3) as app:
        feed(app)
        snapshot = app.snapshot()
    with VirtualApp.restore(COUNT, snapshot, executor=executor, parallel=2) as app:
        assert partitions_of(app) == {2}
        feed(app)
        assert {event.data[1] for event in app.query("sum").current} == {2}
        with pytest.raises(SnapshotError, match="snapshot"):
            VirtualApp.restore(COUNT, snapshot)


def test_rows_are_compared_in_any_order_but_all_of_them() -> None:
    """A row that is missing, or there twice, is a difference."""
    text = COUNT + "\n--- test: one\nIn - a 1 | - b 1\n  => sum: C 0[a, 1] 0[b, 1]\n"
    (scenario,) = parse_file(text).scenarios
    good = [["sum: C 0[b, 1]", "sum: C 0[a, 1]"]]
    assert not differences(scenario, good, in_order=False)
    assert differences(scenario, good)
    assert differences(scenario, [good[0][:1]], in_order=False)
    assert differences(scenario, [[*good[0], "sum: C 0[a, 1]"]], in_order=False)


@on_each_executor
def test_the_sample_apps_hold_in_partitions(executor: str) -> None:
    """And many of them are cut."""
    reports = run_paths([FOLDER], executor=executor, parallel=3)
    assert [each.text() for each in reports if not each.passed] == []
    assert sum(each.cut for each in reports) >= 20
