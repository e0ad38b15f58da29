"""The protocol's rules one by one; their interplay is explored in tests/property."""

from __future__ import annotations

from collections import deque

import pytest

from lockstep.events import OutputId
from lockstep.leader.protocol import (
    START,
    TRANSITIONS,
    Candidate,
    Leading,
    Permit,
    Rules,
    Standby,
    State,
    Stopped,
    Yielding,
    advance,
)
from lockstep.leader.protocol import facts as f
from lockstep.leader.protocol import instructions as i

RULES = Rules(
    renew_every_ms=400,
    acquire_every_ms=500,
    acquire_unready_every_ms=4_000,
    retry_every_ms=100,
)
FIRST, SECOND, THIRD = OutputId(1, 0), OutputId(2, 0), OutputId(3, 0)
EMPTY = f.Tail(0, 0, None)


def run(*facts: f.Fact, state: State = START) -> tuple[State, tuple[i.Instruction, ...]]:
    """The state after some facts and the last one's instructions."""
    told: tuple[i.Instruction, ...] = ()
    for fact in facts:
        state, told = advance(state, fact, RULES)
    return state, told


def leading(tail: f.Tail = EMPTY, *, held: OutputId | None = None) -> Leading:
    """A replica that leads behind a tail."""
    holding = () if held is None else (f.RowsHeld(held),)
    state, _ = run(
        f.ReadinessChanged(True),
        f.LeaseAcquired(),
        f.TailRead(tail),
        *holding,
        f.ClaimAccepted(tail.epoch + 1, tail.sequence + 1),
    )
    assert isinstance(state, Leading)
    return state


def test_the_way_to_the_lead() -> None:
    """Ready, lease, tail, claim with the next epoch behind the tail, then rows behind its last."""
    state, told = run(f.ReadinessChanged(True), f.RowsHeld(SECOND))
    assert isinstance(state, Standby)
    state, told = run(f.LeaseAcquired(), state=state)
    assert told == (i.ReadTail(),)
    state, told = run(f.TailRead(f.Tail(7, 3, FIRST)), state=state)
    assert told == (i.TrimHeld(FIRST), i.AppendClaim(4, 7))
    state, told = run(f.ClaimAccepted(4, 8), state=state)
    assert isinstance(state, Leading)
    assert told == (i.TermBegan(4), i.Publish(state.permit, FIRST))
    assert (state.permit.epoch, state.permit.expected_sequence) == (4, 8)


def test_a_leader_appends_one_at_a_time_and_expects_what_the_log_told() -> None:
    """While an append is under way new rows wait; its answer moves the permit."""
    state, told = run(f.RowsHeld(FIRST), state=leading())
    assert [type(each) for each in told] == [i.Publish]
    state, told = run(f.RowsHeld(THIRD), state=state)
    assert told == ()
    state, told = run(f.AppendAccepted(2, FIRST), state=state)
    assert isinstance(state, Leading)
    assert told == (i.TrimHeld(FIRST), i.Publish(state.permit, FIRST))
    assert state.permit.expected_sequence == 2


def test_a_leader_refused_by_a_newer_epoch_steps_down() -> None:
    """It trims what the log has, ends its term and gives the lease back."""
    state, told = run(f.RowsHeld(SECOND), f.AppendRefused(f.Tail(5, 2, FIRST)), state=leading())
    assert isinstance(state, Yielding)
    assert [type(each) for each in told] == [i.TrimHeld, i.TermEnded, i.ReleaseLease]
    state, told = run(f.LeaseGivenBack(), state=state)
    assert isinstance(state, Standby)


def test_a_leader_refused_by_its_own_epoch_goes_on_behind_what_stands() -> None:
    """An append whose answer was lost stands: the next one goes behind it."""
    state, told = run(f.RowsHeld(SECOND), f.AppendRefused(f.Tail(2, 1, FIRST)), state=leading())
    assert isinstance(state, Leading)
    assert told == (i.TrimHeld(FIRST), i.Publish(state.permit, FIRST))
    assert state.permit.expected_sequence == 2


