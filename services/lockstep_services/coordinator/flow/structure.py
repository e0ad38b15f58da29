"""The parts of an app and what goes from one to the next, as its text says it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Final

from lockstep.archive.naming import INPUT, OUTPUT
from lockstep.bus import LogName
from lockstep.control import AppView, group_and_layout, sinks_of
from lockstep.plan import PartitionNode, QueryNode, steps_of
from lockstep.siddhiql import ast

WHOLE: Final = LogName("").group
"""The group of an app that is one unit."""
PRESENTER: Final = "presenter"
ARCHIVE: Final = "archive:"
"""The side follows. Each is a part of its own, beside what leads to it."""
DOORS: Final = ("HTTP", "bus")
"""By which every stream can be sent to that has a door."""


class Way(Enum):
    """How something goes from one part to the next, which decides who has counted it."""

    TAKEN = auto()
    COPIED = auto()
    READ = auto()
    LOOKED_UP = auto()
    GIVEN = auto()
    DELIVERED = auto()
    SHOWN = auto()
    ARCHIVED = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """Of the graph."""

    id: str
    kind: str
    name: str
    group: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """`name`: of the stream or table that goes over it; of the sink where it is delivered, of the
    side where it is archived. `query`: which one reads or gives it, in `group`."""

    begin: str
    end: str
    way: Way
    name: str
    group: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A query, the partition that it stands in, and its group."""

    query: QueryNode
    partition: str | None
    group: str

    def id_of(self, name: str) -> str:
        """Of a stream as this query calls it: inner ones are those of its partition."""
        return f"{self.partition}/{name}" if name.startswith("#") else name


