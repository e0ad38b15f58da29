"""Random parts of apps around tables: any key and index, several writers of all kinds, conditions
of all kinds, and queries that read in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps

_KEYS = (
    "",
    "",
    "@Index('s') ",
    "@Index('i') ",
    "@PrimaryKey('s') ",
    "@PrimaryKey('i') ",
    "@PrimaryKey('s', 'i') ",
    "@PrimaryKey('s') @Index('i') ",
    "@PrimaryKey('i') @Index('s') ",
)
_KNOWN = "[not (s is null) and not (i is null)]"


class _Table:
    """The queries of a table."""

    def __init__(self, apps: Apps) -> None:
        self.apps = apps
        self.name = f"L{apps.name()}"

    def definition(self) -> str:
        """Kept in a database or not."""
        stored = self.apps.pick("", "", "@store(type='rdbms') ")
        attributes = "(s string, i int, d double);\n"
        return f"{stored}{self.apps.pick(*_KEYS)}define table {self.name} {attributes}"

    def on(self, other: str) -> str:
        """A condition on a row, seen from `other` (with its dot, or nothing)."""
        t, o, pick = self.name, other, self.apps.pick
        equal = pick(f"{t}.s == {o}s", f"{t}.i == {o}i", f"{t}.s == {o}s and {o}i == {t}.i")
        return pick(
            equal,
            equal,
            equal,
            f"{t}.s == {o}s and {t}.d < 3.0",
            f"{t}.i {pick('<', '>=', '!=')} {o}i",
            f"{t}.s == {o}s or {t}.i > {o}i",
            f"{t}.s == 'a'",
        )

    def set(self) -> str:
        """Which attributes are set to what."""
        t, pick = self.name, self.apps.pick
        return pick(
            "",
            "",
            f" set {t}.d = d",
            f" set {t}.d = {t}.d + d",
            f" set {t}.d = d, {t}.i = i",
            f" set {t}.s = s",
            f" set {t}.i = {t}.i + 1, {t}.d = {t}.d * 2.0",
        )

    def writer(self) -> str:
        """A query that writes."""
        t, pick = self.name, self.apps.pick
        window = pick(
            "", "", "", "#window.length(2)", "#window.length(0)", "#window.lengthBatch(2)"
        )
        source, kind = f"from {pick('S', 'R')}{_KNOWN}{window} select s, i, d", ""
        if window:
            kind = pick("", "for expired events ", "for all events ")
        match pick("insert", "insert", "upsert", "upsert", "update", "delete"):
            case "insert":
                return f"{source} insert {kind.replace('for ', '')}into {t};"
            case "upsert":
                return f"{source} update or insert into {t} {kind}{self.set()} on {self.on('')};"
            case "update":
                return f"{source} update {t} {kind}{self.set()} on {self.on('')};"
            case _:
                return f"{source} delete {t} {kind}on {self.on('')};"

    def reader(self) -> str:
        """A query that reads: a join or a membership."""
        t, out, pick = self.name, self.apps.name(), self.apps.pick
        if pick("join", "join", "in") == "in":
            asked = pick("", "not ") + f"(({self.on('S.')}) in {t})"
            window = pick("", "", "#window.length(3)", "#window.length(0)")
            at = pick("before", "behind", "selected")
            if at == "selected":
                select = f"s, {asked} as known, i"
                return f"from S{window} select {select} insert into {out};"
            before, behind = (f"[{asked}]", "") if at == "before" else ("", f"[{asked}]")
            return f"from S{before}{window}{behind} select s, i, count() as c insert into {out};"
        filtered = pick("", "", "[d > 1.0]")
        on = pick("", f" on {self.on('S.')}", f" on {self.on('S.')}")
        if pick("left", "right") == "left":
            kind = pick("join", "left outer join", "full outer join")
            joined = f"S[{self.apps.condition(0)}] {kind} {t}{filtered}"
        else:
            kind = pick("join", "right outer join", "full outer join")
            joined = f"{t}{filtered} {kind} S"
        plain = f"S.s as s, {t}.i as i, {t}.d as d"
        select = pick(
            plain,
            plain,
            f"S.s as s, count() as n, sum({t}.i) as i",
            f"{t}.s as s, max({t}.d) as d group by {t}.s",
            f"S.i as i, avg({t}.d) as d group by S.i having d > 1.0",
        )
        order = pick("", "", " order by s limit 2") if select == plain else ""
        events = pick("", "", "all events ", "expired events ")
        query = f"from {joined}{on} select {select}{order} insert {events}into"
        if not pick("", "", "inside"):
            return f"{query} {out};"
        key = pick("s", "b", "i < 3 as 'low' or i >= 3 as 'high'")
        inner = pick("", "#")
        more = f" from #{out} select count() as n insert into {out};" if inner else ""
        return f"partition with ({key} of S) begin {query} {inner}{out};{more} end;"

    def circle(self) -> str:
        """A query that reads the table and writes it."""
        t, pick = self.name, self.apps.pick
        return pick(
            f"from S{_KNOWN}[not (({t}.s == S.s) in {t})] select s, i, d insert into {t};",
            f"from R{_KNOWN} as r left outer join {t} on {t}.s == r.s"
            f" select r.s as s, r.i as i, coalesce({t}.d, 0.0) + 1.0 as d"
            f" update or insert into {t} set {t}.d = d on {t}.s == s;",
        )


def tabled(apps: Apps) -> str:
    """A table with its writers and readers, in any order."""
    table = _Table(apps)
    queries = [table.writer() for _ in range(int(apps.pick("1", "2", "3")))]
    queries += [table.reader() for _ in range(int(apps.pick("1", "2")))]
    if apps.pick("", "", "", "circle"):
        queries.append(table.circle())
    arranged = sorted(queries, key=lambda _: apps.pick(*map(str, range(9))))
    return table.definition() + " ".join(arranged)


TABLED: tuple[Callable[[Apps], str], ...] = (tabled,)


_WINDOWS = (
    "length(3)",
    "length(1)",
    "lengthBatch(2)",
    "time(200)",
    "time(1 sec)",
    "timeBatch(200)",
    "timeLength(300, 3)",
    "sort(2, i)",
    "session(100)",
    "externalTime(l, 5)",
    "delay(100)",
    "batch()",
    "unique:length(s, 2)",
)


def named(apps: Apps) -> str:
    """A named window with its writers and readers, in any order."""
    name, pick = f"W{apps.name()}", apps.pick
    attributes = "(s string, i int, l long, d double)"
    output = pick("", "", " output all events", " output current events", " output expired events")
    definition = f"define window {name} {attributes} {pick(*_WINDOWS)}{output};\n"
    queries = []
    for _ in range(int(pick("1", "1", "2", "3"))):
        window = pick(
            "", "", "", "#window.length(2)", "#window.time(100)", "#window.lengthBatch(2)"
        )
        kind = pick("", "", "all events ", "expired events ") if window else ""
        source = pick("S", f"S[{apps.condition(0)}]", "S[i > 0]")
        filtered = f"from {source}{_KNOWN}[not (l is null)]{window}"
        query = f"{filtered} select s, i, l, d insert {kind}into {name};"
        inside = not window and pick("", "", "", "yes")
        queries.append(f"partition with (s of S) begin {query} end;" if inside else query)
    for _ in range(int(pick("1", "1", "2"))):
        filtered = pick("", "", "[i > 2]", "[d < 3.0]")
        select = pick(
            "s, i, l",
            "s, sum(i) as t, count() as n",
            "s, max(d) as m group by s",
            "avg(d) as a, min(i) as m",
            "s, i, distinctCount(s) as c group by i having c > 1L",
        )
        kind = pick("", "", "all events ", "expired events ")
        rate = pick("", "", "", " output every 2 events", " output last every 100 milliseconds")
        queries.append(
            f"from {name}{filtered} select {select}{rate} insert {kind}into {apps.name()};"
        )
    queries.append(_joined_with(apps, name))
    arranged = sorted(queries, key=lambda _: pick(*map(str, range(9))))
    return definition + " ".join(arranged)


def _joined_with(apps: Apps, name: str) -> str:
    """A query that joins a named window, or nothing."""
    return apps.pick(
        "",
        "",
        "",
        f"from R as r join {name} as w on r.s == w.s select r.s as s, w.i as i insert into"
        f" {apps.name()};",
    )


NAMED: tuple[Callable[[Apps], str], ...] = (named,)
