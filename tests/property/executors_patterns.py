"""Random patterns and sequences: counts, `and`, `or`, absences, `every` in all places, `within`,
conditions on what is bound, with and without partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps

_COUNTS = ("<2>", "<1:3>", "<2:4>", "<2:>", "<0:2>", "<:1>", "<1:>")


class _Drawn:
    """A chain in the making; `read` are references that later states and the selector may use, with
    which single ones stand for lists."""

    def __init__(self, apps: Apps, *, is_sequence: bool) -> None:
        self.apps = apps
        self.is_sequence = is_sequence
        self.read: list[str] = []
        self.count = 0

    def condition(self, own: str | None = None) -> str:
        """A filter, or none; on the event alone, on one that is bound, or on both."""
        apps = self.apps
        alone = apps.pick("", "i > 2", "i < 6", "s != 'b'", "d is null", "s == 'a'")
        earlier = [*self.read, *((own,) if own else ())]
        if not earlier or apps.pick("yes", "no") == "no":
            return f"[{alone}]" if alone else ""
        bound = apps.pick(*earlier)
        compared = apps.pick(
            f"i > {bound}.i",
            f"{bound}.i <= i",
            f"s == {bound}.s",
            f"s != {bound}.s",
            f"d * 2.0 > {bound}.d",
            f"i != {bound}.i + 1",
            f"d >= {bound}.i",
            f"{bound}.i > 1",
        )
        whole = self.apps.pick(compared, compared, self._mixed(compared, bound))
        return f"[{whole} and {alone}]" if alone else f"[{whole}]"

    def _mixed(self, compared: str, bound: str) -> str:
        """The same in a condition of several alternatives."""
        return self.apps.pick(
            f"({bound}.i is null or {compared})",
            f"(({bound}.d is null and i > 0) or (not ({bound}.d is null) and {compared}))",
            f"(not ({compared} and i > 1) or s == {bound}.s)",
            f"(({compared} or i < 0) and not (d < {bound}.d))",
            f"ifThenElse({bound}.i is null, i > 0, {compared})",
        )

    def single(self, *, absent: bool = False) -> str:
        """One event; of an absence nobody can read."""
        stream = self.apps.pick("S", "S", "R")
        condition = self.condition()
        if absent:
            return f"not {stream}{condition}"
        self.count += 1
        name = f"e{self.count}"
        self.read.append(name + self.apps.pick("", "", "", "[0]", "[last]", "[1]"))
        return f"{name}={stream}{condition}"

    def counted(self) -> str:
        """Several events."""
        self.count += 1
        name, stream = f"e{self.count}", self.apps.pick("S", "S", "R")
        condition = self.condition(own=self.apps.pick(f"{name}[last]", f"{name}[0]"))
        self.read += [f"{name}[{at}]" for at in ("0", "1", "last", "last-1")]
        signs = (*_COUNTS[:4], "+", "*", "?", "+", "*", "?") if self.is_sequence else _COUNTS
        return f"{name}={stream}{condition}{self.apps.pick(*signs)}"

    def logical(self) -> str:
        """Two states at once."""
        kind = self.apps.pick("and", "or", "and not", "not and")
        if kind == "not and":
            return f"{self.single(absent=True)} and {self.single()}"
        first = self.single()
        if kind == "and not":
            return f"{first} and {self.single(absent=True)}"
        before = self.read.pop()
        second = self.single()
        self.read.append(before)
        return f"{first} {kind} {second}"

    def element(self) -> str:
        """A state of any kind."""
        kind = self.apps.pick("single", "single", "counted", "counted", "logical")
        return str(getattr(self, kind)())

    def chain(self) -> str:
        """Two to four states under `every` or not."""
        between = ", " if self.is_sequence else " -> "
        parts = [self.element() for _ in range(int(self.apps.pick("2", "2", "3", "3", "4")))]
        where = self.apps.pick("first", "first", "first", "none", "whole", "middle", "two")
        if where == "whole" and not self.is_sequence:
            return f"every ({between.join(parts)})"
        if where == "two" and not self.is_sequence and len(parts) > 2:
            return f"every ({between.join(parts[:2])}){between}{between.join(parts[2:])}"
        at = 1 if where == "middle" and not self.is_sequence else 0
        if where != "none":
            parts[at] = f"every ({parts[at]})" if " " in parts[at] else f"every {parts[at]}"
        return between.join(parts)


def pattern(apps: Apps) -> str:
    """A pattern or sequence, in a partition or not, and what reads it."""
    drawn = _Drawn(apps, is_sequence=apps.pick("yes", "no") == "yes")
    chain = drawn.chain()
    within = apps.pick("", " within 200 milliseconds", " within 1 sec", " within 1 sec")
    read = drawn.read or ["e1"]
    items = [f"{apps.pick(*read)}.{name} as a{n}" for n, name in enumerate("isid")]
    items.append(apps.pick("count() as c", f"sum({read[0]}.i) as c", f"{read[-1]}.s as c"))
    by = apps.pick("", "", f" group by {read[0]}.s") if "[" not in read[0] else ""
    having = apps.pick(
        "",
        "",
        " having a0 > 0",
        " having not (a1 is null)",
        " having a1 != 'b'",
        " having a1 == 'a'",
    )
    out = apps.name()
    select = f"select {', '.join(items)}{by}{having}"
    query = f"from {chain}{within} {select} insert into {out};"
    if apps.pick("yes", "no") == "yes":
        return f"partition with ({apps.keys()}) begin {query} end;"
    behind = apps.pick(
        "",
        f" from {out}#window.length(2) select a0, count() as n insert into {out}N;",
        f" from {out}[a1 != 'c'] select a1, count() as n group by a1 insert into {out}N;",
    )
    return query + behind
