"""Random apps that are cut by hand into groups, and how their runs are compared with one node's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import msgspec

from lockstep.events import EventsRecord, LogEntry
from lockstep.events.codec import EncodedEntry
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar
from lockstep.execute.contract import Executor
from lockstep.execute.encoding import encoded
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor
from lockstep.fleet.indexing import KeyIndex
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan, Routing
from lockstep.siddhiql import ast
from tests.property.executors_model import DEFINITIONS, Apps, cut, entries

_S = "(s string, i int, l long, d double, f float, b bool, t long)"
_X = "(s string, i int, n long)"
_PARTITIONS_MAX = 5

Row = tuple[int, int, str]
"""(position, timestamp, values as text)."""


class Drawn:
    """An app of up to four groups, and the fleet that it is with any number of partitions.

    Events become P by turns (if at all), X and O1 by the key s, O2 by the key i of X; O3 is made of
    X and S over all keys. Rows of O1 and O2 begin with their key.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._apps = Apps(random)
        self.is_playback = random.random() < 0.5
        self.has_turns = random.random() < 0.3
        self._source = "P" if self.has_turns else "S"
        self._turns = f"from S[{self._apps.condition(0)}] select * insert into P;\n"
        self._keys = self._by_s()
        self._again = self._by_i()
        self._whole = self._over_all()
        self._whole_first = random.random() < 0.4

    def _by_s(self) -> str:
        apps, source = self._apps, self._source
        windows = ("", "#window.length(3)", "#window.length(2)")
        queries = [
            f"from {source}[{apps.condition()}]{apps.pick(*windows)}"
            f" select s, i, {apps.pick('sum(i)', 'i * 2L', 'count()')} as n insert into X;",
            f"from {source}{apps.pick(*windows, '#window.time(300)', '#window.lengthBatch(2)')}"
            f" select s, {apps.aggregate()} as c, sum(i) as n insert into O1;",
        ]
        if self._random.random() < 0.4:
            queries.append(
                f"from every e1={source}[i > 0] -> e2=R[i > e1.i]"
                f"{apps.pick('', ' within 300 milliseconds')}"
                " select e1.s as s, e2.d as c, e2.i as n insert into O4;"
            )
        return f"partition with (s of {source}, s of R) begin {' '.join(queries)} end;\n"

    def _by_i(self) -> str:
        apps = self._apps
        window = apps.pick("", "#window.length(2)", "#window.time(200)", "#window.lengthBatch(2)")
        query = f"from X{window} select i, s, sum(n) as m, count() as c insert into O2;"
        pattern = "from every e1=X -> e2=X[n > e1.n] select e1.i as i, e2.n as n insert into O5;"
        chosen = self._random.choice((query, f"{query} {pattern}"))
        return f"partition with (i of X) begin {chosen} end;\n"

    def _over_all(self) -> str:
        return self._apps.pick(
            "from S#window.length(3) as x join X#window.length(3) as y on x.s == y.s"
            " select x.s as s, y.i as i, x.d as d insert into O3;\n",
            "from X#window.lengthBatch(3) select i, s, sum(n) as m insert into O3;\n",
            "from every e1=S[i > 2] -> e2=X[s == e1.s] select e1.s as s, e2.n as n"
            " insert into O3;\n",
            "from X#window.time(200) select s, count() as c insert all events into O3;\n",
            "from X select s, n, count() as c insert into O3;"
            " from S select s, l as n, 0L as c insert into O3;\n",
        )

    def _text(self, *parts: str, channels: Sequence[str] = ()) -> str:
        definitions = [("P", _S), ("X", _X)]
        streams = "".join(
            f"{'@channel ' if name in channels else ''}define stream {name} {attributes};\n"
            for name, attributes in definitions
        )
        head = "@app:playback\n" if self.is_playback else ""
        return head + DEFINITIONS + streams + "".join(parts)

    def plan(self) -> AppPlan:
        """All of it in one place."""
        parts = [self._turns] * self.has_turns + [self._keys, self._again]
        parts.insert(0 if self._whole_first else len(parts), self._whole)
        return plan_of(self._text(*parts))

    def fleet(self) -> FleetPlan:
        """Cut into a random number of partitions each."""
        s, i = ast.Variable("s"), ast.Variable("i")
        turns = GroupPlan(
            "turns",
            self._count(),
            self._text(self._turns, channels=["P"]),
            (Feed("S", True, (), Routing.ROUND_ROBIN),),
            ("P",),
            (),
            (),
            (),
        )
        writers = ("turns",) if self.has_turns else ()
        source = Feed(self._source, True, writers, Routing.KEY, s)
        keys = GroupPlan(
            "keys",
            self._count(),
            self._text(self._keys, channels=["X"]),
            (source, Feed("R", True, (), Routing.KEY, s)),
            ("X",),
            ("O1", "O4"),
            (),
            (),
        )
        feed = Feed("X", True, ("keys",), Routing.KEY, i)
        again = GroupPlan(
            "again", self._count(), self._text(self._again), (feed,), (), ("O2", "O5"), (), ()
        )
        feeds = [Feed("X", True, ("keys",)), Feed("S", True, ())]
        if self._whole_first:
            feeds.reverse()
        whole = GroupPlan("whole", 1, self._text(self._whole), tuple(feeds), (), ("O3",), (), ())
        groups = [turns] * self.has_turns + [keys, again, whole]
        return FleetPlan(self.plan(), _PARTITIONS_MAX, tuple(groups))

    def _count(self) -> int:
        return self._random.randint(1, _PARTITIONS_MAX)

    def log(self, count: int) -> list[LogEntry]:
        """Each event id stands for one event, as clients have it; what goes by turns is sent one
        by one."""
        made = entries(self._random, count, in_event_time=self.is_playback)
        return [honest(entry, singly=self.has_turns) for entry in made]


