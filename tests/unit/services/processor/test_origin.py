"""Where a replica begins, from the revisions there are."""

from dataclasses import replace

from lockstep.bus import OutputTail
from lockstep.events import Generation, Life, OutputId
from lockstep.store import Deployment, Exclusion, Origin, Restoration, Revision, revision_id
from lockstep_services.processor.replica.origin import (
    Fresh,
    Resume,
    ResumeOld,
    choose,
    counting,
    forgettable,
    generation_at,
    has_to_give_way,
)

EMPTY = OutputTail(0, 0, None)
"""Of a log that nobody has claimed, or that an earlier release wrote."""


def log_of(generation: int, begin: int, last: int, deployed_ms: int = 100) -> OutputTail:
    """A log that bears a generation, with a last row at an input position."""
    return OutputTail(9, 3, OutputId(last, 0), Generation(Life(deployed_ms, generation), begin))


def deployment(version: str, generation: int = 1, created_ms: int = 100) -> Deployment:
    """A deployment of a version."""
    return Deployment("a.b", "text", version, Life(created_ms, generation), 2, 0)


def revision(
    version: str,
    position: int,
    *,
    generation: int = 1,
    created_ms: int = 100,
    begun: int | None = None,
    verified: bool = True,
) -> Revision:
    """A revision of a version at a position; of an earlier release, where it begins nowhere."""
    identity = f"a.b.{created_ms}.{generation}.{position}.x"
    if begun is not None:
        state = Generation(Life(created_ms, generation), begun)
        identity = revision_id("a.b", state, position, "x")
    return Revision(identity, "a.b", "main", 0, version, position, 0, 1, verified, 1)


def test_a_revision_carries_its_life_whatever_the_apps_name() -> None:
    """Dots in the name do not confuse it; foreign ids have the lowest life."""
    assert revision("v1", 5, generation=3).life == Life(100, 3)
    foreign = Revision("hello", "a", "main", 0, "v", 1, 0, 1, True, 1)
    assert foreign.life == Life(0, 0)


def test_a_revision_carries_where_its_state_began() -> None:
    """That of an earlier release does not, nor a foreign one, whatever it is called."""
    told = revision("v1", 5, generation=3, begun=4)
    assert (told.life, told.begun) == (Life(100, 3), 4)
    assert told.is_of(Generation(Life(100, 3), 4))
    assert not told.is_of(Generation(Life(100, 3), 3))
    assert not told.is_of(Generation(Life(100, 2), 4))
    older = revision("v1", 5)
    assert older.begun is None
    assert older.is_of(Generation(Life(100, 1), 5))
    assert not older.is_of(Generation(Life(100, 1), 6))
    for name in ("a-b.1.2.3.x", "12-ab", "a.-x", "a.b-1"):
        foreign = Revision(name, "a", "main", 0, "v", 1, 0, 1, True, 1)
        assert foreign.begun == (12 if name == "12-ab" else None)


def test_nothing_there_is_a_first_start() -> None:
    """At the origin that the deployment names."""
    assert choose([], deployment("v1"), EMPTY, origin=7) == Fresh(7)


def test_unverified_revisions_do_not_count() -> None:
    """Only a verified one is resumed."""
    old, new = revision("v1", 5), revision("v1", 9, verified=False)
    assert choose([new, old], deployment("v1"), EMPTY, origin=0) == Resume(old)


def test_an_upgrade_goes_on_from_the_old_version() -> None:
    """The newest revision is of another version of the same deployment."""
    old = revision("v1", 5)
    assert choose([old], deployment("v2", 2), EMPTY, origin=0) == ResumeOld(old)


def test_a_late_revision_of_the_old_version_does_not_hide_the_new_ones_beginning() -> None:
    """A standby that had not heard of the upgrade wrote at a later position."""
    begun, late = revision("v2", 5, generation=2), revision("v1", 9)
    assert choose([late, begun], deployment("v2", 2), EMPTY, origin=0) == Resume(begun)


def test_going_back_to_an_earlier_version_goes_on_from_the_later_one() -> None:
    """v1, v2, v1: the state of v2 counts, not the old one of v1."""
    first, second = revision("v1", 5), revision("v2", 8, generation=2)
    assert choose([first, second], deployment("v1", 3), EMPTY, origin=0) == ResumeOld(second)


def test_another_app_of_the_same_name_begins_afresh() -> None:
    """Undeployed and deployed anew with another text."""
    assert choose([revision("v1", 5)], deployment("v2", created_ms=200), EMPTY, origin=5) == Fresh(
        5
    )


def test_the_same_app_deployed_again_goes_on() -> None:
    """Undeployed and deployed anew with the same text it is created when it was, one generation on:
    its state is still there, for the next version, too."""
    old = revision("v1", 5)
    assert choose([old], deployment("v1", 2), EMPTY, origin=5) == Resume(old)
    assert choose([old], deployment("v2", 3), log_of(1, 0, 5), origin=5) == ResumeOld(old)


def test_the_log_is_kept_from_the_oldest_verified_revision_on() -> None:
    """Unverified ones do not hold it; none holds everything."""
    assert (
        forgettable([revision("v1", 9), revision("v1", 5), revision("v1", 2, verified=False)]) == 5
    )
    assert forgettable([]) == 0


def restoring(version: str, generation: int, at: int, created_ms: int = 100) -> Deployment:
    """A deployment for which a restore was asked in generation `at`."""
    origin = Origin(restoration=Restoration("r", Life(created_ms, at)))
    return replace(deployment(version, generation, created_ms), origin=origin)


