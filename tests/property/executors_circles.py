"""Random parts of apps that go in circles: what is asked of a table is written back into it, by one
query or through others, with conditions and values that look at the row that was there; or streams
feed each other."""

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


def going_round(apps: Apps) -> str:
    """Two streams that feed each other, with tables that are asked on the way, and who reads them
    from outside."""
    one, other, table = f"C{apps.name()}", f"C{apps.name()}", f"L{apps.name()}"
    pick = apps.pick

    def step(source: str, target: str) -> str:
        limit = pick("[i > 0]", "[i > 2]", f"[i > 0 and not (({table}.i == i) in {table})]")
        less = pick("i - 1", "i - 3", "i / 2")
        clauses = pick("", "", "", " having i != 4", " order by i limit 2")
        join = f"from {source}[i > 0] as x {pick('join', 'left outer join')} {table} as y"
        return pick(
            f"from {source}{limit} select s, {less} as i{clauses} insert into {target};",
            f"from {source}{limit} select s, {less} as i{clauses} insert into {target};",
            f"{join} on x.s == y.s select x.s as s, x.i - 2 as i insert into {target};",
            f"{join} on x.i > y.i select y.s as s, x.i - 4 as i insert into {target};",
        )

    def outside(source: str) -> str:
        out = apps.name()
        return pick(
            f"from {source} select s, count() as c insert into {out};",
            f"from {source}#window.length(2) select s, sum(i) as n insert into {out};",
            f"from {source}#window.timeBatch(100) select s, sum(i) as n insert into {out};",
            f"from {source} select s, i, count() as c group by s insert into {out};",
            f"from {source} as x join {table} as y on x.s == y.s select y.i insert into {out};",
            f"from {source}[i > 7] select s, i insert into {table};",
            f"partition with (s of {source}) begin from {source} select s, sum(i) as n"
            f" insert into {out}; end;",
        )

    fed = pick("S[i > 3]", "S", "S#window.timeBatch(100)", "S#window.length(2)")
    queries = [
        f"from {fed} select s, i insert into {one};",
        f"from R{_KNOWN} select s, i {pick('insert into', 'delete')} {table}",
        step(one, other),
        step(other, pick(one, one, other)),
        *(outside(pick(one, other)) for _ in range(int(pick("0", "1", "1", "2")))),
    ]
    queries[1] += f" on {table}.s == s;" if "delete" in queries[1] else ";"
    if pick("", "", "back"):
        queries.append(step(one, one))
    if "delete" in queries[1]:
        queries.append(f"from S{_KNOWN}[i > 4] select s, i insert into {table};")
    arranged = sorted(queries, key=lambda _: pick(*map(str, range(9))))
    streams = "".join(f"define stream {each} (s string, i int);\n" for each in (one, other))
    return f"{streams}define table {table} (s string, i int);\n" + " ".join(arranged)


def listing(apps: Apps) -> str:
    """A table without a key: several rows may be found, and written back."""
    t, out, pick = f"L{apps.name()}", apps.name(), apps.pick
    known = "[not (s is null)]"
    join = pick("join", "left outer join", "left outer join")
    values = pick(
        "r.i as i, r.d as d, 1L as n",
        f"r.i as i, {t}.d as d, {t}.n + 1L as n",
        f"{t}.i as i, ifThenElse({t}.d is null, r.d, {t}.d + r.d) as d, {t}.n as n",
    )
    joined = f"{pick('S', 'R')}{known}{pick('', '[i > 2]')} as r {join} {t} on {t}.s == r.s"
    asked = f"from {joined} select {pick('r', 'r', t)}.s as s, {values}"
    act = pick(
        f"update or insert into {t} on {t}.s == s;",
        f"update or insert into {t} on {t}.s == s;",
        f"update {t} on {t}.s == s;",
        f"update {t} set {t}.d = d, {t}.n = n on {t}.s == s;",
        f"update {t} set {t}.d = d on {t}.s == s and {t}.i > 2;",
        f"delete {t} on {t}.s == s;",
    )
    back = [f"{asked} {act}"]
    if pick("", "apart"):
        back = [f"{asked} insert into {out};", f"from {out}{pick('', '[i > 1]')} select * {act}"]
    others = (
        f"from R{known} select s, i, d, 0L as n update or insert into {t} on {t}.s == s;",
        f"from S select s delete {t} on {t}.s == s and {t}.i > 5;",
        f"from S join {t} as y on y.s == S.s select y.i as i, y.d as d insert into {apps.name()};",
        f"from S[({t}.s == s and {t}.i == i) in {t}] select s, i insert into {apps.name()};",
        f"from R{known}[i < 0] select s, i update {t} set {t}.i = i on {t}.s == s;",
    )
    queries = [*back, f"from {pick('S', 'R')}{known} select s, i, d, 1L as n insert into {t};"]
    queries += [pick(*others) for _ in range(int(pick("0", "1", "2")))]
    arranged = sorted(queries, key=lambda _: pick(*map(str, range(9))))
    stream = f"define stream {out} (s string, i int, d double, n long);\n"
    index = pick("", "", "@Index('s') ")
    return f"{stream}{index}define table {t} (s string, i int, d double, n long);\n" + " ".join(
        arranged
    )


CIRCLING: tuple[Callable[[Apps], str], ...] = (circling, circling, listing)
ROUNDS: tuple[Callable[[Apps], str], ...] = (going_round,)
