"""What a door writes into a record of an app that is cut: the key group of each event.

A unit then takes its own events without looking at the keys of the others. The record says what its
key groups are made of, so a unit that cuts otherwise (of another text, or of a later release) finds
that it is not meant, and looks at the keys itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.events.columns import EventColumns, Keyings
from lockstep.fleet.keys import KeyGroups
from lockstep.fleet.units import UnitPlan
from lockstep.plan.fleet import Routing


class KeyIndex:
    """Of all streams that the groups of an app are cut by."""

    def __init__(self, groups: Iterable[UnitPlan]) -> None:
        found: dict[str, dict[bytes, KeyGroups]] = {}
        for plan in groups:
            for feed in plan.group.feeds:
                if plan.is_cut and feed.from_input and feed.routing is Routing.KEY:
                    keys = plan.key_groups(feed)
                    found.setdefault(feed.stream, {})[keys.keying] = keys
        self._streams = {name: tuple(keys.values()) for name, keys in found.items()}

    def of(self, events: EventColumns) -> Keyings:
        """Of the events of a record; what columns cannot tell is left out."""
        found = (keys.index(events) for keys in self._streams.get(events.stream, ()))
        return tuple(each for each in found if each is not None)
