"""Candidate: has the lease, reads the output log's tail, then claims the log behind it."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import (
    AppendClaim,
    HandOverLease,
    Instruction,
    ReadTail,
    ReleaseLease,
    RenewLease,
)
from lockstep.leader.protocol.moves import resting, trimmed, trimmed_by
from lockstep.leader.protocol.states import Candidate, Claiming, Renewal, Rules, Step, Yielding


def on_candidate(state: Candidate, fact: facts.Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    own = state.own
    match fact:
        case facts.TimePassed():
            return _when_due(state)
        case facts.LeaseRenewed():
            renewal = Renewal(own.now_ms + rules.renew_every_ms)
            return _when_due(replace(state, renewal=renewal, sure=True))
        case facts.LeaseUnavailable():
            return replace(state, renewal=Renewal(own.now_ms + rules.retry_every_ms)), ()
        case facts.LeaseLost():
            return resting(own, rules), ()
        case facts.TailRead(tail) if state.reading and state.sure:
            claim = AppendClaim(tail.epoch + 1, tail.sequence)
            claiming = Claiming(own, state.renewal, claim.epoch, tail.sequence, tail.last_id)
            return claiming, (*trimmed(tail), claim)
        case facts.TailUnavailable():
            at_ms = own.now_ms + rules.retry_every_ms
            return replace(state, reading=False, read_at_ms=at_ms), ()
        case facts.HandOverRequested(to):
            return Yielding(own), (HandOverLease(to),)
        case facts.Unfit() | facts.StopRequested():
            return Yielding(own, to_stop=isinstance(fact, facts.StopRequested)), (ReleaseLease(),)
        case _:
            return state, trimmed_by(fact)


def _when_due(state: Candidate) -> Step:
    todo: list[Instruction] = []
    if state.renewal.is_due(state.own):
        state = replace(state, renewal=replace(state.renewal, asked=True))
        todo.append(RenewLease())
    if state.sure and not state.reading and state.own.now_ms >= state.read_at_ms:
        state = replace(state, reading=True)
        todo.append(ReadTail())
    return state, tuple(todo)
