"""The leadership of one replica as a pure function: state, fact in; state, instructions out.

No I/O, no clock, no randomness. Its owner carries out the instructions and answers each with one
fact: those about the lease one after another, those about the output log as they come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lockstep.leader.protocol.candidate import on_candidate
from lockstep.leader.protocol.claiming import on_claiming
from lockstep.leader.protocol.facts import (
    AppendRefused,
    ClaimAccepted,
    ClaimRefused,
    ClaimUnknown,
    Fact,
    HandOverRequested,
    Isolated,
    LeaseAcquired,
    LeaseGivenBack,
    LeaseLost,
    LeaseRefused,
    LeaseUnavailable,
    StopRequested,
    TailRead,
)
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

TRANSITIONS: Final[frozenset[tuple[type[State], type[State], type[Fact]]]] = frozenset(
    {
        (Standby, Candidate, LeaseAcquired),
        (Standby, Yielding, StopRequested),
        (Standby, Stopped, StopRequested),
        (Candidate, Claiming, TailRead),
        (Candidate, Standby, LeaseLost),
        (Candidate, Yielding, HandOverRequested),
        (Candidate, Yielding, Isolated),
        (Candidate, Yielding, StopRequested),
        (Claiming, Leading, ClaimAccepted),
        (Claiming, Candidate, ClaimRefused),
        (Claiming, Candidate, ClaimUnknown),
        (Claiming, Standby, LeaseLost),
        (Claiming, Yielding, HandOverRequested),
        (Claiming, Yielding, Isolated),
        (Claiming, Yielding, StopRequested),
        (Leading, Yielding, AppendRefused),
        (Leading, Yielding, ClaimRefused),
        (Leading, Yielding, TailRead),
        (Leading, Yielding, HandOverRequested),
        (Leading, Yielding, Isolated),
        (Leading, Yielding, StopRequested),
        (Leading, Standby, AppendRefused),
        (Leading, Standby, ClaimRefused),
        (Leading, Standby, TailRead),
        (Leading, Standby, LeaseRefused),
        (Yielding, Standby, LeaseGivenBack),
        (Yielding, Standby, LeaseRefused),
        (Yielding, Standby, LeaseUnavailable),
        (Yielding, Stopped, LeaseGivenBack),
        (Yielding, Stopped, LeaseRefused),
        (Yielding, Stopped, LeaseUnavailable),
    }
)
"""Every way from one state to another and the fact that opens it."""


def advance(state: State, fact: Fact, rules: Rules) -> Step:
    """What follows from a fact."""
    state = replace(state, own=state.own.after(fact))
    following, instructions = _dispatch(state, fact, rules)
    way = (type(state), type(following), type(fact))
    if way[0] is not way[1] and way not in TRANSITIONS:
        raise AssertionError(f"no way leads from {way[0].__name__} by {way[2].__name__} there")
    return following, instructions


def _dispatch(state: State, fact: Fact, rules: Rules) -> Step:
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
