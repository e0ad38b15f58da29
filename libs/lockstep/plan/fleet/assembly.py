"""From drafts to groups: names, feeds in order of the text, what each gives out, their texts."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from lockstep.events import AttributeType
from lockstep.plan.fleet.contract import Feed, GroupPlan, Routing, Together
from lockstep.plan.fleet.drafts import Draft, Need
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.keys import attributes_of
from lockstep.plan.fleet.texts import Content, group_text, total_key
from lockstep.plan.fleet.traits import Keyed
from lockstep.plan.nodes import PartitionNode
from lockstep.siddhiql import ast

NO_KEY = ast.Constant("", AttributeType.STRING)
"""Routes all events of a stream to one partition: nobody there tells them apart."""


@dataclass
class Team:
    """A group with all that is decided about it. `draft`: how streams reach it; None: as they come.
    `stores`: the tables, named windows, aggregations and triggers that it has; `tables`: its tables
    that are cut, with the attribute that is the key."""

    name: str
    partitions: int
    nodes: frozenset[str]
    draft: Draft | None
    whole_because: str | None = None
    exported: set[str] = field(default_factory=set)
    stores: frozenset[str] = frozenset()
    tables: Mapping[str, str] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


class Assembly:
    """All groups of an app, which know what the others write."""

    def __init__(self, graph: Graph, chosen: dict[str, Keyed]) -> None:
        self._graph = graph
        self._plan = graph.plan
        self._chosen = chosen
        self._teams: list[Team] = []

    def add(self, team: Team) -> None:
        """One more group; those that are added first are asked first what they give out."""
        graph = self._graph
        reads = {one for name in team.nodes for one in graph.reads(name)}
        aggregations = self._plan.checked.aggregations
        reads |= {
            one.input.input.source for name, one in aggregations.items() if name in team.stores
        }
        streams = self._plan.checked.streams
        team.reads = frozenset(one for one in reads if one in streams)
        writes = {one for name in team.nodes for one in graph.writes(name)}
        team.writes = frozenset(one for one in writes if one in streams)
        self._teams.append(team)

    def groups(self) -> tuple[GroupPlan, ...]:
        """The groups, those that are read in front."""
        self._export()
        ordered = self._upstream_first()
        return tuple(self._group(team) for team in ordered)

    # --- what goes where -------------------------------------------------------------------------

    def _export(self) -> None:
        for stream in self._plan.exported:
            writers = set(self._graph.writers(stream))
            for team in self._giving_out(stream, writers):
                team.exported.add(stream)

    def _giving_out(self, stream: str, writers: set[str]) -> list[Team]:
        """One group if one has all of it."""
        for team in self._teams:
            if writers <= team.nodes if writers else self._has_all_of(team, stream):
                return [team]
        if writers:
            return [team for team in self._teams if writers & team.nodes]
        return [next(one for one in self._teams if one.draft is None)]

    def _has_all_of(self, team: Team, stream: str) -> bool:
        """Each event of a stream of the input reaches one partition."""
        if team.draft is None:
            return stream in team.reads
        need = team.draft.feeds.get(stream)
        return need is not None and need.has_each_once

    def _writers_of(self, stream: str, reader: Team) -> tuple[Team, ...]:
        """The groups whose output logs bring a stream to another one."""
        missing = set(self._graph.writers(stream)) - reader.nodes
        return tuple(team for team in self._teams if missing & team.nodes)

    def _channels(self, team: Team) -> tuple[str, ...]:
        return tuple(
            stream
            for stream in self._plan.checked.streams
            if stream in team.writes
            and any(
                team in self._writers_of(stream, one) for one in self._teams if stream in one.reads
            )
        )

    def _upstream_first(self) -> list[Team]:
        left, ordered = list(self._teams), []
        while left:
            ready = next(
                team
                for team in left
                if not any(
                    other in left for one in team.reads for other in self._writers_of(one, team)
                )
            )
            left.remove(ready)
            ordered.append(ready)
        return ordered

    # --- one group -------------------------------------------------------------------------------

    def _group(self, team: Team) -> GroupPlan:
        channels = self._channels(team)
        feeds = tuple(self._feeds(team))
        streams = team.reads | team.writes | team.exported
        # A fault stream is there where the stream that it belongs to is defined.
        streams |= {one[1:] for one in team.reads if one.startswith("!")}
        aggregations = self._plan.checked.aggregations
        buckets = {
            table.name
            for name in team.stores
            if name in aggregations
            for table in aggregations[name].tables.values()
        }
        stored = tuple(one for one in self._plan.stored if one in team.stores | buckets)
        wrapped = {name: self._chosen[name] for name in team.nodes if name in self._chosen}
        if team.draft is None:
            wrapped = {}
        content = Content(
            team.nodes,
            frozenset(streams),
            frozenset(team.exported),
            frozenset(channels),
            wrapped,
            team.stores | team.tables.keys(),
            feeds,
        )
        return GroupPlan(
            team.name,
            team.partitions,
            group_text(self._plan, content),
            feeds,
            channels,
            tuple(one for one in self._plan.exported if one in team.exported),
            stored,
            tuple(name for name in self._graph.nodes if name in team.nodes),
            team.whole_because,
            tuple(sorted(team.tables.items())),
        )

    def _feeds(self, team: Team) -> Iterable[Feed]:
        order = [
            one
            for name in self._graph.nodes
            if name in team.nodes
            for one in (*self._graph.reads(name), *self._graph.writes(name))
        ]
        wanted = dict.fromkeys([*order, *sorted(team.reads | team.exported)])
        for stream in wanted:
            if stream not in team.reads and stream not in team.exported:
                continue
            if stream not in self._plan.checked.streams or stream in self._plan.checked.triggers:
                continue
            writers = self._writers_of(stream, team)
            # What a sink refused comes in `!S`, which is no input that anybody may send to.
            is_input = stream in self._plan.inputs or stream.startswith("!")
            from_input = is_input and not any(
                stream in one.exported or stream in one.reads for one in writers
            )
            names = tuple(one.name for one in writers)
            if from_input or names:
                yield self._feed(team, stream, from_input, names)

    def _feed(self, team: Team, stream: str, from_input: bool, names: tuple[str, ...]) -> Feed:
        if team.draft is None:
            return Feed(stream, from_input, names)
        need = team.draft.feeds.get(stream) or team.draft.channels.get(stream)
        if need is None:
            need = team.draft.inner.get(stream) or Need(self._known_key(team, stream))
        elif need.key is None:
            return Feed(stream, from_input, names, need.routing)
        assert need.key is not None
        key = need.key
        by_runs = need.together is Together.RUNS
        if attributes_of(key) and not by_runs and not self._drops_null(team, stream):
            key = total_key(self._plan.checked, stream, key)
        together = need.together or Together.RUNS
        return Feed(stream, from_input, names, Routing.KEY, key, together, need.where)

    def _known_key(self, team: Team, stream: str) -> ast.Expression:
        """The key of what is written here and read by nobody here."""
        for writer in self._graph.writers(stream):
            keyed = self._chosen.get(writer)
            if keyed is not None and keyed.carries.get(stream):
                return keyed.carries[stream][0]
        return NO_KEY

    def _drops_null(self, team: Team, stream: str, seen: frozenset[str] = frozenset()) -> bool:
        """Events without a key mean nothing to anybody in the group, nor does what plain queries
        make of them."""
        if stream in team.exported or stream in seen:
            return False
        for name in self._graph.readers(stream):
            if name not in team.nodes or isinstance(self._graph.nodes[name], PartitionNode):
                continue
            written = self._graph.writes(name)
            if name in self._chosen or any(
                one in other.reads for one in written for other in self._teams if other is not team
            ):
                return False
            if not all(self._drops_null(team, one, seen | {stream}) for one in written):
                return False
        return True


def name_for(draft: Draft, taken: Iterable[str]) -> str:
    """A group's name, of the key that it is cut by; names of logs are made of it."""
    keys = [one.key for one in (*draft.feeds.values(), *draft.channels.values())]
    words = sorted({word for key in keys if key is not None for word in attributes_of(key)})
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(words)) or "key"
    name, number = f"by_{plain}", 2
    while name in taken:
        name, number = f"by_{plain}_{number}", number + 1
    return name


def reasons(graph: Graph, because: dict[str, str], whole: Container[str]) -> str | None:
    """Why nodes are whole, as one text. `whole`: the stores that are."""
    found = [f"{name}: {because[name]}" for name in graph.nodes if name in because]
    named = [*graph.plan.checked.tables, *graph.plan.checked.windows]
    stores = [name for name in named if name in whole]
    if graph.plan.checked.aggregations:
        found += [
            f"aggregation {one}: it is read as one" for one in graph.plan.checked.aggregations
        ]
    if not found and stores:
        found = [f"{', '.join(stores)}: it is read as one"]
    return "; ".join(found) or None
