"""Apps and logs that the Spark tests fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockstep.events import EventsRecord, InputEvent, LogEntry, OutputRow, TickRecord
from lockstep.execute.contract import Executor

COLUMNAR = """
define stream S (s string, v int, d double);
@PrimaryKey('s') define table T (s string, t long);
@info(name='q') from S#window.time(1 sec) select s, sum(v) as t, max(d) as m group by s
insert into O;
from S#window.length(3) select s, avg(d) as a insert into P;
from S select s, count() as t group by s update or insert into T on T.s == s;
"""
MIXED = (
    COLUMNAR
    + """
from S#window.session(1 sec, s) select s, count() as c insert all events into Z;
from every a=S[v > 5] -> not S[v > a.v] for 1 sec select a.s as s, a.v as v insert into Q;
@info(name='words') from S#window.time(1 sec)#str:tokenize(s, ' ')
select token, count() as c, sum(v) as t group by token insert all events into W;
"""
)
"""With `words`, that has no rule: rows and timers of the reference in the midst of columns."""
KEYED = """
define stream S (s string, v int, d double);
@PrimaryKey('s') define table T (s string, t long);
from S[v >= 0] select s, v, d insert into P;
partition with (s of P) begin
from P#window.time(1 sec) select s, sum(v) as t, max(d) as m insert into O;
from every a=P[v > 3] -> b=P[v < a.v] within 1 sec
select a.s as s, b.v as t, a.d as m insert into Q;
end;
from O[t > 5] select s, t * 2L as t insert into Behind;
from S select s, count() as t group by s update or insert into T on T.s == s;
"""
UNFIT = """
define stream S (t long); from S#window.externalTime(t, 1 sec) select count() as c insert into O;
"""
"""For `unfit_log`."""


def unfit_log() -> list[LogEntry]:
    """Nine events; the fifth has null for the attribute that is the clock, which columns cannot
    hold."""
    events = [InputEvent(n, (None if n == 5 else n,)) for n in range(1, 10)]
    return [LogEntry(n, EventsRecord("S", n, ((each,),))) for n, each in enumerate(events, 1)]


def log(count: int, *, per_record: int = 3) -> list[LogEntry]:
    """Records of a few events of S, a tick now and then."""
    made = []
    for n in range(1, count + 1):
        clock = 1000 + 150 * n
        if n % 7 == 0:
            made.append(LogEntry(n, TickRecord(clock)))
            continue
        events = [
            InputEvent(clock, ("abc"[(n + k) % 3], n * k % 11, n / (k + 1)))
            for k in range(per_record)
        ]
        chunks = tuple((event,) for event in events)
        made.append(LogEntry(n, EventsRecord("S", clock, chunks)))
    return made


def rows_of(executor: Executor, slices: Iterable[Sequence[LogEntry]]) -> list[OutputRow]:
    """All rows of a run."""
    return [row for each in slices for row in executor.run_slice(each).rows]


def cut(entries: list[LogEntry], length: int) -> list[list[LogEntry]]:
    """Slices of that length."""
    return [entries[at : at + length] for at in range(0, len(entries), length)]
