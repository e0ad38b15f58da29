"""Claiming: the claim is on its way; accepted, it is the permit."""

from __future__ import annotations

from dataclasses import replace

from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import HandOverLease, ReleaseLease, RenewLease, TermBegan
from lockstep.leader.protocol.leading import publish_next
from lockstep.leader.protocol.moves import resting, trimmed, trimmed_by, unsure
from lockstep.leader.protocol.permit import Permit
from lockstep.leader.protocol.states import Claiming, Leading, Renewal, Rules, Step, Yielding


def on_claiming(state: Claiming, fact: facts.Fact, rules: Rules) -> Step:
    """See `machine.advance`. Leaving with a claim on its way is safe: nobody publishes with it."""
    own = state.own
    match fact:
        case facts.ClaimAccepted(epoch, sequence) if epoch == state.epoch:
            permit = Permit.of_claim(
                claimed_epoch=state.epoch, accepted_epoch=epoch, sequence=sequence
            )
            leading = Leading(own, state.renewal, permit, state.published)
            following, todo = publish_next(leading)
            return following, (TermBegan(epoch), *todo)
        case facts.ClaimRefused(tail):
            return unsure(own, *trimmed(tail))
        case facts.ClaimUnknown():
            return unsure(own)
        case facts.TimePassed() if state.renewal.is_due(own):
            return replace(state, renewal=replace(state.renewal, asked=True)), (RenewLease(),)
        case facts.LeaseRenewed():
            return replace(state, renewal=Renewal(own.now_ms + rules.renew_every_ms)), ()
        case facts.LeaseUnavailable():
            return replace(state, renewal=Renewal(own.now_ms + rules.retry_every_ms)), ()
        case facts.LeaseLost():
            return resting(own, rules), ()
        case facts.HandOverRequested(to):
            return Yielding(own), (HandOverLease(to),)
        case facts.Unfit() | facts.StopRequested():
            return Yielding(own, to_stop=isinstance(fact, facts.StopRequested)), (ReleaseLease(),)
        case _:
            return state, trimmed_by(fact)
