"""Random parts of apps in which what is asked of a table is written back into it: by one query or
through others, with conditions and values that look at the row that was there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps

_KNOWN = "[not (s is null) and not (i is null)]"
_KEYS = (("s",), ("s",), ("i",), ("s", "i"))


class _Circle:
    """A table with a primary key, and queries around it."""

    def __init__(self, apps: Apps) -> None:
        self.apps = apps
        self.table = f"L{apps.name()}"
        self.key = _KEYS[int(apps.pick("0", "1", "2", "3"))]

    def definition(self) -> str:
        """Kept in a database or not."""
        names = ", ".join(f"'{each}'" for each in self.key)
        stored = self.apps.pick("", "", "@store(type='rdbms') ")
        attributes = "(s string, i int, d double, n long);\n"
        return f"{stored}@PrimaryKey({names}) define table {self.table} {attributes}"

    def on(self, other: str = "") -> str:
        """The row under the key of `other` (with its dot, or nothing)."""
        return " and ".join(f"{self.table}.{each} == {other}{each}" for each in self.key)

    def asker(self) -> tuple[str, str]:
        """(a query that asks for an event's row, what it writes)."""
        t, pick, out = self.table, self.apps.pick, self.apps.name()
        stream, handlers = pick("S", "R"), _KNOWN + pick("", "", "[d > 0.2]")
        if pick("join", "join", "in") == "in":
            asked = pick("", "not ") + f"(({self.on(f'{stream}.')}) in {t})"
            also = pick("", "", " and i > 0", " or i > 3")
            select = "s, i, d, d as before, 1L as count, i as other"
            return f"from {stream}{handlers}[{asked}{also}] select {select} insert into {out};", out
        join = pick("join", "left outer join", "left outer join", "left outer join")
        count = pick(f"ifThenElse({t}.n is null, 1L, {t}.n + 1L)", f"{t}.n")
        select = f"r.s as s, r.i as i, r.d as d, {t}.d as before, {count} as count, {t}.i as other"
        joined = f"{stream}{handlers} as r {join} {t} on {self.on('r.')}"
        return f"from {joined} select {select} insert into {out};", out

    def between(self, source: str) -> tuple[str, str]:
        """(a query on the way, what it writes)."""
        out, pick = self.apps.name(), self.apps.pick
        known = f"[not (({self.on(f'{source}.')}) in {self.table})]"
        condition = pick("", "[before is null or d > before]", "[other is null]", "[i > 1]", known)
        select = pick(
            "*",
            "s, i, d, before + d as before, count, other",
            "s, i, d * 2.0 as d, before, count, other",
        )
        return f"from {source}{condition} select {select} insert into {out};", out

    def writer(self, source: str) -> str:
        """What comes back."""
        t, pick = self.table, self.apps.pick
        condition = pick(
            "",
            "[before is null]",
            "[before is null or d > before]",
            "[count is null or count < 3L]",
        )
        value = pick(
            "d", "d", "coalesce(before, 0.0) + d as d", "ifThenElse(before > d, before, d) as d"
        )
        start = f"from {source}{condition} select s, i, {value}, count as n"
        set_ = pick("", f" set {t}.d = d", f" set {t}.n = n, {t}.d = {t}.d + d", f" set {t}.n = n")
        on = self.on() + pick("", "", "", f" and {t}.d < d")
        match pick("upsert", "upsert", "upsert", "insert", "update", "delete"):
            case "insert":
                return f"{start} insert into {t};"
            case "upsert":
                return f"{start} update or insert into {t}{set_} on {on};"
            case "update":
                return f"{start} update {t}{set_} on {on};"
            case _:
                return f"{start} delete {t} on {on};"

    def other(self) -> str:
        """A query beside the circle."""
        t, pick, out = self.table, self.apps.pick, self.apps.name()
        return pick(
            f"from R{_KNOWN} select s, i, d, 0L as n update or insert into {t} on {self.on()};",
            f"from S{_KNOWN}[i > 6] delete {t} on {self.on()};",
            f"from S join {t} on {self.on('S.')} select S.s as s, {t}.d as d insert into {out};",
            f"from S#window.length(2) join {t} on {self.on('S.')}"
            f" select S.s as s, sum({t}.d) as d insert into {out};",
            f"from R[({t}.d > R.d) in {t}] select s, i insert into {out};",
        )


def circling(apps: Apps) -> str:
    """A circle or two, and what stands beside it, in any order."""
    circle = _Circle(apps)
    queries = []
    for _ in range(int(apps.pick("1", "1", "2"))):
        asker, source = circle.asker()
        queries.append(asker)
        for _ in range(int(apps.pick("0", "0", "1"))):
            query, source = circle.between(source)
            queries.append(query)
        queries += [circle.writer(source) for _ in range(int(apps.pick("1", "1", "2")))]
        if apps.pick("", "counted"):
            out = apps.name()
            queries.append(f"from {source} select s, count() as c, sum(d) as d insert into {out};")
    queries += [circle.other() for _ in range(int(apps.pick("0", "1", "1", "2")))]
    arranged = sorted(queries, key=lambda _: apps.pick(*map(str, range(9))))
    return circle.definition() + " ".join(arranged)


CIRCLING: tuple[Callable[[Apps], str], ...] = (circling,)
