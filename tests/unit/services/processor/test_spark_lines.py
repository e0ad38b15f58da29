"""What executors on Spark say of their states, and in whose name."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.execute.spark import Rebuilt
from lockstep.execute.spark.location import Location
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.processor.state import spark
from lockstep_services.processor.state.spark import SparkExecutors

UNIT = {"app": "A", "group": "orders", "partition": "2"}


class Executor:
    """Stands for one on Spark: tells at once all that it may have to tell."""

    def __init__(self, _plan: object, **told: Any) -> None:
        self.locations = (Location("host", 7),)
        told["on_rebuilt"](Rebuilt(self.locations[0], 41, 3, "lost"))
        told["on_suspected"](42, 43)


def test_each_line_bears_whose_state_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """App, group and partition; where a position is known, that as well."""
    monkeypatch.setattr(spark, "SparkExecutor", Executor)
    plan = plan_of("@app:name('A') define stream S (a int); from S select a insert into T;")
    executors = SparkExecutors(load_settings({}), Metrics(), get_logger())
    with capture_logs() as lines:
        executors.make(plan, get_logger(**UNIT))
    assert [(line["event"], line.get("position")) for line in lines] == [
        ("state rebuilt", 41),
        ("a slice cannot be folded as it is", 42),
        ("state placed", None),
    ]
    assert all(UNIT.items() <= line.items() for line in lines)
