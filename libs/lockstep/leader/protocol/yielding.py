"""Yielding: the lease goes back; then standby again, or the end."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol.facts import (
    AppendAccepted,
    AppendRefused,
    ClaimRefused,
    Fact,
    LeaseAcquired,
    LeaseGivenBack,
    LeaseRefused,
    LeaseUnavailable,
    StopRequested,
    TailRead,
)
from lockstep.leader.protocol.instructions import ReleaseLease, TrimHeld
from lockstep.leader.protocol.moves import resting, trimmed
from lockstep.leader.protocol.states import Rules, State, Step, Stopped, Yielding


def on_yielding(state: Yielding, fact: Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    match fact:
        case LeaseAcquired() if state.asking:
            return replace(state, asking=False), (ReleaseLease(),)
        case LeaseRefused() | LeaseUnavailable() if state.asking:
            return _done(state, rules), ()
        case LeaseGivenBack() if not state.asking:
            return _done(state, rules), ()
        case StopRequested():
            return replace(state, to_stop=True), ()
        case TailRead(tail) | AppendRefused(tail) | ClaimRefused(tail):
            return state, trimmed(tail)
        case AppendAccepted(_, last_id):
            return state, (TrimHeld(last_id),)
        case _:
            return state, ()


def _done(state: Yielding, rules: Rules) -> State:
    return Stopped(state.own) if state.to_stop else resting(state.own, rules)
