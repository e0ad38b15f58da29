"""Shares of a stream: by key, by turns, or all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lockstep.fleet.shares import shares_of
from lockstep.plan.fleet import Routing, Together
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
