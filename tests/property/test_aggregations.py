"""Random aggregations on random logs: what columns hold is what the reference holds, bucket by
bucket and bit by bit, however the log is cut and whoever's snapshot it goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.events import LogEntry
from lockstep.execute.columnar import ColumnarExecutor, Unfit, lowering_of
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators import state
from lockstep.plan import AppPlan, build
from lockstep.siddhiql import check
from tests.property.amount import examples
from tests.property.executors_aggregations import STREAM, VALUES, aggregation, entries, join
from tests.property.executors_model import compared, cut, fold


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32))
def test_columns_hold_what_the_reference_holds(seed: int) -> None:
    """Buckets, groups, base values, the order of groups, and when the next purge is due; also of
    events that timers bring."""
    random = Random(seed)
    zone = random.choice(("", "", "@app:aggTimeZone('Europe/Berlin')\n"))
    playback = random.choice(("", "", "@app:playback\n"))
    late = "from S#window.timeBatch(700) select * insert into Late;\n"
    source = random.choice(("s as key", None, None))
    definition = aggregation(random, "A", selected=source)
    text = zone + playback + STREAM + "define stream Late" + STREAM[15:] + definition + late
    plan = build(check(text))
    log = entries(random, 30)
    whole = _held(plan, [log], random, columnar=1.0)
    if whole is None:
        event("Unfit")
        return
    event("columnar")
    assert _held(plan, [log], random, columnar=0.0) == whole, text
    assert _held(plan, cut(random, log), random, columnar=1.0) == whole, text
    assert _held(plan, cut(random, log), random, columnar=0.6, hops=0.4) == whole, text


def _held(
    plan: AppPlan,
    slices: Sequence[Sequence[LogEntry]],
    random: Random,
    *,
    columnar: float,
    hops: float = 0.0,
) -> Any:
    """The aggregation's state and when a tick is due, as texts; None when the slices do not fit.

    `columnar`: how often an executor in columns is taken, `hops`: how often another one goes on.
    """

    def make() -> Any:
        return (ColumnarExecutor if random.random() < columnar else ReferenceExecutor)(plan)

    executor = make()
    due: list[int | None] = []
    for each in slices:
        try:
            due.append(executor.run_slice(each).next_due_ms)
        except Unfit:
            return None
        if random.random() < hops:
            snapshot = executor.snapshot()
            executor = make()
            executor.restore(snapshot)
    _, body = state.unseal(executor.snapshot())
    engine = body["engine"]
    held = dict(engine["operators"])["aggregation/A/buckets"]
    timers = [due_ms for due_ms, _, path in engine["wall_timers"] if path.startswith("aggregation")]
    return repr(_sorted(held)), timers, due[-1]


def _sorted(value: Any) -> Any:
    """The value with its sets in an order, and zeros of one sign where only equality counts: among
    different values, and in groups, which are tuples."""
    match value:
        case set():
            return sorted(repr(each + 0.0 if isinstance(each, float) else each) for each in value)
        case tuple():
            return tuple(each + 0.0 if isinstance(each, float) else _sorted(each) for each in value)
        case list():
            return list(map(_sorted, value))
    return value


def test_it_is_columns_that_are_tested() -> None:
    """Such aggregations do have a columnar form."""
    random = Random(1)
    for _ in range(50):
        text = STREAM + aggregation(random, "A")
        lowering = lowering_of(build(check(text)))
        assert [unit.name for unit in lowering.units] == ["aggregation A"], text


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_joins_find_what_the_reference_finds(seed: int) -> None:
    """Each event of a stream finds the buckets as they are when it comes, in columns or not."""
    random = Random(seed)
    playback = random.choice(("", "", "@app:playback\n"))
    late = "from S#window.timeBatch(700) select * insert into Late;\n"
    value = random.choice(VALUES)
    definition = aggregation(random, "A", selected=f"s as key, {value} as n")
    head = playback + STREAM + "define stream Late" + STREAM[15:] + definition + late
    kept = tuple(g.value for g in build(check(head)).checked.aggregations["A"].granularities)
    text = head + "".join(join(random, kept) for _ in range(random.choice((1, 1, 2))))
    note(text)
    plan = build(check(text))
    log = entries(random, 30)
    whole = fold(plan, [log], columnar=False)
    event(compared(plan, log, whole, random, refused=(Unfit,)))
    event(lowering_of(plan).choices[-1].rule or "hosted")
