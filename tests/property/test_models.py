"""Models that learn event by event: however the log is cut, and whichever executor goes on."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.events import EventsRecord, InputEvent, LogEntry, OutputRow
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, plan_of

pytestmark = pytest.mark.usefixtures("compiled")

TEXT = """
define stream T (a double, b double, kind string, good bool, y double);
define stream P (a double, b double);
from P#streamingml:hoeffdingTreeClassifier('tree', a, b)
select prediction, confidenceLevel insert into O1;
from T#streamingml:updateHoeffdingTree('tree', 9, 10, 1, 0.2, 0.3, false, true, 2, a, b, kind)
select accuracy insert into O2;
from T#streamingml:updateAMRulesRegressor('rules', 0.2, 0.3, 10, {detector}, 2, a, b, y)
select meanSquaredError insert into O3;
from P#streamingml:AMRulesRegressor('rules', a, b)
select prediction, meanSquaredError insert into O4;
from T#streamingml:updatePerceptronClassifier('line', good, a, b) select * insert into O5;
from P#streamingml:perceptronClassifier('line', a, b) select * insert into O6;
from P#streamingml:clusTree(2, 10, 7, 2, 20, a, b) select * insert into O7;
from P#streamingml:kMeansIncremental(3, a, b) select * insert into O8;
from P#streamingml:kMeansMiniBatch(3, 0.3, 5, 7, a, b) select * insert into O9;
from T#streamingml:updateBayesianRegression('sure', y, a, b) select loss insert into O11;
from P#streamingml:bayesianRegression('sure', a, b) select prediction, confidence insert into O12;
from T#streamingml:updateBayesianClassification('kinds', 5, kind, a, b)
select loss insert into O13;
from P#streamingml:bayesianClassification('kinds', a, b)
select prediction, confidence insert into O14;
partition with (kind of T) begin
from T#streamingml:updateAMRulesRegressor('rules', 0.2, 0.3, 5, 0, 0, a, b, y)
select kind, meanSquaredError insert into O10;
end;
"""
STREAMS = 14
Kind = type[ReferenceExecutor] | type[ColumnarExecutor]
KINDS: tuple[Kind, ...] = (ReferenceExecutor, ColumnarExecutor)


def drawn(random: Random) -> list[LogEntry]:
    """A hundred events; what is to be learned changes half way."""
    log: list[LogEntry] = []
    for number in range(50):
        a, b = random.random(), random.random()
        kind = "xyz"[(a > 0.5) + (b > 0.3 + number / 100)]
        y = a if b > 0.5 else (7.0 if number < 25 else -50.0)
        rows = {"T": (a, b, kind, a > b, y), "P": (a + 5 * (number % 2), b)}
        for stream, row in rows.items():
            chunks = ((InputEvent(number, row),),)
            log.append(LogEntry(len(log) + 1, EventsRecord(stream, number, chunks)))
    return log


def brought(
    plan: AppPlan, slices: list[tuple[list[LogEntry], Kind]]
) -> tuple[list[OutputRow], bytes]:
    """What comes out, and the state in the end. Each slice is folded by a new executor, which goes
    on with the state that the one before it left."""
    rows: list[OutputRow] = []
    snapshot = b""
    for entries, kind in slices:
        executor = kind(plan)
        if snapshot:
            executor.restore(snapshot)
        rows += executor.run_slice(entries).rows
        snapshot = executor.snapshot()
    return rows, snapshot


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32))
def test_a_model_goes_on_where_it_was(seed: int) -> None:
    """Rows are the same to the last digit, however the log is cut and whoever goes on; and so are
    the bytes of the state."""
    random = Random(seed)
    plan = plan_of(TEXT.format(detector=random.randrange(3)))
    log = drawn(random)
    whole = brought(plan, [(log, ReferenceExecutor)])
    rows, _ = whole
    assert len(rows) == 50 * STREAMS
    cuts = [0, *sorted(random.sample(range(1, len(log)), 3)), len(log)]
    slices = [log[start:end] for start, end in pairwise(cuts)]
    assert brought(plan, [(each, ReferenceExecutor) for each in slices]) == whole
    assert brought(plan, [(each, random.choice(KINDS)) for each in slices])[0] == rows
    assert brought(plan, [(log, ColumnarExecutor)])[0] == rows
