"""Random parts of apps around windows and output rates that have kernels of their own, outside
partitions and inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps

_KNOWN = "[not (i is null)]"


def _batch(apps: Apps) -> str:
    known = "[not (t is null) and not (l is null)]"
    passes = apps.pick("", "", ", true", ", false")
    by = apps.pick("300", "200, 0", "100, 30", "100, l", "100, 30, 60", "200, l, 200", "50, 0, 0")
    return apps.pick(
        f"{_KNOWN}#window.lengthBatch({apps.pick('1', '2', '3', '0')}{passes})",
        f"{_KNOWN}#window.timeBatch({apps.pick('200', '300, 50', '50')}{passes})",
        f"{known}#window.externalTimeBatch(t, {by})",
    )


def _sliding(apps: Apps) -> str:
    by = apps.pick("i", "d, l", "i, 'desc', l")
    return apps.pick(
        f"#window.timeLength({apps.pick('100', '300', '1 sec')}, {apps.pick('1', '2', '3', '0')})",
        f"#window.session({apps.pick('50', '200', '500')})",
        f"{_KNOWN}#window.sort({apps.pick('1', '2', '4')}, {by})",
        f"#window.time({apps.pick('100', '300')})",
    )


def _keyed_session(apps: Apps) -> str:
    gap, latency = apps.pick("100, 0", "200, 0", "200, 50", "200, 200", "300, 100").split(", ")
    more = "" if latency == "0" else f", {latency} milliseconds"
    return f"#window.session({gap} milliseconds, s{more})"


def _hopping(apps: Apps) -> str:
    return f"#window.hopping({apps.pick('100, 100', '300, 100', '200, 50', '50, 200')})"


def _select(apps: Apps) -> str:
    calls = apps.pick("no", "yes", "yes") == "yes"
    if not calls:
        return "s, i, d"
    aggregate = apps.pick(
        "count()", "sum(d)", "sum(l)", "min(d)", "max(l)", "stdDev(i)", "distinctCount(s)"
    )
    by = apps.pick("", " group by s", " group by b", " group by s having s != 'c'")
    return f"s, sum(i) as i, {aggregate} as d{by}"


def _behind(apps: Apps, stream: str) -> str:
    window = apps.pick(
        "", "#window.length(2)", "#window.length(0)", "#window.lengthBatch(2)", "#window.time(150)"
    )
    kind = apps.pick("", "all events ")
    return (
        f"from {stream}{window} select s, count() as c, sum(i) as n insert {kind}into"
        f" {apps.name()};"
    )


def outside(apps: Apps) -> str:
    """A window outside partitions, and what reads behind it."""
    window = apps.pick("s", "s", "k", "k", "h", "b")
    made = {"s": _sliding, "k": _keyed_session, "h": _hopping, "b": _batch}[window](apps)
    kind = apps.pick("", "", "", "all events ", "expired events ")
    out = apps.name()
    passing = apps.pick("", "", "[i > 0]")
    return (
        f"from S{made}{passing} select {_select(apps)} insert {kind}into {out};"
        f" {_behind(apps, out)}"
    )


def inside(apps: Apps) -> str:
    """Windows in a partition, each perhaps with another query beside it that has one."""
    made = apps.pick("b", "b", "b", "s", "h", "k")
    window = {"s": _sliding, "k": _keyed_session, "h": _hopping, "b": _batch}[made](apps)
    kind = apps.pick("", "", "", "all events ", "expired events ")
    out = apps.name()
    other = apps.pick(
        "",
        "",
        f"from S select s, count() as c insert into {apps.name()};",
        f"from S{_batch(apps)} select s, sum(i) as c insert into {apps.name()};",
        f"from S#window.time(100) select s, sum(i) as c insert into {apps.name()};",
    )
    order = apps.pick("01", "10")
    queries = (
        f"from S{window} select {_select(apps)} insert {kind}into #{out};"
        f" from #{out} select s, i, count() as c insert into {out};",
        other,
    )
    ranges = "i < 3 as 'low' or i >= 3 as 'high' or i == 5 as 'five' or s == 'a' as 'low'"
    key = apps.pick("s", "i", "b", ranges)
    return (
        f"partition with ({key} of S) begin"
        f" {queries[int(order[0])]} {queries[int(order[1])]} end; {_behind(apps, out)}"
    )


def rated(apps: Apps) -> str:
    """Output rates in a partition."""
    which = apps.pick("", "all ", "first ", "last ")
    rate = f"output {which}every {apps.pick('3 events', '2 events', '300 milliseconds')}"
    if apps.pick("yes", *["no"] * 4) == "yes":
        rate = "output snapshot every 200 milliseconds"
    window = apps.pick("", "", "#window.length(2)", "#window.lengthBatch(2)", "#window.time(200)")
    aggregated = apps.pick("yes", "no") == "yes"
    by = apps.pick("", " group by s", " group by b") if aggregated else ""
    value = apps.pick("count()", "sum(i)") if aggregated else "i"
    kind = apps.pick("", "", "all events ")
    out = apps.name()
    return (
        f"partition with ({apps.pick('s', 'b')} of S) begin"
        f" from S{_KNOWN}{window} select s, {value} as n{by} {rate} insert {kind}into #{out};"
        f" from #{out} select s, n, count() as c insert into {out}; end;"
        f" from {out}#window.length(2) select s, count() as c insert into {apps.name()};"
    )


def rated_outside(apps: Apps) -> str:
    """Output rates by number and by time, with and without groups, in front of windows and behind
    windows of all sorts; their timers are due with those of windows."""
    which = apps.pick("", "all ", "first ", "last ")
    rate = f"output {which}every {apps.pick('3 events', '300 milliseconds', '1 events')}"
    is_snapshot = apps.pick("yes", "no") == "yes"
    if is_snapshot:
        rate = f"output snapshot every {apps.pick('200', '100', '50')} milliseconds"
    window = apps.pick(
        "", "length(2)", "lengthBatch(3)", "time(200)", "timeBatch(200)", "sort(3, i)"
    )
    handlers = f"{apps.pick('', _KNOWN)}#window.{window}" if window else ""
    if "sort" in window:
        handlers = f"{_KNOWN}#window.{window}"
    aggregated = apps.pick("yes", "no") == "yes"
    by = apps.pick("", " group by s") if aggregated or is_snapshot else ""
    having = apps.pick("", "", " having n > 1")
    value = apps.pick("count()", "sum(i)") if aggregated else "i"
    first = apps.pick("s, ", "s, ", "s, d, f, eventTimestamp() as at, ", "")
    kind = apps.pick("", "", "all events ", "" if is_snapshot else "expired events ")
    out = apps.name()
    behind = apps.pick("", "#window.length(2)", "#window.timeBatch(100)", "#window.lengthBatch(2)")
    again = apps.pick(
        "",
        " output last every 2 events",
        " output all every 250 milliseconds",
        " output snapshot every 100 milliseconds",
    )
    return (
        f"from S{handlers} select {first}{value} as n{by}{having} {rate} insert {kind}into {out};"
        f" from {out}{behind} select n, count() as c{again} insert into {apps.name()};"
    )


def objects(apps: Apps) -> str:
    """Values of type object that come of functions and aggregators, and go through untouched."""
    out, behind = apps.name(), apps.name()
    made = apps.pick("createSet(i)", "map:create('i', i)", "list:collect(l)")
    by = apps.pick("", " group by s") if "collect" in made else ""
    asked = apps.pick("o is null", "not (o is null)", "not (o is null)")
    rate = apps.pick("", " output last every 2 events", " output all every 100 milliseconds")
    read = apps.pick("s, o", "o, convert(o, 'string') as t", "ifThenElse(s == 'a', o, o) as o", "*")
    if "every 100" not in rate and apps.pick("yes", "no") == "yes":
        return (
            f"partition with (s of S) begin"
            f" from S{_KNOWN} select s, {made} as o{by}{rate} insert into #{out};"
            f" from #{out}[{asked}] select {read} insert into {behind}; end;"
        )
    return (
        f"from S{_KNOWN} select s, {made} as o{by}{rate} insert into {out};"
        f" from {out}[{asked}] select {read} insert into {behind};"
    )


WINDOWED: tuple[Callable[[Apps], str], ...] = (
    outside,
    outside,
    inside,
    inside,
    rated,
    rated_outside,
    rated_outside,
    objects,
)
