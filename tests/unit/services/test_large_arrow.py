"""Arrow bodies of a few bytes that stand for gigabytes: refused at the door and over the bus."""

from __future__ import annotations

import asyncio

import pyarrow as pa

from lockstep_services.receiver.decode import ARROW
from tests.unit.services.receiver.test_decode import arrow_body
from tests.unit.services.test_bad_requests import READY_S, STREAM, suite


def _nulls(rows: int) -> bytes:
    return arrow_body(pa.record_batch({"n": pa.nulls(rows)}))


async def test_nulls_without_end_are_refused_and_neighbours_go_on() -> None:
    """Before, they filled the memory of the receiver, which answered nobody meanwhile."""
    async with suite() as one:
        for rows, path in (
            (50_001, STREAM),
            (100_000_000, STREAM),
            (100_000_000, f"{STREAM}?chunk=row"),
        ):
            told = await one.refused(413, "POST", path, _nulls(rows), Content_Type=ARROW)
            assert told["hint"]
        await one.refused(200, "POST", STREAM, _nulls(3), Content_Type=ARROW)
        ingress = one.world.bus.ingress
        headers = {"Content-Type": ARROW}
        await ingress.publish("A", "In", _nulls(100_000_000), headers=headers)
        await ingress.publish("A", "In", b'{"n": 1}')
        async with asyncio.timeout(READY_S):
            while not (letters := await one.world.bus.dead_letters.read("A")):
                await asyncio.sleep(0.05)
            while (await one.ask("GET", "/v1/apps/A/streams/Out/latest"))[1]["total"] < 4:
                await asyncio.sleep(0.05)
        (letter,) = letters
        assert "100000000 events; 50000 can go together" in letter.letter.reason
