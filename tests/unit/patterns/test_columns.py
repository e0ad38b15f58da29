"""Patterns in columns when much is held: room is made in the midst of a slice, strings are
collected, snapshots hop, and what has no kernel says why."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from lockstep.columns.pool import StringPool
from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar.executor import lowering_of
from lockstep.plan import AppPlan, build
from lockstep.siddhiql import check
from tests.property.executors_model import fold, fold_hopping

DEFINITIONS = """@app:playback
define stream S (s string, i int);
define stream R (s string, i int);
"""
LATENESS_MS = (*[0] * 60, 100, 300, 900, 5000)
MANY = (
    # Each token collects what the others collect.
    "every e1=S<2:> -> e2=R[i > e1[last].i]",
    # Each token that is moved leaves a copy behind.
    "every e1=S -> every e2=R[i > e1.i] -> e3=R[i > e2.i] within 1 sec",
    "every (e1=S and e2=R) -> e3=S<1:4> -> e4=R[s == e1.s] within 2 sec",
    "every e1=S[i > 3] -> not R[i > e1.i] and e2=S[s == e1.s]",
    "every e1=S+, e2=R[i > e1[0].i]?, e3=S[s != e1[last].s]",
    "every e1=S<2:4>, e2=R[i > e1[last].i]",
)


def planned(pattern: str) -> AppPlan:
    """An app of one query."""
    text = f"{DEFINITIONS}from {pattern} select e1.s as a, e2.i as b insert into Out;"
    for counted in ("e1", "e2"):
        if f"{counted}=S<" in text or f"{counted}=S+" in text or "]?" in text:
            text = text.replace(f"select {counted}.", f"select {counted}[last].")
            text = text.replace(f" {counted}.i as", f" {counted}[0].i as")
    return build(check(text))


def log_of(seed: int, entries: int, *, late: bool) -> list[LogEntry]:
    """Events of both streams, few of R; with `late` some come long after their time."""
    random = Random(seed)
    made, time = [], 1000
    for position in range(1, entries + 1):
        name = random.choice(("S", "S", "S", "S", "S", "R"))
        chunk = []
        for _ in range(random.choice((1, 2, 5))):
            time += random.choice((0, 1, 10))
            stamp = time - (random.choice(LATENESS_MS) if late else 0)
            text = f"{random.choice('abcd')}{random.randint(0, 20)}"
            chunk.append(InputEvent(stamp, (text, random.randint(0, 30)), None))
        made.append(
            LogEntry(position, EventsRecord(name, time, (tuple(chunk),), has_timestamps=True))
        )
    return made


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
@pytest.mark.parametrize("pattern", MANY)
def test_much_is_held(pattern: str, late: bool) -> None:
    """Hundreds of tokens and thousands of cells, in one slice, in many, and across snapshots."""
    plan = planned(pattern)
    assert [choice.rule for choice in lowering_of(plan).choices] in (["pattern"], ["sequence"])
    log = log_of(7, 80, late=late)
    whole = fold(plan, [log], columnar=False)
    assert whole[0]
    with patch.object(StringPool, "COLLECT_MIN", 8):
        assert fold(plan, [log], columnar=True) == whole
        slices = [log[at : at + 9] for at in range(0, len(log), 9)]
        assert fold(plan, slices, columnar=True) == whole
        assert fold_hopping(plan, slices, Random(3)) == whole


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("every e1=S -> e2=R[i > e1.i + i or s == 'a']", "mixes several events"),
        ("every e1=S -> e2=R[i > e1.i + i]", None),
    ],
)
def test_what_has_no_kernel_says_why(pattern: str, reason: str | None) -> None:
    """The reason of the rule for all patterns, not that of the one for chains."""
    text = f"{DEFINITIONS}from {pattern} select e1.s as a insert into Out;"
    (choice,) = lowering_of(build(check(text))).choices
    assert choice.rule is None
    assert (reason or "mixes several events") in (choice.reason or "")
