"""Units of a cut app whose states are in Spark's workers: they get their own of many records at
once, and go on where a worker dies."""

from __future__ import annotations

import os
import signal
from random import Random
from typing import Any

import pytest

from lockstep.execute import made
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import SparkExecutor
from lockstep.fleet.local import FleetExecutor
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import fleet_of
from tests.integration.spark.conftest import Make
from tests.unit.fleet.test_pooling import CLOCKS, TEXT, by_key, log, written


@pytest.mark.parametrize("clock", CLOCKS)
def test_they_bring_what_one_node_brings(
    make: Make, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No bytes are written of what each gets, but for a worker that begins again."""
    random, plan = Random(11), plan_of(clock + TEXT)
    whole = ReferenceExecutor(plan)
    spark: list[SparkExecutor] = []

    def unit(app: AppPlan) -> SparkExecutor:
        spark.append(make(app.text))
        return spark[-1]

    fleet = FleetExecutor(fleet_of(plan, 2), unit)
    rows: list[Any] = []
    expected: list[Any] = []
    position = 1
    for number in range(5):
        entries = log(random, 8, from_position=position)
        position = entries[-1].position + 1
        expected += whole.run_slice(entries).rows
        with monkeypatch.context() as patch:
            if number in (1, 2, 4):
                patch.setattr(made, "encode_bundle", pytest.fail)
                patch.setattr(made, "encode_record", pytest.fail)
            if number == 3:
                for pid in {each.pid for one in spark for each in one.locations}:
                    os.kill(pid, signal.SIGKILL)
            rows += fleet.run_encoded(written(fleet.units, entries, indexed=True)).rows
    assert by_key(rows) == by_key(expected)
    assert sum(one.rebuilds for one in spark) >= len(spark)
