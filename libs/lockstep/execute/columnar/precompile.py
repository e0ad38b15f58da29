"""Compiles every kernel, and the machine of functions in JavaScript, so that no event has to wait
for that: `python -m lockstep.execute.columnar.precompile` when an environment or an image is made.

What is compiled is kept on disk (`columns/compiled.py`, `functions/javascript_engine.py`); where it
is there already this takes some seconds.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from lockstep.columns.texts import MANY, numbered
from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute import turns
from lockstep.execute.columnar.executor import ColumnarExecutor
from lockstep.functions.javascript import compile_body
from lockstep.plan import plan_of
from lockstep.siddhiql.catalogue.core import default_catalogue

_STREAMS: Final = """
define stream S (k string, d double, l long, i int, f float, t long);
define stream R (k string, d double, l long);
@PrimaryKey('k') define table T (k string, d double, l long);
@PrimaryKey('k') define table U (k string, d double, l long);
@PrimaryKey('k') define table X (k string, l long);
define table V (k string, d double, l long);
define aggregation A from S select k, sum(d) as s, avg(l) as v, min(d) as lo, max(i) as hi,
count() as n, distinctCount(i) as u group by k aggregate every sec...hour;
"""
_OF_S: Final = re.compile(r"\b[dfiklt]\b")
"""Attributes of S in the examples of aggregators."""
_PATTERNS: Final = (
    "every a=S[d > 1.0] -> b=R[d < a.d] within 50 milliseconds select a.k as k, b.d as d",
    "every a=S[d > 1.0] -> b=R[k == a.k] -> not S[l == b.l] for 20 milliseconds"
    " select a.k as k, b.d as d",
    "every a=S[d > 1.0]<2:3> -> b=R[l < a[last].l] within 50 milliseconds"
    " select a[0].k as k, b.d as d",
    "every (a=S[d > 2.0] and b=R[d < 9.0]) -> c=S[k == a.k] select a.k as k, c.d as d",
    "not R[d > 100.0] and a=S -> b=S[d > a.d] select a.k as k, b.d as d",
    "every a=S, b=S[d > a.d]+, c=R[d < b[last].d] select a.k as k, c.d as d",
)
_RATES: Final = (
    "output every 3 events",
    "output last every 3 events",
    "output first every 20 milliseconds",
    "output last every 20 milliseconds",
    "output snapshot every 20 milliseconds",
)
_ALONE: Final = (
    "from S#window.length(2) select avg(d) as d insert into L1;",
    "from R select k, d, l update or insert into T on T.k == k;",
    "from R select k, d, l update or insert into U set U.l = l on U.k == k;",
    "from R select k, d, l update or insert into V set V.d = V.d + d on V.k == k and V.l < l;",
    "from R select k, d, l update T set T.d = T.d + d on T.k == k;",
    "from R select k, d, l update U set U.d = math:abs(U.d) on U.k == k;",
    "from S join V on S.k == V.k select S.k as k, sum(V.d) as d insert into J3;",
    "from S join V on V.d < S.d select S.k as k, V.d as d insert into J4;",
    "from S join V on V.l >= S.l select S.k as k, V.l as l insert into J5;",
    "from S join U on S.k == U.k select S.k as k, U.l as l insert into J2;",
    "from S join T on S.k == T.k select S.k as k, T.d as d insert into J1;",
    "from S left outer join X on S.k == X.k select S.k as k, coalesce(X.l, 0L) + S.l as l"
    " update or insert into X on X.k == k;",
)


def _aggregates(source: str = "") -> str:
    """The examples of all aggregators, on the attributes of S or of what is called `source`."""
    calls = [call for each in default_catalogue().aggregators() for call in each.examples]
    if source:
        calls = [_OF_S.sub(rf"{source}.\g<0>", call) for call in calls]
    return ", ".join(f"{call} as a{n}" for n, call in enumerate(calls))


_TOGETHER: Final = 50
"""Records whose events came as one chunk; those behind them have chunks of one event each, with a
time of its own."""


def apps() -> list[str]:
    """Texts that between them touch every kernel."""
    queries = []
    windows = [each for each in default_catalogue().windows() if each.columns]
    for number, window in enumerate(example for each in windows for example in each.examples):
        for name, ending in (("W", ""), ("WG", "group by k")):
            for kind, chosen in (("", ""), ("A", "all events "), ("E", "expired events ")):
                queries.append(
                    f"from S#window.{window} select k, {_aggregates()} {ending}"
                    f" insert {chosen}into {name}{kind}{number};"
                )
    queries += [f"from {each} insert into P{n};" for n, each in enumerate(_PATTERNS)]
    for n, rate in enumerate(_RATES):
        queries.append(f"from S select k, d {rate} insert into R{n};")
        queries.append(f"from S select k, sum(d) as d group by k {rate} insert into G{n};")
    queries += [
        f"from S#window.{left} as a join R#window.{left} as b on a.k == b.k"
        f" select a.k as k, {chosen} insert {kind}into {name}{n};"
        for n, left in enumerate(each.examples[0] for each in windows if each.reach)
        for name, chosen, kind in (
            ("JP", "b.d as d", ""),
            ("JA", _aggregates("a"), ""),
            ("JE", "b.d as d", "all events "),
        )
    ]
    inside, alone = " ".join(queries), " ".join([*_ALONE, *queries])
    return [
        f"{_STREAMS}\n{alone}",
        f"{_STREAMS}\npartition with (k of S, k of R) begin {inside} end;",
    ]


def precompile() -> None:
    """Returns when all is compiled and kept."""
    compile_body("one", "return 1;")
    numbered(pa.array(["a", "b"] * MANY))
    turns.load()
    for text in apps():
        plan = plan_of(text)
        executor = ColumnarExecutor(plan, start_ms=0)
        executor.run_slice(_log())
        ColumnarExecutor(plan, start_ms=0).restore(executor.snapshot())
        executor.run_slice([LogEntry(1000, TickRecord(1_000_000))])


def _log() -> list[LogEntry]:
    made: list[LogEntry] = []
    for n in range(60):
        now = 1 + 7 * n
        key, wave = "ab"[n % 2], float((n * 5) % 11)
        if n % 3 == 2:
            data: tuple[object, ...] = (key, wave, n)
            stream = "R"
        else:
            data, stream = (key, wave, n, n % 5, wave / 2, now), "S"
        events = InputEvent(now, data), InputEvent(now + (n >= _TOGETHER), data)
        chunks = (events,) if n < _TOGETHER else tuple((each,) for each in events)
        made.append(LogEntry(n + 1, EventsRecord(stream, now, chunks)))
    return made


if __name__ == "__main__":
    precompile()
