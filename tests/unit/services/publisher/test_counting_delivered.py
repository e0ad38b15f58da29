"""What counts as delivered: what a sink has taken, and nothing that was put aside."""

from __future__ import annotations

import msgspec
import pytest

from lockstep.sinks import Message
from lockstep_services.publisher.contract import Batch
from tests.unit.services.publisher.parts import row
from tests.unit.services.publisher.test_upgraded_rows import World


@pytest.mark.parametrize(("refused", "delivered"), [((), 4), ((1, 3), 2), ((1, 2, 3, 4), 0)])
async def test_rows_that_were_put_aside_are_not_delivered(
    refused: tuple[int, ...], delivered: int
) -> None:
    """Nor is there a time that it took them to arrive, if none did."""
    world = World("define stream S (v int);")
    send = world.told.send

    async def picky(message: Message) -> None:
        value = msgspec.json.decode(message.payload)["event"]["v"]
        if value in refused:
            world.told.refused.add(message.payload.decode())
        await send(message)

    world.told.send = picky  # type: ignore[method-assign]
    pump, metrics = world.pump, world.pump._metrics
    await pump.sink.open()
    await pump._take(Batch(9, [row(n, n) for n in range(1, 5)], door_ms=1))
    assert len(world.events) == delivered
    assert len(await world.letters()) == len(refused)
    where = {"app": "A", "sink": "S.0.log"}
    assert metrics.value("lockstep_publisher_delivered_total", **where) == delivered
    assert metrics.value("lockstep_publisher_failed_total", **where) == len(refused)
    shown = metrics.render().decode()
    assert ('lockstep_latency_ms_count{app="A",stage="delivered"} 1.0' in shown) is bool(delivered)
