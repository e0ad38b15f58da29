"""Standby: folds and holds back; asks for the lease from time to time."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import AcquireLease, ReadTail
from lockstep.leader.protocol.moves import resting, trimmed_by
from lockstep.leader.protocol.states import (
    Candidate,
    Renewal,
    Rules,
    Standby,
    Step,
    Stopped,
    Yielding,
)


def on_standby(state: Standby, fact: facts.Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    own = state.own
    match fact:
        case facts.TimePassed():
            return _try_when_due(state)
        case facts.LeadOffered() | facts.ReadinessChanged(True) | facts.DeferenceChanged(False):
            # The wait that was meant for others is over.
            return _try_when_due(replace(state, next_try_ms=own.now_ms))
        case facts.HolderDied(token):
            return _try_when_due(replace(state, died=token, next_try_ms=own.now_ms))
        case facts.LeaseAcquired() if state.asking:
            renewal = Renewal(own.now_ms + rules.renew_every_ms)
            return Candidate(own, renewal), (ReadTail(),)
        case facts.LeaseRefused() | facts.LeaseUnavailable() if state.asking:
            if state.died:  # heard of while the answer was on its way
                return _try_when_due(replace(state, asking=False, next_try_ms=own.now_ms))
            return resting(own, rules), ()
        case facts.StopRequested():
            return (Yielding(own, asking=True, to_stop=True) if state.asking else Stopped(own)), ()
        case _:
            return state, trimmed_by(fact)


def _try_when_due(state: Standby) -> Step:
    if state.asking or not state.own.may_ask or state.own.now_ms < state.next_try_ms:
        return state, ()
    return replace(state, asking=True, died=""), (AcquireLease(state.died),)
