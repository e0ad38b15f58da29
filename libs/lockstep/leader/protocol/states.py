"""The states of one replica's leadership and what each of them knows. Data alone; see `machine`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lockstep.events import OutputId
from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import Instruction
from lockstep.leader.protocol.permit import Permit


@dataclass(frozen=True, slots=True)
class Rules:
    """How often things are tried, in milliseconds.

    A replica that is not ready leaves the lead to those who are (`DeferenceChanged`). Where there
    are none it asks for the lease, more seldom, as it may be the only one.
    """

    renew_every_ms: int
    acquire_every_ms: int
    acquire_unready_every_ms: int
    retry_every_ms: int


@dataclass(frozen=True, slots=True)
class Own:
    """What a replica knows about itself in every state; `held` is the last row held back."""

    now_ms: int = 0
    ready: bool = False
    defers: bool = False
    held: OutputId | None = None

    @property
    def may_ask(self) -> bool:
        """It is ready, or nobody who is ready is there."""
        return self.ready or not self.defers

    def after(self, fact: facts.Fact) -> Own:
        """With what the fact tells about the replica itself. Time and rows come with each slice,
        and `replace` would cost as much as all else that is decided then."""
        match fact:
            case facts.TimePassed(now_ms):
                return Own(now_ms, self.ready, self.defers, self.held)
            case facts.ReadinessChanged(ready):
                return replace(self, ready=ready)
            case facts.DeferenceChanged(defers):
                return replace(self, defers=defers)
            case facts.RowsHeld(up_to):
                return Own(self.now_ms, self.ready, self.defers, up_to)
            case _:
                return self


@dataclass(frozen=True, slots=True)
class Renewal:
    """When the lease is to be prolonged, or whether that has been asked for."""

    due_ms: int
    asked: bool = False

    def is_due(self, own: Own) -> bool:
        """Now, and not asked for yet."""
        return not self.asked and own.now_ms >= self.due_ms


@dataclass(frozen=True, slots=True)
class Standby:
    """Folds and holds back; `asking` for the lease, or about to at `next_try_ms`.

    `died`: the token of a holder that has died, to be asked about next.
    """

    own: Own
    asking: bool = False
    next_try_ms: int = 0
    died: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Has the lease and looks where the output log ends, before it claims it.

    `sure`: the lease has been seen to be ours since the last claim came to nothing. Of two replicas
    that both believe to have the lease one so gives in, instead of both claiming in turn.
    """

    own: Own
    renewal: Renewal
    sure: bool = True
    reading: bool = True
    read_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Claiming:
    """Has appended a claim and waits for the log's word; `published`: the tail's last identity."""

    own: Own
    renewal: Renewal
    epoch: int
    expected_sequence: int
    published: OutputId | None


@dataclass(frozen=True, slots=True)
class Leading:
    """Publishes with the permit, one append at a time.

    `in_flight`: an append is under way. `doubtful`: an append had no answer, and the tail has to be
    read (`reading`, or at `read_at_ms`) before the next one. `lost`: the lease server has forgotten
    our lease; `renewal` then tells about asking for it anew.
    """

    own: Own
    renewal: Renewal
    permit: Permit
    published: OutputId | None
    in_flight: bool = False
    doubtful: bool = False
    reading: bool = False
    read_at_ms: int = 0
    lost: bool = False

    @property
    def is_idle(self) -> bool:
        """The permit's sequence is where the log ends, as far as we know."""
        return not (self.in_flight or self.doubtful)


@dataclass(frozen=True, slots=True)
class Yielding:
    """Gives the lease back, or (`asking`) waits for one asked for, to give it back then."""

    own: Own
    asking: bool = False
    to_stop: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """The end."""

    own: Own


State = Standby | Candidate | Claiming | Leading | Yielding | Stopped
Step = tuple[State, tuple[Instruction, ...]]

START: Final = Standby(Own())
