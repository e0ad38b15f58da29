"""What a broker refuses by its rules while Lockstep runs is no sender's mistake."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]  # not in its __all__
from structlog.testing import capture_logs

from lockstep.bus.errors import BusRightsError
from lockstep.bus.kafka import KafkaBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import EmbeddedServers
from lockstep.events import LockstepError
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, eventually
from tests.integration.services.cluster import Cluster, running_cluster
from tests.kafka.broker import start_broker
from tests.kafka.rights import GuardedBroker

APP = """
@app:name('Rights')
define stream In (n long);
define stream Out (n long);
from In select n insert into Out;
"""
EVENTS = "/v1/apps/Rights/streams/In/events"
INPUTS = "lockstep.in."


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[GuardedBroker]:
    """The test's own."""
    broker = await start_broker(tmp_path / "kafka", GuardedBroker)
    assert isinstance(broker, GuardedBroker)
    yield broker
    await broker.kill()


async def test_who_may_not_write_hears_so_until_it_may(guarded: GuardedBroker) -> None:
    """With a hint to the rights; the log has it once, as an error."""
    url = f"kafka://{guarded.url}"
    bus = await KafkaBus.connect(url, LIMITS, SystemClock(), SystemRandomness())
    try:
        log = await bus.input_log(fresh_log())
        await log.append(one_event(0), dedup_id="0")
        await guarded.deny(AclOperation.WRITE, INPUTS)

        async def is_refused() -> bool:
            try:
                await log.append(one_event(1))
            except BusRightsError as error:
                return "read and write topics" in str(error.hint)
            return False

        with capture_logs() as logs:
            await eventually(is_refused)
            for number in range(3):
                with pytest.raises(BusRightsError):
                    await log.append(one_event(number), dedup_id=f"{number + 1}")
        errors = [each["event"] for each in logs if each["log_level"] == "error"]
        assert errors == ["the bus does not let us write"]
        await guarded.allow_all()

        async def is_in() -> bool:
            try:
                return (await log.append(one_event(9), dedup_id="9")).position > 0
            except LockstepError:
                return False

        await eventually(is_in)
    finally:
        await bus.close()


async def test_what_may_not_be_written_is_not_put_aside(
    guarded: GuardedBroker, servers: EmbeddedServers, tmp_path: Path
) -> None:
    """Senders are told that the bus is away, and messages of the front door stay there."""
    own = {"LOCKSTEP_BUS__KIND": "kafka", "LOCKSTEP_BUS__URL": f"kafka://{guarded.url}"}
    nodes = ("coordinator", "processor-1", "receiver")
    async with running_cluster(servers, tmp_path / "store", nodes, **own) as cluster:
        await cluster.deploy(APP)
        await cluster.send("Rights", "In", {"n": 0})
        await guarded.deny(AclOperation.WRITE, INPUTS)
        await eventually(lambda: _is_refused(cluster))
        bus = cluster.watcher.bus
        await bus.ingress.publish("Rights", "In", b'{"n": 2}')
        # It comes to somebody else: whoever had it has not acknowledged it.
        other = await KafkaBus.connect(
            f"kafka://{guarded.url}",
            with_limits(ingress_redelivery_ms=3_000),
            SystemClock(),
            SystemRandomness(),
        )
        try:
            found = await other.ingress.read(max_messages=9, wait_ms=PATIENCE_MS)
            assert [message.payload for message in found] == [b'{"n": 2}']
        finally:
            await other.close()
        assert await bus.dead_letters.read("Rights") == []


async def _is_refused(cluster: Cluster) -> bool:
    status, answer = await cluster.call("POST", "receiver", EVENTS, json={"n": 1})
    if status == HTTPStatus.OK:
        return False
    assert status == HTTPStatus.SERVICE_UNAVAILABLE, answer
    return "read and write topics" in answer["hint"]
