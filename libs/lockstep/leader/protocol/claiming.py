"""Claiming: the claim is on its way; accepted, it is the permit."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol.facts import (
    AppendAccepted,
    AppendRefused,
    ClaimAccepted,
    ClaimRefused,
    ClaimUnknown,
    Fact,
    HandOverRequested,
    Isolated,
    LeaseLost,
    LeaseRenewed,
    LeaseUnavailable,
    StopRequested,
    TailRead,
    TimePassed,
)
from lockstep.leader.protocol.instructions import (
    HandOverLease,
    ReleaseLease,
    RenewLease,
    TermBegan,
    TrimHeld,
)
from lockstep.leader.protocol.leading import publish_next
from lockstep.leader.protocol.moves import resting, trimmed, unsure
from lockstep.leader.protocol.permit import Permit
from lockstep.leader.protocol.states import Claiming, Leading, Renewal, Rules, Step, Yielding


def on_claiming(state: Claiming, fact: Fact, rules: Rules) -> Step:
    """See `machine.advance`. Leaving with a claim on its way is safe: nobody publishes with it."""
    own = state.own
    match fact:
        case ClaimAccepted(epoch, sequence) if epoch == state.epoch:
            permit = Permit.of_claim(
                claimed_epoch=state.epoch, accepted_epoch=epoch, sequence=sequence
            )
            leading = Leading(own, state.renewal, permit, state.published)
            following, todo = publish_next(leading)
            return following, (TermBegan(epoch), *todo)
        case ClaimRefused(tail):
            return unsure(own, *trimmed(tail))
        case ClaimUnknown():
            return unsure(own)
        case TimePassed() if state.renewal.is_due(own):
            return replace(state, renewal=replace(state.renewal, asked=True)), (RenewLease(),)
        case LeaseRenewed():
            return replace(state, renewal=Renewal(own.now_ms + rules.renew_every_ms)), ()
        case LeaseUnavailable():
            return replace(state, renewal=Renewal(own.now_ms + rules.retry_every_ms)), ()
        case LeaseLost():
            return resting(own, rules), ()
        case TailRead(tail) | AppendRefused(tail):
            return state, trimmed(tail)
        case AppendAccepted(_, last_id):
            return state, (TrimHeld(last_id),)
        case HandOverRequested(to):
            return Yielding(own), (HandOverLease(to),)
        case Isolated() | StopRequested():
            return Yielding(own, to_stop=isinstance(fact, StopRequested)), (ReleaseLease(),)
        case _:
            return state, ()
