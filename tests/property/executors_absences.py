"""Random patterns and sequences in which absences for some time stand anywhere: at the beginning,
in the middle, at the end, beside `and` and `or`, under `every`, with and without `within`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps

_SPANS = ("50", "100", "100", "200", "400", "1")


class _Chain:
    """A chain in the making; `read` are references to what is bound."""

    def __init__(self, apps: Apps, *, is_sequence: bool) -> None:
        self.apps = apps
        self.is_sequence = is_sequence
        self.read: list[str] = []

    def _filter(self) -> str:
        apps = self.apps
        alone = apps.pick("", "", "i > 2", "i < 6", "s != 'b'", "s == 'a'")
        if not self.read or apps.pick("yes", "no") == "no":
            return f"[{alone}]" if alone else ""
        bound = apps.pick(*self.read)
        return f"[{apps.pick(f's == {bound}.s', f's != {bound}.s', f'i > {bound}.i')}]"

    def single(self) -> str:
        """One event."""
        name, condition = f"e{len(self.read) + 1}", self._filter()
        self.read.append(name)
        return f"{name}={self.apps.pick('S', 'S', 'R')}{condition}"

    def counted(self) -> str:
        """Several events."""
        name, condition = f"e{len(self.read) + 1}", self._filter()
        self.read.append(f"{name}[last]")
        signs = ("+", "*", "?", "<2>") if self.is_sequence else ("<1:2>", "<2>", "<0:2>", "<1:>")
        return f"{name}={self.apps.pick('S', 'R')}{condition}{self.apps.pick(*signs)}"

    def absent(self) -> str:
        """None for some time."""
        span = self.apps.pick(*_SPANS)
        stream = self.apps.pick("S", "R", "R")
        return f"not {stream}{self._filter()} for {span} milliseconds"

    def logical(self) -> str:
        """An absence beside something."""
        kind = self.apps.pick("and", "and", "or")
        shape = self.apps.pick("first", "second", "both")
        if shape == "both":
            return f"{self.absent()} {kind} {self.absent()}"
        if shape == "first":
            absent = self.absent()
            return f"{absent} {kind} {self.single()}"
        single = self.single()
        self.read.pop()
        absent = self.absent()
        self.read.append(single.partition("=")[0])
        return f"{single} {kind} {absent}"

    def text(self) -> str:
        """The chain, with at least one wait."""
        kinds = ["single", "absent", "logical"][: int(self.apps.pick("2", "3"))]
        for _ in range(int(self.apps.pick("0", "0", "1", "1", "2"))):
            kinds.append(self.apps.pick("single", "single", "absent", "logical", "counted"))
        order = [kinds.pop(int(self.apps.pick(*map(str, range(len(kinds))))))]
        while kinds:
            order.append(kinds.pop(int(self.apps.pick(*map(str, range(len(kinds)))))))
        parts = [str(getattr(self, kind)()) for kind in order]
        between = ", " if self.is_sequence else " -> "
        where = self.apps.pick("first", "first", "none", "whole", "middle")
        if where == "whole" and not self.is_sequence:
            return f"every ({between.join(parts)})"
        at = 1 if where == "middle" and not self.is_sequence and len(parts) > 1 else 0
        if where != "none":
            parts[at] = f"every ({parts[at]})" if " " in parts[at] else f"every {parts[at]}"
        return between.join(parts)


def waiting(apps: Apps) -> str:
    """Such a pattern, in a partition or not, and what reads it."""
    chain = _Chain(apps, is_sequence=apps.pick("yes", "no", "no") == "yes")
    text = chain.text()
    within = apps.pick("", "", " within 200 milliseconds", " within 1 sec")
    single = [name for name in chain.read if "[" not in name]
    items = [
        f"{apps.pick(*chain.read)}.{name} as a{n}" for n, name in enumerate("is") if chain.read
    ]
    items.append(apps.pick("count() as c", f"sum({single[0]}.i) as c" if single else "1 as c"))
    out = apps.name()
    query = f"from {text}{within} select {', '.join(items)} insert into {out};"
    if apps.pick("yes", "no", "no") == "yes":
        return f"partition with ({apps.keys()}) begin {query} end;"
    behind = apps.pick(
        "",
        f" from {out}#window.length(2) select c, count() as n insert into {apps.name()};",
        f" from {out}#window.timeBatch(100) select c, count() as n insert into {apps.name()};",
    )
    return query + behind
