"""Random joins over windows whose rows are seen leaving, of many kinds, outside partitions and
inside, and of named windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps

_KINDS = ("join", "left outer join", "right outer join", "full outer join")


def _windows(apps: Apps) -> tuple[str, str]:
    known = "[not (t is null)]"
    sliding = (
        "",
        "#window.length(2)",
        "#window.length(1)",
        "#window.length(0)",
        "#window.time(100)",
        "#window.time(300)",
        "#window.timeLength(200, 2)",
        f"{known}#window.externalTime(t, 200)",
        "#window.lengthBatch(2)",
        "#window.lengthBatch(2, true)",
        "#window.lengthBatch(0)",
        f"{known}#window.externalTimeBatch(t, 200)",
        "#window.batch()",
        "[i > 0]#window.length(3)",
    )
    batch = apps.pick(
        "#window.timeBatch(200)",
        "#window.timeBatch(150)",
        "#window.timeBatch(150, true)",
        f"{known}#window.externalTimeBatch(t, 200, 0, 100)",
    )
    left = apps.pick(*sliding, batch, "#window.time(100)", "#window.time(300)")
    if left == batch:
        return left, apps.pick(batch, "#window.length(2)", "")
    right = apps.pick(*sliding[1:], "#window.time(100)", "#window.time(300)")
    return left, right


def _select(apps: Apps) -> str:
    return apps.pick(
        "x.s as s, y.i as i, x.d as d",
        "x.s as s, y[0].i as i, x[last].d as d",
        "x.s as s, count() as i",
        "y.s as s, sum(x.i) as i group by y.s",
        "x.s as s, max(y.i) as i, sum(x.d) as d group by x.s",
    )


def _on(apps: Apps) -> str:
    return apps.pick(
        " on x.s == y.s", " on x.s == y.s", " on x.s == y.s and x.i > y.i", " on x.i > y.i",
        " on x.s == y.s and x.d == y.d", "",
    )  # fmt: skip


def _joined(apps: Apps, left: str, right: str, out: str) -> str:
    one = apps.pick("", "", "", " unidirectional")
    kind = apps.pick("", "all events ", "all events ", "expired events ")
    return (
        f"from {left} as x{one} {apps.pick(*_KINDS)} {right} as y{_on(apps)}"
        f" select {_select(apps)} insert {kind}into {out};"
    )


def _behind(apps: Apps, stream: str) -> str:
    return f"from {stream}#window.length(2) select s, count() as c insert into {apps.name()};"


def leaving(apps: Apps) -> str:
    """Two streams, or one with itself."""
    left, right = _windows(apps)
    out = apps.name()
    other = apps.pick("R", "R", "R", "S")
    return f"{_joined(apps, f'S{left}', f'{other}{right}', out)} {_behind(apps, out)}"


def inside(apps: Apps) -> str:
    """The same in a partition."""
    left, right = _windows(apps)
    out = apps.name()
    return (
        f"partition with ({apps.keys('s', 'i')}) begin"
        f" {_joined(apps, f'S{left}', f'R{right}', f'#{out}')}"
        f" from #{out} select s, i, count() as c insert into {out}; end; {_behind(apps, out)}"
    )


def alone(apps: Apps) -> str:
    """Windows by time whose rows are seen leaving, in a partition."""
    out = apps.name()
    return (
        f"partition with ({apps.pick('s', 'b', 'i')} of S) begin"
        f" from S#window.time({apps.pick('100', '200', '300')}) select s, sum(i) as i, count() as c"
        f"{apps.pick('', ' group by b')} insert {apps.pick('all', 'expired')} events into {out};"
        f" end; {_behind(apps, out)}"
    )


def named(apps: Apps) -> str:
    """Named windows, with a stream, another window or themselves."""
    out, made = apps.name(), apps.name()
    windows = (
        "length(2)",
        "length(0)",
        "time(200)",
        "lengthBatch(2)",
        "lengthBatch(2, true)",
        "timeBatch(200)",
        "timeBatch(200, true)",
        "timeLength(200, 2)",
    )
    names = [f"W{made}", f"V{made}"]
    define = "".join(
        f"define window {name} (s string, i int, d double) {apps.pick(*windows)};\n"
        for name in names
    )
    _, right = _windows(apps)
    other = apps.pick(f"R{right}", f"R{right}", names[1], names[0], "R", made)
    derived = f"define stream {made} (s string, i int, d double);\n"
    parts = [
        f"from S[i > 0] select s, i, d insert into {names[0]};",
        f"from R select s, i, d insert into {names[1]};",
        f"from {names[0]} select s, i, d insert into {made};",
        _joined(apps, names[0], other, out),
        _behind(apps, out),
    ]
    order = apps.pick("01234", "30124", "21034", "03214")
    return define + derived + " ".join(parts[int(at)] for at in order)


def triggered(apps: Apps) -> str:
    """What a trigger sends, in windows, patterns and partitions, and beside streams, tables and
    named windows."""
    at = apps.pick("every 100 milliseconds", "'start'", "every 1 sec", "'*/1 * * * * ?'")
    name, out, other = f"X{apps.name()}", apps.name(), apps.name()
    kind = apps.pick("", "all events ", "expired events ")
    window = apps.pick("", "#window.length(2)", "#window.lengthBatch(2)", "#window.time(150)")
    beside = apps.pick("S#window.length(2)", "S#window.time(150)", f"W{name}", f"T{name}")
    one = " unidirectional" if beside == f"T{name}" else apps.pick("", " unidirectional")
    define = (
        f"define trigger {name} at {at};\n"
        f"define window W{name} (s string, i int) {apps.pick('length(3)', 'time(200)')};\n"
        f"define table T{name} (s string, i int);\n"
    )
    parts = (
        f"from S select s, i insert into W{name};",
        f"from R[i > 0] select s, i insert into T{name};",
        f"from {name}{window} select triggered_time as t, 1L as n insert {kind}into {out};",
        f"from {out}#window.length(3) select sum(n) as n, count() as c insert into {other};",
        f"from {name}{one} join {beside} as y select y.s as s, y.i as i insert into {apps.name()};",
        f"from every a={name} -> b=S[i > 2] select a.triggered_time as t, b.i as i insert into"
        f" {apps.name()};",
    )
    order = apps.pick("012345", "254301", "435210")
    return define + " ".join(parts[int(at)] for at in order)


def tabled(apps: Apps) -> str:
    """A window beside a table, which is written meanwhile."""
    out, table = apps.name(), f"T{apps.name()}"
    window = apps.pick(
        "#window.length(2)", "#window.time(100)", "#window.lengthBatch(2)",
        "#window.timeBatch(200)", "#window.timeLength(200, 2)",
        "[not (t is null)]#window.externalTime(t, 200)",
    )  # fmt: skip
    kind = apps.pick("", "all events ", "expired events ")
    outer = apps.pick("join", "left outer join")
    on = apps.pick(" on x.s == y.s", " on x.s == y.s and x.i > y.i", " on x.i != y.i", "")
    select = apps.pick(
        "x.s as s, y.i as i, x.d as d",
        "x.s as s, y.i as i, x.d as d",
        "x.s as s, count() as i, sum(y.d) as d",
        "y.s as s, max(y.i) as i, sum(x.d) as d group by y.s",
        "x.s as s, sum(y.i) as i, distinctCount(y.s) as d group by x.s having i > 0L",
    )
    query = (
        f"from S{apps.pick('', '[i > 0]')}{window} as x {outer} {table} as y{on}"
        f" select {select} insert {kind}into {out};"
    )
    if apps.pick("", "", "inside"):
        query = f"partition with ({apps.pick('s', 'b')} of S) begin {query} end;"
    parts = [
        f"from R select s, i, d insert into {table};",
        f"from R[i > 2] select s delete {table} on {table}.s == s;",
        query,
        f"from S[i < 0] select s, i, d insert into {table};",
        _behind(apps, out),
    ]
    order = apps.pick("01234", "20134", "32014")
    define = f"define table {table} (s string, i int, d double);\n"
    return define + " ".join(parts[int(at)] for at in order)


JOINED: tuple[Callable[[Apps], str], ...] = (
    leaving, leaving, inside, named, named, alone, tabled, triggered,
)  # fmt: skip