def test_a_leader_in_doubt_reads_the_tail_before_it_goes_on() -> None:
    """No answer: nothing is appended until the tail is known, however long that takes."""
    state, told = run(f.RowsHeld(SECOND), f.AppendUnknown(), state=leading())
    assert told == (i.ReadTail(),)
    state, told = run(f.TailUnavailable(), f.RowsHeld(THIRD), f.TimePassed(99), state=state)
    assert told == ()
    state, told = run(f.TimePassed(100), state=state)
    assert told == (i.ReadTail(),)
    state, told = run(f.TailRead(f.Tail(2, 1, SECOND)), state=state)
    assert isinstance(state, Leading)
    assert told == (i.TrimHeld(SECOND), i.Publish(state.permit, SECOND))


@pytest.mark.parametrize("older", [EMPTY, f.Tail(1, 1, None)], ids=["claim", "append"])
def test_a_leader_in_doubt_that_is_shown_an_older_end_looks_again(older: f.Tail) -> None:
    """One from before its claim or its last append tells nothing: the next look decides, and it is
    not at once, however often that happens."""
    state, _ = run(f.RowsHeld(THIRD), f.AppendAccepted(2, FIRST), state=leading())
    state, told = run(f.AppendUnknown(), state=state)
    assert told == (i.ReadTail(),)
    looks = []
    for ms in range(1, 1_001):
        state, told = run(f.TailRead(older), f.RowsHeld(THIRD), state=state)
        assert told == ()
        state, told = run(f.TimePassed(ms), state=state)
        looks += [ms] if i.ReadTail() in told else []
    assert looks == list(range(100, 1_001, 100))
    state, told = run(f.TailRead(f.Tail(2, 1, FIRST)), state=state)
    assert isinstance(state, Leading)
    assert told == (i.TrimHeld(FIRST), i.Publish(state.permit, FIRST))
    assert state.permit.expected_sequence == 2


def test_a_leader_goes_on_while_the_lease_server_is_away() -> None:
    """Renewals fail, appends are accepted, and it asks again soon."""
    state, told = run(f.TimePassed(400), state=leading())
    assert told == (i.RenewLease(),)
    state, told = run(f.LeaseUnavailable(), f.RowsHeld(FIRST), state=state)
    assert [type(each) for each in told] == [i.Publish]
    state, told = run(f.AppendAccepted(2, FIRST), f.TimePassed(500), state=state)
    assert told == (i.RenewLease(),)
    assert isinstance(state, Leading)


def test_a_forgotten_lease_is_asked_for_anew() -> None:
    """A flushed lease server gives it again and the term goes on; to somebody else, it ends."""
    state, told = run(f.TimePassed(400), f.LeaseLost(), state=leading())
    assert told == (i.AcquireLease(),)
    again, _ = run(f.LeaseAcquired(), state=state)
    assert isinstance(again, Leading)
    assert not again.lost
    ended, told = run(f.LeaseRefused(), state=state)
    assert isinstance(ended, Standby)
    assert [type(each) for each in told] == [i.TermEnded]


def test_a_refused_claim_is_repeated_only_with_a_lease_that_is_ours() -> None:
    """Of two that believe to have the lease, the one whose renewal fails gives in."""
    claiming, _ = run(f.LeaseAcquired(), f.TailRead(EMPTY), state=Standby(START.own, asking=True))
    state, told = run(f.ClaimRefused(f.Tail(1, 1, None)), state=claiming)
    assert isinstance(state, Candidate)
    assert told == (i.RenewLease(),)
    state, told = run(f.TailRead(f.Tail(1, 1, None)), state=state)
    assert told == ()
    _, told = run(f.LeaseRenewed(), state=state)
    assert told == (i.ReadTail(),)
    given_in, _ = run(f.LeaseLost(), state=state)
    assert isinstance(given_in, Standby)


def test_a_claim_in_doubt_is_made_anew_with_a_new_epoch() -> None:
    """Its first form may stand or arrive later; nobody publishes with it."""
    claiming, _ = run(f.LeaseAcquired(), f.TailRead(EMPTY), state=Standby(START.own, asking=True))
    state, _ = run(f.ClaimUnknown(), f.LeaseRenewed(), state=claiming)
    state, told = run(f.TailRead(f.Tail(1, 1, None)), state=state)
    assert told == (i.AppendClaim(2, 1),)
    state, _ = run(f.ClaimAccepted(1, 1), state=state)
    assert not isinstance(state, Leading)
    state, _ = run(f.ClaimAccepted(2, 2), state=state)
    assert isinstance(state, Leading)


