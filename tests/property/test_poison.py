"""Events that would take a node are undone and left out, the same on every replica.

POISON_APPS says how many apps are drawn; `make poison` draws 200, and folds them on Spark too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from lockstep.events import LogEntry
from lockstep.execute.contract import EventFault, Executor
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.limits import in_force
from lockstep.plan import AppPlan, plan_of
from tests.property.poison_model import LIMITS, START_MS, drawn

APPS = int(os.environ.get("POISON_APPS", "12"))


def folded(
    executor: Executor, log: Sequence[LogEntry], draw: Random
) -> tuple[list[Any], list[EventFault]]:
    """Rows and faults of a log, cut at random."""
    rows: list[Any] = []
    faults: list[EventFault] = []
    start = 0
    while start < len(log):
        end = min(len(log), start + draw.randrange(1, 40))
        result = executor.run_slice(log[start:end])
        rows += list(result.rows)
        faults += result.faults
        assert result.position == log[end - 1].position
        start = end
    return rows, faults


def both(plan: AppPlan) -> list[Executor]:
    """Both executors."""
    return [
        ReferenceExecutor(plan, start_ms=START_MS),
        InProcessExecutor(plan, start_ms=START_MS),
    ]


@pytest.mark.parametrize("seed", range(APPS))
def test_an_event_that_explodes_was_never_there(seed: int) -> None:
    """Both executors, in any cuts, bring what they bring without the events that go over a limit;
    those are dead letters. A snapshot behind them and the log from there bring the same again."""
    app, draw = drawn(seed), Random(seed)
    plan = plan_of(app.text)
    with in_force(LIMITS):
        wanted, none = folded(both(plan)[0], app.clean, draw)
        assert not none
        half = len(app.log) // 2
        for executor in both(plan):
            rows, faults = folded(executor, app.log[:half], draw)
            other = both(plan)[draw.randrange(2)]
            other.restore(executor.snapshot())
            more, more_faults = folded(other, app.log[half:], draw)
            assert rows + more == wanted, type(executor)
            every = faults + more_faults
            assert {fault.position for fault in every} == app.bad
            assert all(fault.is_poison for fault in every)
