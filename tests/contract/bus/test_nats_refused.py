"""A NATS server that does not let a process in any more: its password was changed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.patience import eventually, read_on

pytestmark = pytest.mark.servers

LIMITS = with_limits(connect_timeout_ms=5_000, publish_timeout_ms=1_000)
REFUSED = "the bus cannot be entered any more"


async def test_a_refusal_is_told_as_what_it_is(server: NatsServer) -> None:
    """In the log, once in a minute, and to those who need the bus; with the old password there
    again, all goes on."""
    bus = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    told: list[Any]
    try:
        log = await bus.input_log(fresh_log())
        await log.append(one_event(1), dedup_id="1")
        configuration = server.directory / "nats.conf"
        good = configuration.read_text()
        with capture_logs() as told:
            configuration.write_text(good.replace(server.password, "another-password"))
            server.reload()

            async def is_told() -> bool:
                return any(one["event"] == REFUSED for one in told)

            await eventually(is_told)
            with pytest.raises(UnavailableError, match="Authorization Violation") as refused:
                await log.append(one_event(2), dedup_id="2")
            assert "password" in str(refused.value.hint)
            await asyncio.sleep(1)
            configuration.write_text(good)
            server.reload()
            await eventually(bus.healthy)
        (line,) = [one for one in told if one["event"] == REFUSED]
        assert line["log_level"] == "error"
        assert server.password not in str(told)
        await log.append(one_event(3), dedup_id="3")
        found = [entry.record for entry in await read_on(log.read, 0, 2)]
        assert found == [one_event(1), one_event(3)]
    finally:
        await bus.close()
