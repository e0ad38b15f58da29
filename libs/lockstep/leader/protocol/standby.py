"""Standby: folds and holds back; asks for the lease from time to time."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol.facts import (
    AppendAccepted,
    AppendRefused,
    ClaimRefused,
    DeferenceChanged,
    Fact,
    LeadOffered,
    LeaseAcquired,
    LeaseRefused,
    LeaseUnavailable,
    ReadinessChanged,
    StopRequested,
    TailRead,
    TimePassed,
)
from lockstep.leader.protocol.instructions import AcquireLease, ReadTail, TrimHeld
from lockstep.leader.protocol.moves import resting, trimmed
from lockstep.leader.protocol.states import (
    Candidate,
    Renewal,
    Rules,
    Standby,
    Step,
    Stopped,
    Yielding,
)


def on_standby(state: Standby, fact: Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    own = state.own
    match fact:
        case TimePassed():
            return _try_when_due(state)
        case LeadOffered() | ReadinessChanged(True) | DeferenceChanged(False):
            # The wait that was meant for others is over.
            return _try_when_due(replace(state, next_try_ms=own.now_ms))
        case LeaseAcquired() if state.asking:
            renewal = Renewal(own.now_ms + rules.renew_every_ms)
            return Candidate(own, renewal), (ReadTail(),)
        case LeaseRefused() | LeaseUnavailable() if state.asking:
            return resting(own, rules), ()
        case TailRead(tail) | AppendRefused(tail) | ClaimRefused(tail):
            return state, trimmed(tail)
        case AppendAccepted(_, last_id):
            return state, (TrimHeld(last_id),)  # of a term that has ended meanwhile
        case StopRequested():
            return (Yielding(own, asking=True, to_stop=True) if state.asking else Stopped(own)), ()
        case _:
            return state, ()


def _try_when_due(state: Standby) -> Step:
    if state.asking or not state.own.may_ask or state.own.now_ms < state.next_try_ms:
        return state, ()
    return replace(state, asking=True), (AcquireLease(),)
