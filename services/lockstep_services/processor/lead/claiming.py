"""What the leader's claims and a look at the output log's end come to, as the protocol's facts."""

from __future__ import annotations

import asyncio
from enum import Enum

from lockstep.bus import Accepted, OutputTail
from lockstep.events import ClaimRecord, Generation, UnavailableError
from lockstep.leader.protocol import Permit, facts
from lockstep_services.processor.replica.leading import Published
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site


class Begun(Enum):
    """What came of asking the output log to bear another generation."""

    STANDS = "stands"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    NOT_NOW = "not now"


class Claims:
    """Of one replica. RestartReplicaError where the log goes on with another state than its own."""

    def __init__(self, site: Site, running: Running, published: Published) -> None:
        self._site = site
        self._running = running
        self._published = published
        self._log = site.log
        self._early: asyncio.Task[OutputTail] | None = None
        self._told: str | None = None
        """Why the log is away, as the log lines said last: it is asked several times a second."""

    def read_early(self) -> None:
        """The leader seems to have died: while the lease is asked for, the log's end is read. A
        claim behind an end that was read too early is refused, as any other is."""
        self.forget_early()
        self._early = asyncio.ensure_future(self._site.output.tail())

    def forget_early(self) -> None:
        """What was read so is of no use any more."""
        early, self._early = self._early, None
        if early is not None:
            early.cancel()
            early.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def read_tail(self) -> facts.Fact:
        """Where the output log ends."""
        early, self._early = self._early, None
        try:
            tail = await (early or self._site.output.tail())
        except UnavailableError as error:
            if str(error) != self._told:
                self._told = str(error)
                self._log.warning("output log away", error=self._told)
            return facts.TailUnavailable()
        self._told = None
        self._published.saw(tail)
        return facts.TailRead(as_fact(tail))

    async def claim(self, epoch: int, expected_sequence: int) -> facts.Fact:
        """Claims the log for the state that runs here."""
        claim = self._claim_of(epoch, self._running.generation)
        try:
            outcome = await self._site.output.append(claim, expected_sequence=expected_sequence)
        except UnavailableError as error:
            self._log.warning("claim without an answer", error=str(error))
            return facts.ClaimUnknown()
        if isinstance(outcome, Accepted):
            self._running.record()
            return facts.ClaimAccepted(epoch, outcome.sequence)
        self._published.saw(outcome.tail)
        return facts.ClaimRefused(as_fact(outcome.tail))

    async def begin(self, permit: Permit, generation: Generation) -> tuple[facts.Fact, Begun]:
        """Claims the log for a state that this replica goes over to when the claim stands."""
        claim = self._claim_of(permit.epoch, generation)
        try:
            outcome = await self._site.output.append(
                claim, expected_sequence=permit.expected_sequence
            )
        except UnavailableError as error:
            self._log.warning("beginning without an answer", error=str(error))
            return facts.AppendUnknown(), Begun.UNKNOWN
        if isinstance(outcome, Accepted):
            return facts.BeginningAccepted(outcome.sequence), Begun.STANDS
        return facts.AppendRefused(as_fact(outcome.tail)), Begun.REFUSED

    def _claim_of(self, epoch: int, generation: Generation) -> ClaimRecord:
        return ClaimRecord(epoch, self._site.node, self._site.clock.now_ms(), generation)


def as_fact(tail: OutputTail) -> facts.Tail:
    """A log's end in the protocol's words."""
    return facts.Tail(tail.sequence, tail.epoch, tail.last_id)
