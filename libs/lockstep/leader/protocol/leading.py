"""Leading: publishes what is held back, behind what the log has, until log or lease says no.

The lease server being away changes nothing: nobody else can take the lease then, and the log
refuses everybody who has not claimed it.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import OutputId
from lockstep.leader.protocol import facts
from lockstep.leader.protocol.instructions import (
    AcquireLease,
    AppendBeginning,
    HandOverLease,
    Instruction,
    Publish,
    ReadTail,
    ReleaseLease,
    RenewLease,
    TermEnded,
    TrimHeld,
)
from lockstep.leader.protocol.moves import later, resting, trimmed
from lockstep.leader.protocol.states import Leading, Renewal, Rules, Step, Yielding


def on_leading(state: Leading, fact: facts.Fact, rules: Rules) -> Step:
    """See `machine.advance`."""
    match fact:
        case facts.RowsHeld():
            return publish_next(state)
        case facts.TimePassed():
            return _when_due(state)
        case facts.AppendAccepted():
            return _accepted(state, fact)
        case facts.BeginningRequested() if state.is_idle:
            return replace(state, in_flight=True), (AppendBeginning(state.permit),)
        case facts.BeginningAccepted(sequence) if sequence > state.permit.expected_sequence:
            return publish_next(_moved(state, sequence, state.published))
        case facts.AppendRefused(tail) | facts.ClaimRefused(tail):
            return _told(state, tail, rules)
        case facts.AppendUnknown() if state.in_flight:
            return replace(state, in_flight=False, doubtful=True, reading=True), (ReadTail(),)
        case facts.TailRead(tail):
            return _told(state, tail, rules)
        case facts.TailUnavailable():
            return _reads_later(state, rules), ()
        case facts.HandOverRequested(to):
            ended = TermEnded(f"handed over to {to}", is_planned=True)
            return Yielding(state.own), (ended, HandOverLease(to))
        case facts.Unfit() | facts.StopRequested():
            return _leave(state, fact)
        case _:
            return _about_lease(state, fact, rules)


def publish_next(state: Leading) -> Step:
    """Publishes what is held behind the last published row, if that may be done now."""
    behind = state.own.held is not None and (
        state.published is None or state.own.held > state.published
    )
    if not state.is_idle or not behind:
        return state, ()
    return replace(state, in_flight=True), (Publish(state.permit, state.published),)


def _accepted(state: Leading, fact: facts.AppendAccepted) -> Step:
    trim = TrimHeld(fact.last_id)
    if fact.sequence <= state.permit.expected_sequence:
        return state, (trim,)  # of an earlier term of ours
    published = later(state.published, fact.last_id)
    following, todo = publish_next(_moved(state, fact.sequence, published))
    return following, (trim, *todo)


def _moved(state: Leading, sequence: int, published: OutputId | None) -> Leading:
    """What was under way stands; the log ends at `sequence`."""
    permit = state.permit.at(sequence)
    return replace(state, permit=permit, published=published, in_flight=False, doubtful=False)


def _told(state: Leading, tail: facts.Tail, rules: Rules) -> Step:
    """The log's end, after a refusal or a doubt."""
    if tail.epoch > state.permit.epoch:
        ended = TermEnded(f"epoch {tail.epoch} has claimed the log")
        released: tuple[Instruction, ...] = () if state.lost else (ReleaseLease(),)
        after = resting(state.own, rules) if state.lost else Yielding(state.own)
        if state.lost and state.renewal.asked:
            after = Yielding(state.own, asking=True)
        return after, (*trimmed(tail), ended, *released)
    if tail.epoch < state.permit.epoch or tail.sequence < state.permit.expected_sequence:
        # From before our claim or our last append: who is in doubt has to look once more.
        return _reads_later(state, rules) if state.reading else state, trimmed(tail)
    # Our own epoch: nobody else writes with it, so what stands there is an append of ours whose
    # answer was lost.
    moved = _moved(state, tail.sequence, later(state.published, tail.last_id))
    following, todo = publish_next(replace(moved, reading=False))
    return following, (*trimmed(tail), *todo)


def _reads_later(state: Leading, rules: Rules) -> Leading:
    """A look at the log's end has told nothing; the next one is not at once."""
    return replace(state, reading=False, read_at_ms=state.own.now_ms + rules.retry_every_ms)


def _when_due(state: Leading) -> Step:
    todo: list[Instruction] = []
    if state.renewal.is_due(state.own):
        state = replace(state, renewal=replace(state.renewal, asked=True))
        todo.append(AcquireLease() if state.lost else RenewLease())
    if state.doubtful and not state.reading and state.own.now_ms >= state.read_at_ms:
        state = replace(state, reading=True)
        todo.append(ReadTail())
    return state, tuple(todo)


def _about_lease(state: Leading, fact: facts.Fact, rules: Rules) -> Step:
    own = state.own
    match fact:
        case facts.LeaseRenewed() | facts.LeaseAcquired():
            return replace(
                state, renewal=Renewal(own.now_ms + rules.renew_every_ms), lost=False
            ), ()
        case facts.LeaseUnavailable():
            return replace(state, renewal=Renewal(own.now_ms + rules.retry_every_ms)), ()
        case facts.LeaseLost():
            # Its server may have forgotten everything: ask for it anew, and go on meanwhile.
            renewal = Renewal(own.now_ms, asked=True)
            return replace(state, renewal=renewal, lost=True), (AcquireLease(),)
        case facts.LeaseRefused() if state.lost:
            return resting(own, rules), (TermEnded("somebody else has the lease"),)
        case _:
            return state, ()


def _leave(state: Leading, fact: facts.Unfit | facts.StopRequested) -> Step:
    stop = isinstance(fact, facts.StopRequested)
    ended = TermEnded(fact.why if isinstance(fact, facts.Unfit) else "stopping", is_planned=stop)
    if state.lost and state.renewal.asked:
        return Yielding(state.own, asking=True, to_stop=stop), (ended,)
    return Yielding(state.own, to_stop=stop), (ended, ReleaseLease())
