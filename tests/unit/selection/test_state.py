"""A selector's aggregates in the reference's form."""

from __future__ import annotations

from lockstep.selection.state import SelectorState
from lockstep.streams.columns import StreamQuery
from lockstep.testing import VirtualApp
from tests.unit.side_by_side import unit_of

GROUPED = (
    "define stream S (s string, i int); @info(name='q')"
    " from S select s, sum(i) as t, count() as n group by s insert into O;"
)
KEYED = (
    "define stream S (s string, i int); partition with (s of S) begin @info(name='q')"
    " from S select s, sum(i) as t insert into O; end;"
)


def test_groups_that_nothing_was_fed_to_are_not_stored() -> None:
    """A fresh query stores what a fresh reference has."""
    state = unit_of(GROUPED, StreamQuery)._selecting
    assert isinstance(state, SelectorState)
    state.prepare()
    assert state.stored(0)[1] == []


def test_each_executor_goes_on_from_the_others_snapshot() -> None:
    """By group, and by instance: also those that are new behind the restore."""
    for text in (GROUPED, KEYED):
        for first, second in (("reference", "columnar"), ("columnar", "reference")):
            app = VirtualApp(text, executor=first)
            app.send_many("S", [["a", 1], ["b", 2], ["a", 3]])
            again = VirtualApp.restore(text, app.snapshot(), executor=second)
            again.send_many("S", [["c", 5], ["a", None], ["b", 7]])
            totals = {event.data[0]: event.data[1] for event in again.stream("O")}
            assert totals == {"a": 4, "b": 9, "c": 5}
