"""The end of the output log is read while the lease of a dead leader is asked for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from lockstep.bus import OutputTail
from lockstep.events import UnavailableError
from lockstep.leader.protocol import facts
from lockstep.telemetry import get_logger
from lockstep_services.processor.lead.claiming import Claims


class Log:
    """An output log that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[OutputTail]] = []

    async def tail(self) -> OutputTail:
        """When `asked` is answered."""
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]


def claims_over(log: Log) -> Claims:
    """Of a replica that only reads the log's end."""
    site: Any = SimpleNamespace(output=log, log=get_logger())
    published: Any = SimpleNamespace(saw=lambda tail: None)
    running: Any = None
    return Claims(site, running, published)


async def test_what_was_read_early_is_used_once() -> None:
    """The lease is there before the answer; the next look asks anew."""
    log = Log()
    claims = claims_over(log)
    claims.read_early()
    await asyncio.sleep(0)
    reading = asyncio.ensure_future(claims.read_tail())
    await asyncio.sleep(0)
    assert len(log.asked) == 1
    log.asked[0].set_result(OutputTail(7, 3, None))
    assert await reading == facts.TailRead(facts.Tail(7, 3, None))
    again = asyncio.ensure_future(claims.read_tail())
    await asyncio.sleep(0)
    log.asked[1].set_result(OutputTail(8, 4, None))
    assert await again == facts.TailRead(facts.Tail(8, 4, None))


async def test_a_log_that_does_not_answer_early_is_away() -> None:
    """As it would be later: the protocol tries again."""
    log = Log()
    claims = claims_over(log)
    claims.read_early()
    await asyncio.sleep(0)
    log.asked[0].set_exception(UnavailableError("away"))
    assert await claims.read_tail() == facts.TailUnavailable()


async def test_what_was_read_for_nothing_is_forgotten() -> None:
    """Somebody else got the lease: the end that was read then is not what a later claim needs."""
    log = Log()
    claims = claims_over(log)
    claims.read_early()
    await asyncio.sleep(0)
    log.asked[0].set_result(OutputTail(7, 3, None))
    await asyncio.sleep(0)
    claims.forget_early()
    reading = asyncio.ensure_future(claims.read_tail())
    await asyncio.sleep(0)
    log.asked[1].set_result(OutputTail(9, 5, None))
    assert await reading == facts.TailRead(facts.Tail(9, 5, None))
