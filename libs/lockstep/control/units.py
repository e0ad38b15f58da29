"""An app as its processors carry it: one unit, or a unit for each partition of each of its groups.

A unit is an app of its own to whoever carries it. It has its own output log, lease, revisions and
placement. All units of an app fold the positions of one input log.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lockstep.bus import LogName
from lockstep.control.messages import log_of
from lockstep.events import Life, StreamSchema
from lockstep.plan import AppPlan, Plans
from lockstep.plan.fleet import FleetPlan, GroupPlan, fleet_of
from lockstep.siddhiql import CheckedApp, ast
from lockstep.store import Deployment
from lockstep.store.naming import LAYOUT_SIGN, UNIT_SEPARATOR

SEPARATOR: Final = UNIT_SEPARATOR


def unit_key(name: LogName) -> str:
    """What stands for a unit where an app's name stands for an app: the name for an app of one
    unit in its own logs."""
    if name.group == LogName("").group and name.partition == 0:
        return name.app
    return SEPARATOR.join((name.app, name.group, str(name.partition)))


def place_of(key: str) -> LogName:
    """The app, group and partition of a unit; the log's name but for its age."""
    app, *place = key.split(SEPARATOR)
    return LogName(app, place[0], int(place[1])) if place else LogName(app)


def unit_label(key: str) -> str:
    """A unit for people."""
    app, *place = key.split(SEPARATOR)
    return f"'{app}'" if not place else f"'{app}' group {place[0]} partition {place[1]}"


def label_of(app: str, group: str, partition: int) -> str:
    """A unit for people, by where its logs are."""
    return unit_label(unit_key(LogName(app, group, partition)))


def group_in(layout: int, group: str) -> str:
    """A group's name in the logs of a layout."""
    return f"{group}{LAYOUT_SIGN}{layout}"


def group_and_layout(group: str) -> tuple[str, int]:
    """The group and the layout that a log's name bears; the app's own logs are of layout 0."""
    name, sign, layout = group.rpartition(LAYOUT_SIGN)
    return (name, int(layout)) if sign and layout.isdigit() else (group, 0)


@dataclass(frozen=True)
class AppView:
    """A deployed app: its desired state and what its text means.

    `cut`: the units of an app that is a fleet. `former`: those that go on until they have begun.
    """

    deployment: Deployment
    plan: AppPlan
    fleet: FleetPlan | None = None
    cut: tuple[UnitView, ...] = ()
    former: tuple[AppView, ...] = ()

    @property
    def name(self) -> str:
        """The app's name."""
        return self.deployment.app

    @property
    def units(self) -> tuple[AppView, ...]:
        """What processors carry of it, upstream first."""
        return self.cut or (self,)

    @property
    def key(self) -> str:
        """Of the unit; of an app that is one unit, its name."""
        return unit_key(self.log)

    def is_same_app(self, other: Deployment) -> bool:
        """Of the same text and cut alike, and never undeployed for another one or purged in
        between: who follows its logs by its plan goes on."""
        one = self.deployment
        alike = one.version == other.version and one.layout == other.layout
        is_cut_alike = one.layout == 0 or one.parallel == other.parallel
        return alike and is_cut_alike and self.is_of(other.life)

    def is_of(self, life: Life) -> bool:
        """Of that app, whatever its text is now: one that was undeployed since is another."""
        return self.deployment.life.deployed_ms == life.deployed_ms

    @property
    def log(self) -> LogName:
        """Its output log, and its input log where it is no unit of a fleet."""
        return log_of(self.deployment)

    @property
    def input(self) -> LogName:
        """The input log that it folds."""
        return log_of(self.deployment)

    @property
    def together(self) -> tuple[LogName, ...]:
        """The output logs of all units that fold the input log."""
        return (self.log,)

    @property
    def streams(self) -> dict[str, StreamSchema]:
        """Streams that events can be sent to, by name."""
        return {name: self.plan.schemas[name] for name in self.plan.doors}

    @property
    def exported(self) -> dict[str, StreamSchema]:
        """Streams whose events stand in the output log, by name."""
        return {name: self.plan.schemas[name] for name in self.plan.exported}

    @property
    def stored(self) -> dict[str, StreamSchema]:
        """Tables whose changes stand in the output log, by name."""
        return {name: self.plan.schemas[name] for name in self.plan.stored}

    @property
    def checked(self) -> CheckedApp:
        """The checked app."""
        return self.plan.checked

    def definition(self, name: str) -> ast.StreamDefinition | ast.TableDefinition | None:
        """The definition of a stream or table (also of a stored aggregation's), or None for an
        inferred stream."""
        for one in self.checked.app.definitions:
            if isinstance(one, ast.StreamDefinition | ast.TableDefinition) and one.name == name:
                return one
        return self.checked.bucket_tables.get(name)


