"""Shares of a stream: by key, by turns, or all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lockstep.fleet.shares import shares_of
from lockstep.plan.fleet import Routing, Together
from lockstep.plan.fleet.contract import TAKES_TURNS_BY_ID
from tests.unit.fleet.fleets import record, unit


def test_who_gets_all_needs_no_share() -> None:
    """Routed to all, or the only partition, unless keys are to be together there, too."""
    one, two = unit(0, 1), unit(0, 2)
    (feed,) = one.group.feeds
    assert shares_of(one, feed) is None
    assert shares_of(two, replace(feed, routing=Routing.ALL)) is None
    assert shares_of(one, replace(feed, routing=Routing.ROUND_ROBIN)) is None
    assert shares_of(one, replace(feed, together=Together.KEYS)) is not None


def test_turns_give_each_event_to_one_partition() -> None:
    """By number, whatever its key; each is delivered by itself."""
    events, numbers = record([("a", 1)], [("a", 1)], [("a", 1)]), np.arange(7, 10)
    places = []
    for partition in (0, 1):
        one = unit(partition, 2)
        share = shares_of(one, replace(one.group.feeds[0], routing=Routing.ROUND_ROBIN))
        assert share is not None
        found = share(events, numbers, None)
        assert found is not None
        places.append(found.index.tolist())
        assert found.lengths.tolist() == [1] * len(found.index)
    assert places == [[1], [0, 2]]


@pytest.mark.parametrize(("rules", "again"), [(TAKES_TURNS_BY_ID, True), (3, False)])
def test_an_event_that_comes_again_takes_the_same_turn(rules: int, again: bool) -> None:
    """The partition that had it remembers its id. Those without an id go by number, and so do all
    in a layout of an earlier release."""
    ids = pa.array(["x", None, "y", "z", None])
    events = replace(record(*[[("a", 1)]] * 5), event_ids=ids)
    taken: list[dict[int, int]] = []
    for first in (6, 7):
        taken.append({})
        for partition in (0, 1, 2):
            one = unit(partition, 3)
            one = replace(one, plan=replace(one.plan, fleet=replace(one.plan.fleet, rules=rules)))
            share = shares_of(one, replace(one.group.feeds[0], routing=Routing.ROUND_ROBIN))
            assert share is not None
            found = share(events, np.arange(first, first + 5), None)
            assert found is not None
            taken[-1] |= dict.fromkeys(found.index.tolist(), partition)
        assert sorted(taken[-1]) == [0, 1, 2, 3, 4]
    assert [taken[0][place] == taken[1][place] for place in range(5)] == [
        again, False, again, again, False
    ]  # fmt: skip
