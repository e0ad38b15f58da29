"""Random tables of the apps of planned_fleets_model, and queries that write, join and ask them:
mostly by a key, so that the planner cuts them."""

from __future__ import annotations

from random import Random

SCHEMA = "(s string, i int, v long)"


class Tables:
    """The tables of one app. `has_nulls`: keys may be null; then none is indexed by a number or by
    an index of its own, where a null fails, with what was sent with it on one node."""

    def __init__(self, random: Random, *, has_nulls: bool) -> None:
        self._random = random
        self._has_nulls = has_nulls
        self.names: list[str] = []

    def definitions(self, count: int) -> list[str]:
        """Of so many tables."""
        return [self._definition(number) for number in range(count)]

    def queries(self) -> list[str]:
        """On-demand queries of all that they hold."""
        return [
            query
            for name in self.names
            for query in (
                f"from {name} select s, i, v",
                f"from {name} on v > 0 select i, sum(v) as v, count() as n group by i",
                f"from {name} on s == 'b' select max(v) as v",
            )
        ]

    def write(self, source: str, condition: str) -> str:
        """A query that writes one of them; some join another one."""
        table = self._random.choice(self.names)
        on = self._equal(table)
        action = self._pick(
            f"insert into {table}",
            f"update or insert into {table} on {on}",
            f"update or insert into {table} on {on}",
            f"update or insert into {table} set {table}.v = v on {on}",
            f"update {table} set {table}.v = v + {table}.v on {on}",
            f"update {table} on {on}",
            f"update {table} set {table}.s = s on {on}",
            f"delete {table} on {on}",
            f"delete {table} on {on}",
        )
        if self._random.random() < 0.4:
            value = self._pick("r.v", "coalesce(m.v, 0L) + 1L", "m.v")
            joined, key = self._join(source, condition)
            return f"{joined} select {key} as s, r.i as i, {value} as v {action};"
        return f"from {source}{condition} select s, i, {self._pick('v', 'v * 2')} as v {action};"

    def look_up(self, source: str, condition: str) -> str:
        """A query that asks one of them, without where its rows go."""
        if self._random.random() < 0.3:
            table = self._random.choice(self.names)
            return f"from {source}[({self._equal(table)}) in {table}] select s, i, v"
        call, by = self._random.choice((("m.v", ""), ("m.v", ""), ("sum(m.v)", " group by r.s")))
        joined, key = self._join(source, condition)
        return f"{joined} select {key} as s, r.i as i, {call} as v{by}"

    def _join(self, source: str, condition: str) -> tuple[str, str]:
        """With one of them, and what is its rows' key."""
        table, join = self._random.choice(self.names), self._pick("join", "left outer join")
        # What a left outer join leaves out of the table does not tell whose row it is.
        key = "r.s" if join.startswith("left") else self._pick("r.s", "m.s")
        on = self._equal("m", "r.")
        return f"from {source}{condition} as r {join} {table} as m on {on}", key

    def _definition(self, number: int) -> str:
        name = f"T{number}"
        self.names.append(name)
        keys = self._pick("", "", "@PrimaryKey('s') ", "@PrimaryKey('s', 'i') ")
        index = ""
        if not self._has_nulls:
            keys = self._pick(keys, "@PrimaryKey('i') ")
            index = self._pick("", "", "@Index('s') ", "@Index('i') ")
        return f"{keys}{index}define table {name} {SCHEMA};"

    def _equal(self, table: str, left: str = "") -> str:
        key = self._pick("s", "s", "s", "i")
        more = self._pick("", "", f" and {table}.v != {left}v", f" and {table}.i == {left}i")
        return f"{table}.{key} == {left}{key}{more}"

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)
