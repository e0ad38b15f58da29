"""Random parts of apps that have no columnar form for the most part, or share something with
others: they run on the reference's operators in the midst of queries that run in columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lockstep.execute.columnar import lowering_of
from lockstep.execute.columnar.hosted.window_rule import HOSTED_WINDOWS
from lockstep.plan import build
from lockstep.siddhiql import check

if TYPE_CHECKING:
    from tests.property.executors_model import Apps


def _windows(apps: Apps) -> str:
    """Windows that the reference holds in front of columns, and what reads them."""
    out, after = apps.name(), apps.name()
    window = apps.pick(
        "sort(3, i)",
        "session(200)",
        "session(200, s)",
        "delay(150)",
        "timeLength(300, 3)",
        "hopping(300, 100)",
        "unique:length(s, 3)",
        "unique:timeBatch(s, 300)",
        "time(200)",
        "externalTimeBatch(l, 3, 0, 100, true)",
        "batch()",
        "cron('*/1 * * * * ?')",
        "expression('count() <= 3')",
        "frequent(2, s)",
    )
    kind = apps.pick("", "", "all events ", "expired events ")
    where = "[not (s is null) and not (i is null) and not (l is null)]"
    behind = apps.pick("", "#window.length(2)", "#window.timeBatch(100)", "#window.time(150)")
    wanted = apps.pick("", "all events ")
    select = apps.pick("s, i, d", "s, i, d", f"s, {apps.aggregate()} as i, sum(d) as d")
    clauses = apps.pick("", " group by s", " group by s having s != 'c'") if "(" in select else ""
    rate = apps.pick("", "", " output all every 2 events", " output last every 300 milliseconds")
    passing = apps.pick("", "", "[i > 0]")
    return (
        f"from S{where}#window.{window}{passing} select {select}{clauses}{rate}"
        f" insert {kind}into {out};"
        f" from {out}{behind} select s, count() as c, sum(i) as n insert {wanted}into {after};"
    )


def _ordered(apps: Apps) -> str:
    """Order by, limit and offset over chunks, mostly of windows that the reference holds."""
    window = apps.pick(
        "#window.lengthBatch(4)",
        "#window.length(3)",
        "#window.batch()",
        "#window.delay(150)",
        "#window.unique:length(s, 3)",
        "#window.unique:timeBatch(s, 300)",
        "#window.frequent(2, s)",
        "#str:tokenize(s, 'b')",
    )
    by = apps.pick("", " group by s")
    order = apps.pick(" order by n", " order by s desc, n", " order by n desc", "")
    limit = apps.pick("", " limit 2", " limit 1 offset 1", " offset 1")
    aggregate = "sum(i)" if by else apps.pick("i", "sum(i)")
    kind = apps.pick("", "", "all events ")
    return (
        f"from S[not (i is null) and not (s is null)]{window} select s, {aggregate} as n{by}{order}"
        f"{limit} insert {kind}into {apps.name()};"
    )


def _named_window(apps: Apps) -> str:
    """A named window with writers and readers."""
    window = apps.pick("length(3)", "time(200)", "lengthBatch(2)", "timeBatch(300)")
    output = apps.pick("", " output expired events", " output all events")
    name = f"W{apps.name()}"
    define = f"define window {name} (s string, i int) {window}{output};\n"
    out = apps.name()
    return (
        f"{define}from S select s, i insert into {name};"
        f" from {name} select s, sum(i) as n group by s insert into {out};"
        f" from R join {name} as y on R.s == y.s select R.s as s, y.i as i"
        f" insert into {apps.name()};"
    )


def _joined(apps: Apps) -> str:
    """Joins with windows whose content does not follow from what they let out, for the most part;
    with aggregates, groups, other conditions, expired rows."""
    sliding = (
        "#window.length(3)",
        "#window.time(200)",
        "[not (t is null)]#window.externalTime(t, 200)",
    )
    left = apps.pick("", *sliding, *sliding, "#window.lengthBatch(2)")
    known = "[not (s is null) and not (i is null)]#window."
    held = ("sort(2, i)", "session(200, s)", "delay(150)", "unique:length(s, 2)", "frequent(2, s)")
    right = apps.pick(*sliding, "#window.timeBatch(200)", *(known + each for each in held * 2))
    kind = apps.pick("join", "left outer join", "right outer join", "full outer join")
    one = apps.pick("", "", " unidirectional")
    on = apps.pick("x.s == y.s", "x.s == y.s", "x.i > y.i", "x.s == y.s and x.i != y.i")
    call = apps.pick("count()", "sum(y.i)", "avg(x.d)", "sum(x.d)", "stdDev(y.d)", "max(y.i)")
    again = apps.pick("distinctCount(y.i)", "avg(y.d)", "stdDev(x.i)", "sum(x.d + y.d)")
    select = apps.pick(f"x.s as s, {call} as c, {again} as n", "x.s as s, y.i as i, x.d as d")
    clauses = apps.pick("", " group by x.s", " group by y.i having s != 'a'", " order by s limit 2")
    events = apps.pick("", "", "all events ", "expired events ")
    other = apps.pick("R", "R", "S")
    return (
        f"from S{left} as x{one} {kind} {other}{right} as y on {on} select {select}{clauses}"
        f" insert {events}into {apps.name()};"
    )


def _circle(apps: Apps) -> str:
    """A stream that feeds itself by a query that keeps something, read from outside."""
    name = f"C{apps.name()}"
    parts = [
        f"from S[i > 5] select s, i insert into {name};",
        f"from {name}[i > 0]#window.length(2) select s, i - 3 as i insert into {name};",
        f"from {name} select s, count() as c insert into {apps.name()};",
        f"from {name}#window.length(2) select s, sum(i) as n insert into {apps.name()};",
    ]
    order = apps.pick("0123", "2013", "3120", "1302")
    define = f"define stream {name} (s string, i int);\n"
    return define + " ".join(parts[int(at)] for at in order)


def _partitioned(apps: Apps) -> str:
    """Partitions, by values and by ranges, with windows that only the reference has there."""
    window = apps.pick("delay(100)", "batch()", "frequent(2, s)", "sort(2, i)")
    key = apps.pick("s of S", "i < 3 as 'low' or i >= 3 as 'high' of S")
    kind = apps.pick("", "all events ")
    return (
        f"partition with ({key}) begin from S[not (i is null)]#window.{window}"
        f" select s, i, d insert {kind}into #Y; from #Y select s, count() as c, sum(i) as n"
        f" insert into {apps.name()}; end;"
    )


def _table(apps: Apps) -> str:
    """Tables that are read and written in a circle."""
    name = f"L{apps.name()}"
    write = apps.pick(
        f"insert into {name};",
        f"update or insert into {name} set {name}.i = i on {name}.s == s;",
    )
    circle = f"from S[not (({name}.s == S.s) in {name})] select s, i insert into {name};"
    delete = apps.pick("", f"from S[i > 7] select s delete {name} on {name}.s == s;")
    return (
        f"define table {name} (s string, i int);\n"
        f"from R select s, i {write} {delete}"
        f" from S[{name}.s == s in {name}] select s, i insert into {apps.name()}; {circle}"
        f" from S join {name} as y on S.i >= y.i select S.s as s, y.i as i"
        f" insert into {apps.name()};"
    )


def _aggregation(apps: Apps) -> str:
    """An aggregation of what a stream function brings, or joined as columns do not."""
    name = f"G{apps.name()}"
    source = apps.pick("S", "S", "S[not (s is null)]#str:tokenize(s, 'b')")
    joined = f"R#window.length(2) join {name}"
    if source != "S":
        joined = apps.pick(joined, f"R join {name}[n > 2L]")
    value = apps.pick("y.n", "sum(y.n)")
    return (
        f"define aggregation {name} from {source} select s, sum(i) as n, count() as c group by s"
        f" aggregate every sec ... min;\n"
        f"from {joined} as y on R.s == y.s within 0L, 10000000L per 'seconds'"
        f" select R.s as s, {value} as n insert into {apps.name()};"
    )


EXOTIC: tuple[Callable[[Apps], str], ...] = (
    _windows,
    _windows,
    _ordered,
    _named_window,
    _joined,
    _joined,
    _circle,
    _partitioned,
    _table,
    _aggregation,
)


def runs_on_the_reference(text: str) -> bool:
    """Whether the reference's operators have part in an app."""
    lowering = lowering_of(build(check(text)))
    choices = (*lowering.choices, *lowering.aggregations)
    return any(each.rule in (None, HOSTED_WINDOWS.name) for each in choices)