@dataclass(frozen=True, kw_only=True)
class UnitView(AppView):
    """A partition of a group. `deployment` and `plan` are those of the group as an app of its own;
    `whole` is the fleet that it belongs to."""

    whole: FleetPlan
    group: GroupPlan
    partition: int

    @property
    def log(self) -> LogName:
        name = log_of(self.deployment)
        group = group_in(self.deployment.layout, self.group.name)
        return replace(name, group=group, partition=self.partition)

    @property
    def together(self) -> tuple[LogName, ...]:
        former = (one.log for one in self.former)
        return (*former, *(self.log_at(*place) for place in places_of(self.whole)))

    @property
    def upstream_places(self) -> tuple[tuple[str, int], ...]:
        """(group, partition) of the units whose rows it reads, upstream first."""
        writers = {writer for feed in self.group.feeds for writer in feed.writers}
        return tuple(place for place in places_of(self.whole) if place[0] in writers)

    @property
    def upstream(self) -> tuple[LogName, ...]:
        """The output logs of those units."""
        return tuple(self.log_at(*place) for place in self.upstream_places)

    def log_at(self, group: str, partition: int) -> LogName:
        """The output log of another unit of the same layout."""
        return replace(self.log, group=group_in(self.deployment.layout, group), partition=partition)


def places_of(fleet: FleetPlan) -> tuple[tuple[str, int], ...]:
    """(group, partition) of all units, upstream first."""
    return tuple(
        (group.name, partition) for group in fleet.groups for partition in range(group.partitions)
    )


def view_of(deployment: Deployment, plans: Plans) -> AppView:
    """What a deployment means; blocking. SiddhiQLError for a text that is not valid here."""
    plan = plans.of(deployment.text)
    if not deployment.layout:
        name = log_of(deployment)
        origin = deployment.origin.within(name.group, name.partition)
        return AppView(replace(deployment, origin=origin), plan)
    fleet = fleet_of(plan, deployment.parallel or None, deployment.rules)
    former = _former(deployment, plans)
    return AppView(deployment, plan, fleet, units_of(deployment, fleet, plans, former), former)


def _former(deployment: Deployment, plans: Plans) -> tuple[AppView, ...]:
    one = deployment.former
    if one is None:
        return ()
    restoration, origin = deployment.origin.restoration, deployment.origin
    if restoration is not None and restoration.life > one.life:
        origin = replace(origin, restoration=None)  # it was not asked of this one
    before = replace(
        deployment, text=one.text, version=one.version, parallel=one.parallel, layout=one.layout,
        life=one.life, former=None, origin=origin, rules=one.rules,
    )  # fmt: skip
    plan = plans.of(one.text)
    if not one.layout:
        return (AppView(before, plan),)
    return units_of(before, fleet_of(plan, one.parallel or None, one.rules), plans)


def units_of(
    deployment: Deployment, fleet: FleetPlan, plans: Plans, former: tuple[AppView, ...] = ()
) -> tuple[UnitView, ...]:
    """The units of a layout, upstream first."""
    return tuple(
        UnitView(
            deployment=_of_unit(deployment, fleet.group(group).text, group, partition),
            plan=plans.of(fleet.group(group).text),
            former=former,
            whole=fleet,
            group=fleet.group(group),
            partition=partition,
        )
        for group, partition in places_of(fleet)
    )


def _of_unit(deployment: Deployment, text: str, group: str, partition: int) -> Deployment:
    """Its life is that of the layout, until something of it was excluded."""
    origin = deployment.origin.within(group_in(deployment.layout, group), partition)
    number = max([deployment.layout, *(one.life.number for one in origin.exclusions)])
    life = replace(deployment.life, number=number)
    return replace(deployment, text=text, life=life, origin=origin)