def test_an_unready_replica_leaves_the_lead_to_others_but_not_for_ever() -> None:
    """It asks more seldom, and at once when it becomes ready or the lead is offered."""
    state, told = run(f.TimePassed(0))
    assert told == (i.AcquireLease(),)
    state, told = run(f.LeaseRefused(), f.TimePassed(3_999), state=state)
    assert told == ()
    for urge in (f.TimePassed(4_000), f.ReadinessChanged(True), f.LeadOffered()):
        assert run(urge, state=state)[1] == (i.AcquireLease(),)


def test_handing_over_ends_the_term_at_once() -> None:
    """An append under way may still land; its late answer trims and nothing else."""
    state, told = run(f.RowsHeld(FIRST), f.HandOverRequested("b"), state=leading())
    assert [type(each) for each in told] == [i.TermEnded, i.HandOverLease]
    state, told = run(f.LeaseGivenBack(), f.AppendAccepted(2, FIRST), state=state)
    assert isinstance(state, Standby)
    assert told == (i.TrimHeld(FIRST),)


def test_stopping_waits_for_a_lease_that_was_asked_for() -> None:
    """So that it does not block the others for its time to live."""
    asking, _ = run(f.TimePassed(0))
    state, _ = run(f.StopRequested(), state=asking)
    assert isinstance(state, Yielding)
    state, told = run(f.LeaseAcquired(), state=state)
    assert told == (i.ReleaseLease(),)
    state, _ = run(f.LeaseGivenBack(), state=state)
    assert isinstance(state, Stopped)
    assert isinstance(run(f.StopRequested())[0], Stopped)


def test_a_leader_whose_state_changes_claims_again_with_its_epoch() -> None:
    """Nothing is published meanwhile; then it goes on behind the claim."""
    before = leading()
    state, told = run(f.BeginningRequested(), state=before)
    assert told == (i.AppendBeginning(before.permit),)
    state, told = run(f.RowsHeld(FIRST), state=state)
    assert told == ()
    state, told = run(f.BeginningAccepted(2), state=state)
    permit = Permit.of_claim(claimed_epoch=1, accepted_epoch=1, sequence=2)
    assert told == (i.Publish(permit, None),)


def test_a_state_does_not_change_while_an_append_is_under_way_or_in_doubt() -> None:
    """Where the log ends is not known then."""
    busy = leading(held=FIRST)
    assert run(f.BeginningRequested(), state=busy) == (busy, ())
    doubtful, _ = run(f.AppendUnknown(), state=busy)
    assert run(f.BeginningRequested(), state=doubtful) == (doubtful, ())


def test_a_beginning_without_an_answer_is_looked_for_in_the_log() -> None:
    """With our own epoch it is ours, and the lead goes on; with another it has ended."""
    state, _ = run(f.BeginningRequested(), state=leading())
    state, told = run(f.AppendUnknown(), state=state)
    assert told == (i.ReadTail(),)
    after, _ = run(f.TailRead(f.Tail(2, 1, None)), state=state)
    assert isinstance(after, Leading)
    assert (after.permit.expected_sequence, after.is_idle) == (2, True)
    after, _ = run(f.TailRead(f.Tail(2, 2, None)), state=state)
    assert isinstance(after, Yielding)


def test_answers_of_an_earlier_term_do_not_move_the_permit() -> None:
    """They are true, so they trim; but they are about another claim."""
    state = leading(f.Tail(9, 4, FIRST), held=THIRD)
    after, told = run(f.AppendAccepted(9, SECOND), state=state)
    assert after == state
    assert told == (i.TrimHeld(SECOND),)
    after, told = run(f.AppendRefused(f.Tail(9, 4, SECOND)), state=state)
    assert after == state
    assert told == (i.TrimHeld(SECOND),)


