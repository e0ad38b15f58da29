"""Models that learn event by event: however the log is cut, and whichever executor goes on."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.testing import VirtualApp

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
STREAMS = [f"O{number}" for number in range(1, 15)]
Sent = list[tuple[str, tuple[Any, ...]]]


def drawn(random: Random) -> Sent:
    """A hundred events; what is to be learned changes half way."""
    sent: Sent = []
    for number in range(50):
        a, b = random.random(), random.random()
        kind = "xyz"[(a > 0.5) + (b > 0.3 + number / 100)]
        y = a if b > 0.5 else (7.0 if number < 25 else -50.0)
        sent.append(("T", (a, b, kind, a > b, y)))
        sent.append(("P", (a + 5 * (number % 2), b)))
    return sent


def brought(text: str, sent: Sent, cuts: dict[int, str], executor: str) -> list[str]:
    """What came out. Behind some events all is thrown away, and an executor goes on with what a
    snapshot holds."""
    app = VirtualApp(text, executor=executor)
    rows: dict[str, list[str]] = {name: [] for name in STREAMS}
    try:
        for number, (stream, row) in enumerate(sent):
            app.send(stream, row)
            if number in cuts:
                _take(app, rows)
                snapshot = app.snapshot()
                app.close()
                app = VirtualApp.restore(text, snapshot, executor=cuts[number])
        _take(app, rows)
    finally:
        app.close()
    return [f"{name} {row}" for name, found in rows.items() for row in found]


def _take(app: VirtualApp, rows: dict[str, list[str]]) -> None:
    for name, found in rows.items():
        found += [repr(event.data) for event in app.stream(name)]


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32))
def test_a_model_goes_on_where_it_was(seed: int) -> None:
    """Rows are the same to the last digit after a restore anywhere, on either executor."""
    random = Random(seed)
    text = TEXT.format(detector=random.randrange(3))
    sent = drawn(random)
    whole = brought(text, sent, {}, "reference")
    assert len(whole) == 50 * len(STREAMS)
    executors = ["reference", "columnar"]
    cuts = {random.randrange(len(sent)): random.choice(executors) for _ in range(3)}
    assert brought(text, sent, cuts, random.choice(executors)) == whole
