"""Random partitioned apps on random logs: cut into any number of shards they bring exactly what the
reference brings, and a snapshot of some shards goes on in others."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from lockstep.columns.shards import Shard
from lockstep.events import LogEntry
from lockstep.events.outputs import RowsOfColumns
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Unfit
from lockstep.execute.columnar.joined_shards import joined_rows
from lockstep.execute.columnar.sharding import NotSharded
from lockstep.execute.joining import joined_snapshots
from lockstep.execute.observe import Observe
from lockstep.plan import AppPlan, build
from lockstep.siddhiql import check
from tests.property.amount import examples
from tests.property.executors_model import DEFINITIONS, Apps, cut, entries, fold

pytestmark = pytest.mark.usefixtures("compiled")


class Sharded:
    """The shards of an app in this process, as one executor."""

    def __init__(self, plan: AppPlan, count: int, snapshot: bytes | None = None) -> None:
        self._shards = [ColumnarExecutor(plan, shard=Shard(i, count)) for i in range(count)]
        if snapshot is not None:
            for shard in self._shards:
                shard.restore(snapshot)

    def run_slice(self, slice_: Sequence[LogEntry]) -> tuple[list[str], int | None]:
        """(the rows as texts, when a tick is due)."""
        results = [shard.run_slice(slice_) for shard in self._shards]
        rows = RowsOfColumns(joined_rows([shard.exported for shard in self._shards]))
        dues = [each.next_due_ms for each in results if each.next_due_ms is not None]
        return list(map(repr, rows)) if len(rows) else [], min(dues, default=None)

    def snapshot(self) -> bytes:
        """One of the whole app."""
        return joined_snapshots([shard.snapshot() for shard in self._shards])


def partitioned(random: Random) -> str:
    """An app around a partition: queries before and behind it, and beside it."""
    apps = Apps(random)
    source, key = random.choice((("S", "s"), ("P", "s"), ("S", "i"), ("S", "d"), ("P", "b")))
    parts = [DEFINITIONS]
    if source == "P":
        parts.append(f"from S[{apps.condition()}] select * insert into P;")
    if random.random() < 0.3:
        parts.append("from S#window.length(3) select sum(i) as n, count() as c insert into Beside;")
    sliding = ("#window.length(2)", "#window.time(300)", "#window.session(200)")
    window = apps.pick("", *sliding, "#window.lengthBatch(2)")
    rate = apps.pick("", "", " output last every 2 events", " output first every 3 events")
    inner = [
        f"from {source}{window}"
        f" select s, {apps.aggregate()} as c, sum(i) as n{apps.pick('', ' group by b')}{rate}"
        " insert into #X; from #X select s, n, count() as k insert into O1;",
        f"from every e1={source}[i > 0] -> e2={source}[i > e1.i]"
        f"{apps.pick('', ' within 300 milliseconds')}"
        " select e1.s as s, e2.i as n, 1L as k insert into O2;",
        f"from {source}[{apps.condition(0)}] select s, l as n, 2L as k insert into O1;",
    ]
    chosen = random.sample(inner, random.randint(1, 3))
    # A slash in its name must not look like an instance's.
    name = random.choice(("", "@info(name='by/key') "))
    parts.append(f"{name}partition with ({key} of {source}) begin {' '.join(chosen)} end;")
    if inner[0] in chosen and random.random() < 0.6:
        parts.append("from O1[n > 0] select s, n * 2L as m insert into Behind;")
    if random.random() < 0.2:
        parts.append("from R select s, i as n insert into Q;")
    head = random.choice(("", "@app:playback\n"))
    return head + "\n".join(parts)


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32))
def test_any_number_of_shards_brings_the_same(seed: int) -> None:
    """Rows and identities, through snapshots that change the number of shards."""
    random = Random(seed)
    text = partitioned(random)
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    expected = fold(plan, [log], columnar=False)
    try:
        app = Sharded(plan, random.randint(1, 4))
        rows: list[str] = []
        for each in cut(random, log):
            rows += app.run_slice(each)[0]
            if random.random() < 0.3:
                app = Sharded(plan, random.randint(1, 4), app.snapshot())
        whole = ColumnarExecutor(plan, observe=Observe.OUTSIDE_PARTITIONS)
        whole.restore(app.snapshot())
    except (NotColumnar, NotSharded, Unfit) as why:
        event(f"{type(why).__name__} {why}")
        return
    event("sharded")
    assert rows == expected[0], text
