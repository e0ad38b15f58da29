"""Random apps for the planner of fleets: what it cuts must bring the rows of one node.

All streams have the attributes `s` and `i`, which queries pass on as they are, so every row shows
the key that its group may be cut by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import FleetPlan
from tests.property.planned_tables_model import SCHEMA, Tables

_STEPS = (0, 0, 0, 1, 7, 50, 100, 400)

Row = tuple[int, int, str]
"""(position, timestamp, values as text)."""


class Planned:
    """An app of two to five parts. `is_late`: some events come late; then no `time` window and no
    `within` stands where the planner would cut it, as the page on fleets says."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.has_nulls = random.random() < 0.7
        self.tables = Tables(random, has_nulls=self.has_nulls)
        self.is_playback = random.random() < 0.5
        self.is_late = random.random() < 0.3
        self._streams = ["S", "R"]
        self._targets: list[str] = []
        self._read: set[str] = set()
        self.text = self._app()

    def plan(self) -> AppPlan:
        """All of it in one place."""
        return plan_of(self.text)

    def log(self, count: int) -> list[LogEntry]:
        """Ticks, and records of chunks with keys in turns; in some logs each event is one."""
        random, made = self._random, []
        is_plain = random.random() < 0.4
        clock, position, at = 1000, 0, 1000
        for _ in range(count):
            position += random.choice((1, 1, 1, 2))
            clock += random.choice(_STEPS)
            if random.random() < 0.15:
                made.append(LogEntry(position, TickRecord(clock)))
                continue
            chunks = []
            for _ in range(random.choice((1, 2, 5) if is_plain else (1, 1, 2))):
                chunk = []
                for _ in range(1 if is_plain else random.choice((1, 1, 2, 3, 6))):
                    at += random.choice(_STEPS)
                    late = random.choice((0, 0, 0, 5, 200)) if self.is_late else 0
                    chunk.append(
                        InputEvent((at if self.is_playback else clock) - late, self._row())
                    )
                chunks.append(tuple(chunk))
            name = random.choice(("S", "S", "R"))
            has_times = self.is_playback or (self.is_late and random.random() < 0.5)
            record = EventsRecord(name, clock, tuple(chunks), has_timestamps=has_times)
            made.append(LogEntry(position, record))
        return made

    def _row(self) -> tuple[Any, ...]:
        random = self._random
        nulls = 0.08 if self.has_nulls else 0.0
        key = None if random.random() < nulls else random.choice(("a", "b", "c", "d", "null"))
        number = None if random.random() < nulls else random.randint(0, 3)
        return key, number, None if random.random() < 0.05 else random.randint(-5, 9)

    # --- the text --------------------------------------------------------------------------------

    def _app(self) -> str:
        head = "@app:playback\n" if self.is_playback else ""
        lines = [f"define stream {name} {SCHEMA};" for name in self._streams]
        lines += self.tables.definitions(self._random.choice((0, 1, 1, 2)))
        uses = 2 if self.tables.names else 0
        kinds: tuple[Callable[[], str], ...] = (
            self._free,
            self._grouped,
            self._grouped,
            self._partition,
            self._partition,
            self._pattern,
            self._join,
            self._whole,
            *([lambda: self.tables.write(self._source(), self._filter())] * uses),
            *([lambda: self._into(self.tables.look_up(self._source(), self._filter()))] * uses),
        )
        for _ in range(self._random.randint(2, 5)):
            self._read.clear()
            lines.append(self._random.choice(kinds)())
        return head + "\n".join(lines) + "\n"

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _source(self) -> str:
        source = self._random.choice(self._streams)
        self._read.add(source)
        return source

    def _target(self) -> str:
        """Mostly a fresh one. Only what reads the input alone writes an earlier one: no loops."""
        if self._targets and self._read <= {"S", "R"} and self._random.random() < 0.2:
            return self._random.choice(self._targets)
        name = f"O{len(self._targets) + 1}"
        self._targets.append(name)
        return name

    def _into(self, query: str, kinds: str = "") -> str:
        target = self._target()
        if target not in self._streams:
            self._streams.append(target)
        return f"{query} insert{kinds} into {target};"

    def _filter(self) -> str:
        return self._pick("", "[v > 1]", "[i == 1]", "[s != 'b']", "[v > 0 and i < 3]")

    def _free(self) -> str:
        return self._into(
            f"from {self._source()}{self._filter()} select s, i, {self._pick('v', 'v * 2')} as v"
        )

    def _grouped(self) -> str:
        key = self._pick("s", "i", "s, i")
        windows = ["", "#window.session(150 milliseconds, s)"]
        if not self.is_late:
            windows += ["#window.time(200)", "#window.time(60)"]
        window = self._pick(*windows)
        call = self._pick("sum(v)", "count()", "max(v)")
        having = self._pick("", "", " having v > 1")
        kinds = self._pick("", "", " all events", " expired events") if window else ""
        rate = (
            self._pick(
                "", "", "", " output first every 2 events", " output first every 100 milliseconds"
            )
            if not kinds
            else ""
        )
        return self._into(
            f"from {self._source()}{self._filter()}{window} select s, i, {call} as v"
            f" group by {key}{having}{rate}",
            kinds,
        )

    def _partition(self) -> str:
        key, source = self._pick("s", "s", "i"), self._source()
        windows = (
            "",
            "#window.length(2)",
            "#window.lengthBatch(2)",
            "#window.time(100)",
            "#window.timeBatch(100)",
        )
        call = self._pick("sum(v)", "count()", "v", "v * 3")
        first = f"from {source}{self._filter()}{self._pick(*windows)} select s, i, {call} as v"
        queries = [self._into(first)]
        if self._random.random() < 0.3:
            queries[0] = first + " insert into #inner;"
            queries.append(
                self._into(f"from #inner{self._pick(*windows)} select s, i, count() as v")
            )
        if self._random.random() < 0.3:
            queries.append(self._into(f"from {source} select s, i, v"))
        if self.tables.names and self._random.random() < 0.5:
            queries.append(self.tables.write(source, self._filter()))
            queries.append(self._into(self.tables.look_up(source, self._filter())))
            self._random.shuffle(queries)
        if self._random.random() < 0.2:
            queries.append(
                self._into(
                    f"from every e1={source}, e2={source}[v > e1.v]"
                    " select e1.s as s, e1.i as i, e2.v as v"
                )
            )
        return f"partition with ({key} of {source}) begin {' '.join(queries)} end;"

    def _pattern(self) -> str:
        key, first, second = self._pick("s", "i"), self._source(), self._source()
        within = "" if self.is_late else self._pick("", " within 300 milliseconds")
        absent = f"not {second}[{key} == e1.{key}] for 100 milliseconds"
        if self._random.random() < 0.25:
            return self._into(
                f"from every e1={first}[v > 1] -> {absent} select e1.s as s, e1.i as i, e1.v as v"
            )
        return self._into(
            f"from every e1={first}[v > 1] -> e2={second}[{key} == e1.{key} and v > 0]{within}"
            " select e1.s as s, e1.i as i, e2.v as v"
        )

    def _join(self) -> str:
        key, left, right = self._pick("s", "i"), self._source(), self._source()
        windows = ("", "#window.length(2)") if self.is_late else ("", "#window.time(150)")
        join = self._pick("join", "left outer join")
        return self._into(
            f"from {left}{self._pick(*windows)} as a {join} {right}#window.time(100) as b"
            f" on a.{key} == b.{key} select a.s as s, a.i as i, b.v as v"
        ).replace("#window.time(100)", "#window.length(3)" if self.is_late else "#window.time(100)")

    def _whole(self) -> str:
        window = self._pick(
            "", "#window.length(3)", "#window.lengthBatch(2)", "#window.timeBatch(100)"
        )
        return self._into(f"from {self._source()}{window} select s, i, count() as v")


def by_group(rows: Sequence[Any], fleet: FleetPlan) -> dict[str, list[Row]]:
    """The rows of every stream in order: of one that a cut group gives out, those of each key.
    Where its streams are cut by different attributes, a row does not tell which of them was its
    key: then it is only looked whether all are there."""
    keys: dict[str, tuple[int, ...]] = {}
    for group in fleet.groups:
        if group.whole_because is None and not fleet.is_single:
            words = group.name.removeprefix("by_").split("_")
            places = tuple(place for place, name in enumerate("si") if name in words)
            keys |= dict.fromkeys(group.exported, places)
    found: dict[str, list[Row]] = {}
    for row in rows:
        key = [repr(row.data[place]) for place in keys.get(row.stream, ())]
        told = (row.id.position, row.timestamp_ms, repr(row.data))
        found.setdefault(f"{row.stream} {key}", []).append(told)
    several = {stream for stream, places in keys.items() if len(places) > 1}
    return {
        name: sorted(each) if name.split()[0] in several else each for name, each in found.items()
    }
