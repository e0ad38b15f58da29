"""Moves that several states make alike."""

from __future__ import annotations

from lockstep.events import OutputId
from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import Instruction, RenewLease, TrimHeld
from lockstep.leader.protocol.states import Candidate, Own, Renewal, Rules, Standby, Step


def trimmed(tail: facts.Tail) -> tuple[Instruction, ...]:
    """Rows that the tail proves to be published need not be held back."""
    return () if tail.last_id is None else (TrimHeld(tail.last_id),)


def trimmed_by(fact: facts.Fact) -> tuple[Instruction, ...]:
    """The same, where the fact may be of a term that has ended meanwhile."""
    match fact:
        case facts.TailRead(tail) | facts.AppendRefused(tail) | facts.ClaimRefused(tail):
            return trimmed(tail)
        case facts.AppendAccepted(_, last_id):
            return (TrimHeld(last_id),)
        case _:
            return ()


def later(one: OutputId | None, other: OutputId | None) -> OutputId | None:
    """The later of two identities."""
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)


def resting(own: Own, rules: Rules) -> Standby:
    """Standby that does not ask for the lease at once."""
    wait_ms = rules.acquire_every_ms if own.ready else rules.acquire_unready_every_ms
    return Standby(own, next_try_ms=own.now_ms + wait_ms)


def unsure(own: Own, *instructions: Instruction) -> Step:
    """Candidate again after a claim that came to nothing: first see whether the lease is ours."""
    renewal = Renewal(own.now_ms, asked=True)
    again = Candidate(own, renewal, sure=False, reading=False)
    return again, (*instructions, RenewLease())
