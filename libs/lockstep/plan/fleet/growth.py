"""Groups that grow: each node's input is led back to the app's input log, or to another group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lockstep.plan.fleet.contract import Together
from lockstep.plan.fleet.drafts import Draft, Keep, Need
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.keys import both, substituted, text_of
from lockstep.plan.fleet.tables import says_key
from lockstep.plan.fleet.traits import Free, Keyed
from lockstep.siddhiql import ast


class Growth:
    """A group for each keyed node at first. Raises Keep where a node cannot have its input."""

    def __init__(self, graph: Graph, whole: Mapping[str, str], chosen: Mapping[str, Keyed]) -> None:
        self._graph = graph
        self._whole = whole
        self._chosen = chosen
        self._draft_of = {name: Draft({name}) for name in chosen}
        # Many ways may lead through the same queries: each question is answered once.
        self._provided: set[tuple[str, ...]] = set()
        self._fed: dict[tuple[str, str], bool] = {}

    def drafts(self) -> list[Draft]:
        """The groups as they are now, in order of the text."""
        found: list[Draft] = []
        for name in self._chosen:
            draft = self._draft_of[name]
            if all(draft is not one for one in found):
                found.append(draft)
        return found

    def provide_all(self, name: str) -> None:
        """The group of a node gets all that the node reads."""
        keyed = self._chosen[name]
        for stream in keyed.broadcast:
            if self._graph.writers(stream):
                raise Keep((name,), f"all its keys read '{stream}', which queries write")
            self._draft_of[name].feed(stream, Need(None), name)
        for stream, key in keyed.keys.items():
            self._provide(
                name, stream, Need(key, None, keyed.together, nulls=keyed.counts_nulls), frozenset()
            )

    def _provide(self, name: str, stream: str, need: Need, above: frozenset[str]) -> None:
        """The group of a node gets the rows of a stream by a key."""
        assert need.key is not None
        where = "" if need.where is None else text_of(need.where)
        asked = (name, stream, text_of(need.key), where, str(need.together), str(need.nulls))
        if asked in self._provided:
            return
        self._lead_back(name, stream, need, above)
        # Not before: on a way that comes back to where it is now it has to be seen.
        self._provided.add(asked)

    def _lead_back(self, name: str, stream: str, need: Need, above: frozenset[str]) -> None:
        graph = self._graph
        writers = graph.writers(stream)
        assert need.key is not None
        outside = [one for one in writers if self._is_outside(one, stream, need.key)]
        if outside and len(outside) < len(writers):
            raise Keep((name,), f"'{stream}' comes from queries that are cut otherwise")
        if outside:
            self._draft_of[name].feed(stream, need, name, channel=True)
            return
        for writer in writers:
            if writer in above:
                raise Keep((name, writer), "its rows come back to it")
            trait = graph.traits[writer]
            if isinstance(trait, Free):
                self._through(name, writer, trait, need, above | {writer})
            elif self._draft_of[writer] is not self._draft_of[name]:
                self._merge(self._draft_of[name], self._draft_of[writer], name)
        if writers:
            self._draft_of[name].inner.setdefault(stream, replace(need, where=None))
        else:
            self._draft_of[name].feed(stream, need, name)

    def _is_outside(self, writer: str, stream: str, key: ast.Expression) -> bool:
        """What a node writes has to come through a channel."""
        trait = self._graph.traits[writer]
        if writer in self._whole:
            return True
        if isinstance(trait, Free):
            return self._is_fed_by_others(writer, trait, key, frozenset())
        return text_of(key) not in map(text_of, self._chosen[writer].carries.get(stream, ()))

    def _is_fed_by_others(
        self, writer: str, trait: Free, key: ast.Expression, above: frozenset[str]
    ) -> bool:
        """A plain query whose own input would have to come through a channel runs in front of it,
        where its input is."""
        asked = (writer, text_of(key))
        if asked not in self._fed:
            self._fed[asked] = self._is_fed_from_outside(writer, trait, key, above)
        return self._fed[asked]

    def _is_fed_from_outside(
        self, writer: str, trait: Free, key: ast.Expression, above: frozenset[str]
    ) -> bool:
        through = substituted(key, trait.selected)
        sources = self._graph.writers(trait.source)
        if through is None or writer in above:
            return True
        for one in sources:
            inner = self._graph.traits[one]
            if one in self._whole:
                return True
            if isinstance(inner, Free):
                if self._is_fed_by_others(one, inner, through, above | {writer}):
                    return True
            elif text_of(through) not in map(
                text_of, self._chosen[one].carries.get(trait.source, ())
            ):
                return True
        return False

    def _through(
        self, name: str, writer: str, trait: Free, need: Need, above: frozenset[str]
    ) -> None:
        assert need.key is not None
        through = substituted(need.key, trait.selected)
        assert through is not None
        where = need.where
        if need.together is Together.RUNS and not self._graph.writers(trait.source):
            where = self._where(name, trait, need.where)
        elif need.together is Together.RUNS:
            where = self._where(name, trait, need.where) if self._is_raw(trait.source) else None
        self._draft_of[name].nodes.add(writer)
        self._provide(name, trait.source, replace(need, key=through, where=where), above)

    def _where(
        self, name: str, trait: Free, behind: ast.Expression | None
    ) -> ast.Expression | None:
        """What is left out in front changes what stands side by side."""
        if not trait.is_said:
            raise Keep((name,), "what reaches it of a send depends on more than the event itself")
        if behind is None:
            return trait.where
        through = substituted(behind, trait.selected)
        if through is None:
            raise Keep((name,), "what reaches it of a send depends on more than the event itself")
        return both(trait.where, through)

    def _is_raw(self, stream: str) -> bool:
        """Only plain queries stand between the input and a stream."""
        return all(isinstance(self._graph.traits[one], Free) for one in self._graph.behind(stream))

    def _merge(self, into: Draft, other: Draft, name: str) -> None:
        if not into.fits(other):
            raise Keep((name,), "what it reads and what feeds it are cut by different keys")
        into.take(other)
        for each, draft in self._draft_of.items():
            if draft is other:
                self._draft_of[each] = into

    def join_neighbours(self) -> None:
        """Groups that read a stream by the same key are one."""
        for name in self._chosen:
            for other in self.drafts():
                draft = self._draft_of[name]
                if other is not draft and draft.shares_feed(other) and draft.fits(other):
                    self._merge(draft, other, name)

    def join_users(self) -> None:
        """All that uses a table stands together and goes by one key of its rows. Keep where that
        cannot be."""
        used: dict[str, str] = {}
        for name, keyed in self._chosen.items():
            for table, key in keyed.tables.items():
                users = self._graph.users(table)
                others = [one for one in users if one not in self._chosen]
                if others:
                    raise Keep((name,), f"it uses the table '{table}', as {others[0]} does")
                if not says_key(self._graph.plan.checked, table):
                    raise Keep(users, f"no query says by which key rows of '{table}' are found")
                if used.setdefault(table, key) != key:
                    raise Keep(users, f"some go by '{used[table]}' of '{table}', some by '{key}'")
                first = self._draft_of[users[0]]
                if self._draft_of[name] is not first:
                    if not first.fits(self._draft_of[name]):
                        raise Keep(users, f"others that use the table '{table}' are cut otherwise")
                    self._merge(first, self._draft_of[name], name)

    def join_writers(self) -> None:
        """Keyed nodes that write one stream stand together, so that its rows have one order."""
        for stream in {one for name in self._chosen for one in self._graph.writes(name)}:
            writers = self._graph.writers(stream)
            keyed = [one for one in writers if one in self._draft_of]
            for one in keyed[1:]:
                if self._draft_of[one] is not self._draft_of[keyed[0]]:
                    if not self._draft_of[keyed[0]].fits(self._draft_of[one]):
                        raise Keep(tuple(keyed), f"several write '{stream}', cut otherwise")
                    self._merge(self._draft_of[keyed[0]], self._draft_of[one], one)
            if any(one in self._whole for one in writers):
                raise Keep(tuple(keyed), f"others that are whole write '{stream}', too")
