"""Input logs that an earlier start of the services has made follow what the settings say now."""

from __future__ import annotations

import pytest

from lockstep.bus import BusLimits, LogName
from lockstep.bus.nats import NatsBus
from lockstep.bus.subjects import input_subject, stream_name
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import Life, TickRecord
from lockstep.store import Deployment, Origin
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import get_logger
from lockstep_services.coordinator.app_logs import AppLogs

pytestmark = pytest.mark.servers
BEFORE, WITH_ARCHIVE = BusLimits(), BusLimits(input_logs_age=False)


async def _max_age_ns(bus: NatsBus, name: LogName) -> int:
    told = await bus._jetstream.call(f"STREAM.INFO.{stream_name(input_subject(name))}")
    return int(told["config"]["max_age"])


async def test_with_an_archive_logs_that_are_there_forget_nothing_by_age_either(
    server: NatsServer,
) -> None:
    """As soon as somebody coordinates, without a deployment. What is in them stays, and nothing
    that was lost is made anew."""
    store, clock = MemoryStore(), SystemClock()
    names = [LogName(app, since_ms=5) for app in ("kept", "lost")]
    before = await NatsBus.connect(server.url, BEFORE, SystemRandomness())
    for name in names:
        log = await before.input_log(name)
        await log.append(TickRecord(1))
        await before.output_log(name)
        one = Deployment(name.app, "", "v", Life(5, 1), 1, 5, origin=Origin(0, 5))
        await store.deployments.put(one, epoch=1)
    kept, lost = names
    assert await _max_age_ns(before, kept) == BEFORE.max_log_age_ms * 1_000_000
    await before.remove_logs(lost)
    await before.close()
    bus = await NatsBus.connect(server.url, WITH_ARCHIVE, SystemRandomness())
    logs = AppLogs(store, bus, clock, get_logger(), lambda app: True)
    await logs.tell_lost()
    assert await _max_age_ns(bus, kept) == 0
    assert await (await bus.input_log(kept, make=False)).bounds() == (1, 1)
    assert await bus.logs(None, inputs=True) == [kept]
    await bus.close()
