"""Tables that follow a database: what their stream of changes does, on each executor."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.plan.plans import plan_of
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing import VirtualApp

APP = """
define stream Orders (id int, region string, customer int);
@store(type='rdbms', mode='copy') @PrimaryKey('region', 'id')
define table Customers (region string, id int, name string);
from Orders join Customers on Orders.region == Customers.region and Orders.customer == Customers.id
select Orders.id as id, Customers.name as name insert into Found;
"""
ROW, GONE, ALL_GONE = 1, 2, 3


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_changes_are_seen_in_their_order(executor: str) -> None:
    """Rows come, change, go, and go all at once, also within one slice."""
    with VirtualApp(APP, executor=executor) as app:
        number = 0

        def found(region: str, customer: int) -> Any:
            nonlocal number
            number += 1
            app.send("Orders", [number, region, customer])
            return [e.data[1] for e in app.stream("Found") if e.data[0] == number]

        rows = [[ROW, "n", 1, "ann"], [ROW, "n", 2, "bob"], [ROW, "s", 1, "cid"]]
        app.send_many("Customers__changes", rows)
        assert (found("n", 1), found("s", 1), found("s", 2)) == (["ann"], ["cid"], [])
        app.send_many("Customers__changes", [[ROW, "n", 1, "ann 2"], [GONE, "n", 2, None]])
        assert (found("n", 1), found("n", 2)) == (["ann 2"], [])
        app.send("Customers__changes", [ALL_GONE, None, None, None])
        assert (found("n", 1), found("s", 1)) == ([], [])
        app.send("Customers__changes", [ROW, "s", 1, "zoe"])
        assert (found("n", 1), found("s", 1)) == ([], ["zoe"])
        state = app.snapshot()
    with VirtualApp.restore(APP, state, executor=executor) as again:
        assert again.on_demand("from Customers select name") == [("zoe",)]


def test_the_stream_of_changes_is_no_door() -> None:
    """It is an input, and nobody but the receiver may send to it; nothing of it is published."""
    plan = plan_of(APP)
    assert set(plan.inputs) - set(plan.doors) == {"Customers__changes"}
    assert plan.stored == ()
    assert plan.exported == ("Found",)


def test_asking_may_not_change_a_copy() -> None:
    """What it wrote would be in no database."""
    with VirtualApp(APP) as app:
        app.send("Customers__changes", [ROW, "n", 1, "ann"])
        assert app.on_demand("from Customers select name") == [("ann",)]
        with pytest.raises(SiddhiQLError, match="is read from a database"):
            app.write("delete Customers on Customers.id == 1", request_id="r")


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_a_query_may_clear_a_table(executor: str) -> None:
    """Every row goes, and what comes behind is there."""
    text = """
    define stream Put (k int, v int);
    define stream Clear (all bool);
    define stream Ask (k int);
    @PrimaryKey('k') define table T (k int, v int);
    from Put update or insert into T on T.k == k;
    from Clear select all delete T on true;
    from Ask join T on Ask.k == T.k select T.k as k, T.v as v insert into Out;
    """
    with VirtualApp(text, executor=executor) as app:
        app.send_many("Put", [[1, 1], [2, 2]])
        app.send("Clear", [True])
        app.send("Put", [2, 3])
        app.send_many("Ask", [[1], [2]])
        assert [e.data for e in app.stream("Out")] == [(2, 3)]