class Structure:
    """Of one app. `sent`: streams that something is sent to, though queries write them.
    `archived`: the sides of its log that are archived."""

    def __init__(
        self, view: AppView, sent: Collection[str] = (), archived: Collection[str] = ()
    ) -> None:
        self._view = view
        self._sent = sent
        self._archived = archived
        self._checked = view.checked
        self._queries = list(self._placed())

    @cached_property
    def groups(self) -> dict[str, int]:
        """Those that events pass, in order, and into how many partitions each is cut."""
        fleet = self._view.fleet
        if fleet is None:
            return {WHOLE: 1}
        return {one.name: one.partitions for one in fleet.groups}

    @cached_property
    def links(self) -> list[Link]:
        """From the doors to the sinks."""
        return [*self._into(), *self._between(), *self._out()]

    @cached_property
    def parts(self) -> list[Part]:
        """All that a link leads from or to, in that order."""
        known = {part.id: part for part in self._named()}
        ids = dict.fromkeys(end for link in self.links for end in (link.begin, link.end))
        owners = self._owners
        return [
            known.get(each) or Part(each, self._kind(each), each.rpartition("/")[2],
                                    owners.get(each))
            for each in ids
        ]  # fmt: skip

    @cached_property
    def writers(self) -> dict[str, list[tuple[str, str]]]:
        """Of each stream or table, the queries that write it: name and group."""
        found: dict[str, list[tuple[str, str]]] = {}
        for one in self._queries:
            found.setdefault(one.id_of(one.query.writes), []).append((one.query.name, one.group))
        return found

    @cached_property
    def leaving(self) -> frozenset[str]:
        """The streams and tables whose rows stand in output logs for the outside."""
        return frozenset((*self._view.exported, *self._view.stored))

    @cached_property
    def _owners(self) -> dict[str, str]:
        """What one group alone writes stands in its box, and what it alone holds."""
        groups = {name: {group for _, group in some} for name, some in self.writers.items()}
        for unit in self._view.units:
            group = self._group_of_unit(unit)
            for name in (*unit.checked.aggregations, *unit.checked.windows):
                groups.setdefault(name, set()).add(group)
        return {name: next(iter(some)) for name, some in groups.items() if len(some) == 1}

    def _group_of_unit(self, unit: AppView) -> str:
        """By its log's name, without the number of its layout."""
        if self._view.fleet is None:
            return WHOLE
        return group_and_layout(unit.log.group)[0]

    def _placed(self) -> Iterator[_Placed]:
        for node in self._view.plan.nodes:
            group = self._group_of(node.name)
            if isinstance(node, PartitionNode):
                yield from (_Placed(query, node.name, group) for query in node.queries)
            else:
                yield _Placed(node, None, group)

    def _group_of(self, node: str) -> str:
        fleet = self._view.fleet
        if fleet is None:
            return WHOLE
        return next((one.name for one in fleet.groups if node in one.nodes), WHOLE)

    def _kind(self, name: str) -> str:
        checked = self._checked
        kinds: dict[str, Collection[str]] = {
            "table": checked.tables, "window": checked.windows,
            "aggregation": checked.aggregations, "trigger": checked.triggers,
        }  # fmt: skip
        return next((kind for kind, some in kinds.items() if name in some), "stream")

    def _named(self) -> Iterator[Part]:
        """The parts that are no streams."""
        for one in self._queries:
            steps = " → ".join(steps_of(one.query.query))
            yield Part(f"query:{one.query.name}", "query", one.query.name, one.group, steps)
        for link in self.links:
            if link.way is Way.TAKEN:
                ways = (*DOORS, *_sources(self._view, link.name))
                yield Part(link.begin, "source", ", ".join(ways), None, f"to {link.name}")
            elif link.way is Way.COPIED:
                yield Part(link.begin, "source", "database", None, f"to {link.name}")
            elif link.way is Way.DELIVERED:
                kind = link.name.rpartition(".")[2]
                yield Part(link.end, "sink", kind, None, link.name)
        yield Part(ARCHIVE + INPUT, "archive", "archive", None, "of what came")
        yield Part(ARCHIVE + OUTPUT, "archive", "archive", None, "of what went")
        yield Part(PRESENTER, "presenter", "presenter", None, "pages, event streams, polls")

    def _into(self) -> Iterator[Link]:
        for name in self._view.plan.doors:
            is_written = name in self.writers and name not in self._sent
            if not is_written or _sources(self._view, name):
                yield Link(f"source:{name}", name, Way.TAKEN, name)
        for table in self._checked.external:
            yield Link(f"source:{table.name}", table.name, Way.COPIED, table.name)

    def _between(self) -> Iterator[Link]:
        for one in self._queries:
            query = f"query:{one.query.name}"
            for name in dict.fromkeys(one.query.reads):
                begin = one.id_of(name)
                is_flow = self._kind(begin) == "stream"
                way = Way.READ if is_flow else Way.LOOKED_UP
                yield Link(begin, query, way, begin, one.group, one.query.name)
            end = one.id_of(one.query.writes)
            yield Link(query, end, Way.GIVEN, end, one.group, one.query.name)
        for name, aggregation in self._checked.aggregations.items():
            begin = aggregation.definition.input.source
            yield Link(begin, name, Way.READ, begin, self._owners.get(name, WHOLE))

    def _out(self) -> Iterator[Link]:
        view = self._view
        whose = {
            table.name: name for name, one in self._checked.aggregations.items()
            for table in one.tables
        }  # fmt: skip
        sinks = [one for one, _, _ in sinks_of(view)]
        for name in (*view.exported, *view.stored):
            begin = whose.get(name, name)
            for one in sinks:
                if one.stream == name:
                    yield Link(begin, one.element, Way.DELIVERED, one.name)
            yield Link(begin, PRESENTER, Way.SHOWN, name)
            if OUTPUT in self._archived:
                yield Link(begin, ARCHIVE + OUTPUT, Way.ARCHIVED, OUTPUT)
        if INPUT in self._archived:
            taken = [link.end for link in self._into() if link.way is Way.TAKEN]
            yield from (Link(name, ARCHIVE + INPUT, Way.ARCHIVED, INPUT) for name in taken)


def _sources(view: AppView, name: str) -> list[str]:
    """The types of a stream's sources."""
    definition: ast.StreamDefinition | ast.TableDefinition | None = view.definition(name)
    if definition is None:
        return []
    found = (one for one in definition.annotations if one.name.lower() == "source")
    return [one.get("type") or "none" for one in found]
