"""On-demand writes on their way: into the input log, and back as outcomes when they are folded.

The leader appends a write like a receiver appends events; every replica applies it at its position.
A caller waits for the outcome, not for the append; one that got no answer asks again with the same
request id, which the fold applies once (design invariants 2 and 6).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from lockstep.events import UnavailableError, WriteRecord
from lockstep.execute.contract import WriteOutcome
from lockstep.frame import wait_set
from lockstep_services.processor.replica.site import Site

ASK_AGAIN = "ask again with the same request id: what was applied is not applied twice"


@dataclass(eq=False)
class _Caller:
    """Waits for the outcome of a request."""

    told: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: WriteOutcome | None = None


class Writes:
    """The writes that somebody waits for. `folded` hears of every outcome."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._waiting: dict[str, list[_Caller]] = {}
        self._count = 0

    async def write(self, text: str, request_id: str) -> WriteOutcome:
        """What came of the write once it is durable and applied.

        Raises UnavailableError when too many wait, when the log cannot take it, and when it is not
        applied in time: then the outcome is not known yet.
        """
        settings, clock = self._site.settings.processor, self._site.clock
        if self._count >= settings.max_waiting_writes:
            raise UnavailableError(
                f"{self._count} writes are waiting already", hint="ask again in a second"
            )
        caller = _Caller()
        self._waiting.setdefault(request_id, []).append(caller)
        self._count += 1
        try:
            await self._site.input.append(WriteRecord(text, request_id, clock.now_ms()))
            await wait_set(caller.told, clock, settings.write_timeout_ms)
        finally:
            self._forget(request_id, caller)
        if caller.outcome is None:
            raise UnavailableError("the write is not applied yet", hint=ASK_AGAIN)
        return caller.outcome

    def folded(self, outcomes: Iterable[WriteOutcome]) -> None:
        """These were applied, now or before: whoever waits for them is told."""
        for outcome in outcomes:
            for caller in self._waiting.get(outcome.request_id, ()):
                caller.outcome = outcome
                caller.told.set()

    def _forget(self, request_id: str, caller: _Caller) -> None:
        waiting = self._waiting[request_id]
        waiting.remove(caller)
        if not waiting:
            del self._waiting[request_id]
        self._count -= 1
