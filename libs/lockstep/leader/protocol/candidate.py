"""Candidate: has the lease, reads the output log's tail, then claims the log behind it."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol.facts import (
    AppendAccepted,
    AppendRefused,
    ClaimRefused,
    Fact,
    HandOverRequested,
    Isolated,
    LeaseLost,
    LeaseRenewed,
    LeaseUnavailable,
    StopRequested,
    TailRead,
    TailUnavailable,
    TimePassed,
)
from lockstep.leader.protocol.instructions import (
    AppendClaim,
    HandOverLease,
    Instruction,
    ReadTail,
    ReleaseLease,
    RenewLease,
    TrimHeld,
)
from lockstep.leader.protocol.moves import resting, trimmed
from lockstep.leader.protocol.states import Candidate, Claiming, Renewal, Rules, Step, Yielding


def on_candidate(state: Candidate, fact: Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    own = state.own
    match fact:
        case TimePassed():
            return _when_due(state)
        case LeaseRenewed():
            renewal = Renewal(own.now_ms + rules.renew_every_ms)
            return _when_due(replace(state, renewal=renewal, sure=True))
        case LeaseUnavailable():
            return replace(state, renewal=Renewal(own.now_ms + rules.retry_every_ms)), ()
        case LeaseLost():
            return resting(own, rules), ()
        case TailRead(tail) if state.reading and state.sure:
            claim = AppendClaim(tail.epoch + 1, tail.sequence)
            claiming = Claiming(own, state.renewal, claim.epoch, tail.sequence, tail.last_id)
            return claiming, (*trimmed(tail), claim)
        case TailRead(tail) | AppendRefused(tail) | ClaimRefused(tail):
            return state, trimmed(tail)
        case AppendAccepted(_, last_id):
            return state, (TrimHeld(last_id),)
        case TailUnavailable():
            at_ms = own.now_ms + rules.retry_every_ms
            return replace(state, reading=False, read_at_ms=at_ms), ()
        case HandOverRequested(to):
            return Yielding(own), (HandOverLease(to),)
        case Isolated() | StopRequested():
            return Yielding(own, to_stop=isinstance(fact, StopRequested)), (ReleaseLease(),)
        case _:
            return state, ()


def _when_due(state: Candidate) -> Step:
    todo: list[Instruction] = []
    if state.renewal.is_due(state.own):
        state = replace(state, renewal=replace(state.renewal, asked=True))
        todo.append(RenewLease())
    if state.sure and not state.reading and state.own.now_ms >= state.read_at_ms:
        state = replace(state, reading=True)
        todo.append(ReadTail())
    return state, tuple(todo)
