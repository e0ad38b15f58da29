"""Looks at the ends of both logs: what is published, and how far there is to go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep.events import Position, UnavailableError
from lockstep.frame import wait_set
from lockstep.leader.protocol import facts
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.replica.standby import ACTIVE

FOLLOW_EVERY_MS: Final = 500
RESTING_FOLLOW_MS: Final = 2_000
"""Where nothing is held back, and only the leader's word is missing: a thousand apps whose leaders
died at a time have better things to do."""
QUIET_FOLLOW_MS: Final = 10_000
QUIET_LOOK_MS: Final = 60_000
"""After so long a replica looks, though nothing says that there is anything new."""
LEADER_LOOK_MS: Final = 300_000
"""Who leads knows the end of the output log, and its reader says what comes into the other one."""

FULL_SHARE: Final = 4
"""Who holds back more than such a part of what it may does not wait for its turn."""

Tell = Callable[[facts.Fact], None]


class FollowLoop:
    """`run` in one task. A standby reads the output log's end alone, not what stands in it."""

    def __init__(self, replica: Replica, tell: Tell) -> None:
        self._site, self._running = replica.site, replica.running
        self._lead, self._reach = replica.lead, replica.reach
        self._published, self._trouble = replica.published, replica.trouble
        self._tell = tell
        self._clock = self._site.clock
        self._looked_ms = self._clock.monotonic_ms() - LEADER_LOOK_MS
        self._looked_at: Position = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            left_ms = self._left_ms()
            is_quiet = left_ms > 0 and self._is_quiet()
            if not is_quiet:
                try:
                    await self._in_turn()
                except UnavailableError as error:
                    self._trouble.text = str(error)
            if is_quiet or self._is_resting:
                self._reach.folded.clear()
                # A leader is rung for when it folds, and when its term ends.
                quiet_ms = left_ms if self._lead.is_active else QUIET_FOLLOW_MS
                pause_ms = quiet_ms if is_quiet else RESTING_FOLLOW_MS
                await wait_set(self._reach.folded, self._clock, pause_ms)
            else:
                await self._clock.sleep_ms(FOLLOW_EVERY_MS)

    async def _in_turn(self) -> None:
        """Looks when it is this replica's turn in its process; at once where rows that are
        published may stand in the way of others."""
        held = len(self._running.engine.outbox)
        wait_ms = self._site.looks.wait_ms(self._clock.monotonic_ms())
        max_held = self._site.settings.processor.hold_back_max_outputs // FULL_SHARE
        if wait_ms and held < max_held:
            await self._clock.sleep_ms(wait_ms)
        await self.look()

    def _left_ms(self) -> int:
        """Until it looks in any case."""
        every_ms = LEADER_LOOK_MS if self._lead.is_active else QUIET_LOOK_MS
        return self._looked_ms + every_ms - self._clock.monotonic_ms()

    def _is_quiet(self) -> bool:
        """Nothing was folded since the last look, when nothing was left to fold, and the log's
        reader will say what comes. As a standby, all that the leader says to have published is
        known."""
        at_rest, reach = self._is_at_rest, self._reach
        if not at_rest or not reach.may_fold or self._lead.is_active:
            return at_rest and reach.may_fold
        return self._running.engine.outbox.is_empty and self._knows_all()

    @property
    def _is_at_rest(self) -> bool:
        """Nothing was folded since the last look, and nothing was left to fold then. Who leads
        need not look: its reader says as much of the one log that it would look at."""
        position, reach = self._running.engine.position, self._reach
        known = (self._looked_at, reach.end_read) if self._lead.is_active else (self._looked_at,)
        is_at_end = position in known and position == reach.log_end
        return is_at_end and reach.folding_since_ms is None

    @property
    def _is_resting(self) -> bool:
        """The log's end can tell it nothing that it waits for."""
        running = self._running
        return self._is_at_rest and running.engine.outbox.is_empty and running.is_settled

    def _knows_all(self) -> bool:
        last = self._published.last_id
        known = None if last is None else f"{last.position}.{last.ordinal}"
        leaders = [group for _, group in self._site.others() if group.role == ACTIVE]
        return bool(leaders) and all(
            (group.published, group.epoch, group.state)
            == (known, self._lead.epoch, self._running.generation)
            for group in leaders
        )

    async def look(self) -> None:
        """Once. UnavailableError when the bus is away, RestartReplicaError when the output log goes
        on with another state."""
        if not self._lead.is_active:
            tail = await self._site.output.tail()
            self._published.saw(tail)
            published = 0 if tail.last_id is None else tail.last_id.position
            now_ms = self._clock.monotonic_ms()
            self._reach.behind.saw(published, self._running.engine.position, now_ms)
            self._tell(facts.TailRead(facts.Tail(tail.sequence, tail.epoch, tail.last_id)))
            self._trouble.text = None
        position = self._running.engine.position
        _, self._reach.log_end = await self._site.input.bounds()
        self._looked_ms, self._looked_at = self._clock.monotonic_ms(), position
