"""What operators ask of an app: the leader carries it out, or has a standby do it."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from lockstep.control import Command, CommandAnswer, snapshot_subject
from lockstep.events import LockstepError, Position, UnavailableError
from lockstep.events.typed import from_json
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.lead.leadership import Leadership
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standby import HOT, candidates, nobody_takes, takers
from lockstep_services.processor.revise.revisions import REFUSED, RevisionLoop

FLUSH_LIMIT_MS: Final = 10_000
STANDBY_LIMIT_MS: Final = 8_000
CATCH_UP_LIMIT_MS: Final = 8_000
NEAR_GATHERINGS: Final = 2
"""A standby that answers within so many of its gathering times is where the leader is."""
POLL_MS: Final = 20


class Commands:
    """`carry_out` as the leader; `run` in one task, for what a leader asks of a standby."""

    def __init__(
        self,
        site: Site,
        running: Running,
        fold: FoldLoop,
        publishing: Publishing,
        leadership: Leadership,
        revisions: RevisionLoop,
    ) -> None:
        self._site = site
        self._running = running
        self._fold = fold
        self._publishing = publishing
        self._leadership = leadership
        self._revisions = revisions
        self._clock = self._site.clock
        self._topics = self._site.world.bus.topics

    async def carry_out(self, command: Command) -> CommandAnswer:
        """What came of it."""
        if command.name == "snapshot":
            return await self._snapshot()
        if command.name == "hand_over":
            return await self._hand_over(command.node)
        return CommandAnswer(False, f"unknown command '{command.name}'")

    async def run(self) -> None:
        """Until cancelled."""
        subject = snapshot_subject(self._site.unit, self._site.node)
        answering = await self._topics.respond(subject, self._asked_by_leader)
        try:
            await asyncio.Event().wait()
        finally:
            await answering.close()

    async def _snapshot(self) -> CommandAnswer:
        """By a standby if there is one, so that nothing pauses here."""
        standbys = takers(self._site.others(), self._running.engine.version)
        if standbys:
            wish = Command("snapshot", position=self._running.engine.position)
            subject = snapshot_subject(self._site.unit, standbys[0])
            try:
                raw = await self._topics.request(
                    subject, msgspec.json.encode(wish), timeout_ms=STANDBY_LIMIT_MS
                )
                answer = from_json(raw, CommandAnswer)
                if answer.done:
                    return answer
            except UnavailableError:
                pass  # it has just gone: then this replica takes the revision itself
        return await self._take()

    async def _take(self) -> CommandAnswer:
        taken = await self._revisions.take()
        # What refuses a revision passes by itself.
        return CommandAnswer(not taken.startswith(REFUSED), taken, retryable=True)

    async def _asked_by_leader(self, payload: bytes) -> bytes:
        command = from_json(payload, Command)
        try:
            if await self._has_folded(command.position):
                reached = CommandAnswer(True, "reached")
                answer = reached if command.name == "reach" else await self._take()
            else:
                late = f"not at position {command.position} yet"
                answer = CommandAnswer(False, late, retryable=True)
        except LockstepError as error:
            answer = CommandAnswer.of_error(error)
        return msgspec.json.encode(answer)

    async def _has_folded(self, position: Position) -> bool:
        """What the leader had folded when it was asked, its revision shall hold as well."""
        deadline_ms = self._clock.monotonic_ms() + STANDBY_LIMIT_MS // 2
        while self._running.engine.position < position:
            if self._clock.monotonic_ms() > deadline_ms:
                return False
            await self._clock.sleep_ms(POLL_MS)
        return True

    async def _hand_over(self, node: str | None) -> CommandAnswer:
        others = self._site.others()
        ready = [each for each in candidates(others) if node in (None, each)]
        if not ready:
            return nobody_takes(others, node)
        chosen = ready[0]
        await self._let_catch_up(chosen)
        self._fold.pause()
        try:
            await self._fold.at_rest()
            await self._publishing.flush(FLUSH_LIMIT_MS)
            handed = await self._leadership.hand_over(chosen)
        finally:
            self._fold.resume()
        what = f"handed over to {chosen}" if handed else "the lease was lost"
        return CommandAnswer(handed, what, retryable=True)

    async def _let_catch_up(self, node: str) -> None:
        """What the standby still has to fold, users would wait for: so it is waited for before,
        while this replica goes on. For a while; then the lead moves as things are.
        """
        clock = self._clock
        hot = [beat.node for beat, one in self._site.others() if one.standby == HOT]
        if node not in hot:
            return  # it folds nothing before it leads
        near_ms = NEAR_GATHERINGS * self._site.settings.processor.standby_gather_ms
        deadline_ms = clock.monotonic_ms() + CATCH_UP_LIMIT_MS
        subject = snapshot_subject(self._site.unit, node)
        while (asked_ms := clock.monotonic_ms()) < deadline_ms:
            wish = Command("reach", position=self._running.engine.position)
            try:
                await self._topics.request(
                    subject, msgspec.json.encode(wish), timeout_ms=STANDBY_LIMIT_MS
                )
            except UnavailableError:
                return
            if clock.monotonic_ms() - asked_ms <= near_ms:
                return
