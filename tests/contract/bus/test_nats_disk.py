"""A NATS server that could not write a record answers to no further one for that stream: so it
looks from here, played with a stream that listens elsewhere for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from nats.aio.msg import Msg
from structlog.testing import capture_logs

from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.errors import TakesNothingError
from lockstep.bus.subjects import input_subject, stream_name
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.pausing import paused

pytestmark = pytest.mark.servers

IMPATIENT_MS = 500


@pytest.fixture
async def bus(server: NatsServer) -> AsyncIterator[NatsBus]:
    """One that does not try for long."""
    limits = with_limits(publish_timeout_ms=IMPATIENT_MS)
    connected = await NatsBus.connect(server.url, limits, SystemRandomness())
    yield connected
    await connected.close()


async def listen(bus: NatsBus, stream: str, subject: str) -> None:
    """The stream keeps what comes there from now on."""
    info = await bus._jetstream.call(f"STREAM.INFO.{stream}")
    config = {**info["config"], "subjects": [subject]}
    await bus._jetstream.call(f"STREAM.UPDATE.{stream}", config)


async def test_a_log_that_takes_no_records_is_named(bus: NatsBus) -> None:
    """To whoever sends, each time, and in the log once; and once when it takes them again. Another
    log goes on meanwhile."""
    name = fresh_log()
    subject, stream = input_subject(name), stream_name(input_subject(name))
    log, other = await bus.input_log(name), await bus.input_log(fresh_log())
    await log.append(one_event(0))

    async def swallow(_message: Msg) -> None:
        """As the server does."""

    told: list[Any]
    with capture_logs() as told:
        await listen(bus, stream, f"{subject}.elsewhere")
        swallowing = await bus._connection.subscribe(subject, swallow)
        for number in (1, 2):
            with pytest.raises(TakesNothingError, match=r"takes no records.*disk.*restart"):
                await log.append(one_event(number), dedup_id=f"{number}")
            await other.append(one_event(number))
        await bus._connection.unsubscribe(swallowing)
        await listen(bus, stream, subject)
        for number in (1, 2, 3):
            await log.append(one_event(number), dedup_id=f"{number}")
    assert [one["event"] for one in told if one.get("log") == subject] == [
        "the bus takes no records for this log",
        "the bus takes records for this log again",
    ]
    assert (await log.bounds())[1] == 4


async def test_a_server_that_answers_nothing_is_not_blamed_for_a_log(
    bus: NatsBus, server: NatsServer
) -> None:
    """It hangs: nobody can tell what it will take."""
    log = await bus.input_log(fresh_log())
    await log.append(one_event(0))
    with paused(server.pid), pytest.raises(UnavailableError, match="not answered in time") as told:
        await log.append(one_event(1))
    assert not isinstance(told.value, TakesNothingError)
