"""Units: each a partition of a group, an app of its own that folds the positions of the whole
app's input log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from lockstep.fleet.keys import KeyGroups
from lockstep.plan import AppPlan, plan_of_deployed
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan, key_groups_of
from lockstep.siddhiql import SiddhiQLError


@dataclass(frozen=True, eq=False)
class UnitPlan:
    """What all partitions of a group have in common. `app` is the plan of the group's own text."""

    fleet: FleetPlan
    group: GroupPlan
    app: AppPlan
    _keys: dict[str, KeyGroups] = field(default_factory=dict)

    def key_groups(self, feed: Feed) -> KeyGroups:
        """Of a stream that is routed by key: for all partitions in this process."""
        assert feed.key is not None, feed.stream
        if feed.stream not in self._keys:
            found = KeyGroups(self.app, feed.stream, feed.key, feed.where)
            self._keys[feed.stream] = found
        return self._keys[feed.stream]

    @property
    def is_cut(self) -> bool:
        """It has several partitions."""
        return self.group.partitions > 1

    @property
    def is_playback(self) -> bool:
        """The events' own times move the clock."""
        return self.app.checked.is_playback

    @cached_property
    def writers(self) -> tuple[str, ...]:
        """The groups whose output logs it reads, in the order of the fleet."""
        names = {name for feed in self.group.feeds for name in feed.writers}
        return tuple(group.name for group in self.fleet.groups if group.name in names)


@dataclass(frozen=True, order=True)
class Unit:
    """One partition of a group; `number` is the group's place in the fleet."""

    number: int
    partition: int
    plan: UnitPlan = field(compare=False)

    @property
    def group(self) -> GroupPlan:
        """The group that it is a partition of."""
        return self.plan.group

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.group.name}/{self.partition}"

    @property
    def key_groups(self) -> range:
        """Those whose events and state are here."""
        return key_groups_of(self.partition, self.group.partitions)


def units_of(fleet: FleetPlan) -> tuple[Unit, ...]:
    """All units of an app, each behind those whose streams it reads."""
    plans = [UnitPlan(fleet, group, plan_of_deployed(group.text)) for group in fleet.groups]
    return tuple(
        Unit(number, partition, plan)
        for number, plan in enumerate(plans)
        for partition in range(plan.group.partitions)
    )


def check_units(fleet: FleetPlan, plan: Callable[[str], AppPlan] = plan_of_deployed) -> None:
    """Refuses an app one of whose groups would be no app by itself: better now than in its units.
    `plan` reads a text. Raises SiddhiQLError."""
    for group in fleet.groups:
        if group.text == fleet.app.text:
            continue
        try:
            unit = UnitPlan(fleet, group, plan(group.text))
            for feed in group.feeds:
                if feed.key is not None:
                    unit.key_groups(feed)
        except SiddhiQLError as error:
            raise SiddhiQLError(
                f"the app cannot be cut: its group '{group.name}' would be no app by itself"
                f" ({error.message})",
                hint="it runs in one piece, without @dist, and with 1 as the number of partitions",
            ) from error
