"""Yielding: the lease goes back; then standby again, or the end."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import ReleaseLease
from lockstep.leader.protocol.moves import resting, trimmed_by
from lockstep.leader.protocol.states import Rules, State, Step, Stopped, Yielding


def on_yielding(state: Yielding, fact: facts.Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    match fact:
        case facts.LeaseAcquired() if state.asking:
            return replace(state, asking=False), (ReleaseLease(),)
        case facts.LeaseRefused() | facts.LeaseUnavailable() if state.asking:
            return _done(state, rules), ()
        case facts.LeaseGivenBack() if not state.asking:
            return _done(state, rules), ()
        case facts.StopRequested():
            return replace(state, to_stop=True), ()
        case _:
            return state, trimmed_by(fact)


def _done(state: Yielding, rules: Rules) -> State:
    return Stopped(state.own) if state.to_stop else resting(state.own, rules)
