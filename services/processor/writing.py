"""On-demand writes on their way: into the input log, and back as outcomes when they are folded.

The leader appends a write like a receiver appends events; every replica applies it at its position.
A caller waits for the outcome, not for the append; one that got no answer asks again with the same
request id, which the fold applies once (design invariants 2 and 6).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from lockstep.events import UnavailableError, WriteRecord
from lockstep.execute.contract import WriteOutcome
from services.processor.replica import Replica

ASK_AGAIN = "ask again with the same request id: what was applied is not applied twice"


class Writes:
    """The writes that somebody waits for. `folded` hears of every outcome."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._waiting: dict[str, list[asyncio.Future[WriteOutcome]]] = {}
        self._count = 0

    async def write(self, text: str, request_id: str) -> WriteOutcome:
        """What came of the write once it is durable and applied.

        Raises UnavailableError when too many wait, when the log cannot take it, and when it is not
        applied in time: then the outcome is not known yet.
        """
        settings = self._replica.around.settings.processor
        if self._count >= settings.max_waiting_writes:
            raise UnavailableError(
                f"{self._count} writes are waiting already", hint="ask again in a second"
            )
        outcome: asyncio.Future[WriteOutcome] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(request_id, []).append(outcome)
        self._count += 1
        try:
            clock_ms = self._replica.around.clock.now_ms()
            await self._replica.input.append(WriteRecord(text, request_id, clock_ms))
            async with asyncio.timeout(settings.write_timeout_ms / 1000):
                return await outcome
        except TimeoutError as error:
            raise UnavailableError("the write is not applied yet", hint=ASK_AGAIN) from error
        finally:
            self._forget(request_id, outcome)

    def folded(self, outcomes: Iterable[WriteOutcome]) -> None:
        """These were applied, now or before: whoever waits for them is told."""
        for outcome in outcomes:
            for waiting in self._waiting.get(outcome.request_id, ()):
                if not waiting.done():
                    waiting.set_result(outcome)

    def _forget(self, request_id: str, outcome: asyncio.Future[WriteOutcome]) -> None:
        waiting = self._waiting[request_id]
        waiting.remove(outcome)
        if not waiting:
            del self._waiting[request_id]
        self._count -= 1