def test_a_leader_that_could_publish_nothing_gives_the_lease_back_and_says_why() -> None:
    """It stands by again, and does not end."""
    after, told = run(f.Unfit("cut off"), state=leading(f.Tail(9, 4, FIRST)))
    assert told == (i.TermEnded("cut off"), i.ReleaseLease())
    after, _ = run(f.LeaseGivenBack(), state=after)
    assert isinstance(after, Standby)


def test_every_listed_transition_happens_and_no_other() -> None:
    """Exploring the machine with all facts takes exactly the ways that are listed."""
    tails = [f.Tail(s, e, FIRST) for s in (0, 1, 2) for e in (0, 1, 2)]
    alphabet: list[f.Fact] = [
        f.TimePassed(0),
        f.ReadinessChanged(True),
        f.RowsHeld(SECOND),
        *(kind() for kind in (f.LeaseAcquired, f.LeaseRefused, f.LeaseRenewed, f.LeaseLost)),
        *(kind() for kind in (f.LeaseUnavailable, f.LeaseGivenBack, f.LeadOffered)),
        *(kind() for kind in (f.TailUnavailable, f.ClaimUnknown, f.AppendUnknown)),
        *(kind(tail) for kind in (f.TailRead, f.ClaimRefused, f.AppendRefused) for tail in tails),
        *(f.ClaimAccepted(e, s) for e in (1, 2) for s in (1, 2)),
        f.AppendAccepted(2, FIRST),
        f.BeginningRequested(),
        f.BeginningAccepted(2),
        f.HandOverRequested("b"),
        f.Unfit("cut off"),
        f.StopRequested(),
    ]
    seen: set[State] = {START}
    todo: deque[State] = deque([START])
    ways = set()
    while todo:
        state = todo.popleft()
        for fact in alphabet:
            following, _ = advance(state, fact, Rules(0, 0, 0, 0))
            if type(following) is not type(state):
                ways.add((type(state), type(following), type(fact)))
            if following not in seen:
                seen.add(following)
                todo.append(following)
    assert ways == set(TRANSITIONS)


def test_a_standby_asks_at_once_for_the_lease_of_a_dead_holder() -> None:
    """By the holder's token; the next time it is as ever again."""
    state, told = run(f.ReadinessChanged(True), f.LeaseRefused(), f.HolderDied("t"))
    assert told == (i.AcquireLease("t"),)
    state, told = run(f.LeaseRefused(), f.TimePassed(10_000), state=state)
    assert told == (i.AcquireLease(),)


def test_a_death_that_is_heard_of_while_asking_is_asked_about_next() -> None:
    """The answer that comes first was given before."""
    state, told = run(f.ReadinessChanged(True), f.HolderDied("t"))
    assert told == ()
    _, told = run(f.LeaseRefused(), state=state)
    assert told == (i.AcquireLease("t"),)


def test_who_leaves_the_lead_to_others_does_so_when_the_holder_dies() -> None:
    """A ready one takes it."""
    state, told = run(f.DeferenceChanged(True), f.HolderDied("t"))
    assert (type(state), told) == (Standby, ())


def test_a_permit_comes_from_an_accepted_claim_alone() -> None:
    """It cannot be made up, changed or moved back."""
    with pytest.raises(TypeError):
        Permit(object(), 1, 1)
    with pytest.raises(ValueError, match="claimed"):
        Permit.of_claim(claimed_epoch=2, accepted_epoch=1, sequence=1)
    permit = Permit.of_claim(claimed_epoch=2, accepted_epoch=2, sequence=5)
    with pytest.raises(AttributeError):
        permit.epoch = 3
    with pytest.raises(ValueError, match="shrink"):
        permit.at(4)
    assert permit.at(6) == Permit.of_claim(claimed_epoch=2, accepted_epoch=2, sequence=6)


def test_who_is_not_ready_leaves_the_lead_to_who_is() -> None:
    """It does not ask while it defers, offered or not; ready, or alone, it asks at once."""
    waiting, told = run(f.DeferenceChanged(True), f.TimePassed(9_999), f.LeadOffered())
    assert (type(waiting), told) == (Standby, ())
    assert run(f.ReadinessChanged(True), state=waiting)[1] == (i.AcquireLease(),)
    assert run(f.DeferenceChanged(False), state=waiting)[1] == (i.AcquireLease(),)
