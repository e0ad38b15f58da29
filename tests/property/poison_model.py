"""Draws apps and logs in which some events explode: streams that feed themselves, joins of
everything with everything, endless functions, patterns that go back for ever, huge values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.operators.limits import Limits

LIMITS = Limits(
    event_rows=400, feedback_depth=30, function_steps=3_000, value_size=70_000, group_rows=300
)
START_MS = 1_000_000


@dataclass(frozen=True)
class Poison:
    """A part of an app on streams of its own, `P<n> (v int, s string)` → `O<n>`. The events of
    `warm` are harmless, that of `bad` goes over a limit, whenever it comes behind `warm`."""

    text: str
    warm: tuple[tuple[int, str], ...]
    bad: tuple[int, str]
    says: str
    defines: str = ""


def _feedback(n: str, draw: Random) -> Poison:
    rows = draw.choice(["v", "v + 0", "v * 1"])
    return Poison(
        f"from P{n}[v > 5] select {rows} as v, s insert into P{n};"
        f"from P{n} select v, s insert into O{n};",
        ((1, "a"), (2, "b")), (draw.randrange(6, 99), "c"), "feedback_depth",
    )  # fmt: skip


def _doubling(n: str, draw: Random) -> Poison:
    length = draw.randrange(20, 50)
    return Poison(
        f"from P{n}[v > 5]#window.length({length}) as x join P{n}[v > 5]#window.length({length})"
        f" as y select x.v as v, y.s as s insert into P{n};"
        f"from P{n} select v, s insert into O{n};",
        ((1, "a"), (2, "b")), (7, "c"), "limits.",
    )  # fmt: skip


def _cross(n: str, draw: Random) -> Poison:
    held = draw.randrange(25, 40)
    text = (
        f"from P{n}[v <= 5] select v, s insert into H{n};"
        f"from P{n}[v > 5]#window.length(500) as x unidirectional join H{n}#window.length(500) as y"
        f" select x.v as v, y.s as s insert into M{n};"
        f"from M{n}#window.length(500) as x join M{n}#window.length(500) as y"
        f" select x.v as v, y.s as s insert into O{n};"
    )
    return Poison(text, tuple((1, str(i)) for i in range(held)), (9, "c"), "event_rows")


def _keyed_cross(n: str, draw: Random) -> Poison:
    what = draw.choice(["x.v as v, y.s as s", "x.v as v, min(y.s) as s"])
    what = what if "min" not in what else "x.v as v, str:concat(y.s, '') as s"
    text = (
        f"from P{n}[v <= 5] select v, s insert into H{n};"
        f"from P{n}[v > 5] select 1 as v, s insert into T{n};"
        f"from T{n}#window.length(400) as x join H{n}#window.length(600) as y on x.v == y.v"
        f" select {what} insert into O{n};"
        f"from H{n}#window.length(600) as x join T{n}#window.length(400) as y on x.v == y.v"
        f" select count() as v, 'x' as s insert into N{n};"
    )
    return Poison(text, tuple((1, str(i)) for i in range(401)), (9, "c"), "event_rows")


_BODIES = (
    "while data[0] > 5: pass",
    "while data[0] > 5:\n    try:\n        while True: pass\n    except Exception: pass",
    "f = lambda n: n and (f(n - 1), f(n - 1))\nif data[0] > 5: f(40)",
    "x = 3\nwhile data[0] > 5: x = x * x",
    "for i in range(1000):\n    for j in range(1000 if data[0] > 5 else 0): pass",
)


def _endless(n: str, draw: Random) -> Poison:
    body = draw.choice(_BODIES)
    return Poison(
        f"from P{n} select v, f{n}(v) as s insert into O{n};",
        ((1, "a"), (2, "b")), (9, "c"), "limits.",
        f"define function f{n}[python] return string {{\n{body}\nreturn str(data[0])\n}};",
    )  # fmt: skip


def _huge(n: str, draw: Random) -> Poison:
    value = draw.choice([
        f"h{n}(v)",
        "str:repeat(str:repeat('x', 100), v * v * v)",
        "str:replaceAll(str:repeat('x', v * v * v * v), 'x', str:repeat('y', v * 20))",
    ])  # fmt: skip
    return Poison(
        f"from P{n} select v, {value} as s insert into O{n};",
        ((1, "a"), (2, "b")), (9, "c"), "value_size",
        f"define function h{n}[python] return string {{ return 'x' * (10 ** data[0]) }};",
    )  # fmt: skip


def _regex(n: str, draw: Random) -> Poison:
    pattern = draw.choice([r"(x+x+)+(?=y)z", r"(x*)*(?!q)y", r"(?:x+)+(x)z(?=z)"])
    return Poison(
        f"from P{n} select v, ifThenElse(regex:matches('{pattern}', s), 'y', 'n') as s"
        f" insert into O{n};",
        ((1, "xx"), (2, "b")), (9, "x" * draw.randrange(40, 200)), "regular expression",
    )  # fmt: skip


def _linear(n: str, draw: Random) -> Poison:
    """Catastrophic for those who go back, and harmless here: nothing goes over a limit."""
    pattern = draw.choice([r"(x+x+)+y", r"(x|x)*y", r"(x*)*y", r"x*x*x*x*x*x*y"])
    return Poison(
        f"from P{n} select v, ifThenElse(regex:matches('{pattern}', s), 'y', 'n') as s"
        f" insert into O{n};",
        ((1, "xx"), (2, "xy")), (9, "x" * draw.randrange(40, 5_000)), "",
    )  # fmt: skip


def _counting(n: str, draw: Random) -> Poison:
    """A count without `within` that nothing ends: what it has collected is too much at last."""
    return Poison(
        f"from e1=P{n}[v < 8]<1:> -> e2=P{n}[v > 90] select e2.v as v, e1[0].s as s"
        f" insert into O{n};",
        tuple((1, str(i)) for i in range(LIMITS.group_rows)), (2, "c"), "group_rows",
    )  # fmt: skip


KINDS: tuple[Callable[[str, Random], Poison], ...] = (
    _feedback, _doubling, _cross, _keyed_cross, _endless, _huge, _regex, _linear, _counting,
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """An app with some poison in it and a query that must not notice, its log, and which positions
    go over a limit."""

    text: str
    log: tuple[LogEntry, ...]
    bad: frozenset[int]
    clean: tuple[LogEntry, ...]


def drawn(seed: int) -> Drawn:
    """The app of a seed."""
    draw = Random(seed)
    parts = [(str(i), draw.choice(KINDS)(str(i), draw)) for i in range(draw.randrange(1, 3))]
    text = "define stream Q (a int, k string);" + "".join(
        f"define stream P{n} (v int, s string);define stream O{n} (v int, s string);"
        for n, _ in parts
    )
    text += "".join(part.defines for _, part in parts)
    text += "".join(part.text for _, part in parts)
    text += (
        "from Q#window.length(7) select k, sum(a) as s, count() as c group by k insert into R;"
        "from Q[a % 2 == 0]#window.timeBatch(1 sec) select a, k insert into B;"
    )
    events: list[tuple[str, tuple[int, str], bool]] = []
    for n, part in parts:
        stream = f"P{n}"
        events += [(stream, each, False) for each in part.warm]
        events += [(stream, part.bad, part.says != "")] * draw.randrange(1, 4)
    for _ in range(draw.randrange(20, 40)):
        at = draw.randrange(len(events) + 1)
        events.insert(at, ("Q", (draw.randrange(10), draw.choice("xyz")), False))
    return _log(text, events, draw)


def _log(text: str, events: list[tuple[str, tuple[int, str], bool]], draw: Random) -> Drawn:
    log: list[LogEntry] = []
    clean: list[LogEntry] = []
    bad: set[int] = set()
    clock_ms = START_MS
    for position, (stream, values, is_bad) in enumerate(events, 1):
        clock_ms += draw.choice([0, 10, 100])
        record = EventsRecord(stream, clock_ms, ((InputEvent(clock_ms, values),),))
        log.append(LogEntry(position, record))
        clean.append(LogEntry(position, TickRecord(clock_ms)) if is_bad else log[-1])
        if is_bad:
            bad.add(position)
    return Drawn(text, tuple(log), frozenset(bad), tuple(clean))
