"""Chains that end with an absence, in columns: much is held, texts get other codes, timers of
tokens that are over are forgotten, snapshots hop, and what has no kernel says why."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from lockstep.columns.pool import StringPool
from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.columnar.executor import lowering_of
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.patterns.absences import tokens as absence_tokens
from lockstep.plan import AppPlan, build
from lockstep.siddhiql import check
from tests.property.executors_model import fold, fold_hopping

DEFINITIONS = """@app:playback
define stream S (s string, i int);
define stream R (s string, i int);
"""
RULE = "pattern chain that ends with an absence"
BY_TEXT = (
    "from every e1=S -> not R[s == e1.s] for 1 sec select e1.s as a, e1.i as b insert into Out;"
)
IN_STEPS = (
    "from every e1=S -> e2=R[s == e1.s] -> e3=S[i > e1.i] -> not R[i == e3.i and s != e1.s]"
    " for 1 sec select e1.s as a, e3.i as b insert into Out;"
)
BY_KEY = (
    "partition with (s of S, s of R) begin from every e1=S -> not R[i > e1.i] for 1 sec"
    " select e1.s as a, e1.i as b insert into Out; end;"
)


def planned(query: str) -> AppPlan:
    """An app of one query, in columns."""
    plan = build(check(DEFINITIONS + query))
    assert [choice.rule for choice in lowering_of(plan).choices] == [RULE]
    return plan


def log_of(seed: int, entries: int, *, late: bool) -> list[LogEntry]:
    """Events of both streams, some of one time; with `late` some come long after their time."""
    random = Random(seed)
    made, time = [], 1000
    for position in range(1, entries + 1):
        chunk = []
        for _ in range(random.choice((1, 2, 5, 20))):
            time += random.choice((0, 0, 1, 10))
            stamp = time - (random.choice((*[0] * 20, 300, 1000, 5000)) if late else 0)
            text = f"{random.choice('abcd')}{random.randint(0, 20)}"
            chunk.append(InputEvent(stamp, (text, random.choice((None, *range(30)))), None))
        name = random.choice("SSR")
        made.append(
            LogEntry(position, EventsRecord(name, time, (tuple(chunk),), has_timestamps=True))
        )
    return made


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
@pytest.mark.parametrize("query", [BY_TEXT, IN_STEPS, BY_KEY], ids=["text", "steps", "key"])
def test_much_is_held(query: str, late: bool) -> None:
    """Hundreds of tokens in one slice, in many, and across snapshots; strings are collected, and
    timers forgotten, as often as can be."""
    plan = planned(query)
    log = log_of(2, 150, late=late)
    whole = fold(plan, [log], columnar=False)
    assert whole[0]
    with (
        patch.object(StringPool, "COLLECT_MIN", 8),
        patch.object(absence_tokens, "FORGET_MIN", 8),
    ):
        assert fold(plan, [log], columnar=True) == whole
        slices = [log[at : at + 9] for at in range(0, len(log), 9)]
        assert fold(plan, slices, columnar=True) == whole
        assert fold_hopping(plan, slices, Random(3)) == whole


def test_timers_of_tokens_that_are_over_do_not_pile_up() -> None:
    """Ten thousand answered requests leave no ten thousand timers, nor a place that is taken."""
    plan = planned(BY_TEXT.replace("1 sec", "1 hour"))
    executor = ColumnarExecutor(plan, start_ms=0)
    with patch.object(absence_tokens, "FORGET_MIN", 64):
        for n in range(100):
            chunk = tuple(InputEvent(1000 + n, (f"r{n}-{i}", i), None) for i in range(100))
            for at, stream in ((2 * n + 1, "S"), (2 * n + 2, "R")):
                record = EventsRecord(stream, 1000 + n, (chunk,), has_timestamps=True)
                executor.run_slice([LogEntry(at, record)])
    (unit,) = executor.lowering.units
    assert not isinstance(unit, HostedQueries)
    assert unit.due_ms() is None


def test_snapshots_go_on_on_the_reference() -> None:
    """Who waits, since when, and until when."""
    plan = planned(BY_KEY)
    first = ColumnarExecutor(plan, start_ms=0)
    chunk = (InputEvent(1000, ("a", 1), None), InputEvent(1000, ("b", 2), None))
    first.run_slice([LogEntry(1, EventsRecord("S", 1000, (chunk,), has_timestamps=True))])
    second = ReferenceExecutor(plan, start_ms=0)
    second.restore(first.snapshot())
    late = (InputEvent(2500, ("c", 3), None),)
    result = second.run_slice([LogEntry(2, EventsRecord("S", 2500, (late,), has_timestamps=True))])
    assert [(row.timestamp_ms, row.data) for row in result.rows] == [
        (2000, ("a", 1)),
        (2000, ("b", 2)),
    ]


def test_time_alone_brings_matches() -> None:
    """A tick, without any event."""
    plan = build(check(DEFINITIONS.removeprefix("@app:playback\n") + BY_TEXT))
    executor = ColumnarExecutor(plan, start_ms=0)
    chunk = (InputEvent(100, ("a", 1), None),)
    executor.run_slice([LogEntry(1, EventsRecord("S", 100, (chunk,)))])
    assert executor.run_slice([LogEntry(2, TickRecord(1099))]).rows == []
    (row,) = executor.run_slice([LogEntry(3, TickRecord(5000))]).rows
    assert (row.timestamp_ms, row.data) == (1100, ("a", 1))


@pytest.mark.parametrize(
    "pattern",
    [
        "every e1=S -> not R for 1 sec within 2 sec",
        "e1=S -> not R for 1 sec",
        "every (e1=S -> not R for 1 sec)",
        "every e1=S -> not R for 1 sec -> e2=S",
        "every not R for 1 sec -> e1=S",
        "e1=S and not R for 1 sec",
        "every e1=S, not R for 1 sec",
    ],
)
def test_other_absences_are_the_general_kernels(pattern: str) -> None:
    """Each of them, whatever stands around it."""
    text = f"{DEFINITIONS}from {pattern} select e1.s as a insert into Out;"
    (choice,) = lowering_of(build(check(text))).choices
    assert choice.rule == ("sequence" if "," in pattern else "pattern")


def test_what_stays_on_the_reference_says_why() -> None:
    """A leading absence as Siddhi 5.1 has it, and one whose instances another stream makes."""
    leading = "from not R for 1 sec -> e1=S select e1.s as a insert into Out;"
    old = f"@app:compat('siddhi-5.1')\n{DEFINITIONS.removeprefix('@app:playback')}{leading}"
    (choice,) = lowering_of(build(check(old))).choices
    assert "as Siddhi 5.1 has it" in (choice.reason or "")
    other = "define stream Q (s string); partition with (s of S, s of R, s of Q) begin "
    other += f"{leading} from Q select s insert into Others; end;"
    first, _ = lowering_of(build(check(DEFINITIONS + other))).choices
    assert "instances Q makes" in (first.reason or "")


def test_a_wait_from_the_start_of_the_app() -> None:
    """The app's clock counts, not that of the first event; in playback that begins at 0."""
    text = "from not R for 1 sec -> e1=S select e1.s as a insert into Out;"
    plan = build(check(DEFINITIONS.removeprefix("@app:playback\n") + text))
    executor = ColumnarExecutor(plan, start_ms=0)
    early, late = ((InputEvent(at, ("a", at), None),) for at in (900, 1001))
    assert not executor.run_slice([LogEntry(1, EventsRecord("S", 900, (early,)))]).rows
    (row,) = executor.run_slice([LogEntry(2, EventsRecord("S", 1001, (late,)))]).rows
    assert (row.timestamp_ms, row.data) == (1001, ("a",))


def test_two_queries_with_timers_in_a_partition() -> None:
    """Whose instance is first hangs on who asked first, and each knows its own requests only."""
    inner = "from every e1=S -> not R for 1 sec select e1.s as a insert into {};"
    text = f"partition with (s of S, s of R) begin {inner.format('A')} {inner.format('B')} end;"
    choices = lowering_of(build(check(DEFINITIONS + text))).choices
    assert {choice.rule for choice in choices} == {None}
    assert "timers of" in (choices[0].reason or "")
