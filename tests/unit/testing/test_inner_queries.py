"""What queries within partitions put out, as tests see it: the same from columns as from the
reference, chunk by chunk."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.observe import Observation, Observe, QueryChunk
from lockstep.plan import plan_of
from lockstep.testing.opening import open_executor

APP = """
define stream S (k string, v int);
define stream R (k string, v int);
partition with (k of S, k of R)
begin
  {queries}
end;
"""
QUERIES = {
    "a sum": "from S select k, sum(v) as t insert into O;",
    "a window, and what leaves it": (
        "from S#window.length(2) select k, sum(v) as t insert all events into O;"
    ),
    "a batch": "from S#window.timeBatch(30 milliseconds) select k, sum(v) as t insert into O;",
    "one behind another": (
        "from S[v > 1] select k, v insert into #M;"
        "@info(name='second') from #M select k, count() as t insert into O;"
    ),
    "a pattern": "from every a=S -> b=R[v > a.v] select a.k as k, b.v as t insert into O;",
    "a sequence": "from every a=S, b=S[v > a.v] select a.k as k, b.v as t insert into O;",
    "a join": (
        "from S#window.length(2) as s join R#window.length(1) as r on s.v > r.v"
        " select s.k as k, r.v as t insert into O;"
    ),
    "one without a columnar form": (
        "from S[math:rand() >= 0.0] select k, v insert into #M;"
        "@info(name='second') from #M select k, sum(v) as t insert into O;"
    ),
}


def log() -> list[LogEntry]:
    """Sends of several events of three keys, on two streams, then silence."""
    entries = []
    for n in range(1, 40):
        now = n * 7
        chunk = tuple(
            InputEvent(now, ("abc"[(n + more) % 3], (n * 5 + more) % 9)) for more in range(n % 4)
        )
        if chunk:
            entries.append(LogEntry(n, EventsRecord("SR"[n % 5 == 0], now, (chunk,))))
        else:
            entries.append(LogEntry(n, TickRecord(now)))
    return [*entries, LogEntry(40, TickRecord(2_000))]


def seen(text: str, executor: str, observe: Observe, cut: int = 40) -> list[Observation]:
    """All that is observed; the log is folded in slices of `cut` records."""
    entries, plan = log(), plan_of(text)
    made = open_executor(executor, plan, 0, observe)
    for at in range(0, len(entries), cut):
        made.run_slice(entries[at : at + cut])
    found = made.take_observations()
    made.close()
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_columns_tell_what_the_reference_tells(name: str) -> None:
    """In one slice, record by record, and not without being asked."""
    text = APP.format(queries=f"@info(name='first') {QUERIES[name]}")
    meant = seen(text, "reference", Observe.ALL)
    assert any(isinstance(each, QueryChunk) and each.current for each in meant)
    assert seen(text, "columnar", Observe.ALL) == meant
    assert seen(text, "columnar", Observe.ALL, cut=1) == meant
    for executor in ("reference", "columnar"):
        outer = seen(text, executor, Observe.OUTSIDE_PARTITIONS)
        assert not [each for each in outer if isinstance(each, QueryChunk)]


@pytest.mark.usefixtures("spark_env")
def test_so_does_spark() -> None:
    """From its workers: of columns, and of what has no columnar form."""
    for name in ("a pattern", "one without a columnar form"):
        text = APP.format(queries=f"@info(name='first') {QUERIES[name]}")
        assert seen(text, "spark", Observe.ALL, cut=14) == seen(text, "reference", Observe.ALL)
