"""Which parts of an app run in columns and which on the reference's operators.

A part may run in columns when a rule lowered it. It still goes to the reference with what it shares
state with, out of most circles of streams that feed each other, and when it goes by timers of its
own behind those of others (DESIGN.md tells why). What is left has an order in which each part
stands behind those whose streams it reads, but for the units of a circle that goes in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lockstep.columns.units import Unit
from lockstep.execute.columnar.hosted.queries import HostedQueries, Members
from lockstep.execute.columnar.rounds import goes_round
from lockstep.execute.columnar.sharing import (
    Item,
    Together,
    components,
    definitions_of,
    followers_of,
    touched,
)
from lockstep.execute.observe import Observe
from lockstep.plan import AppPlan
from lockstep.tables.columns import TableUnit

Parts = dict[Item, Sequence[Unit]]
"""The units of each item that has a columnar form."""

Vertices = dict[str, Unit | HostedQueries]
CIRCLE = "stands in a circle of streams that feed each other"


@dataclass(slots=True)
class Hosting:
    """Decides for a plan. `parts` are the units that rules made; `refused` tells why there are none
    for an item, and in the end why any item is hosted. `seconds` make the units of items that may
    stand behind others' timers instead, if there are such; `exchanged` tells whose were taken.
    `rounds`: circles may go in rounds."""

    plan: AppPlan
    parts: Parts
    refused: dict[Item, str]
    seconds: dict[Item, Callable[[], Unit | None]] = field(default_factory=dict)
    observe: Observe = Observe.NOTHING
    rounds: bool = True
    exchanged: set[Item] = field(default_factory=set)
    _together: Together = field(default_factory=Together)
    _hosted: dict[frozenset[Item], HostedQueries] = field(default_factory=dict)
    _tables: dict[Item, TableUnit] = field(default_factory=dict)

    def parts_in_order(self) -> list[Unit | HostedQueries]:
        """The app's parts in order."""
        for item, units in self.parts.items():
            if item.startswith("table/") and isinstance(units[0], TableUnit):
                self._tables[item] = units[0]
        self._join_what_is_shared()
        self._host_circles()
        while True:
            self._spread()
            vertices = self._vertices()
            order = components(
                followers_of(
                    {name: part.reads for name, part in vertices.items()},
                    {name: _writes(part) for name, part in vertices.items()},
                )
            )
            if not self._join_hosted(order, vertices) and not self._host_clocks(order, vertices):
                return [vertices[name] for circle in order for name in circle]

    # --- what is hosted --------------------------------------------------------------------------

    def _join_what_is_shared(self) -> None:
        definitions = definitions_of(self.plan)
        for node in self.plan.nodes:
            items = touched(node, definitions)
            self._together.join([node.path, *(each for each in items if each not in self._tables)])

    def _spread(self) -> None:
        """Who shares state with somebody hosted is hosted. A table is hosted with those who use it
        and are; others use what follows it in columns."""
        definitions = definitions_of(self.plan)
        before = -1
        while len(self.refused) > before:
            before = len(self.refused)
            self._spread_to_parts()
            for node in self.plan.nodes if self._tables else ():
                if node.path in self.refused:
                    items = [each for each in touched(node, definitions) if each in self._tables]
                    self._host(items, f"shares state with {node.path}")
                    self._together.join([node.path, *items])

    def _spread_to_parts(self) -> None:
        reasons: dict[Item, Item] = {}
        for item in self.refused:
            reasons.setdefault(self._together.root(item), item)
        for item in list(self.parts):
            other = reasons.get(self._together.root(item))
            if other is not None and item not in self.refused:
                self._host([item], f"shares state with {other}")

    def _host(self, items: Sequence[Item], reason: str) -> bool:
        new = [item for item in items if item not in self.refused]
        for item in new:
            self.refused[item] = reason
            self.parts.pop(item, None)
        return bool(new)

    def _host_circles(self) -> None:
        """Hosts each circle of streams that does not go in rounds (rounds): a chunk overtakes the
        one that it comes of.
        Who reads such a stream and another one beside it is hosted, too: for each of its own
        places the two may stand otherwise."""
        reads: dict[str, Sequence[str]] = {}
        writes: dict[str, Sequence[str]] = {}
        items: dict[str, Item] = {}
        for item, units in self.parts.items():
            for unit in units:
                reads[unit.name], writes[unit.name] = unit.reads, (unit.writes,)
                items[unit.name] = item
        for node in self.plan.nodes:
            item = node.path
            if item in self.refused:
                reads[item] = node.reads
                writes[item] = node.written
                items[item] = item
        for circle in components(followers_of(reads, writes)):
            read = {name for vertex in circle for name in reads[vertex]}
            feeding = {name for vertex in circle for name in writes[vertex]} & read
            # Who reads a table looks at it as it was at each place of its own.
            feeding -= {unit.table for unit in self._tables.values()}
            if len(circle) > 1 or feeding:
                outside = [
                    name
                    for name in reads
                    if name not in circle
                    and not feeding.isdisjoint(reads[name])
                    and not self._follows(items[name])
                ]
                inside = list(dict.fromkeys(items[name] for name in (*circle, *outside)))
                if outside or not (self.rounds and all(map(self._goes_round, inside))):
                    self._host(inside, CIRCLE)
                self._together.join(inside)

    def _follows(self, item: Item) -> bool:
        """Whether an item's units take the chunks of a circle in the order of their own place."""
        units = self.parts.get(item, ())
        return (
            item.startswith("query/")
            and all(len(unit.reads) == 1 for unit in units)
            and bool(units)
        )

    def _goes_round(self, item: Item) -> bool:
        """Whether an item may stand in a circle in columns."""
        units = self.parts.get(item, ())
        return item.startswith("query/") and len(units) == 1 and goes_round(units[0])

    def _join_hosted(self, order: Sequence[Sequence[str]], vertices: Vertices) -> bool:
        """Hosts those together that feed each other, with what lies between; whether there were
        any."""
        circles = [
            circle
            for circle in order
            if len(circle) > 1 and any(isinstance(vertices[n], HostedQueries) for n in circle)
        ]
        for circle in circles:
            items = [item for name in circle for item in self._items_of(name, vertices)]
            self._host(items, "stands between queries that share state on the reference")
            self._together.join(items)
        return bool(circles)

    def _host_clocks(self, order: Sequence[Sequence[str]], vertices: Vertices) -> bool:
        """Takes clocks behind clocks out of the columns; whether there were any."""
        timed: dict[str, str] = {}
        changed = False
        for circle in order:
            read = [name for each in circle for name in vertices[each].reads]
            behind = next((timed[name] for name in read if name in timed), None)
            for name in circle:
                part = vertices[name]
                if behind and not isinstance(part, HostedQueries) and hears_timers(part):
                    for item in self._items_of(name, vertices):
                        reason = f"goes by timers of its own behind those of {behind}"
                        changed |= self._exchange(item) or self._host([item], reason)
                if behind is not None or part.shows_timers:
                    for written in _writes(part):
                        timed.setdefault(written, behind or name)
        return changed

    def _exchange(self, item: Item) -> bool:
        """Takes the second form of a part, if there is one."""
        make = self.seconds.pop(item, None)
        unit = None if make is None else make()
        if unit is None:
            return False
        self.parts[item] = [unit]
        self.exchanged.add(item)
        return True

    # --- the graph -------------------------------------------------------------------------------

    def _items_of(self, name: str, vertices: Vertices) -> list[Item]:
        part = vertices[name]
        if isinstance(part, HostedQueries):
            return [item for item in self.refused if self._vertex_of(item) == name]
        return [item for item, units in self.parts.items() if any(u is part for u in units)]

    def _vertex_of(self, item: Item) -> str:
        return f"hosted {self._together.root(item)}"

    def _vertices(self) -> Vertices:
        """Units and hosted queries by name, in the order of the plan."""
        vertices: Vertices = {}
        for units in self.parts.values():
            for unit in units:
                vertices[unit.name] = unit
        hosted: dict[str, list[Item]] = {}
        for item in self.refused:
            hosted.setdefault(self._vertex_of(item), []).append(item)
        for name, items in hosted.items():
            vertices[name] = self._made(frozenset(items))
        return vertices

    def _made(self, items: frozenset[Item]) -> HostedQueries:
        found = self._hosted.get(items)
        if found is None:
            written = {unit.writes for units in self.parts.values() for unit in units}
            shared = {
                unit: [name for name in unit.writers if name in written]
                for item, unit in self._tables.items()
                if item in items
            }
            own = members(self.plan, sorted(items))
            found = HostedQueries(self.plan, own, observe=self.observe, shared=shared)
            self._hosted[items] = found
        return found


def hears_timers(unit: Unit) -> bool:
    """Whether it makes a difference to a unit what is first, its timer or an event of another's."""
    return bool(getattr(unit, "hears_timers", unit.shows_timers))


def members(plan: AppPlan, items: Sequence[Item]) -> Members:
    """The items as members of hosted queries."""
    by_kind: dict[str, set[str]] = {}
    for item in items:
        kind, _, name = item.partition("/")
        by_kind.setdefault(kind, set()).add(name)
    return Members(
        frozenset(node.name for node in plan.nodes if node.path in items),
        *(
            frozenset(by_kind.get(kind, ()))
            for kind in ("table", "window", "aggregation", "trigger")
        ),
    )


def _writes(part: Unit | HostedQueries) -> tuple[str, ...]:
    return part.writes if isinstance(part, HostedQueries) else (part.writes,)
