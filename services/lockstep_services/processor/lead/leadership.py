"""Carries out what the leadership protocol says, and tells it what came of it.

All decisions are the protocol's (`lockstep.leader.protocol`): this is the I/O around it.
Instructions about the lease are carried out one after another, those about the output log as well,
both side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from lockstep.events import Generation, UnavailableError
from lockstep.frame import run_side_by_side, wait_set
from lockstep.leader import Held
from lockstep.leader.protocol import (
    START,
    Candidate,
    Claiming,
    Leading,
    Rules,
    Standby,
    State,
    Stopped,
    advance,
    facts,
)
from lockstep.leader.protocol import instructions as todo
from lockstep_services.processor.lead.claiming import Begun, Claims
from lockstep_services.processor.lead.fitness import Fitness
from lockstep_services.processor.lead.leasing import AboutLease, Leasing
from lockstep_services.processor.lead.turn import Turn
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.replica import Replica

TICK_MS: Final = 50
QUIET_TICK_MS: Final = 30_000
"""Where nothing is to be waited for but what rings by itself."""
LOOK_TTLS: Final = 30
"""In so many lives of a lease a replica asks for it, or looks after it, though nothing has told it
to: the process renews all its leases and watches all that it waits for."""
Hook = Callable[[], Awaitable[None]]
_AboutLog = todo.ReadTail | todo.AppendClaim | todo.Publish | todo.AppendBeginning
_AboutTerm = todo.TermBegan | todo.TermEnded
_NO_ANSWER: Final = (facts.TailUnavailable, facts.ClaimUnknown, facts.AppendUnknown)


def nap(state: State, now_ms: int, *, waits_to_be_told: bool) -> int:
    """How long until the protocol has to be told the time, in ms."""
    if isinstance(state, Leading) and not (state.doubtful or state.lost):
        return min(QUIET_TICK_MS, max(TICK_MS, state.renewal.due_ms - now_ms))
    rests = isinstance(state, Standby) and not state.asking and waits_to_be_told
    return QUIET_TICK_MS if rests else TICK_MS


class Leadership:
    """`run` in one task. `before_claim` may refuse by raising; the other hooks surround a term."""

    def __init__(
        self,
        replica: Replica,
        publishing: Publishing,
        *,
        before_claim: Hook,
        on_begin: Hook,
        on_end: Hook,
    ) -> None:
        self._site, self._running = replica.site, replica.running
        self._lead, self._reach = replica.lead, replica.reach
        self._published, self._trouble = replica.published, replica.trouble
        self._publishing = publishing
        self._claims = Claims(self._site, self._running, self._published)
        self._hearing = self._site.hearing
        self._leasing = Leasing(
            self._site, on_death=self._hear_death, on_lost=self._lost, on_vacant=self._vacant
        )
        self._clock = self._site.clock
        self._leader = self._site.settings.leader
        self._log = self._site.log
        self._before_claim = before_claim
        self._on_begin = on_begin
        self._on_end = on_end
        self._state: State = START
        self._naps_long = False
        self._rules = Rules(
            renew_every_ms=LOOK_TTLS * self._leader.lease_ttl_ms,
            acquire_every_ms=LOOK_TTLS * self._leader.lease_ttl_ms,
            acquire_unready_every_ms=self._leader.lease_ttl_ms,
            retry_every_ms=self._leader.retry_ms,
        )
        self._beginning: tuple[Generation, asyncio.Future[Begun]]
        self._lease_lane: asyncio.Queue[AboutLease] = asyncio.Queue()
        self._log_lane: asyncio.Queue[_AboutLog] = asyncio.Queue()
        self._term_lane: asyncio.Queue[_AboutTerm] = asyncio.Queue()
        self._turn = Turn(self._site, self._running.wanted, self._lead)
        self._fitness = Fitness(replica)

    def tell(self, fact: facts.Fact) -> None:
        """A fact for the protocol; what follows from it is put on its way."""
        self._state, instructions = advance(self._state, fact, self._rules)
        self._lead.permit = self._state.permit if isinstance(self._state, Leading) else None
        self._lead.promote(isinstance(self._state, Candidate | Claiming | Leading))
        for instruction in instructions:
            match instruction:
                case todo.TrimHeld(up_to):
                    self._published.know(up_to)
                case todo.TermBegan() | todo.TermEnded():
                    self._lead.turned_ms = self._clock.now_ms()
                    if isinstance(instruction, todo.TermEnded):
                        self._lead.ended = instruction.reason
                        self._lead.ended_planned = instruction.is_planned
                    self._term_lane.put_nowait(instruction)
                case todo.ReadTail() | todo.AppendClaim() | todo.Publish() | todo.AppendBeginning():
                    self._log_lane.put_nowait(instruction)
                case _:
                    self._lease_lane.put_nowait(instruction)
        # What is to be tried again soon does not wait for the end of a long nap.
        if self._naps_long and self._nap_ms(waits_to_be_told=True) == TICK_MS:
            self._lead.tick_due.set()

    async def run(self) -> None:
        """Until cancelled; what `before_claim` raises comes out."""
        self._leasing.watch()
        end_watch = self._hearing.watch(self._lead.tick_due.set)
        try:
            await run_side_by_side(self._tick, self._mind_lease, self._mind_log, self._mind_terms)
        finally:
            end_watch()
            self._leasing.forget_holder()
            self._claims.forget_early()

    async def end(self) -> None:
        """Leads no more and gives the lease back; `run` still runs meanwhile. Takes a lease's life
        at most."""
        self.tell(facts.StopRequested())
        await self._until(Stopped)
        while not self._term_lane.empty():
            await self._clock.sleep_ms(TICK_MS // 5)

    async def hand_over(self, to: str) -> bool:
        """Gives the lead to `to`, a listening standby; False when there was no lead to give."""
        if not self._lead.is_active:
            return False
        self.tell(facts.HandOverRequested(to))
        await self._until(Standby, Stopped)
        return True

    async def begin(self, generation: Generation) -> Begun:
        """Makes the output log bear the generation that this replica is about to go over to, while
        it holds nothing back; what came of it.
        """
        if not (isinstance(self._state, Leading) and self._state.is_idle):
            return Begun.NOT_NOW
        begun: asyncio.Future[Begun] = asyncio.get_running_loop().create_future()
        self._beginning = generation, begun
        self.tell(facts.BeginningRequested())
        return await begun

    async def abandon(self) -> None:
        """After a failure: the lease goes back if that is possible, wherever the protocol was."""
        self._lead.permit = None
        await self._leasing.abandon()

    async def _until(self, *states: type[State]) -> None:
        deadline_ms = self._clock.monotonic_ms() + self._leader.lease_ttl_ms
        while not isinstance(self._state, states) and self._clock.monotonic_ms() < deadline_ms:
            await self._clock.sleep_ms(TICK_MS // 5)

    # --- time and readiness ----------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            for fact in self._turn.news(ready=self._reach.is_ready):
                self.tell(fact)
            # Who could publish nothing leaves the lease to others: time stands still for it.
            if self._turn.has_come() and self._fitness.is_fit:
                self.tell(facts.TimePassed(self._clock.monotonic_ms()))
            if self._lead.lease_due.is_set():
                self._lead.lease_due.clear()
                self._leasing.doubt()
                self.tell(facts.LeadOffered())
            if self._lead.promoted.is_set() and not self._fitness.is_fit:
                self.tell(facts.Unfit(self._fitness.why_not()))
            waits = self._reach.is_ready and self._turn.has_come()
            nap_ms = self._nap_ms(waits_to_be_told=waits)
            self._naps_long = nap_ms > TICK_MS
            await wait_set(self._lead.tick_due, self._clock, nap_ms)
            self._naps_long = False
            self._lead.tick_due.clear()

    def _nap_ms(self, *, waits_to_be_told: bool) -> int:
        return nap(self._state, self._clock.monotonic_ms(), waits_to_be_told=waits_to_be_told)

    def _lost(self) -> None:
        """The lease server knows our lease no more."""
        state = self._state
        if isinstance(state, Leading) and not (state.lost or state.renewal.asked):
            self.tell(facts.LeaseLost())

    def _vacant(self) -> None:
        """The lease can be had: by who is ready first, and where it is this replica's turn."""
        if self._reach.is_ready and self._turn.has_come() and self._fitness.is_fit:
            self._lead.offer()

    # --- the lease -------------------------------------------------------------------------------

    async def _mind_lease(self) -> None:
        while True:
            instruction = await self._lease_lane.get()
            try:
                # All leases of the process are renewed together.
                renewed = isinstance(instruction, todo.RenewLease) and self._leasing.is_kept
                if renewed and isinstance(self._state, Leading):
                    fact: facts.Fact = facts.LeaseRenewed()
                else:
                    fact = await self._leasing.carry_out(instruction)
            except UnavailableError as error:
                self._log.debug("lease server away", error=str(error))
                gone = isinstance(instruction, todo.ReleaseLease | todo.HandOverLease)
                fact = facts.LeaseGivenBack() if gone else facts.LeaseUnavailable()
            if isinstance(fact, facts.LeaseRefused | facts.LeaseUnavailable):
                self._claims.forget_early()
            self.tell(fact)

    def _hear_death(self, holder: Held) -> None:
        """Who could publish nothing leaves the lease to others. A rank that was told at the last
        tick may be a second old: a replica that fell behind since then is not the one to ask.
        """
        for fact in self._turn.news(ready=self._reach.is_ready):
            self.tell(fact)
        if self._fitness.is_fit:
            self._claims.read_early()
            self.tell(facts.HolderDied(holder.token))

    # --- the output log --------------------------------------------------------------------------

    async def _mind_log(self) -> None:
        while True:
            instruction = await self._log_lane.get()
            match instruction:
                case todo.ReadTail():
                    fact = await self._claims.read_tail()
                case todo.AppendClaim(epoch, expected_sequence):
                    await self._before_claim()
                    fact = await self._claims.claim(epoch, expected_sequence)
                case todo.Publish(permit):
                    fact = await self._publishing.publish(permit)
                case todo.AppendBeginning(permit):
                    generation, begun = self._beginning  # `begin` waits for it
                    fact, outcome = await self._claims.begin(permit, generation)
                    if not begun.done():
                        begun.set_result(outcome)
            if not isinstance(fact, _NO_ANSWER):
                self._hearing.heard()
            self.tell(fact)

    # --- terms -----------------------------------------------------------------------------------

    async def _mind_terms(self) -> None:
        while True:
            instruction = await self._term_lane.get()
            if isinstance(instruction, todo.TermBegan):
                self._lead.epoch = max(self._lead.epoch, instruction.epoch)
                held = len(self._running.engine.outbox)
                self._log.info("leading", epoch=instruction.epoch, held_rows=held)
                self._site.count("lockstep_processor_takeovers_total")
                self._published.to_publish.set()
                await self._on_begin()
            else:
                self._reach.folded.set()  # from now on it follows
                self._log.warning("stepped down", epoch=self._lead.epoch, reason=instruction.reason)
                await self._on_end()
            await self._site.beating.say()
