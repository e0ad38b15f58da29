"""Intakes of apps: one that is deployed anew has one of its own, and the one before ends."""

from __future__ import annotations

import pytest

from lockstep.bus import LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemRandomness, VirtualClock
from lockstep.control import AppView
from lockstep.events import Attribute, AttributeType, Life, StreamSchema, UnavailableError
from lockstep.frame import Tasks
from lockstep.plan import build
from lockstep.settings import load_settings
from lockstep.siddhiql import check
from lockstep.store import Deployment
from lockstep.telemetry import get_logger
from lockstep_services.receiver.intakes import Intakes
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.values import RawEvent

TEXT = "@app:name('A') define stream In (v int); from In select v insert into Out;"
PLAN = build(check(TEXT))
SCHEMA = StreamSchema("In", (Attribute("v", AttributeType.INT),))
RUN = Run(SCHEMA, [(RawEvent((1,), None),)], 10)


def view_of(deployed_ms: int) -> AppView:
    """The app as it was deployed then."""
    return AppView(Deployment("A", TEXT, "1", Life(deployed_ms, 1), 1, 0), PLAN)


async def test_an_app_that_is_deployed_anew_has_another_intake() -> None:
    """What waited in the one before becomes durable. Who still means that app is told to come
    again, and disturbs nobody."""
    clock = VirtualClock()
    tasks = Tasks(clock, get_logger())
    bus = MemoryBus(MemoryCarrier(clock))
    await bus.input_log(LogName("A"))
    intakes = Intakes(bus, tasks, clock, SystemRandomness(), load_settings({}))
    first = intakes.of(view_of(1))
    waits = first.submit([RUN], None)
    second = intakes.of(view_of(2))
    assert [intakes.is_idle] == [False]
    with pytest.raises(UnavailableError, match="deployed anew"):
        intakes.of(view_of(1))
    assert intakes.of(view_of(2)) is second
    assert (await waits).duplicate is False
    assert (await second.submit([RUN], "key", in_order=False)).duplicate is False
    await clock.advance_ms(1)
    assert tasks.names == {"intake-A-2"}
    assert intakes.is_idle
    await tasks.stop_all()
