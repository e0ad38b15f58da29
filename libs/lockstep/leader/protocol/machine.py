"""The leadership of one replica as a pure function: state, fact in; state, instructions out.

No I/O, no clock, no randomness. Its owner carries out the instructions and answers each with one
fact: those about the lease one after another, those about the output log as they come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lockstep.leader.protocol import facts
from lockstep.leader.protocol.candidate import on_candidate
from lockstep.leader.protocol.claiming import on_claiming
from lockstep.leader.protocol.leading import on_leading
from lockstep.leader.protocol.standby import on_standby
from lockstep.leader.protocol.states import (
    Candidate,
    Claiming,
    Leading,
    Rules,
    Standby,
    State,
    Step,
    Stopped,
    Yielding,
)
from lockstep.leader.protocol.yielding import on_yielding

TRANSITIONS: Final[frozenset[tuple[type[State], type[State], type[facts.Fact]]]] = frozenset(
    {
        (Standby, Candidate, facts.LeaseAcquired),
        (Standby, Yielding, facts.StopRequested),
        (Standby, Stopped, facts.StopRequested),
        (Candidate, Claiming, facts.TailRead),
        (Candidate, Standby, facts.LeaseLost),
        (Candidate, Yielding, facts.HandOverRequested),
        (Candidate, Yielding, facts.Unfit),
        (Candidate, Yielding, facts.StopRequested),
        (Claiming, Leading, facts.ClaimAccepted),
        (Claiming, Candidate, facts.ClaimRefused),
        (Claiming, Candidate, facts.ClaimUnknown),
        (Claiming, Standby, facts.LeaseLost),
        (Claiming, Yielding, facts.HandOverRequested),
        (Claiming, Yielding, facts.Unfit),
        (Claiming, Yielding, facts.StopRequested),
        (Leading, Yielding, facts.AppendRefused),
        (Leading, Yielding, facts.ClaimRefused),
        (Leading, Yielding, facts.TailRead),
        (Leading, Yielding, facts.HandOverRequested),
        (Leading, Yielding, facts.Unfit),
        (Leading, Yielding, facts.StopRequested),
        (Leading, Standby, facts.AppendRefused),
        (Leading, Standby, facts.ClaimRefused),
        (Leading, Standby, facts.TailRead),
        (Leading, Standby, facts.LeaseRefused),
        (Yielding, Standby, facts.LeaseGivenBack),
        (Yielding, Standby, facts.LeaseRefused),
        (Yielding, Standby, facts.LeaseUnavailable),
        (Yielding, Stopped, facts.LeaseGivenBack),
        (Yielding, Stopped, facts.LeaseRefused),
        (Yielding, Stopped, facts.LeaseUnavailable),
    }
)
"""Every way from one state to another and the fact that opens it."""


def advance(state: State, fact: facts.Fact, rules: Rules) -> Step:
    """What follows from a fact."""
    own = state.own.after(fact)
    if own is not state.own:
        state = replace(state, own=own)
    following, instructions = _dispatch(state, fact, rules)
    way = (type(state), type(following), type(fact))
    if way[0] is not way[1] and way not in TRANSITIONS:
        raise AssertionError(f"no way leads from {way[0].__name__} by {way[2].__name__} there")
    return following, instructions


def _dispatch(state: State, fact: facts.Fact, rules: Rules) -> Step:
    match state:
        case Standby():
            return on_standby(state, fact, rules)
        case Candidate():
            return on_candidate(state, fact, rules)
        case Claiming():
            return on_claiming(state, fact, rules)
        case Leading():
            return on_leading(state, fact, rules)
        case Yielding():
            return on_yielding(state, fact, rules)
        case Stopped():
            return state, ()