def honest(entry: LogEntry, *, singly: bool = False) -> LogEntry:
    """The same where an event id is repeated by the same event alone; singly: one in a chunk."""
    record = entry.record
    if not isinstance(record, EventsRecord):
        return entry
    chunks = [
        tuple(
            event
            if event.event_id is None
            else msgspec.structs.replace(event, event_id=f"{event.event_id} {event}")
            for event in chunk
        )
        for chunk in record.chunks
    ]
    if singly:
        chunks = [(event,) for chunk in chunks for event in chunk]
    return LogEntry(entry.position, replace(record, chunks=tuple(chunks)))


def reference(plan: AppPlan) -> Executor:
    """The reference."""
    return ReferenceExecutor(plan)


def columnar(plan: AppPlan) -> Executor:
    """Columns, where any query of the app runs in them."""
    try:
        return ColumnarExecutor(plan)
    except NotColumnar:
        return ReferenceExecutor(plan)


def fold_fleet(
    fleet: Callable[[], FleetPlan],
    make: Callable[[AppPlan], Executor],
    log: Sequence[LogEntry],
    random: Random,
    queries: Sequence[str] = (),
) -> tuple[list[Any], list[list[str]]]:
    """The rows of a fleet that is cut at random, stopped and begun anew in other partitions; and
    what it answers then (`answers`)."""
    executor = FleetExecutor(fleet(), make)
    rows: list[Any] = []
    for slice_ in cut(random, log):
        rows += executor.run_encoded(sent(executor, slice_, random)).rows
        if random.random() < 0.3:
            snapshot = executor.snapshot()
            executor = FleetExecutor(fleet(), make)
            executor.restore(snapshot)
    return rows, answers(executor, queries)


def answers(executor: Executor, queries: Sequence[str]) -> list[list[str]]:
    """Of on-demand queries, in any order."""
    return [sorted(map(repr, executor.on_demand(query))) for query in queries]


def sent(
    executor: FleetExecutor, log: Sequence[LogEntry], random: Random
) -> Sequence[EncodedEntry]:
    """As doors write it: some say whose the events are, or say it for an app that is cut
    otherwise."""
    plans = {unit.number: unit.plan for unit in executor.units}
    some = [plan for plan in plans.values() if random.random() < 0.7]
    return encoded(log, executor.units[0].plan.fleet.app.checked.streams, KeyIndex(some).of)


def by_key(rows: Sequence[Any], whole: frozenset[str] = frozenset()) -> dict[str, list[Row]]:
    """The rows of every stream and key in order; of a stream of `whole` all of them."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        key = row.stream if row.stream in whole else f"{row.stream} {row.data[0]!r}"
        found.setdefault(key, []).append((row.id.position, row.timestamp_ms, repr(row.data)))
    return found