def test_a_state_from_before_a_restore_is_folded_on_until_it_has_happened() -> None:
    """Also by who begins in between; what was taken behind it counts, at whatever position."""
    before, after = revision("v1", 9), revision("v1", 7, generation=2)
    assert choose([before], restoring("v1", 2, 2), EMPTY, origin=0) == ResumeOld(before)
    assert choose([before, after], restoring("v1", 2, 2), EMPTY, origin=0) == Resume(after)
    assert choose([before, after], restoring("v1", 5, 2), EMPTY, origin=0) == Resume(after)
    assert choose([before, after], restoring("v1", 5, 5), EMPTY, origin=0) == ResumeOld(after)


def test_a_state_from_before_an_exclusion_is_folded_on_until_it_has_begun_anew() -> None:
    """As with a restore; its leader begins the next one in front of what it cannot fold."""
    before, after = revision("v1", 9), revision("v1", 9, generation=2)
    origin = Origin().excluding(Exclusion("main", 0, 10, Life(100, 2)))
    wanted = replace(deployment("v1", 2), origin=origin)
    assert choose([before], wanted, EMPTY, origin=0) == ResumeOld(before)
    assert choose([before, after], wanted, EMPTY, origin=0) == Resume(after)


def test_another_app_of_the_name_begins_afresh_whatever_its_text() -> None:
    """Undeployed and deployed again with its text it would be the same app, created when it was."""
    before = revision("v1", 9)
    for version in ("v1", "v2"):
        another = deployment(version, created_ms=200)
        assert choose([before], another, log_of(1, 0, 12), origin=9) == Fresh(12)
        restored = restoring(version, 2, 2, created_ms=200)
        assert choose([before], restored, log_of(1, 0, 12), origin=9) == Fresh(12)


def test_a_running_state_gives_way_to_a_later_deployment_alone() -> None:
    """A node that has not heard of the newest deployment does not lead the app back."""
    assert has_to_give_way("v1", Life(100, 1), deployment("v2", generation=2))
    assert not has_to_give_way("v2", Life(100, 2), deployment("v1", generation=1))
    assert has_to_give_way("v2", Life(100, 2), deployment("v1", generation=3))
    assert not has_to_give_way("v1", Life(100, 1), deployment("v1", generation=3))
    assert not has_to_give_way("v2", Life(100, 2), deployment("v1", generation=2))


def test_the_log_says_which_state_has_begun() -> None:
    """Not the store: a later one's revision counts once the log was claimed for it."""
    old, new = revision("v1", 5), revision("v2", 8, generation=2)
    wanted = deployment("v2", 2)
    assert choose([old, new], wanted, log_of(1, 0, 8), origin=0) == ResumeOld(old)
    assert choose([old, new], wanted, log_of(2, 8, 8), origin=0) == Resume(new)


def test_of_two_beginnings_of_a_state_the_logs_counts() -> None:
    """A leader died between storing one and claiming the log for it; another one followed."""
    first, second = revision("v2", 8, generation=2), revision("v2", 11, generation=2)
    assert counting([first, second], log_of(2, 11, 11)) == [second]


def test_a_beginning_that_never_stood_does_not_count_though_it_is_further_on() -> None:
    """The leader that followed had begun before it. What goes on from the log's beginning counts;
    an earlier release's, too, as nobody knows of which beginning that is."""
    first, never = (
        revision("v2", 8, generation=2, begun=8),
        revision("v2", 11, generation=2, begun=11),
    )
    later, older = revision("v2", 10, generation=2, begun=8), revision("v2", 9, generation=2)
    there = [never, later, older, first]
    assert counting(there, log_of(2, 8, 8)) == [later, older, first]
    assert choose(there, deployment("v2", 2), log_of(2, 8, 8), origin=0) == Resume(later)
    assert counting(there, log_of(2, 11, 11)) == [never]


def test_with_nothing_of_its_state_left_a_later_one_may_begin_that_is_behind_every_row() -> None:
    """Its leader died before it claimed the log, and room was made for its revision."""
    new = revision("v2", 8, generation=2)
    assert counting([new], log_of(1, 0, 8)) == [new]
    assert counting([new], log_of(1, 0, 9)) == []


def test_who_has_not_heard_of_a_deployment_goes_on_with_it() -> None:
    """The log bears a deployment that is later than the one known here."""
    later = revision("v2", 8, created_ms=200)
    tail = log_of(1, 8, 9, deployed_ms=200)
    assert choose([later], deployment("v1"), tail, origin=0) == ResumeOld(later)


def test_another_app_of_the_same_name_begins_behind_what_was_published() -> None:
    """The one before it may have gone on for a while behind the deployment's origin."""
    wanted = deployment("v2", created_ms=200)
    assert choose([revision("v1", 5)], wanted, log_of(1, 0, 7), origin=6) == Fresh(7)


def test_a_replica_takes_over_the_logs_generation() -> None:
    """Or, where the log bears an earlier one, begins where its revision stands."""
    one = revision("v1", 9)
    assert generation_at(one, log_of(1, 4, 9)) == Generation(Life(100, 1), 4)
    assert generation_at(one, log_of(0, 4, 9)) == Generation(Life(100, 1), 9)
    assert generation_at(one, EMPTY) == Generation(Life(100, 1), 0)
    told = revision("v1", 9, begun=5)
    assert generation_at(told, EMPTY) == Generation(Life(100, 1), 5)
    assert generation_at(told, log_of(0, 4, 9)) == Generation(Life(100, 1), 5)
